"""Write docs/settings.md from the settings themselves: `python tools/write_settings_doc.py`."""

from pathlib import Path

from parcade.cli.flags import GROUPS, choices
from parcade.config.settings import ALIASES, TrainSettings

HEAD = """# Settings

Every setting of a training. Each one is a flag of `parcade train` (`--n-envs 32`), a key of a YAML or JSON file that
you pass with `--config FILE`, and an argument of `parcade.train` in Python.

Flags override the file. Both override the title's own settings, which override the defaults below. Parcade checks all
settings together and reports every fault in one message. It writes the merged result to `config.json` in the run's
folder: `parcade train --config results/…/config.json` repeats the run.

You can write numbers as 250k, 2M or 1e6. Two settings have a second name: {aliases}.
Text in square brackets is the default where it depends on something. `tools/write_settings_doc.py` writes this page.
"""


def default_of(field: object) -> str:
    """Return a default as the reader would type it."""
    value = field.default  # type: ignore[attr-defined]
    if value is None or value == () or value == {}:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)


def text() -> str:
    """Return the whole page."""
    aliases = ", ".join(f"`{short}` is `{name}`" for short, name in ALIASES.items())
    parts = [HEAD.format(aliases=aliases)]
    for group, title in GROUPS.items():
        parts.append(f"\n## {title[0].upper()}{title[1:]}\n\n| setting | default | meaning |\n|---|---|---|")
        for name, field in TrainSettings.model_fields.items():
            if field.json_schema_extra["group"] == group:
                allowed = ", ".join(f"`{choice}`" for choice in choices(field.annotation))
                meaning = f"{field.description} ({allowed})" if allowed else field.description
                parts.append(f"| `{name}` | {default_of(field)} | {meaning} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("docs", "settings.md").write_text(text(), encoding="utf-8")
