"""What progress says, in words."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from parcade.host.wording import counted, decimal

if TYPE_CHECKING:
    from parcade.config.settings import TrainSettings
    from parcade.train.events import (
        Coached,
        Evaluated,
        EvaluationFailed,
        Filming,
        Learning,
        Moved,
        Opening,
        Replaying,
        Started,
        Stopping,
    )
    from parcade.train.results import TrainResult


class Goal:
    """How far a training is that ends after so many steps or, if there is such a limit, episodes."""

    def __init__(self, total_timesteps: int, num_episodes: int | None) -> None:
        self._steps, self._limit, self._episodes = total_timesteps, num_episodes, 0

    def reached(self, env_steps: int, episodes: int | None = None) -> tuple[float, str]:
        """Return the share of what is wanted, 0 to 1, and what is done as text; whichever end is nearer counts.

        >>> Goal(1000, None).reached(250)
        (0.25, '250/1,000 steps')
        >>> Goal(1000, 10).reached(250, 5)
        (0.5, '5/10 episodes')
        """
        self._episodes = self._episodes if episodes is None else episodes
        share, done = env_steps / self._steps, f"{env_steps:,}/{self._steps:,} steps"
        if self._limit is not None and self._episodes / self._limit >= share:
            share, done = self._episodes / self._limit, f"{self._episodes:,}/{self._limit:,} episodes"
        return min(1.0, share), done


def starting(event: Opening) -> str:
    """Return what is said while the games start."""
    settings = event.settings
    return f"starting {counted(settings.envs, 'game')} of {_trained(settings)} …"


def _trained(settings: TrainSettings) -> str:
    return str(settings.game or settings.env_id or settings.env_factory)


def replaying(event: Replaying) -> str:
    """Return how far demonstrations have been played again."""
    return f"playing the demonstrations: {event.steps:,} of {event.of:,} steps"


def learning(event: Learning) -> str:
    """Return how far an update is."""
    return f"step {event.env_steps:,}, learning from a rollout of {event.rollout:,}: {event.share:.0%}"


def coached(event: Coached) -> str:
    """Return what a coach decided, or what became of it."""
    return f"coach, update {event.update:,}: {event.what}; {event.words}"


def headline(event: Started) -> str:
    """Return what a training is, in lines that 80 columns hold (but for a long folder)."""
    settings = event.settings
    workers = counted(event.n_workers, "worker") if event.n_workers else "this process"
    again = f", from step {event.env_steps:,}" if event.env_steps else ""
    wanted, rollout = settings.total_timesteps, settings.rows_per_update
    whole = -(-wanted // rollout) * rollout
    games = f"{counted(settings.envs, 'game')} in {workers}"
    lines = [f"{_trained(settings)}: {games}, {whole:,} steps{again}"]
    if whole != wanted:
        lines.append(f"  {wanted:,} steps wanted, rollouts have {rollout:,}")
    if settings.num_episodes is not None:
        lines.append(f"  or {counted(settings.num_episodes, 'episode')}, if that comes first")
    lines.append(f"  -> {event.folder.path}")
    if event.trained_in != event.evaluated_in:
        lines.append(f"trained on the fast {event.trained_in}, evaluated on the official {event.evaluated_in}")
    elif settings.racing:
        lines.append(f"trained and evaluated on the official {event.trained_in}")
    return "\n".join(lines)


def evaluated(event: Evaluated) -> str:
    """Return what an evaluation in the middle came to."""
    result = event.result
    success = "" if result.success_rate is None else f", success {result.success_rate:.2f}"
    episodes = counted(len(result.episodes), "episode")
    if len(result.episodes) < result.wanted:
        episodes += f" of {result.wanted}"
    if result.cut_episodes:
        episodes += f", {result.cut_episodes} crashed"
    return f"evaluated after step {event.env_steps:,}: return {result.return_mean:.2f}{success} ({episodes})"


def evaluation_failed(event: EvaluationFailed) -> str:
    """Return why an evaluation came to nothing."""
    if event.is_final:
        return f"the final evaluation, after step {event.env_steps:,}, failed: {event.reason}"
    return f"the evaluation after step {event.env_steps:,} failed: {event.reason}; training goes on"


def filming(event: Filming) -> str:
    """Return how far the video is."""
    if not event.steps:
        return "filming the trained agent (--no-video leaves it out)"
    return f"filmed {counted(event.steps, 'step')}"


def moved(event: Moved) -> str:
    """Return where the games have moved."""
    where = counted(event.n_workers, "worker") if event.n_workers else "this process"
    return f"the games moved to {where} in {event.seconds:.1f} s ({event.why})"


def stopping(event: Stopping) -> str:
    """Return what is said when somebody asked the training to end."""
    if event.number == signal.SIGINT:
        return "stopping, with a checkpoint; Ctrl-C again stops at once"
    return f"stopping because of {signal.Signals(event.number).name}, with a checkpoint; Ctrl-C stops at once"


def stopped_or_done(result: TrainResult) -> str:
    """Return how a training ended."""
    return f"{'stopped' if result.interrupted else 'done'} after {result.seconds:.1f} s of training"


def row_line(row: dict[str, Any]) -> str:
    """Return an update as one line."""
    parts = [f"step {row['env_steps']:,}", f"episode {row['episodes']:,}", *_returns(row)]
    if row["success_rate"] is not None:
        parts.append(f"success {row['success_rate']:.2f}")
    parts += [f"{row['time']['steps_per_s']:,.0f} steps/s", f"{row['time']['seconds']:.0f} s"]
    return "  ".join(parts)


def row_lines(row: dict[str, Any]) -> list[str]:
    """Return an update as two lines under a bar."""
    times = row["time"]
    total = max(times["play_s"] + times["learn_s"], 1e-9)
    success = [] if row["success_rate"] is None else [f"success {row['success_rate']:.2f}"]
    first = [*_returns(row), *success, f"episodes {row['episodes']:,}"]
    first.append(f"entropy {decimal(row['losses'].get('entropy'))}")
    second = [f"playing {times['play_s'] / total:.0%}", f"learning {times['learn_s'] / total:.0%}"]
    second.append(f"{times['seconds']:,.0f} s gone")
    second += [f"{name.replace('_', ' ')} {decimal(value)}" for name, value in list(row["game"].items())[:2]]
    return ["   ".join(first), "   ".join(second)]


def _returns(row: dict[str, Any]) -> list[str]:
    """Return the means of the last episodes, or of those under way while none has ended."""
    if row["return_mean"] is None and row.get("running"):
        running = row["running"]
        return [f"return so far {decimal(running['return_mean'])}", f"length so far {running['length_mean']:.0f}"]
    return [f"return {decimal(row['return_mean'])}", f"length {decimal(row['length_mean'], 0)}"]
