"""What was measured of each candidate, and what can be said of it in the face of noise."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from parcade.tune.trial import Candidate, Turn

MARGIN = 0.03  # a difference smaller than this is none


@dataclass(slots=True)
class Row:
    """One candidate's turns; ``ratios`` are its speed over the default's in the same round.

    The best of many rows may owe its place to luck. So those in question are measured once more: ``last`` are the
    ratios of these rounds alone.
    """

    candidate: Candidate
    turns: list[Turn] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    total_mb: float = 0.0  # of its workers and its rollout

    def add(self, turn: Turn, default: Turn, *, is_last: bool = False) -> None:
        """Note a turn, and the default's of the same round."""
        self.turns.append(turn)
        (self.last if is_last else self.ratios).append(turn.steps_per_s / default.steps_per_s)

    @property
    def steps_per_s(self) -> float:
        """The median over turns."""
        return statistics.median(turn.steps_per_s for turn in self.turns)

    @property
    def over_default(self) -> float:
        """The median over the search's rounds: both numbers of a ratio come from the same few seconds."""
        return statistics.median(self.ratios)

    @property
    def once_more(self) -> float | None:
        """The median over the last rounds; None for a row that had none."""
        return statistics.median(self.last) if self.last else None

    @property
    def play_us(self) -> float:
        """Microseconds of playing for each env step."""
        return 1e6 * statistics.median(turn.play_s / turn.env_steps for turn in self.turns)

    @property
    def learn_us(self) -> float:
        """Microseconds of learning for each env step."""
        return 1e6 * statistics.median(turn.learn_s / turn.env_steps for turn in self.turns)

    @property
    def learn_share(self) -> float:
        """The share of the time in which it learns."""
        return self.learn_us / (self.play_us + self.learn_us)

    @property
    def noise(self) -> float:
        """How far its turns lie from their median, in the middle, as a share of it."""
        middle = self.steps_per_s
        return statistics.median(abs(turn.steps_per_s / middle - 1) for turn in self.turns)

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the row of a table."""
        return {
            **self.candidate._asdict(),
            "steps_per_s": self.steps_per_s,
            "over_default": self.over_default,
            "once_more": self.once_more,
            "play_us": self.play_us,
            "learn_us": self.learn_us,
            "memory_mb": self.total_mb,
            "turns": len(self.turns),
        }


def is_better(ratios: list[float]) -> bool:
    """Whether a candidate beats the default by more than the noise: by 3 % in the middle, in three rounds of four."""
    if len(ratios) < 3:
        return False
    lower = statistics.quantiles(ratios, n=4, method="inclusive")[0]
    return statistics.median(ratios) >= 1 + MARGIN and lower > 1.0


def chosen(default: Row, finalists: Sequence[Row]) -> Row:
    """Return the fastest of those that beat the default in the last rounds, or the default.

    Of rows that differ by less than the margin, one with the default's games comes first: learning stays the same.
    """
    better = [row for row in finalists if is_better(row.last)]
    if not better:
        return default
    most = max(row.once_more or 0.0 for row in better)
    alike = [row for row in better if (row.once_more or 0.0) * (1 + MARGIN) > most]
    n_envs = default.candidate.n_envs
    return min(alike, key=lambda row: (row.candidate.n_envs != n_envs, row.candidate))
