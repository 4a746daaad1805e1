"""What a learner does, wherever it runs: plays with a pool of its own slots, and learns the shards they make up."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import torch

from parcade.config.settings import TrainSettings
from parcade.host.cores import usable_cores
from parcade.learn.allocator import keep_freed_memory
from parcade.learn.exchange import Exchange
from parcade.learn.ppo import Ppo
from parcade.learn.sharded_ppo import ShardedPpo
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.train.assembly import learning_threads, policy_of, pool_of, ppo_of, sharded_ppo
from parcade.train.finite import what_is_no_number
from parcade.train.rollouts import Rollouts
from parcade.train.spread.mapped_exchange import UpdateAbandonedError
from parcade.train.spread.messages import (
    Abandoned,
    Answered,
    Ask,
    Learn,
    Learned,
    LearnerOrders,
    Meet,
    Met,
    Opened,
    Placed,
    Play,
    Played,
    TakeUp,
)

_STATUS = ("episode", "episode_seed", "running_return", "running_length", "milestones", "guide")
_ROWS = ("reward", "terminated", "truncated", "episode", "ended_episode", "episode_return", "episode_length", "metrics")
OWN_STATE = ("running_returns",)  # what of the algorithm's state each learner has for its own slots


class Meeting(Exchange, Protocol):
    """An exchange that begins anew with every attempt at an update."""

    def begin(self, attempt: int) -> None:
        """Forget what was exchanged."""
        ...

    def beat(self) -> None:
        """Show that this learner moves."""
        ...


class ShardHolder:
    """Opens the games at once, and the network when it is told where gradients are exchanged."""

    def __init__(self, orders: LearnerOrders, open_exchange: Callable[[Any], Meeting]) -> None:
        torch.set_num_threads(1)  # the last bits of the first weights depend on it
        self._orders, self._settings, self._open_exchange = orders, orders.settings, open_exchange
        slots = orders.holding.slots
        own = {"n_envs": len(slots), "n_workers": orders.n_workers, "learners": 1}
        spec = orders.spec.with_(slot=slots.start)
        self.pool = pool_of(spec, self._settings.model_copy(update=own))
        self._block: Block | None = None
        keep_freed_memory()

    def opened(self) -> Opened:
        """Return what the trainer has to know of the games."""
        pool = self.pool
        return Opened(pool.observation_space, pool.action_space, pool.metric_names, pool.n_workers)

    def obey(self, command: Any) -> Any:
        """Do what the trainer asks for; return the answer."""
        if isinstance(command, Meet):
            return self._meet(command)
        if isinstance(command, TakeUp):
            return self._take_up(command)
        if isinstance(command, Play):
            return self._play()
        if isinstance(command, Learn):
            return self._learn(command)
        assert isinstance(command, Ask)
        return Answered(self.pool.ask(command.slots, command.what, command.name, command.args, dict(command.kwargs)))

    def _meet(self, command: Meet) -> Met:
        settings, pool = self._settings, self.pool
        self._exchange = self._open_exchange(command.place)
        self._policy = policy_of(settings, pool.observation_space, pool.action_space)
        self._algorithm = self._ppo()
        self._rollouts = Rollouts(pool, self._algorithm, settings.n_steps, settings.seed * 2 + 1)
        pool.while_waiting = self._exchange.beat
        return Met(self._algorithm.state())

    def _ppo(self) -> Ppo | ShardedPpo:
        """Return what learns; a training of one shard is the training without shards, wherever it is held."""
        if self._settings.shards > 1:
            return sharded_ppo(self._settings, self._policy, self._exchange)
        ppo = ppo_of(self._settings, self._policy)
        ppo.while_learning = lambda share: self._exchange.beat()
        return ppo

    def _take_up(self, command: TakeUp) -> Placed:
        self._policy.load_state_dict(dict(command.weights))
        self._algorithm.load_state(command.state)
        if command.games is not None:
            self._rollouts.load_state(dict(command.games))
        return Placed(self._status())

    def _status(self) -> dict[str, Array]:
        return {name: self.pool.status[name].copy() for name in _STATUS}

    def _play(self) -> Played:
        self._block = block = self._rollouts.play()
        arrays = block.mapped.arrays
        rows = {name: arrays[name] for name in (*_ROWS, *(f"action:{leaf}" for leaf in block.action))}
        memory = self.pool.progress.memory()
        return Played(rows, memory, self._status(), tuple(self.pool.restarts), frozenset(self.pool.cut))

    def _learn(self, command: Learn) -> Learned | Abandoned:
        assert self._block is not None
        torch.set_num_threads(self._settings.num_threads or learning_threads(self._policy, self._settings.shards))
        try:
            self._exchange.begin(command.attempt)
            losses = self._algorithm.update(self._block, command.left)
        except UpdateAbandonedError as error:
            return Abandoned(str(error))
        if what_is_no_number(self._policy, self._block) is not None:
            losses = dict.fromkeys(losses, float("nan"))
        state = self._algorithm.state()
        check = zlib.crc32(self._algorithm.flat.weights.detach().numpy().tobytes())
        if self._orders.holding.learner:
            return Learned(losses, check, {name: state[name] for name in OWN_STATE if name in state}, None)
        return Learned(losses, check, state, self._policy.state_dict())

    def close(self, *, at_once: bool = False) -> None:
        """End the games."""
        self.pool.close(at_once=at_once)


def workers_of(settings: TrainSettings, n_learners: int) -> int:
    """Return how many workers each of the learners of one machine has; 0 plays in the learner itself."""
    if settings.n_workers == 0:
        return 0
    return max(1, (settings.n_workers or usable_cores()) // n_learners)
