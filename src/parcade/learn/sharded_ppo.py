"""PPO over shards: each has minibatches and gradients of its own, and all take one step together.

What a number depends on is fixed by the shards alone: a shard is computed by itself, in the same way wherever it is
held, and what belongs to all of them is put together in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.block_part import BlockPart
from parcade.learn.encoders import after_convolutions
from parcade.learn.exchange import Exchange
from parcade.learn.loss import PpoSettings, Tracked, approx_kl
from parcade.learn.minibatches import Minibatch, Minibatches
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import Policy
from parcade.learn.ppo_base import PpoBase
from parcade.learn.rollout import Rollout
from parcade.learn.shard_numbers import combined, observed_row, summary, summary_row, take_observed
from parcade.learn.shifting import RandomShift
from parcade.pool.block import Block

_UPDATES, _TRUSTS = "sharded_updates", "trusts_actors"  # in a checkpoint


class Shard:
    """What one shard keeps: where its slots are, how it shuffles, and how its returns are scaled."""

    def __init__(self, number: int, slots: range, policy: Policy, settings: PpoSettings, scales_returns: bool) -> None:
        self.number, self.slots = number, slots  # slots of the blocks it is given
        self.shuffle = torch.Generator()
        shift = RandomShift(policy, settings.shift_pixels, self.shuffle) if settings.shift_pixels else None
        self.minibatches = Minibatches(policy, settings.batch_size, self.shuffle, shift)
        self.scaler = ReturnScaler(len(slots), settings.gamma) if scales_returns else None


class ShardedPpo(PpoBase):
    """PPO as an ``Algorithm``, for the shards that ``exchange`` says are held here.

    The ``settings.batch_size`` it is given counts the rows of one step of all shards together.
    """

    def __init__(
        self,
        policy: Policy,
        settings: PpoSettings,
        exchange: Exchange,
        shard_envs: int,
        seed: int = 0,
        *,
        scales_returns: bool = False,
    ) -> None:
        # Advantages are normalised over the whole rollout, before it is cut: a shard's minibatch may be small.
        own = replace(settings, batch_size=settings.batch_size // exchange.n_shards, normalize_advantage=False)
        super().__init__(policy, own)
        self._exchange, self._seed, self._updates = exchange, seed, 0
        self._normalises = settings.normalize_advantage
        self._at_work: int | None = None  # the shard whose gradient is computed
        self._split_gradient()
        places = [range(at * shard_envs, (at + 1) * shard_envs) for at in range(len(exchange.held))]
        self.shards = [
            Shard(number, slots, policy, self.settings, scales_returns)
            for number, slots in zip(exchange.held, places, strict=True)
        ]

    def _split_gradient(self) -> None:
        """Have the exchange begin with what is known first: all that follows the convolutions."""
        first = after_convolutions(self.policy)
        if first is not None and self._exchange.split_at(self.flat.place_of(first)):
            self.flat.tell_when_known(first, self._give_ahead)

    def _give_ahead(self) -> None:
        assert self._at_work is not None
        assert self.flat.weights.grad is not None
        self._exchange.give_ahead(self._at_work, self.flat.weights.grad)

    def update(self, block: Block, left: float = 1.0) -> dict[str, float]:
        """Take all epochs over the block; return what happened, as plain numbers."""
        rollouts = self._prepare(block)
        self.values = np.concatenate([rollout.values for rollout in rollouts], 1)
        settings = self.settings.at(left)
        self.optimiser.learning_rate = settings.learning_rate
        tracked: list[list[Tracked]] = [[] for _ in self.shards]
        epochs = self._learn(rollouts, settings, tracked)
        seen = [observed_row(self.policy, rollout.flat()) for rollout in rollouts]
        take_observed(self.policy, self._exchange.gather(np.stack(seen)))  # only now: until here it was who played
        self._updates += 1
        told = [summary_row(own, rollout, settings.clip_range) for own, rollout in zip(tracked, rollouts, strict=True)]
        losses = summary(self._exchange.gather(np.stack(told)))
        return {**losses, "learning_rate": settings.learning_rate, "epochs": epochs}

    def _learn(self, rollouts: list[Rollout], settings: PpoSettings, tracked: list[list[Tracked]]) -> int:
        """Take the epochs; return how many it were."""
        limit, in_epoch = self.settings.target_kl, self.shards[0].minibatches.in_epoch(rollouts[0])
        passes = [shard.minibatches.epochs(rollout) for shard, rollout in zip(self.shards, rollouts, strict=True)]
        for epoch in range(self.settings.n_epochs):
            for shard in self.shards:
                shard.shuffle.manual_seed(_shuffle_seed(self._seed, self._updates, epoch, shard.number))
            for batches in zip(*(next(one) for one in passes), strict=True):
                self._descend(batches, settings, tracked)
                self.while_learning(min(1.0, len(tracked[0]) / (in_epoch * self.settings.n_epochs)))
            if limit is not None and self._divergence(tracked) > 1.5 * limit:
                return epoch + 1
        return self.settings.n_epochs

    def _divergence(self, tracked: list[list[Tracked]]) -> float:
        own = np.array([[float(approx_kl(shard[-1].log_ratio))] for shard in tracked])
        return float(self._exchange.gather(own).sum()) / self._exchange.n_shards

    def _descend(self, batches: tuple[Minibatch, ...], settings: PpoSettings, tracked: list[list[Tracked]]) -> None:
        """Take one step with the mean of all shards' gradients."""
        gradient = self.flat.weights.grad
        assert gradient is not None
        for shard, batch, told in zip(self.shards, batches, tracked, strict=True):
            self._at_work = shard.number
            told.append(self._find_gradient(batch, settings))
            self._exchange.give(shard.number, gradient)
        self._exchange.add_up(gradient)
        gradient.mul_(1.0 / self._exchange.n_shards)
        self._step()

    def _prepare(self, block: Block) -> list[Rollout]:
        """Return the rollout of each shard with values, log probabilities and advantages."""
        rollouts = [Rollout(BlockPart(block, shard.slots)) for shard in self.shards]
        if self._trusts_actors is None:
            self._trusts_actors = self._look_at_actors(rollouts)
        for rollout in rollouts:
            self._evaluate(rollout)
        self._scale_returns(rollouts)
        for rollout in rollouts:
            self._estimate_advantages(rollout, rollout.rewards)
        if self._normalises:
            self._normalise(rollouts)
        return rollouts

    def _look_at_actors(self, rollouts: list[Rollout]) -> bool:
        """Whether the actors' numbers are the learner's own in every shard; decided once in a training.

        Few rows may agree by chance, so a second look at other rows could end otherwise: checkpoints hold the answer.
        """
        own = [[float(self._can_trust_actors(rollout))] for rollout in rollouts]
        return bool(self._exchange.gather(np.array(own)).all())

    def _scale_returns(self, rollouts: list[Rollout]) -> None:
        scalers = [shard.scaler for shard in self.shards if shard.scaler is not None]
        if not scalers:
            return
        seen = [
            scaler.follow(rollout.rewards, rollout.ended) for scaler, rollout in zip(scalers, rollouts, strict=True)
        ]
        rows = self._exchange.gather(np.array(seen)).tolist()
        for scaler, rollout in zip(scalers, rollouts, strict=True):
            for row in rows:
                scaler.take(tuple(row))
            rollout.rewards = scaler.scaled(rollout.rewards)

    def _normalise(self, rollouts: list[Rollout]) -> None:
        """Give the advantages of all shards together mean 0 and standard deviation 1."""
        own = [rollout.advantages.numpy().astype(np.float64) for rollout in rollouts]
        table = np.array([(array.mean(), array.var(), float(array.size)) for array in own])
        mean, var, _ = combined(self._exchange.gather(table))
        for rollout in rollouts:
            rollout.advantages.sub_(mean).div_(var**0.5 + 1e-8)

    def state(self) -> dict[str, Tensor]:
        """Return Adam's moments, how many updates there were, and the scale of returns of the shards that are held."""
        scales = [shard.scaler.state() for shard in self.shards if shard.scaler is not None]
        running = {"running_returns": torch.cat([scale["running_returns"] for scale in scales])} if scales else {}
        moments = {"return_moments": scales[0]["return_moments"]} if scales else {}
        trusts = {} if self._trusts_actors is None else {_TRUSTS: torch.tensor([int(self._trusts_actors)])}
        return {_UPDATES: torch.tensor([self._updates]), **trusts, **self.optimiser.moments(), **running, **moments}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        updates = state.get(_UPDATES)
        if updates is None or updates.shape != (1,) or int(updates[0]) < 0:
            raise ModelFileError("the checkpoint does not say how many updates its shards have had")
        running = state.get("running_returns")
        for shard in self.shards:
            if shard.scaler is not None and running is not None:
                part = running[shard.slots.start : shard.slots.stop]
                shard.scaler.load_state({**state, "running_returns": part})
            elif shard.scaler is not None:
                raise ModelFileError("the checkpoint holds no return scale")
        self.optimiser.load_moments(state)
        self._updates = int(updates[0])
        self._trusts_actors = bool(state[_TRUSTS][0]) if _TRUSTS in state else None


def _shuffle_seed(seed: int, update: int, epoch: int, shard: int) -> int:
    """Return the seed of one shard's order in one epoch."""
    words = np.random.SeedSequence([seed, update, epoch, shard]).generate_state(1, np.uint64)
    return int(words[0]) >> 1
