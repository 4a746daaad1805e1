"""Every exception Parcade raises on purpose.

ParcadeError
├── UserError            what came in cannot be used; the CLI prints one sentence, exit code 2
│   ├── SettingsError    a setting or a config file
│   ├── RomError         a missing, unknown or wrong ROM
│   ├── SaveStateError   a missing, foreign or damaged save state
│   ├── ModelFileError   a model or checkpoint that is none, is damaged or does not fit
│   ├── EnvError         an env, factory or space that cannot be used
│   └── MissingExtraError  a feature whose package is not installed
└── RunError             the run itself failed; exit code 1
└── PoolError        a worker that cannot live
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ParcadeError(Exception):
    """Base of all errors raised on purpose; its text is one clear sentence."""


class UserError(ParcadeError):
    """What came in cannot be used."""


class SettingsError(UserError):
    """A setting or a config file cannot be used."""


class RomError(UserError):
    """A ROM is missing, unreadable, unknown or another one than expected."""


class SaveStateError(UserError):
    """A save state is missing, damaged or belongs to another game."""


class ModelFileError(UserError):
    """A model or checkpoint file cannot be used."""


class EnvError(UserError):
    """An env, a factory or a space cannot be used."""


class MissingExtraError(UserError):
    """A feature needs a package that is not installed."""


class RunError(ParcadeError):
    """A run could not go on."""


class PoolError(RunError):
    """A worker of the pool cannot live."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest known word, or an empty string.

    >>> did_you_mean("lantren", ["lantern", "meadow"])
    " (did you mean 'lantern'?)"
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""
