"""All slots in this process, one after another: the reference the process pool must equal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from parcade.env.slot import SlotEnv
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, ParcadeError, PoolError
from parcade.pool.block import EnvShape
from parcade.pool.calling import answer
from parcade.pool.fragment import Fragment, FragmentRunner
from parcade.pool.pool import Pool
from parcade.pool.same_spaces import check_same, marks_of
from parcade.pool.seeding import Episodes
from parcade.pool.stepping import SlotRunner, make_slot_env

LOOK_EVERY_S = 0.2


class SerialPool(Pool):
    """A pool without processes."""

    n_workers = 0
    cut: frozenset[tuple[int, int]] = frozenset()

    def __init__(
        self, spec: EnvSpec, n_envs: int, *, seed: int = 0, n_groups: int = 1, episodes: Episodes | None = None
    ) -> None:
        super().__init__(spec, n_envs, n_groups, seed, episodes)
        self.shares, self.cpus = [range(n_envs)], []
        self.envs: list[SlotEnv] = []
        self._looked_s = 0.0
        try:
            self.envs += [make_slot_env(spec, slot) for slot in range(n_envs)]
            first = self.envs[0]
            shape = EnvShape(first.observation_space, first.action_space, first.metric_names, spec.cells)
            self._share(shape, self.shares)
            marks = marks_of(first.observation_space, first.action_space)
            for slot, env in enumerate(self.envs):
                check_same(env, slot, marks)
            runners = [
                SlotRunner(env, slot, 0, self.episodes, self.status, self.block) for slot, env in enumerate(self.envs)
            ]
        except BaseException:
            self.close()
            raise
        self._runner = FragmentRunner(runners, n_groups, self.status, 0, self.showcase)
        self._attach()

    def _attach(self) -> None:
        self._runner.attach(self.progress.blocks, self._actor)

    def _announce(self) -> None:
        for runner in self._runner.runners.values():
            runner.episodes = self.episodes

    def _start(self, fragment: Fragment) -> None:
        pass  # its steps are taken by who waits for them

    def _wait(self, group: int) -> None:
        try:
            self._runner.run(self.progress.fragment(group), self._look_up)
        except EnvError as error:
            slot = int(self.status["current_slot"][0])
            if slot < 0:
                raise
            step = int(self.status["running_length"][slot])
            raise EnvError(f"slot {slot} of {self.spec.label!r} at step {step}: {error}") from error
        except ParcadeError:
            raise
        except Exception as error:
            slot = int(self.status["current_slot"][0])
            if slot < 0:
                raise PoolError(f"the actor raised {type(error).__name__}: {error}") from error
            step = int(self.status["running_length"][slot])
            raise PoolError(f"slot {slot} raised {type(error).__name__} at step {step}: {error}") from error

    def _look_up(self) -> None:
        """Ask now and then whether to go on: without workers nobody else would until the last step."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self.while_waiting()

    def _flush(self) -> None:
        self._check_open()
        self.progress.forget()

    def _bring_back(self) -> None:
        for slot, runner in self._runner.runners.items():
            runner.episodes = self.episodes
            place = self.progress.place(slot)
            runner.attach(self.block)
            runner.replay(place.episode, place.actions, 0)
        self.progress.note_starts()

    def ask(
        self, slots: Sequence[int], what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[int, tuple[str, Any]]:
        """Return the answer of each slot's env."""
        return {slot: answer(self._runner.runners[slot], what, name, args, kwargs) for slot in slots}

    def _end(self, at_once: bool) -> None:
        for env in self.envs:
            env.close()
        self.envs = []
