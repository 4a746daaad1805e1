"""Progress of a training as plain lines, for logs, notebooks and terminals that are none."""

from __future__ import annotations

import time
from collections.abc import Callable

from parcade.host.wording import counted
from parcade.train import events
from parcade.train.progress_text import (
    coached,
    evaluated,
    filming,
    headline,
    learning,
    moved,
    replaying,
    row_line,
    starting,
    stopped_or_done,
    stopping,
)

EVERY_S = 5.0


class PlainProgress:
    """A listener that says what begins and ends, and every few seconds how far it is."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._next_s, self._said_s = say, 0.0, 0.0

    def __call__(self, event: events.Event) -> None:
        """Take one event."""
        now_s, text = time.monotonic(), _at_once(event)
        waits = isinstance(event, events.Learning | events.Filming)
        if text is None and now_s >= (self._said_s + EVERY_S if waits else self._next_s):
            text = _now_and_then(event)
            if text is not None:
                self._next_s = now_s + EVERY_S
        if text is not None:
            self._said_s = now_s
            self._say(text)


def _at_once(event: events.Event) -> str | None:
    """Return what is said whenever it happens."""
    if isinstance(event, events.Opening):
        return starting(event)
    if isinstance(event, events.Started):
        return headline(event)
    if isinstance(event, events.EvaluationStarted):
        return f"evaluating {counted(event.episodes, 'episode')} on unseen seeds (--final-eval-episodes, --eval-freq)"
    if isinstance(event, events.Evaluated):
        return evaluated(event)
    if isinstance(event, events.Filming) and not event.steps:
        return filming(event)
    if isinstance(event, events.Moved):
        return moved(event)
    if isinstance(event, events.Coached):
        return coached(event)
    if isinstance(event, events.Stopping):
        return stopping(event)
    return stopped_or_done(event.result) if isinstance(event, events.Finished) else None


def _now_and_then(event: events.Event) -> str | None:
    """Return what is said only if nothing was for a while."""
    if isinstance(event, events.Replaying):
        return replaying(event)
    if isinstance(event, events.Playing):
        return f"step {event.env_steps:,}, playing a rollout of {event.rollout:,}"
    if isinstance(event, events.Learning):
        return learning(event)
    if isinstance(event, events.Updated):
        return row_line(event.row)
    if isinstance(event, events.EpisodeEvaluated):
        return f"evaluated {event.done} of {counted(event.of, 'episode')}"
    return filming(event) if isinstance(event, events.Filming) else None
