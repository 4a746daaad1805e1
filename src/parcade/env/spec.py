"""What an env is made of: plain data that travels to workers, into config files and into model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from parcade.env.preprocessing_record import Preprocessing, check_places, check_values, option, rules
from parcade.env.spec_fields import check_fields
from parcade.errors import SettingsError
from parcade.game.guide import check_shape

OBSERVATIONS = ("features", "pixels", "both")
VISITED = "visited"  # the leaf of an observation that shows the episode's places
FACTORY_MISSING = b""  # in the place of a factory that no file can hold


@dataclass(frozen=True, slots=True)
class Watch:
    """Where an env lays what it shows, for a window to read, and how often; no number of a run depends on it."""

    folder: str
    every: int | None = None  # steps between pictures; None: as often as drawing takes no more than a tenth of the time
    label: str = "game"
    raw: bool = True  # the env's own picture as well as what the policy sees
    speed: float | None = None  # steps wait for the game's own pace times this, and for the window's pause; None: never


@dataclass(frozen=True, slots=True)
class EnvSpec(Preprocessing):
    """One env; exactly one of ``game``, ``env_id`` and ``factory`` is given. Its preprocessing's fields are its own.

    ``frame_skip`` and ``max_steps`` of None take the title's own value (for a Gymnasium env: 1, and its own limit).
    """

    game: str | None = None
    env_id: str | None = None
    factory: bytes | None = None  # a cloudpickled callable that returns a gymnasium.Env
    factory_name: str = ""  # for messages
    rom: str | None = option(None, only_for_games=True)
    state: str | None = option(None, only_for_games=True)  # a save state, or a folder of them, dealt out to the slots
    console: str = option("auto", only_for_games=True)
    imports: tuple[str, ...] = ()  # modules that register Gymnasium ids
    registered: bytes | None = None  # cloudpickled: how this process registered env_id, for processes that have not
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    game_options: Mapping[str, Any] = option({}, only_for_games=True)
    reward_weights: Mapping[str, float] = option({}, only_for_games=True)
    guide: Mapping[str, Any] | None = option(None, only_for_games=True)  # see docs/guide.md
    observation: str = option("features", choices=OBSERVATIONS, only_for_games=True)
    visited: bool = option(False, only_for_games=True)  # a picture of the episode's places, from memory
    # numbers of a Gymnasium env's info that are metrics
    info_keys: tuple[str, ...] = option((), not_for_games="it has metrics of its own")
    render: bool = False  # draw every step, so that render() shows the present
    slot: int | None = None  # the row of a pool this env is made for; None: an env of its own
    holds_all_states: bool = False  # of a folder; each episode's seed chooses one, whatever the slot
    watch: Watch | None = None
    cells: bool = False  # say after each step in which cell of the title the game is

    def __post_init__(self) -> None:
        given = [name for name in ("game", "env_id", "factory") if getattr(self, name) is not None]
        if len(given) != 1:
            raise SettingsError(f"an env needs one of game, env_id and factory, got {given or 'none'}")
        check_values(self)
        check_places(self, self.game, self.label)
        if self.guide is not None:
            check_shape(self.guide)

    @property
    def preprocessing(self) -> Preprocessing:
        """How the env is made ready for learning."""
        return Preprocessing(**{part.name: getattr(self, part.name) for part in fields(Preprocessing)})

    @property
    def label(self) -> str:
        """A short name for messages."""
        return self.game or self.env_id or self.factory_name or "factory"

    def with_(self, **changes: Any) -> EnvSpec:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; a factory cannot be written down, and who watches is no part of the env."""
        data = asdict(self)
        for name in ("factory", "factory_name", "registered", "watch", "slot", "holds_all_states", "cells"):
            del data[name]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnvSpec:
        """Return the spec that ``to_dict`` wrote; unknown keys and values of another kind are refused.

        One that was made of a factory has ``FACTORY_MISSING`` in its place.
        """
        check_fields(data, {name: rule.kind for name, rule in rules(Preprocessing).items() if rule.kind is not None})
        values = without_old_grayscale(data)
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        if values.get("game") is None and values.get("env_id") is None and "game" in values:
            values["factory"] = FACTORY_MISSING
        return cls(**values)


def without_old_grayscale(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they were meant: before ``picture_size`` a game was grey whatever ``grayscale`` said."""
    values = dict(data)
    if values.get("game") is not None and "picture_size" not in values:
        values.pop("grayscale", None)
    return values
