"""Guides: milestones of the user's own for a title, with rewards and hints. Plain data, checked, never code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parcade.errors import SettingsError, did_you_mean
from parcade.game.base import Game
from parcade.game.condition import condition_faults
from parcade.game.milestone import MOST_MILESTONES, milestone_faults
from parcade.host.input_file import short

MOST_REWARD = 1000.0
LONGEST_HINT = 500
_KEYS = ("name", "when", "reward", "hint", "after")
_TOP = ("game", "milestones", "coach")
_PLACE = re.compile(r"place_\d+")
_MOST_FAULTS = 50  # told at once


@dataclass(frozen=True, slots=True)
class GuideMilestone:
    """A milestone that pays ``reward`` when an episode reaches it, once everything it comes ``after`` was reached."""

    name: str
    when: str
    reward: float
    hint: str
    after: tuple[str, ...]


def guide_milestones(data: Any, game: Game[Any, Any]) -> tuple[GuideMilestone, ...]:
    """Return the milestones of a guide for ``game``; raise SettingsError, in one sentence, for all of its faults."""
    faults = guide_faults(data, game)
    if faults:
        raise SettingsError(f"the guide cannot be used for {game.name}: {'; '.join(faults)}")
    return _read(data["milestones"])


def check_shape(data: Any) -> None:
    """Raise SettingsError for data that no title could read as a guide."""
    faults = list(_shape_faults(data))
    if faults:
        raise SettingsError(f"the guide cannot be used: {'; '.join(_few(faults))}")


def guide_faults(data: Any, game: Game[Any, Any]) -> list[str]:
    """Return everything that is wrong with a guide for ``game``, in sentences."""
    faults = list(_shape_faults(data))
    if faults:
        return _few([*faults, *_readable_faults(data, game)])
    return _few([*_title_faults(data, game), *milestone_faults(_read(data["milestones"]), game.fields)])


def _few(faults: list[str]) -> list[str]:
    more = len(faults) - _MOST_FAULTS
    return faults if more <= 0 else [*faults[:_MOST_FAULTS], f"{more} more faults"]


def without_rewards(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same guide with nothing to pay: the policy still sees what comes next, and shares are counted."""
    return {**data, "milestones": [{**milestone, "reward": 0} for milestone in data["milestones"]]}


@dataclass(frozen=True, slots=True)
class Room:
    """How many milestones are a guide's own, and how many places there are for those that a coach adds.

    Milestones stand in their places for a whole training: the first ones are the guide's own, the added ones follow.
    """

    own: int
    places: int

    @property
    def all(self) -> int:
        """All places, used or not: what the policy sees has one number for each."""
        return self.own + self.places


def room_of(data: Mapping[str, Any]) -> Room:
    """Return the room of a guide without faults."""
    coach = data.get("coach") or {"places": 0, "added": 0}
    return Room(len(data["milestones"]) - coach["added"], coach["places"])


def with_room(data: Mapping[str, Any], places: int) -> dict[str, Any]:
    """Return a guide whose milestones are all its own, with places for those that a coach may add."""
    return {**data, "coach": {"places": places, "added": 0}}


def _room_faults(coach: Any, milestones: Sequence[Any]) -> Iterator[str]:
    if coach is None:
        return
    n_milestones, named = len(milestones), [one.get("name") for one in milestones if isinstance(one, Mapping)]
    for name in named:
        if isinstance(name, str) and _PLACE.fullmatch(name):
            yield f"milestone {short(name)}: with a coach this is the name of a place"
    wanted = f"wanted whole numbers `places` (0 to {MOST_MILESTONES}) and `added`, no more of these than places"
    known = coach if isinstance(coach, Mapping) and set(coach) == {"places", "added"} else {}
    places, added = known.get("places"), known.get("added")
    if type(places) is not int or type(added) is not int or not 0 <= added <= min(places, n_milestones):
        yield f"coach is {short(coach)}, {wanted}"
    elif n_milestones - added + places > MOST_MILESTONES:
        yield f"{n_milestones - added} milestones and {places} places for a coach are more than {MOST_MILESTONES}"


