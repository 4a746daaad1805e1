"""Which episodes of a training to keep: the newest, the best, the worst, and the first to reach a milestone.

Pure: numbers in, numbers out. The same episodes in the same order give the same choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

NEWEST, BEST, WORST, FIRST = KINDS = ("newest", "best", "worst", "first")
MOST = {NEWEST: 16, BEST: 16, WORST: 16, FIRST: 64}


class Candidate(NamedTuple):
    """What is known of an episode that has ended."""

    number: int  # of all episodes of the training
    total_reward: float
    metrics: Mapping[str, float]
    from_true_start: bool = True  # returns of other episodes cannot be compared with these


class KeptChoice:
    """Numbers of episodes by kind; the most interesting first."""

    def __init__(self, milestones: Mapping[str, str]) -> None:
        self._milestones = dict(milestones)  # name -> the metric that is above 0 once an episode has reached it
        self.kinds: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.reached: dict[str, int] = {}  # milestone -> the first episode that reached it
        self._returns: dict[int, float] = {}  # of the best and the worst

    @property
    def numbers(self) -> set[int]:
        """All that are kept."""
        return {number for numbers in self.kinds.values() for number in numbers}

    def kinds_of(self, number: int) -> list[str]:
        """Return why an episode is kept."""
        return [kind for kind, numbers in self.kinds.items() if number in numbers]

    def milestones_of(self, number: int) -> list[str]:
        """Return what an episode was the first to reach."""
        return [name for name, first in self.reached.items() if first == number]

    def offer(self, candidates: Sequence[Candidate]) -> None:
        """Look at the episodes of an update, in the order they ended."""
        for candidate in candidates:
            if candidate.from_true_start:
                self._rank(BEST, candidate, candidate.total_reward)
                self._rank(WORST, candidate, -candidate.total_reward)
            self._note_firsts(candidate)
        newest = [candidate.number for candidate in candidates[-MOST[NEWEST] :]]
        self.kinds[NEWEST] = [*reversed(newest), *self.kinds[NEWEST]][: MOST[NEWEST]]
        self._forget()

    def _rank(self, kind: str, candidate: Candidate, worth: float) -> None:
        """Put an episode among the best or worst; of equals the earlier one stays."""
        numbers, sign = self.kinds[kind], 1.0 if kind == BEST else -1.0
        if len(numbers) == MOST[kind] and worth <= sign * self._returns[numbers[-1]]:
            return
        place = next((i for i, n in enumerate(numbers) if worth > sign * self._returns[n]), len(numbers))
        numbers.insert(place, candidate.number)
        self._returns[candidate.number] = candidate.total_reward
        del numbers[MOST[kind] :]

    def _note_firsts(self, candidate: Candidate) -> None:
        open_ones = ((name, metric) for name, metric in self._milestones.items() if name not in self.reached)
        new = [name for name, metric in open_ones if candidate.metrics.get(metric, 0.0) > 0.0]
        if new:
            self.reached.update(dict.fromkeys(new, candidate.number))
            self.kinds[FIRST] = [candidate.number, *self.kinds[FIRST]][: MOST[FIRST]]

    def trim(self, sizes: Mapping[int, int], most_bytes: int) -> None:
        """Drop the least interesting of each kind until none takes more than its quarter of ``most_bytes``."""
        share = most_bytes // len(KINDS)
        for kind, numbers in self.kinds.items():
            kept, total = [], 0
            for number in numbers:
                if total + sizes[number] <= share:
                    kept.append(number)
                    total += sizes[number]
            self.kinds[kind] = kept
        self._forget()

    def drop(self, lost: Iterable[int]) -> None:
        """Forget episodes whose files are gone."""
        gone = set(lost)
        self.kinds = {kind: [n for n in numbers if n not in gone] for kind, numbers in self.kinds.items()}
        self._forget()

    def _forget(self) -> None:
        ranked = {*self.kinds[BEST], *self.kinds[WORST]}
        self._returns = {number: total for number, total in self._returns.items() if number in ranked}

    def state(self) -> dict[str, Any]:
        """Return everything but the returns, which stand in the episodes' files, JSON-ready."""
        return {"kinds": {kind: list(numbers) for kind, numbers in self.kinds.items()}, "reached": dict(self.reached)}

    def load(self, state: Mapping[str, Any], returns: Mapping[int, float]) -> None:
        """Go back to what ``state`` returned; ``returns`` are those of the episodes that are there."""
        self.kinds = {kind: [n for n in state["kinds"][kind] if n in returns] for kind in KINDS}
        self.reached = dict(state["reached"])
        self._returns = dict(returns)
        self._forget()


def is_state(state: Any) -> bool:
    """Whether plain data can be what ``KeptChoice.state`` returned."""
    if not isinstance(state, Mapping) or not isinstance(state.get("kinds"), Mapping):
        return False
    kinds, reached = state["kinds"], state.get("reached")
    numbers = [number for kind in KINDS for number in _numbers(kinds.get(kind))]
    return (
        set(kinds) == set(KINDS)
        and isinstance(reached, Mapping)
        and all(type(number) is int and number > 0 for number in (*numbers, *reached.values()))
    )


def _numbers(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [None]
