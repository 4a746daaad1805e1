"""PPO as the trainer sees it when learners hold all shards."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from parcade.learn.actors import PolicyPlays
from parcade.learn.flat import flat_size
from parcade.learn.policy import Policy
from parcade.learn.shard_numbers import table_width
from parcade.pool.block import Block
from parcade.train.spread.messages import Arrays
from parcade.train.spread.pool import SpreadPool
from parcade.train.spread.team import Before, joined_state


class SpreadPpo(PolicyPlays):
    """An ``Algorithm`` that keeps a copy of what the learners come to: weights, Adam's moments, scales."""

    name = "ppo"
    can_be_given_up = False  # the learners do not say how far they are

    def __init__(self, policy: Policy, pool: SpreadPool, n_shards: int) -> None:
        super().__init__(policy)
        self._pool, self._team = pool, pool.team
        sizes = flat_size(policy.parameters()), table_width(policy)
        self._state: Mapping[str, Tensor] = self._team.meet(n_shards, *sizes)
        pool.bring, pool.before = self._bring, self._before

    def _bring(self, games: Arrays) -> list[Arrays]:
        """Bring all learners to the present weights and state, and to these games."""
        return [placed.status for placed in self._team.take_up(Before(self._weights(), self._state, games))]

    def _before(self) -> Before:
        return Before(self._weights(), self._state, self._pool.games_before())

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for name, weight in self.policy.state_dict().items()}

    def update(self, block: Block, left: float = 1.0) -> dict[str, float]:
        """Have all learners take the update, and take over what they came to."""
        learned = self._team.learn(left, self._before)
        weights = learned[0].weights
        assert weights is not None
        self.policy.load_state_dict(dict(weights))
        self._state = joined_state([one.state for one in learned])
        return dict(learned[0].losses)

    def state(self) -> dict[str, Tensor]:
        """Return what the learners' algorithm needs, for all slots."""
        return dict(self._state)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned; the learners follow when the games are brought back."""
        self._state = dict(state)
