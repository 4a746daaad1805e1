"""Print the settings of a training: defaults, the title's own, a file and flags, merged and checked.

parcade config                                what `parcade train` does, as YAML with a comment for each key
parcade config --config mine.yaml --seed 3    the file with one key changed
parcade config --env-id CarRacing-v3 > mine.yaml
parcade config --schema > parcade.schema.json for editors, see docs/gymnasium.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from parcade.cli.flags import GROUPS, add_setting_flags, given_settings
from parcade.config.fitting import AUTO, MAY_BE_AUTO
from parcade.config.settings import ALIASES, TrainSettings

_COMMENT_COLUMN = 40


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the settings' flags."""
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file with settings; flags override it")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of a config file instead")
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the schema, or the merged settings as YAML or JSON."""
    if arguments.schema:
        print(json.dumps(schema(), indent=None if arguments.json else 2))
        return 0
    from parcade.train.given import settings_for, settings_of_file

    flags = given_settings(arguments)
    settings = settings_of_file(arguments.config, flags) if arguments.config else settings_for(flags)
    data = settings.model_dump(mode="json")
    print(json.dumps(data) if arguments.json else as_yaml(data, _of_title(settings)))
    return 0


def _of_title(settings: TrainSettings) -> dict[str, Any]:
    """Return what a built-in title uses for settings that are left to it; one of the user's own is not imported."""
    from parcade.game.titles import find_title, title_names

    if settings.game not in title_names():
        return {}
    title = find_title(settings.game, settings.game_options)
    return {"frame_skip": title.frame_skip, "max_steps": title.max_steps}


def as_yaml(data: dict[str, Any], left_open: Mapping[str, Any]) -> str:
    """Return settings as YAML in their groups, a comment for each key; ``left_open`` says what null means here."""
    lines = []
    for group, title in GROUPS.items():
        lines += ["", f"# {title}"]
        for name, field in TrainSettings.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra["group"] == group:
                pair = f"{name}: {json.dumps(data[name], ensure_ascii=False)}"  # JSON is YAML too
                words = str(field.description)
                if data[name] is None and name in left_open:
                    words = f"{words.partition(' [')[0]} [{left_open[name]}]"
                lines.append(f"{pair:<{_COMMENT_COLUMN}}  # {words}")
    return "\n".join(lines[1:])


def schema() -> dict[str, Any]:
    """Return the JSON schema of a config file, with the short forms a file may use."""
    made = TrainSettings.model_json_schema()
    properties: dict[str, Any] = made["properties"]
    for field in properties.values():
        field.pop("group", None)
        field.pop("title", None)
    for name in MAY_BE_AUTO:
        properties[name]["anyOf"].append({"const": AUTO})
    properties["resize"]["anyOf"].append({"type": "integer", "minimum": 1})
    properties["reward_clip"]["anyOf"].append({"type": "boolean"})
    for name, field in properties.items():
        if field.get("type") == "integer":  # 1e6 and 250k are text to YAML
            limits = {key: field.pop(key) for key in ("type", "minimum", "maximum", "exclusiveMaximum") if key in field}
            field["anyOf"] = [limits, {"type": "string", "pattern": r"^[0-9._]+([eE][0-9]+|[kKmM])?$"}]
        field["description"] = str(TrainSettings.model_fields[name].description)
    for alias, name in ALIASES.items():
        properties[alias] = {**properties[name], "description": f"another word for {name}"}
    properties["$schema"] = {"type": "string"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "Parcade training"}
