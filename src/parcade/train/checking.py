"""A check of whatever can be trained: a title, a Gymnasium id, a class of the user's own or a config file."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcade.config.settings import TrainSettings
from parcade.console.rom import is_rom
from parcade.env.by_id import registered_env, with_registration
from parcade.env.check import examine
from parcade.env.make import check_spec, make
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError, UserError
from parcade.game.titles import find_title, title_names
from parcade.pool.seeding import TrainingEpisodes
from parcade.train.given import env_spec, settings_for, settings_of_file

_CONFIG = re.compile(r"\.(ya?ml|json)$", re.IGNORECASE)


class Checker:
    """Checks a name or a file with settings over it: so many slots, so many steps of each.

    ``tell`` hears where it is. It belongs into a process of its own: envs may crash and hang.
    """

    def __init__(
        self, tell: Callable[[str], None], what: str | None, given: dict[str, Any], slots: int, steps: int
    ) -> None:
        self._tell, self._what, self._given, self._slots, self._steps = tell, what, given, slots, steps

    def run(self) -> dict[str, Any]:
        """Return the env's name, faults, notes and seconds; settings that cannot be used raise UserError."""
        started, heard = time.monotonic(), _Heard()
        logging.getLogger("parcade").addHandler(heard)
        self._tell("its settings")
        settings, is_file = _settings(self._what, self._given)
        spec = with_registration(env_spec(settings))
        check_spec(spec)
        if spec.env_id is not None:
            registered_env(spec)
        episodes = TrainingEpisodes(settings.seed)
        seeds = [episodes.seed(slot, 0) for slot in range(self._slots)]
        found = examine(spec, steps=self._steps, seeds=seeds, tell=self._tell)
        faults = [fault.text for fault in found.faults]
        if is_file and not faults:
            self._tell("its network")
            faults += _training_faults(settings, spec)
        notes = list(dict.fromkeys([*heard.lines, *found.notes]))
        return {"env": spec.label, "faults": faults, "notes": notes, "seconds": time.monotonic() - started}


def _settings(what: str | None, given: dict[str, Any]) -> tuple[TrainSettings, bool]:
    """Return the settings, and whether a file says how to train."""
    if what is None:
        return settings_for(given), False
    if _CONFIG.search(what) or Path(what).is_file():
        if is_rom(what):
            raise SettingsError(
                f"{what} is a ROM; check its title with `parcade check --rom {what}`, or name the title: --game NAME"
            )
        return settings_of_file(what, given), True
    return settings_for({_field(what): what, **given}), False


def _field(name: str) -> str:
    """Return which setting a name is for; ``module:Class`` is a title where the class is one, else an env."""
    if name in title_names():
        return "game"
    if ":" in name:
        try:
            find_title(name)
        except UserError:
            return "env_id"
        return "game"
    return "env_id"


def _training_faults(settings: TrainSettings, spec: EnvSpec) -> list[str]:
    """Return what would end a training with these settings before its first step, and log what has no effect."""
    from parcade.train.assembly import (
        algorithm_of,
        check_demonstrations,
        check_memory,
        policy_of,
        warnings_for,
    )  # torch takes its time

    env = make(spec)
    try:
        policy = policy_of(settings, env.observation_space, env.action_space)
        check_demonstrations(settings, spec)
        algorithm_of(settings, policy, spec)
        check_memory(settings, env.observation_space)
    except UserError as error:
        return [f"{error}."]
    finally:
        env.close()
    for warning in warnings_for(settings, policy):
        logging.getLogger("parcade.train").warning("%s", warning)
    return []


class _Heard(logging.Handler):
    """Keeps what would have been warned of in a training."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(record.getMessage())
