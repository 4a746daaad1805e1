"""How often pictures are taken: as often as a share of the machine allows, and no oftener than is worth looking at."""

from __future__ import annotations

from dataclasses import dataclass

# Of all cores, for drawing in the workers and for the server together. The workers of a rollout end together, so what
# is taken from one core is lost on all of them: on two cores a training loses about twice this.
SHARE = 0.015
MOST_CORES = 0.4  # of one core for the server, however many the machine has
MOST_PER_S = 20.0
SLOWEST_S = 2.0
_RISING, _FALLING = 0.7, 0.2  # how much the last tick counts: the first ones of a page must not come too fast


@dataclass
class Budget:
    """Follows what a tick costs; ``period_s`` is how long one should last."""

    cores: int
    share: float = SHARE
    period_s: float = 0.1
    _cost_s: float = 0.0
    _own_s: float = 0.0

    def spend(self, own_s: float, workers_s: float) -> None:
        """Note what the last tick took of this process and of the workers."""
        self._own_s = _followed(self._own_s, own_s)
        self._cost_s = _followed(self._cost_s, own_s + workers_s)
        wanted = max(self._cost_s / (self.share * self.cores), self._own_s / MOST_CORES)
        self.period_s = min(SLOWEST_S, max(1.0 / MOST_PER_S, wanted))


def _followed(before_s: float, now_s: float) -> float:
    return before_s + (_RISING if now_s > before_s else _FALLING) * (now_s - before_s)
