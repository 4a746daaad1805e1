"""Every exception Parcade raises on purpose.

The tree, with what each is about::

    ParcadeError
    ├── UserError            what came in cannot be used; the CLI prints one sentence, exit code 2
    │   ├── SettingsError    a setting or a config file
    │   │   └── ClusterError a cluster that is not there, or has not what is needed
    │   ├── RomError         a missing, unknown or wrong ROM
    │   ├── SaveStateError   a missing, foreign or damaged save state
    │   ├── ModelFileError   a model or checkpoint that is none, is damaged or does not fit
    │   ├── EpisodeFileError a file of episodes that is none, is damaged or does not replay
    │   ├── EnvError         an env, factory or space that cannot be used
    │   │   └── StartsWhenImportedError  a module of the user's own that trains or plays when it is imported
    │   └── MissingExtraError  a feature whose package is not installed
    └── RunError             the run itself failed; exit code 1
        ├── DivergedError    weights, losses or observations are no numbers any more
        ├── LlmError         a language model's server that is gone, slow or answers what cannot be used
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


class ClusterError(SettingsError):
    """A cluster does not answer, or its nodes cannot do what is asked for."""


class RomError(UserError):
    """A ROM is missing, unreadable, unknown or another one than expected."""


class SaveStateError(UserError):
    """A save state is missing, damaged or belongs to another game."""


class ModelFileError(UserError):
    """A model or checkpoint file cannot be used."""


class EpisodeFileError(UserError):
    """A file of episodes, kept ones or demonstrations, cannot be used."""


class EnvError(UserError):
    """An env, a factory or a space cannot be used."""


class StartsWhenImportedError(EnvError):
    """A module of the user's own does on import what only a script should do."""


class MissingExtraError(UserError):
    """A feature needs a package that is not installed."""


class RunError(ParcadeError):
    """A run could not go on."""


class DivergedError(RunError):
    """A training's weights, losses or observations are no numbers any more."""


class LlmError(RunError):
    """A language model's server is gone, slow, or answers what cannot be used."""


class PoolError(RunError):
    """A worker of the pool cannot live."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest known word, or an empty string.

    >>> did_you_mean("lantren", ["lantern", "meadow"])
    " (did you mean 'lantern'?)"
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""
