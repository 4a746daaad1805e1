"""The author: has a model write a guide for a title, checks it, and keeps what can be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parcade.errors import LlmError
from parcade.game.base import Game
from parcade.game.guide import guide_faults
from parcade.guide.client import LlmClient
from parcade.guide.conversation import Conversation, converse
from parcade.guide.moments import Sampled
from parcade.guide.prompt import author_messages
from parcade.guide.schema import MOST_WRITTEN, guide_schema, simple_conditions
from parcade.host.input_file import short

ROUNDS = 3
MOST_ROUNDS = 10
_MOST_SIMPLE = 6


@dataclass(frozen=True, slots=True)
class Written:
    """A guide without faults, what was left out of the model's answer and why, and all that was said."""

    guide: dict[str, Any]
    left_out: tuple[str, ...]
    conversation: Conversation


def write_guide(
    game: Game[Any, Any], sampled: Sampled, client: LlmClient, *, rounds: int = ROUNDS, simple: bool = False
) -> Written:
    """Ask for a guide; after the last round the milestones without faults are kept. LlmError: there are none.

    ``simple`` is for a small model: it chooses conditions from a list.
    """
    known = [{"name": one.name, "when": one.when, "words": one.words} for one in game.milestones]
    example = game.milestones[0].when if game.milestones else next(iter(simple_conditions(game.fields)), "")
    most = _MOST_SIMPLE if simple else MOST_WRITTEN
    messages = author_messages(game, sampled.moments, known, example, most, brief=simple)
    conversation = converse(
        client,
        messages,
        guide_schema(game.fields, simple=simple),
        lambda data: answer_faults(data, game, sampled),
        rounds,
    )
    if conversation.data is None:
        raise LlmError(f"{client.model} gave no answer that can be used: {conversation.faults[0]}")
    guide, left_out = usable(conversation.data, game, sampled)
    if not guide["milestones"]:
        raise LlmError(f"{client.model} wrote no milestone that can be used: {'; '.join(left_out[:3])}")
    return Written(guide, tuple(left_out), conversation)


def answer_faults(data: Any, game: Game[Any, Any], sampled: Sampled) -> list[str]:
    """Return what is wrong with an answer: as a guide, and as one that should not pay for nothing."""
    return guide_faults(data, game) or _begin_faults(data["milestones"], game, sampled)


def _begin_faults(milestones: Sequence[Mapping[str, Any]], game: Game[Any, Any], sampled: Sampled) -> list[str]:
    return [
        f"milestone {short(one['name'])}: {one['when']} holds already when an episode begins"
        for one in milestones
        if sampled.holds_at_begin(one["when"], game.fields)
    ]


def usable(data: Any, game: Game[Any, Any], sampled: Sampled) -> tuple[dict[str, Any], list[str]]:
    """Return a guide of the milestones that have no faults, and the faults of the others.

    A name is used once; an order that names what is not there, or that is a circle, gives way to the order of the list.
    """
    if not answer_faults(data, game, sampled):
        return {"game": game.name, "milestones": list(data["milestones"])}, []
    answered = data.get("milestones") if isinstance(data, Mapping) else None
    kept: dict[str, dict[str, Any]] = {}
    left_out = [] if isinstance(answered, list) else ["the answer has no list of milestones"]
    for one in (answered if isinstance(answered, list) else [])[:MOST_WRITTEN]:
        alone = {key: value for key, value in one.items() if key != "after"} if isinstance(one, Mapping) else one
        faults = answer_faults({"milestones": [alone]}, game, sampled)
        if not faults and alone["name"] in kept:
            faults = [f"milestone {short(alone['name'])}: the name is given twice"]
        if not faults and any(alone["when"] == other["when"] for other in kept.values()):
            faults = [f"milestone {short(alone['name'])}: another one has the same condition"]
        left_out += faults
        if not faults:
            kept[alone["name"]] = {**alone, **_order(one)}
    for one in kept.values():
        if "after" in one:
            one["after"] = [name for name in one["after"] if name in kept and name != one["name"]]
    guide = {"game": game.name, "milestones": list(kept.values())}
    if kept and guide_faults(guide, game):  # only a circle is left that could be wrong
        guide["milestones"] = [{k: v for k, v in one.items() if k != "after"} for one in kept.values()]
    return guide, left_out


def _order(one: Mapping[str, Any]) -> dict[str, Any]:
    after = one.get("after")
    names = [after] if isinstance(after, str) else after
    is_sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return {"after": names[:64]} if is_sound and names is not None else {}
