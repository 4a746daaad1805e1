"""The record of preprocessing: each field once, with its default, what it may hold and which envs it is for."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from parcade.env.spec_fields import (
    FEW,
    FLAG,
    FLAG_OR_NONE,
    FOUR_SIDES,
    NUMBER_OR_NONE,
    NUMBERS_OR_NONE,
    SIZE,
    TEXT_OR_NONE,
    WHOLE,
    WHOLE_OR_NONE,
    Kind,
)
from parcade.errors import SettingsError

_RULE = "rule"  # the key of a field's metadata
_ITS_OWN_START = "the title says how an episode begins"


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What a field of an env spec may hold, and which envs it is for; unset, it is for all of them."""

    kind: Kind | None = None  # of its value in a file
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] | None = None
    training_only: bool = False  # an evaluation takes the default
    not_for_games: str | None = None  # why games refuse it, or what to give them instead
    only_for_games: bool = False
    instead: str | None = None  # of a field for games only: what to give other envs


def option(default: Any, **rule: Any) -> Any:
    """Return a field with the default ``default`` and a ``FieldRule`` of the other arguments; a dict is copied."""
    metadata = {_RULE: FieldRule(**rule)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How an env is made ready for learning; every field is a setting of the same name."""

    frame_skip: int | None = option(None, kind=WHOLE_OR_NONE, least=1)  # None: the title's own, else 1
    frames_stack: int = option(1, kind=FEW, least=1)
    # None: grey for a game, as the env draws for a Gymnasium env
    grayscale: bool | None = option(None, kind=FLAG_OR_NONE)
    picture_size: str | None = option(  # None: half
        None, kind=TEXT_OR_NONE, choices=("half", "full"), only_for_games=True, instead="resize"
    )
    crop: tuple[int, int, int, int] | None = option(  # top, right, bottom, left
        None, kind=FOUR_SIDES, not_for_games="its picture has picture_size half or full"
    )
    resize: tuple[int, int] | None = option(None, kind=SIZE, not_for_games="its picture has picture_size half or full")
    reward_clip: float | None = option(
        None, kind=NUMBER_OR_NONE, training_only=True, not_for_games="weigh its rewards with reward_weights"
    )
    max_steps: int | None = option(None, kind=WHOLE_OR_NONE, least=1)  # None: the title's or the env's own limit
    action_scale: tuple[float, ...] | None = option(  # the env is given each axis times its number
        None, kind=NUMBERS_OR_NONE, not_for_games="its actions are named buttons"
    )
    missed_tile_cost: float | None = option(  # of each tile our CarRacing has driven past
        None, kind=NUMBER_OR_NONE, training_only=True, not_for_games="it has no road"
    )
    patience: int | None = option(  # an episode is over after this many steps in a row without a positive reward
        None, kind=WHOLE_OR_NONE, training_only=True, not_for_games="the title says when an episode is over"
    )

    # Atari's: what begins an episode, what ends one, what a step sees and which action it takes.
    noop_max: int = option(0, kind=WHOLE, least=0, not_for_games=_ITS_OWN_START)  # 0: none
    fire_on_reset: bool = option(False, kind=FLAG, not_for_games=_ITS_OWN_START)
    terminal_on_life_loss: bool = option(
        False, kind=FLAG, training_only=True, not_for_games="the title says when an episode is over"
    )
    max_over_frames: bool = option(False, kind=FLAG, not_for_games="its consoles draw whole pictures")
    sticky_actions: float | None = option(  # None: the env's own, else 0
        None, kind=NUMBER_OR_NONE, least=0, most=1, not_for_games="it is played without chance"
    )

    def __post_init__(self) -> None:
        check_values(self)


def rules(record: Any) -> dict[str, FieldRule]:
    """Return the rule of each field of a dataclass or an instance of it; a field that states none is free."""
    return {part.name: part.metadata.get(_RULE, FieldRule()) for part in fields(record)}


def defaults(record: Any) -> dict[str, Any]:
    """Return the default of each field of a dataclass."""
    return {part.name: default_of(part) for part in fields(record)}


def is_for_games(record: Any, name: str) -> bool:
    """Whether a field is for games only."""
    return rules(record)[name].only_for_games


def changed(record: Any) -> list[str]:
    """Return the fields of a dataclass's instance that differ from their defaults."""
    return [part.name for part in fields(record) if getattr(record, part.name) != default_of(part)]


def default_of(part: Field[Any]) -> Any:
    """Return the default of a field."""
    return part.default if part.default_factory is MISSING else part.default_factory()


def check_values(record: Any) -> None:
    """Raise SettingsError for a value that its field's rule does not allow."""
    for name, rule in rules(record).items():
        value = getattr(record, name)
        if value is None:
            continue
        if rule.choices is not None and value not in rule.choices:
            raise SettingsError(f"{name} is {value!r}, wanted one of {', '.join(rule.choices)}")
        if rule.least is not None and value < rule.least:
            raise SettingsError(f"{name} is {value}, wanted {rule.least} or more")
        if rule.most is not None and value > rule.most:
            raise SettingsError(f"{name} is {value}, wanted {rule.most} or less")


def check_places(record: Any, game: str | None, label: str) -> None:
    """Raise SettingsError for fields that are given to an env they are not for: a game, or else a Gymnasium env."""
    given = {name: rule for name, rule in rules(record).items() if name in changed(record)}
    if game is not None:
        for name, rule in given.items():
            if rule.not_for_games is not None:
                raise SettingsError(f"{name} is for Gymnasium envs, not for the game {game}; {rule.not_for_games}")
        return
    misplaced = {name: rule for name, rule in given.items() if rule.only_for_games}
    if misplaced:
        verb = "are" if len(misplaced) > 1 else "is"
        instead = [f"{rule.instead} instead of {name}" for name, rule in misplaced.items() if rule.instead]
        advice = f"; give {' and '.join(instead)}" if instead else ""
        raise SettingsError(f"{' and '.join(misplaced)} {verb} for games, not for the Gymnasium env {label}{advice}")
