"""The coach's question and its answer: how far milestones are reached, where episodes end, what pays; a revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parcade.errors import EpisodeFileError, SettingsError
from parcade.game.base import Game
from parcade.game.guide import guide_milestones, room_of
from parcade.game.guide_revision import FACTOR, LONGEST_REASON, MOST_ADDED, MOST_CHANGES, revised
from parcade.guide.client import LlmClient, Message
from parcade.guide.conversation import Conversation, converse
from parcade.guide.moments import Sampled, recorded_moments
from parcade.guide.prompt import LANGUAGE, RULES, game_text, quoted
from parcade.guide.schema import Fields, simple_conditions
from parcade.run.directory import RunFolder
from parcade.run.episodes import EpisodeRecord
from parcade.run.kept_episodes import read_index

MOST_STEPS = 20_000  # of the kept episodes that are played again for one question
_TASK = """The agent is being trained with these milestones. Each pays once per episode, in the order of `after`.
Look for the first milestone with a share near 0: that is where it is stuck. You may
- add up to {added} milestones ({free} places are free); `before` names milestones that come after the new one from now
  on, which splits a long way; a new one must lie on the way and be reachable by chance,
- reweight: raise or lower rewards by a factor of {factor:g} at most,
- reorder: say after which milestones one comes.
Conditions of milestones that there are stay as they are. If nothing should change, leave the lists empty.

Answer in this form:
{{"reason": "Few episodes reach the key.", "add": [{{"name": "near_the_key", "when": "{example}", "reward": 0.5,
"hint": "Enter the room with the key.", "after": [], "before": []}}], "reweight": [], "reorder": []}}"""


def revision_schema(names: list[str], fields: Fields, *, simple: bool) -> dict[str, Any]:
    """Return the shape of a revision of a guide with milestones of these names."""
    known = {"enum": names} if names else {"type": "string"}
    some = {"type": "array", "maxItems": 4, "items": known}
    name = {"type": "string", "pattern": "^[a-z][a-z0-9_]{2,30}$"}
    when = {"enum": simple_conditions(fields)} if simple else {"type": "string", "maxLength": 300}
    reward = {"enum": [0.2, 0.5, 1]} if simple else {"type": "number", "minimum": 0}
    hint = {"type": "string", "maxLength": 160}
    parts = {"name": name, "when": when, "reward": reward, "hint": hint, "after": some, "before": some}
    add = {"type": "array", "maxItems": 1 if simple else MOST_ADDED, "items": _object(parts)}
    kinds: dict[str, Any] = {"reason": {"type": "string", "maxLength": min(LONGEST_REASON, 300)}, "add": add}
    if not simple:
        most = {"type": "array", "maxItems": MOST_CHANGES}
        kinds["reweight"] = {**most, "items": _object({"name": known, "reward": reward})}
        kinds["reorder"] = {**most, "items": _object({"name": known, "after": some})}
    return _object(kinds)


def _object(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(parts), "required": list(parts), "additionalProperties": False}


def coach_messages(
    game: Game[Any, Any], asked: Mapping[str, Any], sampled: Sampled | None, *, brief: bool = False
) -> list[Message]:
    """Return the question."""
    guide = asked["guide"]
    shares = asked["shares"]
    told = [
        {"name": one.name, "when": one.when, "reward": one.reward, "after": one.after, "share": shares.get(one.name)}
        for one in guide_milestones(guide, game)
    ]
    room = room_of(guide)
    free = room.all - len(guide["milestones"])
    parts = [
        game_text(game, brief=brief),
        f"The milestones, with the share of the newest episodes that reached each:\n{quoted(told)}",
        *_seen(sampled),
        f"What became of your earlier answers:\n{quoted(asked.get('before', []))}",
        *([] if brief else [LANGUAGE]),
        _TASK.format(added=min(MOST_ADDED, free), free=free, factor=FACTOR, example=_example(game)),
    ]
    return [{"role": "system", "content": RULES}, {"role": "user", "content": "\n\n".join(parts)}]


def _seen(sampled: Sampled | None) -> list[str]:
    if sampled is None:
        return []
    paid = {name: round(value, 3) for name, value in sampled.paid.items()}
    return [
        f"The last moments of the newest episodes:\n{quoted([words for words in sampled.ends if words])}",
        f"What the parts of the reward paid in these episodes:\n{quoted(paid)}",
    ]


def _example(game: Game[Any, Any]) -> str:
    return game.milestones[0].when if game.milestones else next(iter(simple_conditions(game.fields)), "")


def newest_moments(run: str, named: Mapping[str, Any]) -> Sampled | None:
    """Play the newest kept episodes of a run again; None: it keeps none, or none can be played."""
    records: list[EpisodeRecord] = []
    steps = 0
    try:
        index = read_index(RunFolder.open(run).episodes)
        for number in sorted(index.facts, reverse=True)[:8]:
            record = index.load(number)
            steps += record.length
            if steps > MOST_STEPS:
                break
            records.append(record)
        return recorded_moments(records[::-1], run, named) if records else None
    except (EpisodeFileError, SettingsError, OSError):  # the training has removed one meanwhile
        return None


def ask_coach(
    game: Game[Any, Any], asked: Mapping[str, Any], sampled: Sampled | None, client: LlmClient
) -> Conversation:
    """Ask for a revision: ``data`` of what is returned, unless it has ``faults``."""
    guide, first_paid = asked["guide"], float(asked["first_paid"])

    def faults_of(data: Any) -> list[str]:
        try:
            revised(guide, data, game, first_paid)
            return []
        except SettingsError as error:
            return str(error).split("; ")

    names = [one["name"] for one in guide["milestones"]]
    schema = revision_schema(names, game.fields, simple=client.is_small)
    messages = coach_messages(game, asked, sampled, brief=client.is_small)
    return converse(client, messages, schema, faults_of, int(asked["rounds"]))
