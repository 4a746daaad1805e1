"""Envs as files describe them. A file names what is looked up here; only the user names what is imported or opened.

A model file and a run's folder may come from anybody. What they name counts if it is a built-in title or a registered
Gymnasium id; a class, a module or a path of theirs counts only where the user names it too, on the command line or in
Python. A config file is the user's own: its modules may also lie in the current folder.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.env.by_id import declared_arguments, registered_env
from parcade.env.fingerprint import fingerprint
from parcade.env.preprocessing_record import defaults, is_for_games
from parcade.env.spec import FACTORY_MISSING, EnvSpec
from parcade.errors import EnvError, SettingsError
from parcade.game.guide import guide_milestones
from parcade.game.titles import find_modules_here, find_title
from parcade.host.input_file import short

_FLAGS = {"game": "--game", "env_id": "--env-id", "imports": "--import", "rom": "--rom", "state": "--state"}
_PATHS = {"rom": "ROM", "state": "save state"}
_WORD = re.compile(r"[\w+\-]{0,64}")  # no path, no module:Class, no address


@dataclass(frozen=True, slots=True)
class ForeignSpec:
    """An env as the file ``where`` describes it; it can be made only after ``accepted``."""

    spec: EnvSpec
    where: str

    @property
    def label(self) -> str:
        """A short name for messages."""
        return self.spec.label

    def accepted(self, named: Mapping[str, Any], noted: Mapping[str, str | None] | None = None) -> EnvSpec:
        """Return the env with the fields the user ``named`` in the place of the file's.

        ``noted`` are SHA-1s of ``rom`` and ``state``: a path of the file whose content fits needs not be named again.
        """
        said = {name: value for name, value in named.items() if value is not None}
        if "factory" in said:  # the user's function takes the place of whatever the file names
            of_games = {name: value for name, value in defaults(EnvSpec).items() if is_for_games(EnvSpec, name)}
            said = {"game": None, "env_id": None, "imports": (), **of_games} | said
        spec = self.spec.with_(**said)
        if spec.factory == FACTORY_MISSING:
            raise SettingsError(
                f"the env of {self.where} was made by a function in Python, which no file can hold; "
                "give the function with env= to parcade.evaluate or parcade.resume"
            )
        for field, text, module in _modules(spec):
            if field not in said:
                raise SettingsError(
                    f"{self.where} names the module {module!r}, which is not imported unasked; "
                    f"add {_FLAGS[field]} {text} if you trust it"
                )
        for field in _PATHS:
            if field not in said:
                self._check_path(field, getattr(spec, field), (noted or {}).get(field))
        if spec.game is not None:
            game = find_title(spec.game, spec.game_options)
            if spec.guide is not None:
                guide_milestones(spec.guide, game)
        elif spec.env_id is not None and "env_kwargs" not in said:
            self._check_arguments(spec)
        return spec

    def _check_path(self, field: str, path: str | None, sha1: str | None) -> None:
        if path is None or (sha1 is not None and fingerprint(path) == sha1):
            return
        why = "is not the one this run began with" if sha1 else "is not opened unasked"
        raise SettingsError(
            f"{self.where} names the {_PATHS[field]} {path!r}, which {why}; give it with {_FLAGS[field]}"
        )

    def _check_arguments(self, spec: EnvSpec) -> None:
        """Let only declared arguments through, and of text only plain words: neither paths nor modules."""
        if not spec.env_kwargs:
            return
        known = declared_arguments(registered_env(spec)) | {"max_episode_steps"}
        for name, value in spec.env_kwargs.items():
            fits = value == "rgb_array" if name == "render_mode" else name in known and _is_plain(value)
            if not fits:
                raise EnvError(
                    f"{self.where} gives {spec.env_id} the argument {name}={short(value)}, which is not passed on "
                    "unasked; repeat all with --env-kwargs if you trust them"
                )


def flags_again(spec: EnvSpec, *, with_files: bool = False) -> list[str]:
    """Return the flags without which ``accepted`` refuses a file that describes ``spec``.

    ROM and save state are among them ``with_files``: a file that notes no SHA-1 of theirs is not trusted with a path.
    """
    named: dict[str, str] = {}
    for field, text, _ in _modules(spec):
        named[field] = f"{named[field]},{text}" if field in named else text
    if with_files:
        named |= {field: path for field in _PATHS if (path := getattr(spec, field)) is not None}
    flags = [word for field, text in named.items() for word in (_FLAGS[field], text)]
    if spec.env_id is not None:
        try:
            ForeignSpec(spec, "")._check_arguments(spec)
        except EnvError:
            told = (f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in spec.env_kwargs.items())
            flags += ["--env-kwargs", ",".join(told)]
    return flags


def check_config_modules(spec: EnvSpec, named: Mapping[str, Any], where: str) -> None:
    """Refuse a module that a config file names, unless the user names it too or it lies in the current folder."""
    for field, text, module in _modules(spec):
        if field not in named and not _lies_here(module):
            raise SettingsError(
                f"{where} names the module {module!r}, which does not lie in the current folder; "
                f"add {_FLAGS[field]} {text} if you trust it"
            )


def _modules(spec: EnvSpec) -> Iterator[tuple[str, str, str]]:
    """Yield field, text and module for whatever would be imported by name."""
    for field in ("game", "env_id"):
        text = getattr(spec, field) or ""
        if ":" in text:
            yield field, text, text.rpartition(":")[0]
    for module in spec.imports:
        yield "imports", module, module


def _lies_here(module: str) -> bool:
    """Whether importing ``module`` runs a file of the current folder; nothing is imported to find out."""
    find_modules_here()
    top, here = module.partition(".")[0], Path(os.getcwd()).resolve()
    try:
        found = importlib.util.find_spec(top) if top else None
    except (ImportError, ValueError):
        return False
    if found is None:
        return False
    places = found.submodule_search_locations or ([found.origin] if found.has_location and found.origin else [])
    return bool(places) and all(Path(place).resolve().parent == here for place in places)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    if isinstance(value, list):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, bool | int | float)