def _read(milestones: list[Mapping[str, Any]]) -> tuple[GuideMilestone, ...]:
    """Return the milestones of data whose shape is right; one without ``after`` comes after the one before it."""
    found: list[GuideMilestone] = []
    for one in milestones:
        after = one.get("after", [found[-1].name] if found else [])
        names = (after,) if isinstance(after, str) else tuple(after)
        found.append(GuideMilestone(one["name"], one["when"], float(one.get("reward", 1)), one.get("hint", ""), names))
    return tuple(found)


def _shape_faults(data: Any) -> Iterator[str]:
    """Yield what keeps data from being read: keys that are missing or unknown, values of another kind."""
    if not isinstance(data, Mapping):
        yield f"it is {short(data)}, wanted the key milestones"
        return
    for key in data:
        if key not in _TOP:
            yield f"unknown key {short(key)}{did_you_mean(str(key)[:100], _TOP)}"
    if not isinstance(data.get("game", ""), str):
        yield f"game is {short(data['game'])}, wanted the name of a title"
    milestones = data.get("milestones")
    if not isinstance(milestones, list | tuple) or not milestones:
        yield f"milestones is {short(milestones)}, wanted a list of one or more"
    elif len(milestones) > MOST_MILESTONES:
        yield f"there are {len(milestones):,} milestones, the most is {MOST_MILESTONES}"
    else:
        for number, milestone in enumerate(milestones, 1):
            yield from _milestone_faults(milestone, number)
        yield from _room_faults(data.get("coach"), milestones)


def _readable_faults(data: Any, game: Game[Any, Any]) -> Iterator[str]:
    """Yield the faults of those conditions that can be read in a guide that cannot."""
    milestones = data.get("milestones") if isinstance(data, Mapping) else None
    for number, milestone in enumerate(milestones if isinstance(milestones, list | tuple) else (), 1):
        if number > MOST_MILESTONES:
            return
        if isinstance(milestone, Mapping) and isinstance(milestone.get("when"), str):
            for fault in condition_faults(milestone["when"], game.fields):
                yield f"{_where(milestone, number)}: {fault}"


def _where(milestone: Mapping[str, Any], number: int) -> str:
    name = milestone.get("name")
    return f"milestone {number} ({short(name)})" if isinstance(name, str) else f"milestone {number}"


def _milestone_faults(milestone: Any, number: int) -> Iterator[str]:
    if not isinstance(milestone, Mapping):
        yield f"milestone {number} is {short(milestone)}, wanted {', '.join(_KEYS)}"
        return
    where = _where(milestone, number)
    for key in milestone:
        if key not in _KEYS:
            yield f"{where}: unknown key {short(key)}{did_you_mean(str(key)[:100], _KEYS)}"
    for key in ("name", "when"):
        if key not in milestone:
            yield f"{where}: {key} is missing"
        elif not isinstance(milestone[key], str):
            yield f"{where}: {key} is {short(milestone[key])}, wanted text{_boolean_word(milestone[key])}"
    reward, hint, after = milestone.get("reward", 1), milestone.get("hint", ""), milestone.get("after", [])
    if not _is_reward(reward):
        yield f"{where}: reward is {short(reward)}, wanted a number from 0 to {MOST_REWARD:,.0f}"
    if not (isinstance(hint, str) and len(hint) <= LONGEST_HINT):
        yield f"{where}: hint is {short(hint)}, wanted text of {LONGEST_HINT} characters at most"
    names = [after] if isinstance(after, str) else after
    if not (isinstance(names, list | tuple) and all(isinstance(other, str) for other in names)):
        what = "a milestone's name, a list of them, or [] for none"
        yield f"{where}: after is {short(after)}, wanted {what}"
    elif len(names) > MOST_MILESTONES:
        yield f"{where}: after has {len(names):,} names, the most is {MOST_MILESTONES}"


def _boolean_word(value: Any) -> str:
    """Return what to do about a word that YAML takes for true or false, such as a milestone named `on`."""
    return "; put it in quotes" if isinstance(value, bool | int | float) else ""


def _is_reward(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_REWARD


def _title_faults(data: Mapping[str, Any], game: Game[Any, Any]) -> Iterator[str]:
    if data.get("game", game.name) != game.name:
        yield f"it is for the game {short(data['game'])}"
    if not game.fields:
        yield f"{game.name} names no fields that a condition could use (docs/add-a-game.md)"
    if "guide" in game.reward_weights:
        yield f"{game.name} has a reward part `guide` of its own"
