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
    from parcade.results import TrainResult
    from parcade.training import Watcher

PLAIN_EVERY_S = 5.0
STOPPING = "stopping after this update or episode; Ctrl-C again stops at once"


@contextmanager
def progress(plain: bool = False) -> Iterator[Watcher]:
    """Give a watcher for ``train`` that shows what happens; everything goes to stderr, results to stdout."""
    console = Console(stderr=True, highlight=False)
    if plain or not console.is_terminal:
        yield _PlainWatcher()
        return
    watcher = _LiveWatcher(console)
    with watcher.live:
        yield watcher
    watcher.close()


class _PlainWatcher:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, what: str, data: dict[str, Any]) -> None:
        if what == "opening":
            settings = data["settings"]
            _say(f"starting {_counted(settings.envs, 'game')} of {settings.game or settings.env_id} …")
        elif what == "started":
            _say(_headline(data))
        elif what == "update" and time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_EVERY_S
            _say(_line(data))
        elif what == "evaluating":
            _say(f"evaluating {data['episodes']} episodes on unseen seeds (--final-eval-episodes, --eval-freq)")
        elif what == "eval_episode" and time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_EVERY_S
            _say(f"evaluated {data['index'] + 1} of {data['of']} episodes")
        elif what == "stopping":
            _say(STOPPING)
        elif what == "finished":
            _say(_line_of_result(data["result"]))
            _say(summary_text(data["result"], data["evaluation"]))


class _LiveWatcher:
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
        self._task: Any = None
        self._end = ""

    def _view(self) -> Group:
        return Group(self._bar, self._table)

    def __call__(self, what: str, data: dict[str, Any]) -> None:
        if what == "started":
            self._console.print(_headline(data), markup=False)
            total = data["settings"].total_timesteps
            self._task = self._bar.add_task("training", total=total, completed=data["env_steps"], rate="")
        elif what == "update":
            rate = f"{data['time']['steps_per_s']:,.0f} steps/s"
            self._bar.update(self._task, completed=data["env_steps"], rate=rate)
            self._table = _table(data)
        elif what == "evaluating":
            self._task_eval = self._bar.add_task("evaluating", total=data["episodes"], rate="")
        elif what == "eval_episode":
            self._bar.update(self._task_eval, completed=data["index"] + 1)
            if data["index"] + 1 == data["of"]:
                self._bar.remove_task(self._task_eval)
        elif what == "stopping":
            self._console.print(STOPPING)
        elif what == "finished":
            self._end = summary_text(data["result"], data["evaluation"])
        self.live.update(self._view())

    def close(self) -> None:
        """Print the summary below the last picture of the bar."""
        if self._end:
            self._console.print(self._end, markup=False)


def _headline(data: dict[str, Any]) -> str:
    settings, folder = data["settings"], data["folder"]
    what = settings.game or settings.env_id
    workers = _counted(data["n_workers"], "worker") if data["n_workers"] else "this process"
    again = f", from step {data['env_steps']:,}" if data["env_steps"] else ""
    track = ""
    if data["trained_in"] != data["evaluated_in"]:
        track = f"\ntrained on the fast {data['trained_in']}, evaluated on the official {data['evaluated_in']}"
    elif settings.racing:
        track = f"\ntrained and evaluated on the official {data['trained_in']}"
    wanted, rollout = settings.total_timesteps, settings.rows_per_update
    whole = -(-wanted // rollout) * rollout
    rounded = "" if whole == wanted else f" ({wanted:,} wanted, rollouts have {rollout:,})"
    steps = f"{whole:,} steps{rounded}{again}"
    return f"{what}: {_counted(settings.envs, 'game')} in {workers}, {steps} -> {folder.path}{track}"


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
    total = max(times["env_s"] + times["inference_s"] + times["learn_s"], 1e-9)
    table = Table.grid(padding=(0, 3))
    table.add_row(
        f"[dim]return[/] {_number(row['return_mean'])}",
        f"[dim]success[/] {_number(row['success_rate'])}",
        f"[dim]length[/] {_number(row['length_mean'], 0)}",
        f"[dim]episodes[/] {row['episodes']:,}",
        f"[dim]entropy[/] {row['losses']['entropy']:.2f}",
    )
    table.add_row(
        f"[dim]games[/] {times['env_s'] / total:.0%}",
        f"[dim]inference[/] {times['inference_s'] / total:.0%}",
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
