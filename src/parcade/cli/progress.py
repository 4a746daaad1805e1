"""Live progress in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from parcade.train.events import Evaluated, EvaluationFailed, Event, Listener, Started
    from parcade.train.results import TrainResult

PLAIN_EVERY_S = 5.0
STOPPING = "stopping; Ctrl-C again stops at once"


@contextmanager
def progress(plain: bool = False) -> Iterator[Listener]:
    """Give a listener for ``train`` that shows what happens; everything goes to stderr, results to stdout."""
    console = Console(stderr=True, highlight=False)
    if plain or not console.is_terminal:
        yield _PlainListener()
        return
    listener = _LiveListener(console)
    with listener.live:
        yield listener
    listener.close()


class _PlainListener:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, event: Event) -> None:
        from parcade.train import events

        if isinstance(event, events.Opening):
            _say(
                f"starting {_counted(event.settings.envs, 'game')} of {event.settings.game or event.settings.env_id} …"
            )
        elif isinstance(event, events.Started):
            _say(_headline(event))
        elif isinstance(event, events.Playing) and self._is_time():
            _say(f"step {event.env_steps:,}, playing a rollout of {event.rollout:,}")
        elif isinstance(event, events.Updated) and self._is_time():
            _say(_line(event.row))
        elif isinstance(event, events.EvaluationStarted):
            episodes = _counted(event.episodes, "episode")
            _say(f"evaluating {episodes} on unseen seeds (--final-eval-episodes, --eval-freq)")
        elif isinstance(event, events.EpisodeEvaluated) and self._is_time():
            _say(f"evaluated {event.done} of {_counted(event.of, 'episode')}")
        elif isinstance(event, events.Evaluated):
            _say(_evaluated(event))
        elif isinstance(event, events.EvaluationFailed):
            _say(_failed(event))
        elif isinstance(event, events.Stopping):
            _say(STOPPING)
        elif isinstance(event, events.Finished):
            _say(_line_of_result(event.result))
            _say(summary_text(event.result, event.evaluation))

    def _is_time(self) -> bool:
        if time.monotonic() < self._next_s:
            return False
        self._next_s = time.monotonic() + PLAIN_EVERY_S
        return True


class _LiveListener:
    """A bar with the time left, and a small table under it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            expand=True,
        )
        self._table: Any = Text("starting the games …", style="dim")
        self.live = Live(self._view(), console=console, refresh_per_second=8, transient=False)
        self._training: Any = None
        self._evaluating: Any = None
        self._end = ""

    def _view(self) -> Group:
        return Group(self._bar, self._table)

    def __call__(self, event: Event) -> None:
        from parcade.train import events

        if isinstance(event, events.Started):
            self._print(_headline(event))
            self._training = self._bar.add_task(
                "training", total=event.settings.total_timesteps, completed=event.env_steps, rate=""
            )
        elif isinstance(event, events.Playing):
            self._bar.update(self._training, completed=event.env_steps)
        elif isinstance(event, events.Updated):
            rate = f"{event.row['time']['steps_per_s']:,.0f} steps/s"
            self._bar.update(self._training, completed=event.row["env_steps"], rate=rate)
            self._table = _table(event.row)
        elif isinstance(event, events.EvaluationStarted):
            self._evaluating = self._bar.add_task("evaluating", total=event.episodes, rate="")
        elif isinstance(event, events.EpisodeEvaluated):
            self._bar.update(self._evaluating, completed=event.done)
            if event.done == event.of:
                self._bar.remove_task(self._evaluating)
        elif isinstance(event, events.Evaluated):
            self._print(_evaluated(event))
        elif isinstance(event, events.EvaluationFailed):
            self._print(_failed(event))
        elif isinstance(event, events.Stopping):
            self._print(STOPPING)
        elif isinstance(event, events.Finished):
            self._end = summary_text(event.result, event.evaluation)
        self.live.update(self._view())

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False)  # a run may be named like rich's own marks

    def close(self) -> None:
        """Print the summary below the last picture of the bar."""
        if self._end:
            self._print(self._end)


