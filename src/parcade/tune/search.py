"""The search: workers, then threads, then games, each beside the default in interleaved rounds, within a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from parcade.config.fitting import AUTO, MAY_BE_AUTO
from parcade.env.sharing import one_console_per_process
from parcade.errors import SettingsError, UserError
from parcade.host.cores import usable_cores
from parcade.host.memory import available_mb
from parcade.train.given import env_spec
from parcade.train.process_context import threads_restored
from parcade.tune.rows import MARGIN, Row, chosen
from parcade.tune.trial import FIRST_STEPS, Candidate, Trial

ROUNDS, LAST_ROUNDS = 3, 12
MOST_TIMES = 8  # the default's games
ROLLOUT_S = 1.5  # a longer rollout is measured with fewer steps
FEWEST_UPDATES = 10  # of a whole training: more games leave fewer
SHARE_OF_MEMORY = 0.8
LEAST_S, MOST_S = 5.0, 3600.0
Tell = Callable[[float, float, str], None]  # share done, seconds left, what is measured
Entry = tuple[Trial, int]  # games and workers, and the threads that learn


@dataclass(slots=True)
class Found:
    """What a search came to."""

    default: Row
    choice: Row
    over_default: float  # 1.0 where the default is best
    rows: list[Row]
    cores: int
    shortened_to: int | None  # steps of a measured rollout, where a training has more
    got: float = 1.0  # the share of the cores' time that the games got of what they wanted
    limits: list[str] = field(default_factory=list)  # what ended a curve: memory, updates, time
    rollout: dict[int, int] = field(default_factory=dict)  # games -> env steps of one rollout
    draws: bool = False  # the policy sees pictures of a title that has features too


def search(given: dict[str, Any], *, seconds: float = 120.0, tell: Tell = lambda *_: None) -> Found:
    """Measure what suits these settings on this machine; numbers that ``given`` fixes stay as they are."""
    if not LEAST_S <= seconds <= MOST_S:
        raise SettingsError(f"seconds is {seconds:g}, wanted {LEAST_S:g} to {MOST_S:g}")
    given = {name: value for name, value in given.items() if not (name in MAY_BE_AUTO and value == AUTO)}
    with threads_restored(), ExitStack() as stack:
        return _Search(given, seconds, tell, stack).run()


class _Search:
    def __init__(self, given: dict[str, Any], seconds: float, tell: Tell, stack: ExitStack) -> None:
        self._given, self._seconds, self._tell, self._stack = given, seconds, tell, stack
        self._began_s, self._turn_s = time.monotonic(), max(0.3, seconds / 110)
        self._rows: dict[Candidate, Row] = {}
        self._entries: dict[Candidate, Entry] = {}
        self._warm: set[int] = set()
        self._limits: list[str] = []
        self._rollout: dict[int, int] = {}
        self._longest: int | None = FIRST_STEPS

    def run(self) -> Found:
        """Measure stage by stage; what is best so far is what the next stage begins with."""
        self._say("opening the games")
        self._default = self._open(None, None)
        self._threads = self._default.default_threads
        self._fit_rollouts()
        self._best, self._best_threads = self._default, self._threads
        self._try_workers()
        self._try_threads()
        self._try_games()
        return self._judge()

    def _fit_rollouts(self) -> None:
        """Choose how many steps a measured rollout has: those of a training, unless it took too long."""
        self._default.turn(self._threads, 0.0)
        turn = self._default.turn(self._threads, 0.0)
        quick = ROLLOUT_S / (turn.play_s + turn.learn_s) * self._default.n_steps
        wanted = self._default.settings.n_steps
        self._longest = None if quick >= wanted else max(FIRST_STEPS, int(quick))
        if self._default.n_steps != min(self._longest or wanted, wanted):
            self._default.use_rollouts_of(self._longest or wanted)

    def _open(self, n_envs: int | None, n_workers: int | None) -> Trial:
        trial = Trial(self._given, n_envs, n_workers, self._longest)
        self._stack.callback(trial.close)
        self._rollout[trial.pool.n_envs] = trial.settings.rows_per_update
        return trial

    def _try_workers(self) -> None:
        default = self._default
        if self._given.get("n_workers") is not None or one_console_per_process(env_spec(default.settings)):
            return
        trials = []
        for n_workers in worker_counts(usable_cores(), default.pool.n_envs):
            if n_workers != default.pool.n_workers and self._has_memory(default, n_workers=n_workers):
                trials.append(self._open(None, n_workers))
        self._compare([(trial, self._threads) for trial in trials])
        self._take_best([(trial, self._threads) for trial in trials])

    def _try_threads(self) -> None:
        if self._given.get("num_threads") is not None or not self._default.is_on_cpu:
            return
        counts = [count for count in thread_counts(usable_cores()) if count != self._threads]
        self._compare([(self._best, count) for count in counts])
        self._take_best([(self._best, count) for count in counts])

    def _try_games(self) -> None:
        """Double the games until the curve bends; only if that brings nothing, halve them."""
        if self._given.get("n_envs") is not None:
            return
        before = self._best
        self._climb(lambda n_envs: n_envs * 2)
        if self._best is before:
            self._climb(lambda n_envs: n_envs // 2)

    def _climb(self, following: Callable[[int], int]) -> None:
        n_envs = following(self._default.pool.n_envs)
        while 1 <= n_envs <= MOST_TIMES * self._default.pool.n_envs and not self._is_over():
            reached = self._ratio(self._best, self._best_threads)
            trial = self._with_games(n_envs)
            if trial is None:
                return
            self._compare([(trial, self._best_threads)])
            has_bent = self._ratio(trial, self._best_threads) < reached * (1 + MARGIN)
            if not has_bent:
                self._best, n_envs = trial, following(n_envs)
            self._close_losers()
            if has_bent:
                return

    def _with_games(self, n_envs: int) -> Trial | None:
        """Open more games, or fewer; None, and the reason is kept, if they do not fit."""
        whole = int(self._default.settings.total_timesteps)
        is_more = n_envs > self._default.pool.n_envs
        if is_more and n_envs * self._default.settings.n_steps * FEWEST_UPDATES > whole:
            self._limits.append("updates")
            return None
        if not self._has_memory(self._best, n_envs=n_envs):
            return None
        n_workers = self._given.get("n_workers")
        if n_workers is None and not one_console_per_process(env_spec(self._default.settings)):
            n_workers = min(self._best.pool.n_workers, n_envs)
        try:
            return self._open(n_envs, n_workers)
        except UserError:  # settings that were given do not go with so many
            return None

    def _has_memory(self, like: Trial, *, n_envs: int | None = None, n_workers: int | None = None) -> bool:
        """Whether there is room beside what is open now, judged by what ``like`` takes."""
        games = (n_envs or like.pool.n_envs) / like.pool.n_envs
        processes = max(1.0, (n_workers or 1) / max(1, like.pool.n_workers))
        needed = sum(like.worker_mb()) * max(games, processes) + like.block_mb() * games
        fits = needed <= SHARE_OF_MEMORY * available_mb()
        if not fits:
            self._limits.append("memory")
        return fits

    def _compare(self, entries: Sequence[Entry], rounds: int = ROUNDS, *, is_last: bool = False) -> None:
        """Measure in turns, the default first in each round."""
        for trial in {id(trial): trial for trial in (self._default, *(trial for trial, _ in entries))}.values():
            if id(trial) not in self._warm:
                self._warm.add(id(trial))
                trial.turn(self._threads, 0.0)
        for number in range(rounds):
            if not entries or (number and self._is_over()):
                break
            base = self._measure(self._default, self._threads)
            self._row(self._default, self._threads).add(base, base)
            for trial, threads in entries:
                self._row(trial, threads).add(self._measure(trial, threads), base, is_last=is_last)

    def _measure(self, trial: Trial, threads: int) -> Any:
        self._say(trial.candidate(threads).words)
        return trial.turn(threads, self._turn_s)

    def _row(self, trial: Trial, threads: int) -> Row:
        candidate = trial.candidate(threads)
        self._entries.setdefault(candidate, (trial, threads))
        row = self._rows.setdefault(candidate, Row(candidate))
        row.total_mb = row.total_mb or sum(trial.worker_mb()) + trial.block_mb()
        return row

    def _ratio(self, trial: Trial, threads: int) -> float:
        row = self._rows.get(trial.candidate(threads))
        return row.over_default if row is not None and row.ratios else 1.0

    def _take_best(self, entries: Iterable[Entry]) -> None:
        """Go on with the best so far."""
        reached = self._ratio(self._best, self._best_threads) * (1 + MARGIN)
        for trial, threads in entries:
            if self._ratio(trial, threads) > reached:
                self._best, self._best_threads = trial, threads
                reached = self._ratio(trial, threads)
        self._close_losers()

    def _finalists(self) -> list[Entry]:
        """Return the best so far, and the row that showed more than it, though too little more to be taken."""
        if (self._best, self._best_threads) == (self._default, self._threads):
            return []
        most = max(self._rows.values(), key=lambda row: row.over_default)
        rival = [most.candidate] if most.over_default > self._ratio(self._best, self._best_threads) else []
        return [(self._best, self._best_threads), *(self._entries[candidate] for candidate in rival)]

    def _close_losers(self) -> None:
        """End the games of those that cannot be chosen any more."""
        kept = [self._default, self._best, *(trial for trial, _ in self._finalists())]
        for trial, _ in self._entries.values():
            if trial not in kept:
                trial.close()

    def _judge(self) -> Found:
        """Measure those in question beside the default once more: the best of many may owe its place to luck."""
        default = self._row(self._default, self._threads)
        if not default.turns:
            self._compare([(self._default, self._threads)], 1)
        finalists = self._finalists()
        if finalists:
            self._began_s = max(self._began_s, time.monotonic() - 0.7 * self._seconds)  # this much is kept for it
            self._compare(finalists, LAST_ROUNDS, is_last=True)
        choice = chosen(default, [self._row(*entry) for entry in finalists])
        if self._is_over():
            self._limits.append("time")
        rows = sorted(self._rows.values(), key=lambda row: row.candidate)
        settings, limits = self._default.settings, list(dict.fromkeys(self._limits))
        return Found(
            default,
            choice,
            choice.once_more or 1.0,
            rows,
            usable_cores(),
            self._longest,
            self._default.got(),
            limits,
            self._rollout,
            draws=settings.game is not None and settings.observation != "features",
        )

    def _is_over(self) -> bool:
        return time.monotonic() - self._began_s >= self._seconds

    def _say(self, what: str) -> None:
        gone = time.monotonic() - self._began_s
        self._tell(min(1.0, gone / self._seconds), max(0.0, self._seconds - gone), what)


def worker_counts(cores: int, n_envs: int) -> list[int]:
    """Return the numbers of workers worth a look: one, a quarter, half and all of the cores.

    >>> worker_counts(2, 32), worker_counts(16, 32), worker_counts(16, 4)
    ([1, 2], [1, 4, 8, 16], [1, 4])
    """
    return sorted({min(max(1, cores // part), n_envs) for part in (cores, 4, 2, 1)})


def thread_counts(cores: int) -> list[int]:
    """Return the numbers of threads worth a look: doubled up to all cores.

    >>> thread_counts(1), thread_counts(2), thread_counts(12)
    ([1], [1, 2], [1, 2, 4, 8, 12])
    """
    return sorted({*(1 << power for power in range(cores.bit_length()) if 1 << power <= cores), cores})
