"""A conversation with a model: asked, checked, its faults sent back, at most some rounds; all of it is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parcade.guide.answer import LONGEST, data_of
from parcade.guide.client import LlmClient, Message

MOST_FAULTS = 12  # sent back at once
_AGAIN = "Your answer cannot be used:\n{}\nAnswer again with the whole corrected JSON object and nothing else."


@dataclass(slots=True)
class Conversation:
    """What was said so far, and what came of the last answer: ``data`` with ``faults``."""

    messages: list[Message]
    data: Any = None
    faults: list[str] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self, client: LlmClient) -> dict[str, Any]:
        """Return all of it, JSON-ready; pictures are left out."""
        told = [{**message, "content": _without_pictures(message["content"])} for message in self.messages]
        return {"server": client.url, "model": client.model, "messages": told, "rounds": self.rounds}


def converse(
    client: LlmClient,
    messages: list[Message],
    schema: Mapping[str, Any],
    faults_of: Callable[[Any], list[str]],
    rounds: int,
) -> Conversation:
    """Ask until an answer has no fault, ``rounds`` times at most.

    The newest answer that is data is kept with its faults; without such an answer the faults say why there is none.
    """
    conversation = Conversation(list(messages))
    for _ in range(rounds):
        started = time.monotonic()
        said = client.ask(conversation.messages, schema)
        conversation.messages.append({"role": "assistant", "content": said.text[:LONGEST]})
        try:
            data = data_of(said.text)
            faults = faults_of(data)
            conversation.data, conversation.faults = data, faults
        except ValueError as error:
            faults = [str(error)]
            conversation.faults = conversation.faults if conversation.data is not None else faults
        took = {"seconds": round(time.monotonic() - started, 2), "tokens": said.tokens, "held_by": said.held_by}
        conversation.rounds.append({**took, "faults": faults})
        if not faults:
            return conversation
        conversation.messages.append({"role": "user", "content": _AGAIN.format(_listed(faults))})
    return conversation


def _listed(faults: list[str]) -> str:
    more = len(faults) - MOST_FAULTS
    told = [f"- {fault[:300]}" for fault in faults[:MOST_FAULTS]]
    return "\n".join([*told, f"- {more} more faults"] if more > 0 else told)


def _without_pictures(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [part if part.get("type") == "text" else {"type": "picture", "left_out": True} for part in content]
