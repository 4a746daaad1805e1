"""All slots in this process, one after another: the reference the process pool must equal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from parcade.env.make import make
from parcade.env.slot import SlotEnv, as_slot_env
from parcade.env.spec import EnvSpec
from parcade.errors import ParcadeError, PoolError
from parcade.pool.calling import answer, check_call, result
from parcade.pool.grouping import GroupedRows, check_counts
from parcade.pool.layout import plan_layout
from parcade.pool.protocol import Array, Player, StepRows, StretchRows
from parcade.pool.slab import Slab
from parcade.pool.stepping import SlotRunner
from parcade.pool.stretch import Stretch, StretchRunner


class SerialPool:
    """A pool without processes; see ``Pool`` for the contract."""

    def __init__(self, spec: EnvSpec, n_envs: int, *, seed: int = 0, n_groups: int = 1) -> None:
        check_counts(n_envs, n_groups)
        self.spec, self.n_envs, self.n_groups, self.n_workers, self.seed = spec, n_envs, n_groups, 0, seed
        self.envs: list[SlotEnv] = []
        self.restarts: list[str] = []
        self.cut_episodes = 0
        self._slab: Slab | None = None
        self._stretch: Stretch | None = None
        try:
            self.envs += [as_slot_env(make(spec.with_(slot=slot))) for slot in range(n_envs)]
            first = self.envs[0]
            self.observation_space, self.action_space = first.observation_space, first.action_space
            self.metric_names = first.metric_names
            layout = plan_layout(self.observation_space, self.action_space, self.metric_names, n_envs, 1)
            self._slab = Slab.create(layout)
        except BaseException:
            self.close()
            raise
        self.groups = GroupedRows(self._slab, n_envs, n_groups, self.action_space)
        self._runners = [SlotRunner(env, self._slab, slot, 0, seed) for slot, env in enumerate(self.envs)]
        self._groups_of_runners = [[self._runners[slot] for slot in slots] for slots in self.groups.slots]

    @property
    def slab(self) -> Slab:
        """The block all rows live in."""
        if self._slab is None:
            raise PoolError("the pool is closed")
        return self._slab

    def reset(self, seed: int | None = None, *, onward: bool = False) -> None:
        """Begin episode 0 in every slot (``onward``: the episode after the present one); ``seed`` is a new run seed."""
        if seed is not None:
            self.seed = seed
        journal = self.groups.journal
        journal.begin_anew(journal.episode + 1 if onward else 0)
        self._bring_back()

    def observations(self, group: int = 0) -> Mapping[str, Array]:
        """Return the present observation rows of a group."""
        return self.groups.rows(group).obs

    def send(self, actions: Any, group: int = 0) -> None:
        """Note the actions; the step itself is taken in ``recv``."""
        self.groups.note_actions(actions, group)

    def recv(self, group: int = 0) -> StepRows:
        """Take the group's steps, slot by slot."""
        self.groups.expect(group)
        runners = self._groups_of_runners[group]
        with self._faults_named():
            for runner in runners:
                runner.press()
            for runner in runners:
                runner.settle()
        return self.groups.finish(group)

    def make_room(self, player: Player, n_steps: int) -> None:
        """Make the block that stretches of this length need."""
        self._stretch = Stretch.following(self._stretch, self.slab, self.groups, player, n_steps)

    def play(self, player: Player, weights: Array, seed: int, n_steps: int) -> StretchRows:
        """Step all slots with the player's actions."""
        self.make_room(player, n_steps)
        stretch = self._stretch
        assert stretch is not None
        stretch.begin(weights, seed)
        runner = StretchRunner(self._runners, self.slab, stretch.track, 0)
        with self._faults_named():
            runner.run(player, 0, n_steps)
        return stretch.finish()

    @contextlib.contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except ParcadeError:
            raise
        except Exception as error:
            slot = int(self.slab.arrays["current_slot"][0])
            if slot < 0:
                raise PoolError(f"the player raised {type(error).__name__}: {error}") from error
            step = int(self.slab.arrays["running_length"][slot])
            raise PoolError(f"slot {slot} raised {type(error).__name__} at step {step}: {error}") from error

    def dump(self) -> dict[str, Array]:
        """Return the journal; no step may be under way."""
        if any(self.groups.under_way):
            raise PoolError("a pool can be dumped only between recv and send")
        return {"run_seed": np.array([self.seed], np.int64), **self.groups.journal.dump()}

    def load(self, arrays: dict[str, Array]) -> None:
        """Replay every slot to where ``dump`` found it."""
        self.groups.journal.load(arrays)
        if "run_seed" in arrays:
            self.seed = int(arrays["run_seed"][0])
        self._bring_back()

    def _bring_back(self) -> None:
        journal = self.groups.journal
        self.groups.forget_steps()
        for slot, runner in enumerate(self._runners):
            runner.run_seed = self.seed
            runner.replay(int(journal.episode[slot]), journal.actions(slot))
        self.groups.note_starts()

    def call(self, slot: int, what: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one slot's env (what="call"), get or set an attribute, or ask for a wrapper ("wrapped")."""
        check_call(what, slot, self.n_envs)
        return result(slot, what, name, answer(self.envs[slot], what, name, args, kwargs))

    def close(self) -> None:
        """Close all envs and the slab."""
        for env in self.envs:
            env.close()
        self.envs = []
        if self._stretch is not None:
            self._stretch.close()
            self._stretch = None
        if self._slab is not None:
            self._slab.close()
            self._slab = None

    def __enter__(self) -> SerialPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
