"""Live progress in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from parcade.cli.terminal import Terminal, print_result

if TYPE_CHECKING:
    from parcade.train.events import Event


class ProgressListener:
    """What listens to a training in a terminal; at the end it knows the summary and the exit code."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.summary = ""
        self._stopped_by: int | None = None

    @property
    def exit_code(self) -> int:
        """0, or as shells say it: 130 after Ctrl-C, 143 after SIGTERM, 129 after the end of the terminal."""
        return 0 if self._stopped_by is None else 128 + self._stopped_by

    def __call__(self, event: Event) -> None:
        """Take one event."""
        from parcade.train import events

        if isinstance(event, events.Stopping):
            self._stopped_by = event.number
        elif isinstance(event, events.Finished):
            from parcade.train.summary import summary_text

            self.summary = summary_text(event)
        self.show(event)

    def show(self, event: Event) -> None:
        """Show it."""


@contextmanager
def progress(plain: bool = False, *, summary_to_stderr: bool = False) -> Iterator[ProgressListener]:
    """Give a listener for ``train`` that shows what happens on stderr; the summary goes to stdout.

    Where nobody reads any more, nothing is shown and nothing ends.
    """
    terminal = Terminal()
    listener: ProgressListener
    if plain or not terminal.isatty():
        listener = _PlainListener(terminal)
        yield listener
    else:
        listener = live = _LiveListener(terminal)
        with live.live:
            yield listener
    if listener.summary:
        print_result(listener.summary, to_stderr=summary_to_stderr)


class _PlainListener(ProgressListener):
    """A line every few seconds."""

    def __init__(self, terminal: Terminal) -> None:
        from parcade.train.plain_progress import PlainProgress

        super().__init__(terminal)
        self._plain = PlainProgress(self._say)

    def show(self, event: Event) -> None:
        self._plain(event)

    def _say(self, text: str) -> None:
        self.terminal.write(f"{text}\n")
        self.terminal.flush()


class _LiveListener(ProgressListener):
    """A bar with steps and the time left, and two lines of numbers under it; 80 columns hold all of it."""

    def __init__(self, terminal: Terminal) -> None:
        from parcade.train.progress_text import Goal

        super().__init__(terminal)
        self._console = Console(file=cast("IO[str]", terminal), highlight=False)
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=self._console,
            expand=True,
        )
        self._lines = ["starting the games …"]
        self.live = Live(self._view(), console=self._console, refresh_per_second=8, transient=False)
        self._goal = Goal(1, None)
        self._training: Any = None
        self._evaluating: Any = None
        self._has_row = False

    def _view(self) -> Group:
        lines = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in self._lines]
        return Group(self._bar, *lines)

    def show(self, event: Event) -> None:
        from parcade.train import events
        from parcade.train.progress_text import Goal, headline, replaying, row_lines, starting

        if isinstance(event, events.Opening):
            self._lines = [starting(event)]
        elif isinstance(event, events.Replaying):
            self._lines = [replaying(event)]
        elif isinstance(event, events.Started):
            self._print(headline(event))
            self._goal = Goal(event.settings.total_timesteps, event.settings.num_episodes)
            self._training = self._bar.add_task("training", total=1.0, done="", rate="")
            self._advance(event.env_steps)
        elif isinstance(event, events.Learning):
            self._bar.update(self._training, description=f"learning {event.share:.0%}")
        elif isinstance(event, events.Playing):
            self._bar.update(self._training, description="training")
            self._advance(event.env_steps)
            if not self._has_row:
                played = event.env_steps % event.rollout
                self._lines = [f"playing the first rollout: {played:,} of {event.rollout:,} steps, then it learns"]
        elif isinstance(event, events.Updated):
            self._has_row = True
            self._advance(event.row["env_steps"], event.row["episodes"])
            self._bar.update(self._training, description="training", rate=f"{event.row['time']['steps_per_s']:,.0f}/s")
            self._lines = row_lines(event.row)
        elif isinstance(event, events.EvaluationStarted):
            self._evaluating = self._bar.add_task("evaluating", total=event.episodes, done="", rate="")
        elif isinstance(event, events.EpisodeEvaluated):
            self._bar.update(self._evaluating, completed=event.done, done=f"{event.done}/{event.of} episodes")
        else:
            self._say_now(event)
        self.live.update(self._view())

    def _say_now(self, event: Event) -> None:
        """Show what is over or goes wrong as a line above the bar."""
        from parcade.train import events
        from parcade.train.progress_text import coached, evaluated, filming, moved, stopping

        if isinstance(event, events.Evaluated):
            self._end_evaluation()
            self._print(evaluated(event))
        elif isinstance(event, events.EvaluationFailed):
            self._end_evaluation()  # a warning has told why
        elif isinstance(event, events.Filming) and not event.steps:
            self._end_evaluation()
            self._print(filming(event))
        elif isinstance(event, events.Moved):
            self._print(moved(event))
        elif isinstance(event, events.Coached):
            self._print(coached(event))
        elif isinstance(event, events.Stopping):
            self._print(stopping(event))
        elif isinstance(event, events.Finished):
            self._end_evaluation()

    def _advance(self, env_steps: int, episodes: int | None = None) -> None:
        share, done = self._goal.reached(env_steps, episodes)
        self._bar.update(self._training, completed=share, done=done)

    def _end_evaluation(self) -> None:
        if self._evaluating is not None:
            self._bar.remove_task(self._evaluating)
            self._evaluating = None

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False)  # a run may be named like rich's own marks
