"""A number of games and workers, opened to be measured: real games, the real network, rollouts and updates in turns."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from parcade.config.settings import TrainSettings
from parcade.host.core_use import core_time
from parcade.host.memory import private_mb
from parcade.host.wording import counted
from parcade.train.assembly import algorithm_of, learning_threads, policy_of, pool_of
from parcade.train.exploring import check_exploring, explorer_of, reads_cells
from parcade.train.given import env_spec, settings_for
from parcade.train.process_context import use_threads
from parcade.train.rollouts import Rollouts

# Nobody gets better: whoever learned quicker would meet more rooms and foes, which cost the emulator more.
_UNCHANGED: dict[str, Any] = {"learning_rate": 1e-12, "lr_schedule": "constant", "total_timesteps": 1 << 40}
GAMES_S = 60.0  # what a rollout under way gets to end
FIRST_STEPS = 16  # of a rollout that only shows how fast the games are


class Candidate(NamedTuple):
    """What is measured."""

    n_envs: int
    n_workers: int
    num_threads: int

    @property
    def words(self) -> str:
        """The candidate in words."""
        games, workers = counted(self.n_envs, "game"), counted(self.n_workers, "worker")
        return f"{games}, {workers}, {counted(self.num_threads, 'thread')}"


class Turn(NamedTuple):
    """What one turn took."""

    env_steps: int
    play_s: float
    learn_s: float

    def and_then(self, other: Turn) -> Turn:
        """Return both as one."""
        return Turn(self.env_steps + other.env_steps, self.play_s + other.play_s, self.learn_s + other.learn_s)

    @property
    def steps_per_s(self) -> float:
        """Env steps per second, playing and learning together."""
        return self.env_steps / (self.play_s + self.learn_s)


class Trial:
    """Open games of one number, in one number of workers; who opens it closes it."""

    def __init__(self, given: dict[str, Any], n_envs: int | None, n_workers: int | None, longest: int | None) -> None:
        counts = {"n_envs": n_envs, "n_workers": n_workers}
        asked = {**given, **{name: count for name, count in counts.items() if count is not None}}
        self.settings = settings_for(asked)
        self._spec = env_spec(self.settings)
        check_exploring(self.settings, self._spec)
        use_threads(1)
        self.pool = pool_of(self._spec.with_(cells=reads_cells(self.settings)), self.settings)
        try:
            self.pool.reset()
            self.use_rollouts_of(longest or self.settings.n_steps)
        except BaseException:
            self.pool.close()
            raise

    def use_rollouts_of(self, n_steps: int) -> None:
        """Measure rollouts of ``n_steps`` from now on, or of fewer where the settings have fewer."""
        self.n_steps = min(n_steps, self.settings.n_steps)
        settings, pool = shortened(self.settings, self.n_steps), self.pool
        policy = policy_of(settings, pool.observation_space, pool.action_space)
        self.default_threads = self.settings.num_threads or learning_threads(policy)
        self.is_on_cpu = policy.device.type == "cpu"
        self._algorithm = algorithm_of(settings, policy, self._spec)
        explorer, seed = explorer_of(settings, pool, self._spec), settings.seed * 2 + 1
        self._rollouts = Rollouts(
            pool, self._algorithm, self.n_steps, seed, overlap=settings.overlap, explorer=explorer
        )
        if explorer is not None:
            explorer.begin()

    def candidate(self, num_threads: int) -> Candidate:
        """Return what a turn with so many threads measures."""
        return Candidate(self.pool.n_envs, self.pool.n_workers, num_threads)

    def turn(self, num_threads: int, seconds: float) -> Turn:
        """Play and learn for about ``seconds``, one update at least."""
        if self.settings.overlap:  # its first rollout was played while nobody looked
            self._cycle(num_threads)
        total = self._cycle(num_threads)
        while total.play_s + total.learn_s < seconds:
            total = total.and_then(self._cycle(num_threads))
        if self.settings.overlap:
            self._let_games_finish()
        return total

    def _cycle(self, num_threads: int) -> Turn:
        started = time.perf_counter()
        block = self._rollouts.play()
        played = time.perf_counter()
        use_threads(num_threads)
        self._algorithm.update(block, 1.0)
        return Turn(block.env_steps, played - started, time.perf_counter() - played)

    def _let_games_finish(self) -> None:
        """Wait for the rollout that overlap has under way: nobody else is measured beside it."""
        rows, until_s = self.pool.n_envs * self.n_steps, time.monotonic() + GAMES_S
        while self.pool.progress.taken() < rows and time.monotonic() < until_s:
            time.sleep(0.01)

    def worker_mb(self) -> list[float]:
        """Return the memory that each worker has for itself, in MB."""
        return [private_mb(pid) for pid in getattr(self.pool, "worker_pids", [])]

    def got(self) -> float:
        """Return the share of the time in which workers ran, of that in which they wanted to: others had the rest."""
        times = [found for pid in getattr(self.pool, "worker_pids", []) if (found := core_time(pid)) is not None]
        ready = sum(one.run_s + one.wait_s for one in times)
        return sum(one.run_s for one in times) / ready if ready else 1.0

    def block_mb(self) -> float:
        """Return the memory of the rollout in a training, in MB: of all its steps, also if fewer are measured."""
        measured = sum(mapped.layout.dense_size for mapped in self.pool.shared_files[1:]) / 1e6
        return measured * self.settings.n_steps / self.n_steps

    def close(self) -> None:
        """End the games; twice is fine."""
        self.pool.close()


def shortened(settings: TrainSettings, n_steps: int) -> TrainSettings:
    """Return settings for measuring: rollouts of ``n_steps``, and a policy that stays as it is."""
    rows = settings.envs * n_steps
    batch = max(2, min(settings.batch_size, rows))
    return settings.model_copy(update={**_UNCHANGED, "n_steps": n_steps, "batch_size": batch})
