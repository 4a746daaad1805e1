"""Kill a training with SIGKILL again and again, resume it each time, and compare it with one never disturbed.

  python tools/kill_and_resume.py                    50 kills, at most 30 minutes
  python tools/kill_and_resume.py --kills 3 --minutes 2

Lantern is trained once unbroken, and once with kills at random moments: while starting, while taking a checkpoint up,
in the midst of an update or of a write, and in the final evaluation. Every `parcade resume` has another number of
workers. Every second kill hits the trainer alone, the others its whole process group. At the end the weights (bit for
bit), metrics.jsonl (times aside), the monitor files and the evaluation must equal those of the unbroken run. The exit
code is 1 if they do not, or if time ran out.

A life is a process of its own, forked from this one after everything is imported: 50 imports of PyTorch would take
longer than all the training. It runs the command line's own `main`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch, as the command line does

import parcade.cli.resume
import parcade.cli.train
import parcade.console.gameboy
import parcade.train.loop  # noqa: F401
from parcade.cli.main import main as parcade_main
from parcade.run.archive import read_archive

WORKERS = ((2, "fork"), (0, "auto"), (3, "fork"), (1, "auto"))  # of each life in turn, and how they are started
N_ENVS, N_STEPS = 6, 32
UPDATES_PER_KILL = 3
POLL_S = 0.004


class OutOfTimeError(Exception):
    """The minutes given are over."""


def main() -> int:
    """Run both trainings and tell the verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, metavar="N", help="how many [50]")
    parser.add_argument("--minutes", type=float, default=30.0, metavar="X", help="give up after so long [30]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the moments of death [0]")
    parser.add_argument("--json", action="store_true", help="end with one machine-readable line")
    arguments = parser.parse_args()
    if arguments.kills < 1 or arguments.minutes <= 0:
        parser.error("--kills and --minutes must be above 0")
    with tempfile.TemporaryDirectory(prefix="parcade-kills-") as folder:
        result = kill_and_resume(Path(folder), arguments.kills, arguments.minutes, arguments.seed)
    print(verdict(result), file=sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print(json.dumps(result))
    return 0 if result["passed"] else 1


def kill_and_resume(folder: Path, kills: int, minutes: float, seed: int) -> dict[str, Any]:
    """Return what happened; ``differences`` is empty if both runs ended in the same numbers."""
    started = time.monotonic()
    deadline = started + 60 * minutes
    updates = UPDATES_PER_KILL * kills + 10
    killer = Killer(folder / "broken", updates, random.Random(seed), deadline)
    differences: list[str] = []
    try:
        run(train_command(folder / "unbroken", updates, 2), folder / "unbroken", deadline)
        say(f"unbroken: {updates} updates in {time.monotonic() - started:.0f} s")
        killer.kill_all(kills)
        differences = compare(run_of(folder / "unbroken"), run_of(folder / "broken"))
        finished = True
    except OutOfTimeError:
        finished = False
    return {
        "kills": killer.kills,
        "kills_wanted": kills,
        "kills_by_moment": killer.moments,
        "updates": updates,
        "seconds": time.monotonic() - started,
        "finished": finished,
        "differences": differences,
        "passed": finished and killer.kills == kills and not differences,
    }


def verdict(result: dict[str, Any]) -> str:
    """Return one sentence."""
    survived = f"{result['kills']} of {result['kills_wanted']} kills in {result['seconds']:.0f} s"
    if not result["finished"]:
        return f"FAILED: time ran out after {survived}"
    if result["differences"]:
        return f"FAILED: after {survived} these differ from the unbroken run: {'; '.join(result['differences'])}"
    if not result["passed"]:
        return f"FAILED: the run ended after {survived}; the numbers are equal"
    return f"PASSED: {survived}, the same weights, metrics, monitors and evaluation as the unbroken run, bit for bit"


class Life:
    """One process of the trainer, in a process group of its own."""

    def __init__(self, command: list[str], output: Path) -> None:
        self.output = output
        self.exit_code: int | None = None  # negative: the signal it died of
        self.pid = os.fork()
        if self.pid == 0:
            self._live(command)

    def _live(self, command: list[str]) -> None:
        code = 70
        try:
            os.setsid()
            shown = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(shown, stream)
            code = parcade_main(command)
        finally:
            os._exit(code)

    def ended(self) -> bool:
        """Return whether it is over; the exit code is then known."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    def end(self, whole_group: bool) -> None:
        """SIGKILL the trainer, alone or with all its processes; on return none of them is left."""
        if not self.ended():
            os.killpg(self.pid, signal.SIGKILL) if whole_group else os.kill(self.pid, signal.SIGKILL)
            while not self.ended():
                time.sleep(0.001)
        give_up = time.monotonic() + 60
        while members(self.pid):  # workers notice their trainer's death
            if time.monotonic() > give_up:
                left = members(self.pid)
                os.killpg(self.pid, signal.SIGKILL)
                raise RuntimeError(f"processes {left} outlived their trainer by a minute")
            time.sleep(0.01)

    def complain(self) -> None:
        """Raise if it ended by itself with an error."""
        if self.exit_code:
            shown = self.output.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"a life ended by itself with exit code {self.exit_code}: {shown}")


class Killer:
    """Starts and resumes a run, and kills each of its lives but the last."""

    def __init__(self, folder: Path, updates: int, chance: random.Random, deadline: float) -> None:
        self._folder, self._updates, self._chance, self._deadline = folder, updates, chance, deadline
        self._metrics: Path | None = None
        self.kills = 0
        self.moments: dict[str, int] = {"starting": 0, "training": 0, "final evaluation": 0}

    def kill_all(self, kills: int) -> None:
        """Kill so many lives, then let the run come to its end."""
        while self.kills < kills:
            if not self._one_life(last=self.kills == kills - 1):
                return  # it came to its end before it could be killed
        run(self._command(), self._folder, self._deadline)

    def _command(self) -> list[str]:
        workers, method = WORKERS[self.kills % len(WORKERS)]
        if not configs(self._folder):
            return train_command(self._folder, self._updates, workers)
        flags = ["--n-workers", str(workers), "--parallel-start-method", method, "--plain"]
        return ["resume", str(run_of(self._folder)), *flags]

    def _one_life(self, last: bool) -> bool:
        """Start or resume, kill at a random moment; False if the run ended before."""
        begun, had, chance = time.monotonic(), self._rows(), self._chance
        workers = WORKERS[self.kills % len(WORKERS)][0]
        life = Life(self._command(), self._folder.with_suffix(".log"))
        try:
            if last:
                moment, longer = "final evaluation", chance.uniform(0, 0.2)
                alive = self._wait(life, lambda: self._rows() >= self._updates)
            elif chance.random() < 0.25:
                moment, longer = "starting", chance.uniform(0, 1.0)
                alive = self._wait(life, lambda: bool(configs(self._folder)))
            else:
                moment, longer = "training", chance.uniform(0, 0.2)
                target = min(had + chance.randint(1, UPDATES_PER_KILL), self._updates - 1)
                alive = self._wait(life, lambda: self._rows() >= target)
            if not (alive and self._live_on(life, longer)):
                life.complain()
                return False
        finally:
            life.end(whole_group=self.kills % 2 == 0)
        self.kills += 1
        self.moments[moment] += 1
        took = time.monotonic() - begun
        say(f"kill {self.kills:>3}  {moment:<16}  {workers} workers  {took:5.1f} s  {self._rows():>4} updates written")
        return True

    def _rows(self) -> int:
        """Return how many updates metrics.jsonl tells of."""
        if self._metrics is None and configs(self._folder):
            self._metrics = run_of(self._folder) / "metrics.jsonl"
        try:
            return self._metrics.read_bytes().count(b"\n") if self._metrics else 0
        except OSError:
            return 0

    def _wait(self, life: Life, fact: Callable[[], bool]) -> bool:
        """Wait for a fact; False if the process ends before."""
        while not fact():
            if life.ended():
                return False
            if time.monotonic() > self._deadline:
                raise OutOfTimeError
            time.sleep(POLL_S)
        return True

    def _live_on(self, life: Life, seconds: float) -> bool:
        """Let it live a little longer; False if it ends by itself."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not life.ended():
            time.sleep(POLL_S)
        return not life.ended()


def train_command(folder: Path, updates: int, workers: int) -> list[str]:
    """Return the command that begins a run; checkpoints, evaluations and episode ends fall between many updates."""
    rows = N_ENVS * N_STEPS
    flags = {
        "--game": "lantern",
        "--seed": 5,
        "--n-envs": N_ENVS,
        "--n-steps": N_STEPS,
        "--max-steps": 50,
        "--timesteps": rows * updates,
        "--save-freq": rows,
        "--eval-freq": rows * 10,
        "--n-eval-episodes": 1,
        "--final-eval-episodes": 20,
        "--run-name": "run",
        "--log-root": folder,
        "--n-workers": workers,
    }
    return ["train", *(str(word) for pair in flags.items() for word in pair), "--no-video", "--plain"]


def run(command: list[str], folder: Path, deadline: float) -> None:
    """Run a command to its end."""
    life = Life(command, folder.with_suffix(".log"))
    try:
        while not life.ended():
            if time.monotonic() > deadline:
                raise OutOfTimeError
            time.sleep(0.01)
    finally:
        life.end(whole_group=True)
    life.complain()


def members(group: int) -> list[int]:
    """Return the living processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def configs(folder: Path) -> list[Path]:
    """Return the config files of the runs in a folder: there is one as soon as a run can be resumed."""
    return sorted(folder.glob("run/*/config.json"))


def run_of(folder: Path) -> Path:
    """Return the run in a folder."""
    return configs(folder)[0].parent


def compare(unbroken: Path, broken: Path) -> list[str]:
    """Return what differs between two finished runs, times aside."""
    differences = []
    parts = {"metrics": metrics, "monitors": monitors, "evaluation": evaluation, "kept episodes": kept_episodes}
    for what, read in parts.items():
        if read(unbroken) != read(broken):
            differences.append(what)
    for name in ("final_model.zip", "best_model.zip"):
        if weights(unbroken / "models" / name) != weights(broken / "models" / name):
            differences.append(f"weights of {name}")
    return differences


def metrics(path: Path) -> list[dict[str, Any]]:
    """Return metrics.jsonl without times."""
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "time"} for row in rows]


def monitors(path: Path) -> dict[str, str]:
    """Return the text of every slot's monitor file."""
    return {file.name: file.read_text() for file in (path / "monitor").iterdir()}


def kept_episodes(path: Path) -> dict[str, bytes]:
    """Return the bytes of every file of kept episodes and of their index."""
    return {file.name: file.read_bytes() for file in (path / "episodes").glob("*")}


def evaluation(path: Path) -> dict[str, Any]:
    """Return the final evaluation without times."""
    found = json.loads((path / "summary.json").read_text())["evaluation"]
    return {key: value for key, value in found.items() if key != "seconds"}


def weights(model: Path) -> dict[str, bytes]:
    """Return the bytes of every weight."""
    return {name: array.tobytes() for name, array in read_archive(model, "model")[1]["weights"].items()}


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
