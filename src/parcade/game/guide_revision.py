"""Revisions of a guide: a coach adds, splits, reorders or reweights milestones, within limits. Plain data, checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from parcade.errors import SettingsError, did_you_mean
from parcade.game.base import Game
from parcade.game.guide import guide_faults, guide_milestones, room_of
from parcade.host.input_file import short

MOST_CHANGES = 8  # of each kind in one revision
MOST_ADDED = 4
FACTOR = 2.0  # by which a revision may raise or lower a reward
MOST_PAID = 3.0  # all rewards together, as a multiple of those of the guide that the training began with
LONGEST_REASON = 500
_KINDS = {"add": MOST_ADDED, "reweight": MOST_CHANGES, "reorder": MOST_CHANGES}
_PARTS = {
    "add": {"name", "when", "reward", "hint", "after", "before"},
    "reweight": {"name", "reward"},
    "reorder": {"name", "after"},
}
_NEEDED = {"add": {"name", "when"}, "reweight": {"name", "reward"}, "reorder": {"name", "after"}}


def revised(data: Mapping[str, Any], revision: Any, game: Game[Any, Any], first_paid: float) -> dict[str, Any]:
    """Return the guide after a revision; raise SettingsError, in one sentence, for all of its faults.

    Milestones keep their places, added ones take the next free ones. ``before`` of an added milestone names those that
    come after it from now on: that is how a long way is split. ``first_paid`` is what the guide that the training began
    with pays in all.
    """
    faults = list(_shape_faults(revision))
    if not faults:
        changed, faults = _changed(data, revision, game)
        if not faults:
            faults = [*guide_faults(changed, game), *_paid_faults(changed, first_paid)]
    if faults:
        raise SettingsError("; ".join(faults[:20]))
    return changed


def is_empty(revision: Mapping[str, Any]) -> bool:
    """Whether a revision leaves everything as it is."""
    return not any(revision.get(kind) for kind in _KINDS)


def paid(data: Mapping[str, Any]) -> float:
    """Return what a guide pays in all."""
    return float(sum(one.get("reward", 1) for one in data["milestones"]))


def summary(revision: Mapping[str, Any]) -> str:
    """Return a revision without faults in words."""
    told = [f"adds {one['name']} ({one['when']})" for one in revision.get("add", ())]
    told += [f"{one['name']} pays {one['reward']:g}" for one in revision.get("reweight", ())]
    told += [f"{one['name']} comes after {', '.join(one['after']) or 'nothing'}" for one in revision.get("reorder", ())]
    return "; ".join(told) or "changes nothing"


def _shape_faults(revision: Any) -> Iterator[str]:
    if not isinstance(revision, Mapping):
        yield f"the revision is {short(revision)}, wanted the keys reason, {', '.join(_KINDS)}"
        return
    for key in revision:
        if key != "reason" and key not in _KINDS:
            yield f"unknown key {short(key)}{did_you_mean(str(key)[:100], ('reason', *_KINDS))}"
    reason = revision.get("reason", "")
    if not (isinstance(reason, str) and len(reason) <= LONGEST_REASON):
        yield f"reason is {short(reason)}, wanted text of {LONGEST_REASON} characters at most"
    for kind, most in _KINDS.items():
        changes = revision.get(kind, [])
        if not isinstance(changes, list) or len(changes) > most:
            yield f"{kind} is {short(changes)}, wanted a list of {most} changes at most"
        else:
            yield from (fault for number, one in enumerate(changes, 1) for fault in _change_faults(kind, one, number))


def _change_faults(kind: str, one: Any, number: int) -> Iterator[str]:
    where = f"{kind} {number}"
    if not isinstance(one, Mapping):
        yield f"{where} is {short(one)}, wanted {', '.join(sorted(_PARTS[kind]))}"
        return
    for key in [key for key in one if key not in _PARTS[kind]][:5]:
        yield f"{where}: unknown key {short(key)}"
    for key in sorted(_NEEDED[kind] - set(one)):
        yield f"{where}: {key} is missing"
    for key in ("name", "when", "hint"):
        if not isinstance(one.get(key, ""), str):
            yield f"{where}: {key} is {short(one[key])}, wanted text"
    reward = one.get("reward", 1)
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        yield f"{where}: reward is {short(reward)}, wanted a number"
    for key in ("after", "before"):
        names = one.get(key, [])
        if not (isinstance(names, list) and len(names) <= 64 and all(isinstance(name, str) for name in names)):
            yield f"{where}: {key} is {short(names)}, wanted a list of milestones' names"


def _changed(
    data: Mapping[str, Any], revision: Mapping[str, Any], game: Game[Any, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the guide with all changes made, and what could not be changed."""
    named = {
        one.name: {"name": one.name, "when": one.when, "reward": one.reward, "hint": one.hint, "after": [*one.after]}
        for one in guide_milestones(data, game)
    }
    room, faults = room_of(data), list[str]()
    for change in revision.get("reweight", ()):
        faults += _reweighted(named, change)
    for change in revision.get("reorder", ()):
        faults += _reordered(named, change)
    for change in revision.get("add", ()):
        faults += _added(named, change)
    added = len(named) - room.own
    if added > room.places:
        faults.append(f"there are {added} added milestones, and places for {room.places}")
        added = room.places
    return {**data, "milestones": list(named.values()), "coach": {"places": room.places, "added": added}}, faults


def _reweighted(named: dict[str, dict[str, Any]], change: Mapping[str, Any]) -> list[str]:
    name, reward = change["name"], float(change["reward"])
    if name not in named:
        return [f"reweight: {_unknown(name, named)}"]
    present = named[name]["reward"]
    low, high = present / FACTOR, present * FACTOR if present else 1.0
    if not low <= reward <= high:
        return [f"reweight: {name} pays {present:g}; a revision may set {low:g} to {high:g}, not {short(reward)}"]
    named[name]["reward"] = reward
    return []


def _reordered(named: dict[str, dict[str, Any]], change: Mapping[str, Any]) -> list[str]:
    if change["name"] not in named:
        return [f"reorder: {_unknown(change['name'], named)}"]
    named[change["name"]]["after"] = list(change["after"])
    return []


def _added(named: dict[str, dict[str, Any]], change: Mapping[str, Any]) -> list[str]:
    name, most = change["name"], max([1.0, *(one["reward"] for one in named.values())])
    if name in named:
        return [f"add: there is a milestone {short(name)} already"]
    if change.get("reward", 1) > most:
        return [f"add: {short(name)} pays {short(change['reward'])}, the most is {most:g}"]
    before = change.get("before", [])
    unknown = [other for other in before if other not in named]
    if unknown:
        return [f"add: {_unknown(unknown[0], named)}"]
    named[name] = {
        "name": name,
        "when": change["when"],
        "reward": float(change.get("reward", 1)),
        "hint": change.get("hint", ""),
        "after": list(change.get("after", [])),
    }
    for other in before:
        named[other]["after"] = [*dict.fromkeys([*named[other]["after"], name])]
    return []


def _unknown(name: str, named: Mapping[str, Any]) -> str:
    return f"there is no milestone {short(name)}{did_you_mean(name[:100], named)}"


def _paid_faults(changed: Mapping[str, Any], first_paid: float) -> Iterator[str]:
    most = MOST_PAID * first_paid
    if paid(changed) > most:
        yield f"all milestones together would pay {paid(changed):g}, the most is {most:g}"
