"""The games of all learners as one pool: rollouts without observations, and one journal of all slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from parcade.env.spec import EnvSpec
from parcade.errors import PoolError
from parcade.pool.actor import Array
from parcade.pool.block import EnvShape
from parcade.pool.fragment import Fragment
from parcade.pool.pool import Pool
from parcade.pool.seeding import GuideVersion, Start
from parcade.train.spread.messages import Arrays, Ask
from parcade.train.spread.team import LearnerTeam


class SpreadPool(Pool):
    """A pool whose slots are played by learners. Observations stay with them."""

    keeps_observations = False

    def __init__(self, spec: EnvSpec, n_envs: int, seed: int, team: LearnerTeam) -> None:
        super().__init__(spec, n_envs, 1, seed, None)
        self.team = team
        self.bring: Callable[[Arrays], list[Arrays]] | None = None  # takes the games, returns each learner's status
        self._memory: Array | None = None  # of the policy in every slot, while a dump is loaded
        self._cut: set[tuple[int, int]] = set()
        self._worker_deaths: list[tuple[str, ...]] = [() for _ in team.holdings]
        try:
            opened = team.open()
            first = opened[0]
            self.n_workers = sum(one.n_workers for one in opened)
            shape = EnvShape(first.observation_space, first.action_space, first.metric_names)
            self.shares = [holding.slots for holding in team.holdings]
            self._share(shape, self.shares)
        except BaseException:
            self.close(at_once=True)
            raise
        team.while_waiting = lambda: self.while_waiting()

    def games_before(self) -> dict[str, Array]:
        """Return where the games were before the rollout that is under way, or else before the last one."""
        fragment = self.progress.under_way[0]
        journal, block = self.progress.journal, self.block if fragment is None else self.progress.blocks[fragment.block]
        memory = block.memory[0 if fragment is None else fragment.first].copy()
        dumped = journal.dump_at_mark() if fragment is None else journal.dump()
        seeds = self.episodes.run_seed  # type: ignore[attr-defined]
        return {"run_seed": np.array([seeds], np.int64), **dumped, **({"memory": memory} if memory.size else {})}

    def _start(self, fragment: Fragment) -> None:
        if not fragment.has_actor:
            raise PoolError("learners choose actions themselves; use play")
        self.team.start_play(self.before)

    def _wait(self, group: int) -> None:
        fragment = self.progress.fragment(group)
        block, rows = self.progress.blocks[fragment.block], slice(fragment.first, fragment.stop)
        played = self.team.finish_play(self.before)
        for learner, (holding, one) in enumerate(zip(self.team.holdings, played, strict=True)):
            part = slice(holding.slots.start, holding.slots.stop)
            for name, array in one.rows.items():
                block.mapped.arrays[name][rows, part] = array
            block.memory[fragment.stop, part] = one.memory
            self._take_status(part, one.status)
            self._cut.update((part.start + slot, episode) for slot, episode in one.cut)
            self._worker_deaths[learner] = one.restarts
        self.status["taken"][...] = fragment.stop
        told = [words for deaths in self._worker_deaths for words in deaths]
        self.restarts = [*told, *self.team.deaths]

    before: Callable[[], Any] = lambda: None  # set by the algorithm: where the training was before the present update

    def _take_status(self, part: slice, status: Arrays) -> None:
        for name, array in status.items():
            self.status[name][part] = array

    def _flush(self) -> None:
        self._check_open()
        self.progress.forget()

    def load(
        self,
        arrays: dict[str, Array],
        starts: Mapping[tuple[int, int], Start] | None = None,
        guides: Sequence[GuideVersion] = (),
    ) -> None:
        """Bring every slot to where ``dump`` found it; the learners need the policy's memory too."""
        self._memory = arrays.get("memory")
        super().load(arrays, starts, guides)
        self._memory = None

    def _bring_back(self) -> None:
        assert self.bring is not None, "the learners have no network yet"
        memory = np.zeros_like(self.block.memory[0]) if self._memory is None else self._memory
        found = self.bring({**self.dump(gives_up=True), **({"memory": memory} if memory.size else {})})
        for holding, status in zip(self.team.holdings, found, strict=True):
            self._take_status(slice(holding.slots.start, holding.slots.stop), status)
        self.progress.note_starts()

    def ask(
        self, slots: Sequence[int], what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Mapping[int, tuple[str, Any]]:
        """Return the answer of each slot's env, from its learner."""
        found: dict[int, tuple[str, Any]] = {}
        for learner, holding in enumerate(self.team.holdings):
            first = holding.slots.start
            own = tuple(slot - first for slot in slots if slot in holding.slots)
            if own:
                answers = self.team.ask(learner, Ask(own, what, name, args, kwargs))
                found.update({first + slot: answer for slot, answer in answers.items()})
        return found

    @property
    def cut(self) -> Set[tuple[int, int]]:
        """Slot and number of every episode that was truncated or skipped."""
        return self._cut

    def _attach(self) -> None:
        pass  # learners make their blocks themselves

    def _announce(self) -> None:
        raise PoolError("learners cannot begin episodes from starts; train with one learner")

    def _end(self, at_once: bool) -> None:
        self.team.close(at_once=at_once)
