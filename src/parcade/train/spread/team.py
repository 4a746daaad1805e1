"""The learners together: everybody does the same, and who dies is replaced and brought to where it was."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

import parcade.errors
from parcade.errors import ParcadeError, PoolError, RunError
from parcade.train.spread.holder import OWN_STATE
from parcade.train.spread.messages import (
    Abandoned,
    Answered,
    Arrays,
    Ask,
    Death,
    Failed,
    Holding,
    Learn,
    Learned,
    Meet,
    Met,
    Opened,
    Placed,
    Play,
    Played,
    TakeUp,
)

log = logging.getLogger("parcade.train")
GLANCE_S = 0.2
AnswerT = TypeVar("AnswerT")


class Crew(Protocol):
    """Learners as the trainer reaches them: processes of this machine, or actors of a cluster."""

    def start(self, learner: int) -> None:
        """Start a learner; ``Opened`` is the first thing heard of it."""

    def words(self, learner: int) -> str:
        """Return what a learner is called in messages."""
        ...

    def place(self, n_shards: int, n_weights: int, n_columns: int) -> Any:
        """Return where gradients are exchanged."""

    def begin(self, attempt: int) -> None:
        """Let an update begin; no learner is at work."""

    def abandon(self) -> None:
        """Have everybody who waits for another learner give the update up."""

    def send(self, learner: int, command: Any) -> None:
        """Hand over a command."""

    def receive(self, learners: set[int], timeout_s: float) -> list[tuple[int, Any]]:
        """Return what was heard of these learners, each of which has a command."""
        ...

    def moving(self) -> list[int]:
        """End learners that have a better place now and return them; they are to be started again. None is at work."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """End all learners."""


class Step(NamedTuple):
    """One thing a learner is to do, and what it answers; without a command it is started."""

    command: Any
    answer: type


class Before(NamedTuple):
    """Where the training was before the present update: enough to redo it."""

    weights: Mapping[str, Tensor]
    state: Mapping[str, Tensor]
    games: Arrays


class LearnerTeam:
    """``before`` is asked for where the training was when a learner has to be replaced."""

    def __init__(self, crew: Crew, holdings: list[Holding], restarts: int) -> None:
        self._crew, self.holdings, self._budget = crew, holdings, restarts
        self._all = set(range(len(holdings)))
        self._strikes = dict.fromkeys(self._all, 0)  # deaths in a row of each learner
        self.deaths: list[str] = []
        self.while_waiting: Callable[[], None] = lambda: None
        self._place: Any = None
        self._attempt = 0
        self._learns = False  # an update is not left half way: the trainer has its rollout already, not its weights
        self._playing: dict[int, list[Step]] = {}  # what each learner has to do until its rollout is there

    def open(self) -> list[Opened]:
        """Start all learners and wait for their games; return what each told of them."""
        return self._all_walk([Step(None, Opened)], None)

    def meet(self, n_shards: int, n_weights: int, n_columns: int) -> dict[str, Tensor]:
        """Have all learners make their networks; return the algorithm's first state."""
        self._place = self._crew.place(n_shards, n_weights, n_columns)
        met: list[Met] = self._all_walk([Step(Meet(self._place), Met)], None)
        return joined_state([one.state for one in met])

    def take_up(self, place: Before) -> list[Placed]:
        """Bring all learners to where a training is."""
        plans = {learner: [Step(self._order(learner, place), Placed)] for learner in self._all}
        found = self._walk(plans, lambda learner: self._way(learner, place))
        return [found[learner] for learner in sorted(found)]

    def _order(self, learner: int, place: Before, *, with_games: bool = True) -> TakeUp:
        slots = self.holdings[learner].slots
        part = slice(slots.start, slots.stop)
        games = {name: array if name == "run_seed" else array[part] for name, array in place.games.items()}
        own = {name: place.state[name][part] for name in OWN_STATE if name in place.state}
        return TakeUp(place.weights, {**place.state, **own}, games if with_games else None)

    def start_play(self, before: Callable[[], Before]) -> None:
        """Let all games begin a rollout; a learner that has a better place now moves there first."""
        moved = self._crew.moving()
        place = before() if moved else None
        self._playing = {
            learner: [*self._way(learner, place), _PLAY] if place is not None and learner in moved else [_PLAY]
            for learner in self._all
        }
        for learner, steps in self._playing.items():
            self._do(learner, steps[0])

    def finish_play(self, before: Callable[[], Before]) -> list[Played]:
        """Wait for the rollout of every learner; one that dies is replaced and plays it again."""
        found = self._walked(self._playing, lambda learner: [*self._way(learner, before()), _PLAY])
        return [found[learner] for learner in sorted(found)]

    def learn(self, left: float, before: Callable[[], Before]) -> list[Learned]:
        """Take an update with all learners; where one dies it is replaced, and the update redone by all."""
        self._learns = True
        try:
            return self._learn(left, before)
        finally:
            self._learns = False

    def _learn(self, left: float, before: Callable[[], Before]) -> list[Learned]:
        broken = 0
        while True:
            self._attempt += 1
            self._crew.begin(self._attempt)
            for learner in self._all:
                self._crew.send(learner, Learn(left, self._attempt))
            found, dead = self._learned()
            gave_up = {learner: one.why for learner, one in found.items() if isinstance(one, Abandoned)}
            if not dead and not gave_up:
                self._strikes = dict.fromkeys(self._all, 0)
                return self._agreed([found[learner] for learner in sorted(found)])
            if not dead:
                broken += 1
                self._note_broken(gave_up, broken)
            self._redo(dead, before())

    def _note_broken(self, gave_up: Mapping[int, str], times: int) -> None:
        """Tell that nobody is gone, and still the learners lost each other."""
        learner, why = min(gave_up.items())
        words = f"{self._crew.words(learner)} lost the others ({why or 'no answer'})"
        if times > self._budget:
            raise PoolError(f"{words}; no restarts are left (worker_restarts {self._budget})")
        self.deaths.append(f"{words}; the update is repeated exactly ({times} of {self._budget} restarts used)")
        log.warning("%s", self.deaths[-1])

    def _learned(self) -> tuple[dict[int, Any], dict[int, Death]]:
        """Wait until no learner is at work; return what was learned, and who is gone."""
        found: dict[int, Any] = {}
        dead: dict[int, Death] = {}
        while waiting := self._all - set(found) - set(dead):
            for learner, answer in self._heard(waiting):
                if isinstance(answer, Death):
                    dead[learner] = answer
                else:
                    found[learner] = answer
                if isinstance(answer, Death | Abandoned):
                    self._crew.abandon()
        return found, dead

    def _redo(self, dead: Mapping[int, Death], place: Before) -> None:
        """Bring everybody to where the update began: who lived keeps its rollout, who died plays it again."""
        plans = {}
        for learner in sorted(self._all):
            if learner in dead:
                self._count(learner, dead[learner])
                plans[learner] = [*self._way(learner, place), _PLAY]
            else:
                plans[learner] = [Step(self._order(learner, place, with_games=False), Placed)]
        self._walk(plans, lambda learner: [*self._way(learner, place), _PLAY])

    def _way(self, learner: int, place: Before | None) -> list[Step]:
        """Return what brings a new learner to where the training is; without a ``place``, as far as there is one."""
        way = [Step(None, Opened)]
        if self._place is not None:
            way.append(Step(Meet(self._place), Met))
        if place is not None:
            way.append(Step(self._order(learner, place), Placed))
        return way

    def _all_walk(self, steps: list[Step], place: Before | None) -> list[Any]:
        found = self._walk({learner: list(steps) for learner in self._all}, lambda learner: self._way(learner, place))
        return [found[learner] for learner in sorted(found)]

    def _walk(self, plans: dict[int, list[Step]], anew: Callable[[int], list[Step]]) -> dict[int, Any]:
        """Take learners through their steps; return the last answer of each."""
        for learner, steps in plans.items():
            self._do(learner, steps[0])
        return self._walked(plans, anew)

    def _walked(self, plans: dict[int, list[Step]], anew: Callable[[int], list[Step]]) -> dict[int, Any]:
        """Wait until all have taken their steps, each at its own pace; who dies goes the way of ``anew``."""
        found: dict[int, Any] = {}
        while waiting := set(plans) - set(found):
            for learner, answer in self._heard(waiting):
                if isinstance(answer, Death):
                    self._count(learner, answer)
                    plans[learner] = anew(learner)
                else:
                    done = plans[learner].pop(0)
                    assert isinstance(answer, done.answer), answer
                if plans[learner]:
                    self._do(learner, plans[learner][0])
                else:
                    found[learner] = answer
        return found

    def _do(self, learner: int, step: Step) -> None:
        if step.command is None:
            self._crew.start(learner)
        else:
            self._crew.send(learner, step.command)

    def _count(self, learner: int, death: Death) -> None:
        """Note a death; too many in a row end the training."""
        self._strikes[learner] += 1
        used = f"{self._strikes[learner]} of {self._budget} restarts used"
        if self._strikes[learner] > self._budget:
            raise PoolError(f"{death.words}; no restarts are left (worker_restarts {self._budget})")
        words = f"{death.words}; its games and the update are repeated exactly ({used})"
        self.deaths.append(words)
        log.warning("%s", words)

    def ask(self, learner: int, question: Ask) -> Mapping[int, tuple[str, Any]]:
        """Reach envs of one learner."""
        self._crew.send(learner, question)
        return self._answers({learner}, Answered)[learner].answers

    def _answers(self, learners: set[int], kind: type[AnswerT]) -> dict[int, AnswerT]:
        """Wait for an answer of each; a death here ends the training."""
        found: dict[int, AnswerT] = {}
        while waiting := learners - set(found):
            for learner, answer in self._heard(waiting):
                if isinstance(answer, Death):
                    raise PoolError(f"{answer.words} before it answered")
                assert isinstance(answer, kind), answer
                found[learner] = answer
        return found

    def _heard(self, waiting: set[int]) -> Iterable[tuple[int, Any]]:
        heard = self._crew.receive(waiting, GLANCE_S)
        for learner, answer in heard:
            if isinstance(answer, Failed):
                raise self._fault(learner, answer)
        if not heard and not self._learns:
            self.while_waiting()
        return heard

    def _fault(self, learner: int, failed: Failed) -> ParcadeError:
        """Return what a learner raised, as if it had been raised here."""
        log.debug("%s", failed.trace)
        kind = getattr(parcade.errors, failed.kind, None)
        if isinstance(kind, type) and issubclass(kind, ParcadeError):
            return kind(failed.text)
        return RunError(f"{self._crew.words(learner)} raised {failed.kind}: {failed.text}")

    def _agreed(self, found: list[Learned]) -> list[Learned]:
        """Refuse to go on where learners have come to different weights."""
        others = [learner for learner, one in enumerate(found) if one.check != found[0].check]
        if others:
            raise RunError(
                f"{self._crew.words(others[0])} has other weights than learner 0 after the same update; "
                "use machines with the same kind of processor and the same torch"
            )
        return found

    def close(self, *, at_once: bool = False) -> None:
        """End all learners; twice is fine."""
        self._crew.close(at_once=at_once)


_PLAY = Step(Play(), Played)


def joined_state(states: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the algorithm's state of all slots: what each learner has for its own, and the first one's of the rest."""
    own = {name: torch.cat([state[name] for state in states]) for name in OWN_STATE if name in states[0]}
    return {**states[0], **own}