def _headline(event: Started) -> str:
    settings = event.settings
    what = settings.game or settings.env_id
    workers = _counted(event.n_workers, "worker") if event.n_workers else "this process"
    again = f", from step {event.env_steps:,}" if event.env_steps else ""
    track = ""
    if event.trained_in != event.evaluated_in:
        track = f"\ntrained on the fast {event.trained_in}, evaluated on the official {event.evaluated_in}"
    elif settings.racing:
        track = f"\ntrained and evaluated on the official {event.trained_in}"
    wanted, rollout = settings.total_timesteps, settings.rows_per_update
    whole = -(-wanted // rollout) * rollout
    rounded = "" if whole == wanted else f" ({wanted:,} wanted, rollouts have {rollout:,})"
    steps = f"{whole:,} steps{rounded}{again}"
    return f"{what}: {_counted(settings.envs, 'game')} in {workers}, {steps} -> {event.folder.path}{track}"


def _evaluated(event: Evaluated) -> str:
    result = event.result
    success = "" if result.success_rate is None else f", success {result.success_rate:.2f}"
    episodes = _counted(len(result.episodes), "episode")
    return f"evaluated after step {event.env_steps:,}: return {result.return_mean:.2f}{success} ({episodes})"


def _failed(event: EvaluationFailed) -> str:
    return f"the evaluation after step {event.env_steps:,} failed: {event.reason}; training goes on"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _line(row: dict[str, Any]) -> str:
    parts = [
        f"step {row['env_steps']:,}",
        f"episode {row['episodes']:,}",
        f"return {_number(row['return_mean'])}",
        f"length {_number(row['length_mean'], 0)}",
    ]
    if row["success_rate"] is not None:
        parts.append(f"success {row['success_rate']:.2f}")
    parts += [f"{row['time']['steps_per_s']:,.0f} steps/s", f"{row['time']['seconds']:.0f} s"]
    return "  ".join(parts)


def _table(row: dict[str, Any]) -> Table:
    times = row["time"]
    total = max(times["play_s"] + times["learn_s"], 1e-9)
    table = Table.grid(padding=(0, 3))
    table.add_row(
        f"[dim]return[/] {_number(row['return_mean'])}",
        f"[dim]success[/] {_number(row['success_rate'])}",
        f"[dim]length[/] {_number(row['length_mean'], 0)}",
        f"[dim]episodes[/] {row['episodes']:,}",
        f"[dim]entropy[/] {_number(row['losses'].get('entropy'))}",
    )
    table.add_row(
        f"[dim]playing[/] {times['play_s'] / total:.0%}",
        f"[dim]learning[/] {times['learn_s'] / total:.0%}",
        *(
            f"[dim]{escape(name.replace('_', ' '))}[/] {_number(value)}"
            for name, value in list(row["game"].items())[:2]
        ),
    )
    return table


def _line_of_result(result: TrainResult) -> str:
    return f"{'stopped' if result.interrupted else 'done'} after {result.seconds:.1f} s of training"


def summary_text(result: TrainResult, evaluation: Any) -> str:
    """Return the closing summary."""
    lines = [
        "",
        f"  steps        {result.env_steps:,} in {result.seconds:.1f} s ({result.steps_per_s:,.0f} steps/s)",
        f"  episodes     {result.episodes:,} ({result.episodes_per_s:.2f} a second)",
        f"  mean return  {_number(result.return_mean)} over the last {min(100, result.episodes)} episodes",
    ]
    if result.worker_restarts:
        lines.append(f"  restarts     {result.worker_restarts} workers died and were restored, see logs/train.log")
    if evaluation is not None:
        seeds = f"{len(evaluation.episodes)} unseen seeds"
        if evaluation.success_rate is not None:
            lines.append(f"  success      {evaluation.success_rate:.2f} on {seeds}")
        lines.append(
            f"  evaluated    return {evaluation.return_mean:.2f} ± {evaluation.return_std:.2f} on {seeds} "
            f"of {evaluation.env}, by the final model"
        )
    lines += [
        f"  models       {result.run_dir}/models/best_model.zip, final_model.zip",
        f"  report       {result.run_dir}/report.html",
    ]
    if result.interrupted:
        lines.append(f"  go on with   parcade resume {result.run_dir}")
    return "\n".join(lines)


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
