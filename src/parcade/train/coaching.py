"""The coach: between updates a model is asked in the background, and what it answers changes the guide later.

Asked after update u, an answer takes effect after update u + ``effect``, in the episodes that begin from then on; one
that is not there by then is not waited for. Each decision stands in coach.jsonl before it takes effect, so that the
same run, resumed or repeated, decides the same without asking.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parcade.config.coach_fields import CoachSettings
from parcade.env.guide import guide_metrics
from parcade.errors import ModelFileError, SettingsError
from parcade.game.base import Game
from parcade.game.guide import guide_faults, guide_milestones
from parcade.game.guide_revision import is_empty, paid, revised, summary
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.pool import Pool
from parcade.pool.seeding import GuideVersion
from parcade.run.coach_record import FAILED, KEPT, LATE, REFUSED, REVISED, ROLLED_BACK, UNCHANGED, CoachRecord
from parcade.train import events
from parcade.train.coach_asking import Asking

log = logging.getLogger("parcade.train")
WINDOW = 100  # episodes that shares are counted over
Guide = Mapping[str, Any]
Shares = dict[str, float]


@dataclass(slots=True)
class _State:
    """All that a checkpoint has to know, JSON-ready."""

    updates: int = 0
    due: int | None = None  # the update at which the question under way is decided
    number: int = 0  # of the newest version
    reached: list[int] = field(default_factory=list)  # by each of the newest episodes with it, as bits
    before: dict[str, Any] | None = None  # the guide and the shares before a revision that is not judged yet


class Coach:
    """Looks at every block in slot order, so nothing depends on who played it."""

    def __init__(
        self,
        settings: CoachSettings,
        guide: Guide,
        game: Game[Any, Any],
        record: CoachRecord,
        about: Mapping[str, Any],
        tell: events.Listener,
        *,
        asks: bool,
    ) -> None:
        self._settings, self._game, self._record, self._about = settings, game, record, about
        self._tell, self._asks, self.asking = tell, asks, Asking()
        self._first, self._asked = guide, 0
        self._metrics = guide_metrics(guide, guide_milestones(guide, game))
        self._state, self._versions = _State(), list[GuideVersion]()
        self.on_guide: Callable[[Guide], None] = lambda guide: None  # hears of every exchange

    @property
    def guide(self) -> Guide:
        """The guide that new episodes follow."""
        return self._versions[-1].data if self._versions else self._first

    @property
    def versions(self) -> tuple[GuideVersion, ...]:
        """Those that episodes under way and to come follow."""
        return tuple(self._versions)

    def begin(self, pool: Pool) -> None:
        """Have the pool's episodes follow the first guide."""
        self._versions = [GuideVersion(0, self._first, (0,) * pool.n_envs)]
        pool.follow(self._versions)

    def after(self, block: Block, pool: Pool) -> None:
        """Take a block in, before the next one begins: count, decide, judge, ask."""
        state, settings = self._state, self._settings
        state.updates += 1
        self._count(block, pool)
        if state.due == state.updates:
            state.due = None
            self._decide(block, pool)
        if state.updates % settings.every == 0 and len(state.reached) >= settings.episodes:
            self._judge(block, pool)
            if state.before is None:
                state.due = state.updates + settings.effect
                self._ask()

    def _count(self, block: Block, pool: Pool) -> None:
        version_of = getattr(pool.played, "guide", None)
        for episode in block.episodes():
            version = None if version_of is None else version_of(episode.slot, episode.number)
            if version is not None and version.number == self._state.number:
                bits = (1 << place for place, name in enumerate(self._metrics) if episode.metrics[name] > 0.5)
                self._state.reached.append(sum(bits))
        del self._state.reached[:-WINDOW]

    def shares(self) -> Shares:
        """Return the share of the newest episodes that reached each milestone of the present guide."""
        reached, names = self._state.reached, [one["name"] for one in self.guide["milestones"]]
        count = max(1, len(reached))
        return {name: sum(bits >> place & 1 for bits in reached) / count for place, name in enumerate(names)}

    def _ask(self) -> None:
        update, due = self._state.updates, self._state.due
        assert due is not None
        if not self._asks or self._record.decision(due) is not None or self._asked == due:
            return  # the answer is on record, or on its way
        self._asked = due
        told = {"update": update, "guide": self.guide, "shares": self.shares(), "first_paid": paid(self._first)}
        self.asking.ask({**self._about, **told, "before": _retold(self._record.latest(4))})
        log.info("update=%d the coach is asked; its answer takes effect after update %d", update, due)

    def _decide(self, block: Block, pool: Pool) -> None:
        update = self._state.updates
        line = self._record.decision(update) or self._fresh_decision(update)
        revision, what, words = line.get("revision"), line["what"], line.get("words", "")
        guide = None
        if what == REVISED:
            try:
                guide = revised(self.guide, revision, self._game, paid(self._first))
            except SettingsError as error:
                what, words = REFUSED, str(error)
        line = {**line, "update": update, "what": what, "words": words, "shares": self.shares()}
        if not self._record.add({name: value for name, value in line.items() if name != "written"}):
            return
        self._say(what, words)
        if guide is not None:
            self._state.before = {"guide": self.guide, "shares": self.shares()}
            self._exchange(guide, block, pool)

    def _fresh_decision(self, update: int) -> dict[str, Any]:
        """Return what the answer that is there now decides; it is on record from now on."""
        answer = self.asking.answer()
        self.asking.close()
        if answer is None:
            return {"what": LATE, "words": f"no answer within {self._settings.effect} updates"}
        if "failed" in answer:
            return {"what": FAILED, "words": str(answer["failed"])[:500]}
        revision = answer["revision"]
        if isinstance(revision, Mapping) and is_empty(revision):
            return {"what": UNCHANGED, "words": str(revision.get("reason", ""))[:500], "revision": revision}
        try:
            revised(self.guide, revision, self._game, paid(self._first))
        except SettingsError as error:
            return {"what": REFUSED, "words": str(error)[:500]}
        return {"what": REVISED, "words": _words(revision), "revision": revision}

    def _exchange(self, guide: Guide, block: Block, pool: Pool) -> None:
        """Have the episodes that begin from now on follow another guide."""
        episodes = [int(number) for number in block.episode[-1]]
        state = self._state
        state.number, state.reached = state.number + 1, []
        self._versions.append(GuideVersion(state.number, guide, tuple(number + 1 for number in episodes)))
        followed = [_index(self._versions, slot, episode) for slot, episode in enumerate(episodes)]
        del self._versions[: min(followed)]
        pool.follow(self._versions)
        self.on_guide(guide)

    def _judge(self, block: Block, pool: Pool) -> None:
        """Compare the shares of the milestones from before a revision with those since; go back if they fell."""
        before = self._state.before
        if before is None:
            return
        now = self.shares()
        kept = [name for name in before["shares"] if name in now]
        was, is_now = (sum(shares[name] for name in kept) / len(kept) for shares in (before["shares"], now))
        what = ROLLED_BACK if was - is_now > self._settings.fall else KEPT
        words = f"the mean share of its {len(kept)} milestones was {was:.3f} before and is {is_now:.3f}"
        told = {"update": self._state.updates, "what": what, "words": words, "shares_before": before["shares"]}
        if not self._record.add({**told, "shares": now}):
            return
        self._say(what, words)
        self._state.before = None
        if what == ROLLED_BACK:
            self._exchange(before["guide"], block, pool)

    def _say(self, what: str, words: str) -> None:
        update, words = self._state.updates, "".join(letter if letter.isprintable() else " " for letter in words)
        if what in (FAILED, LATE, REFUSED):
            log.warning("the coach's answer at update %d is not used (%s): %s", update, what, words)
        else:
            log.info("update=%d coach=%s: %s", update, what, words)
        self._tell(events.Coached(update, what, words, self.shares()))

    def state(self) -> dict[str, Array]:
        """Return all it knows as plain arrays."""
        state = self._state
        told = {
            "updates": state.updates,
            "due": state.due,
            "number": state.number,
            "reached": state.reached,
            "before": state.before,
            "made": [[one.number, one.data, list(one.first)] for one in self._versions],
        }
        return {"state": np.frombuffer(json.dumps(told).encode(), np.uint8)}

    def load_state(self, arrays: Mapping[str, Array], pool: Pool) -> tuple[GuideVersion, ...]:
        """Go back to what ``state`` returned; return the versions. A question that was under way is asked again."""
        try:
            told = json.loads(arrays["state"].tobytes())
            versions = [GuideVersion(int(number), data, _firsts(first, pool)) for number, data, first in told["made"]]
            guides = [one.data for one in versions] + ([told["before"]["guide"]] if told["before"] else [])
            faults = [fault for guide in guides for fault in guide_faults(guide, self._game)]
            if faults or not versions:
                raise ValueError(faults[0] if faults else "there is no guide")
            names = ("updates", "due", "number", "reached", "before")
            self._state = _checked(_State(**{name: told[name] for name in names}))
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise ModelFileError(f"the checkpoint does not hold what its coach knew ({str(error)[:200]})") from None
        self._versions = versions
        self.on_guide(self.guide)
        if self._state.due is not None:
            self._ask()
        return tuple(versions)

    def close(self) -> None:
        """End what is under way; twice is fine."""
        self.asking.close()


def _index(versions: list[GuideVersion], slot: int, episode: int) -> int:
    return max(index for index, version in enumerate(versions) if version.first[slot] <= episode)


def _firsts(first: Any, pool: Pool) -> tuple[int, ...]:
    if not isinstance(first, list) or len(first) != pool.n_envs or not all(type(number) is int for number in first):
        raise ValueError("a version of the guide has other slots")
    return tuple(first)


def _checked(state: _State) -> _State:
    whole = [state.updates, state.number, *state.reached, *([] if state.due is None else [state.due])]
    if not all(type(number) is int and number >= 0 for number in whole):
        raise ValueError("its counts are no numbers")
    return state


def _words(revision: Mapping[str, Any]) -> str:
    reason = " ".join(str(revision.get("reason", "")).split())
    return f"{summary(revision)}{f' because: {reason}' if reason else ''}"[:500]


def _retold(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what became of earlier answers, for the next question."""
    return [{name: line.get(name) for name in ("update", "what", "words")} for line in lines]
