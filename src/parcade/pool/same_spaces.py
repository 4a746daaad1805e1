"""All envs of a pool have the same spaces: a policy encodes, counts and scales by those of slot 0."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from gymnasium import spaces

from parcade.env.slot import SlotEnv, leaf_choices, leaf_spaces, leaves
from parcade.errors import EnvError


class SpaceMark(NamedTuple):
    """A space as a message names it, and a sum over all that it says: leaves, choices, bounds."""

    words: str
    digest: str


class SpaceMarks(NamedTuple):
    """The marks of an env's spaces."""

    observation: SpaceMark
    action: SpaceMark


def marks_of(observation: spaces.Space[Any], action: spaces.Space[Any]) -> SpaceMarks:
    """Return what the spaces of every other env are compared with."""
    return SpaceMarks(_mark(observation), _mark(action))


def check_same(env: SlotEnv, slot: int, first: SpaceMarks) -> None:
    """Raise EnvError where a space of ``env`` is not that of slot 0."""
    own = marks_of(env.observation_space, env.action_space)
    for word, mark, wanted in zip(SpaceMarks._fields, own, first, strict=True):
        if mark.digest != wanted.digest:
            raise EnvError(
                f"the {word} space of slot {slot} is {mark.words}, that of slot 0 is {wanted.words}; "
                "all envs of a pool must have the same"
            )


def _mark(space: spaces.Space[Any]) -> SpaceMark:
    total = hashlib.sha256(repr((sorted(leaves(space).items()), sorted(leaf_choices(space).items()))).encode())
    for _, leaf in sorted(leaf_spaces(space).items()):
        if isinstance(leaf, spaces.Box):
            total.update(leaf.low.tobytes())
            total.update(leaf.high.tobytes())
    return SpaceMark(str(space), total.hexdigest())
