"""A guide as a file that people read and change, with the conversation it came from beside it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from parcade.errors import SettingsError
from parcade.run.atomic import write_atomic
from parcade.run.directory import write_json


def conversation_path(out: Path) -> Path:
    """Return where the conversation behind a guide is kept."""
    return out.with_name(f"{out.stem}.conversation.json")


def check_new(out: Path) -> None:
    """Refuse a place where a guide cannot be written, before a model is asked."""
    if not out.parent.is_dir():
        raise SettingsError(f"the folder of {out} does not exist")
    if out.suffix not in (".yaml", ".yml"):
        raise SettingsError(f"{out} does not end in .yaml, which a guide file does")
    for path in (out, conversation_path(out)):
        if path.exists():
            raise SettingsError(f"{path} exists already; give another file with --out, or remove it")


def guide_text(guide: Mapping[str, Any], author: str) -> str:
    """Return a guide as YAML, a blank line between milestones."""
    by = "".join(letter if letter.isprintable() else " " for letter in author)[:200]
    head = f"# Written by {by}, {date.today().isoformat()}. This is data: read it, change it (docs/guide.md).\n"
    top = "".join(_line(key, value) for key, value in guide.items() if key != "milestones")
    milestones = ["".join(_line(key, value) for key, value in one.items()) for one in guide["milestones"]]
    return f"{head}{top}\nmilestones:\n" + "\n".join(_listed(text) for text in milestones)


def save_guide(out: Path, guide: Mapping[str, Any], author: str, conversation: Mapping[str, Any]) -> None:
    """Write both files."""
    try:
        write_json(conversation_path(out), conversation)
        write_atomic(out, guide_text(guide, author).encode())
    except OSError as error:
        raise SettingsError(f"{out} cannot be written: {error.strerror}") from None


def _line(key: str, value: Any) -> str:
    """Return one key as YAML; lists stay on its line."""
    is_list = isinstance(value, list | tuple)
    data = {key: list(value) if is_list else value}
    text = yaml.safe_dump(data, allow_unicode=True, width=110, default_flow_style=None if is_list else False)
    return str(text)


def _listed(text: str) -> str:
    first, *more = text.splitlines()
    return "".join([f"  - {first}\n", *(f"    {line}\n" for line in more)])
