"""What a training does to a terminal, and what it does when the terminal goes away."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

PARCADE = [sys.executable, "-m", "parcade.cli.main"]
QUICK = ["--n-envs", "4", "--n-steps", "64", "--max-steps", "40", "--no-video", "--n-workers", "0"]
NO_EVAL = ["--final-eval-episodes", "0", "--eval-freq", "0"]


def rows_of(folder):
    (metrics,) = folder.glob("results/*/*/metrics.jsonl")
    return [json.loads(line) for line in metrics.read_text().splitlines()]


def log_of(folder):
    (log,) = folder.glob("results/*/*/logs/train.log")
    return log.read_text()


def wait_for(fact, seconds=60):
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def has_rows(folder):
    return any(path.stat().st_size for path in folder.glob("results/*/*/metrics.jsonl"))


def test_the_summary_goes_to_stdout_and_into_the_log(tmp_path):
    command = [*PARCADE, "train", "--timesteps", "512", *QUICK, *NO_EVAL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for place in (done.stdout, log_of(tmp_path)):
        assert "  games        4 games in one process\n" in place
        assert "  report       results/lantern/" in place
    assert "mean return" not in done.stderr


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_pipe_does_not_end_a_training(tmp_path, closed):
    read_end, write_end = os.pipe()
    os.close(read_end)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: write_end}
    command = [*PARCADE, "train", "--timesteps", "512", *QUICK, *NO_EVAL]
    try:
        done = subprocess.run(command, cwd=tmp_path, text=True, timeout=120, **streams)
    finally:
        os.close(write_end)
    assert done.returncode == 0
    assert rows_of(tmp_path)[-1]["env_steps"] == 512
    assert list(tmp_path.glob("results/*/*/summary.json"))
    assert "Traceback" not in (done.stderr or "")
    if closed == "stderr":
        assert "the terminal is closed; the run goes on without it" in log_of(tmp_path)


class TerminalProcess:
    """A command in a terminal of 80 columns."""

    def __init__(self, command, folder):
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may ignore it, as nohup does
            os.environ.update(COLUMNS="80", LINES="24", TERM="xterm", PYTHONPATH=os.environ.get("PYTHONPATH", ""))
            os.execv(command[0], command)
        self.shown = b""

    def read_until(self, fact, seconds=60):
        deadline = time.monotonic() + seconds
        while not fact():
            assert time.monotonic() < deadline, self.shown[-3000:].decode(errors="replace")
            self._read()

    def _read(self):
        if select.select([self.screen], [], [], 0.05)[0]:
            try:
                self.shown += os.read(self.screen, 65536)
            except OSError:  # the other end is closed
                time.sleep(0.05)

    def exit_code(self, seconds=30):
        deadline = time.monotonic() + seconds
        while True:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.cpu_s = used.ru_utime + used.ru_stime
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, self.shown[-3000:].decode(errors="replace")
            if self.screen is not None:
                self._read()

    def hang_up(self):
        os.close(self.screen)
        self.screen = None


@pytest.fixture
def terminal(tmp_path):
    started = []

    def start(*arguments):
        started.append(TerminalProcess([*PARCADE, *arguments], tmp_path))
        return started[-1]

    yield start
    for process in started:
        try:
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        if process.screen is not None:
            process.hang_up()


def test_a_terminal_that_is_closed_stops_a_training_with_a_checkpoint(terminal, tmp_path):
    process = terminal("train", "--timesteps", "50M", "--n-envs", "4", "--n-workers", "2", *NO_EVAL)
    process.read_until(lambda: has_rows(tmp_path))
    process.hang_up()
    assert process.exit_code() == 128 + signal.SIGHUP
    assert "stopping because of SIGHUP" in log_of(tmp_path)
    assert list(tmp_path.glob("results/*/*/checkpoints/step_*.ckpt"))
    assert list(tmp_path.glob("results/*/*/report.html"))
    assert "killed" not in log_of(tmp_path)  # the workers leave the signal to the trainer


def test_a_second_ctrl_c_is_at_once(terminal, tmp_path):
    """An update that lasts for minutes: the first Ctrl-C waits for its end, the second does not.

    What the process itself still computes is measured, which is the same on a busy machine, and what it writes.
    """
    more = ["--n-envs", "4", "--n-steps", "1024", "--batch-size", "2", "--n-epochs", "1000", "--n-workers", "2"]
    process = terminal("train", "--timesteps", "1M", *more, *NO_EVAL)
    process.read_until(lambda: b"playing the first rollout" in process.shown or b"games in" in process.shown)
    before_s = cpu_seconds(process.pid)
    process.read_until(
        lambda: cpu_seconds(process.pid) > before_s + 1
    )  # workers play; the trainer works when it learns
    os.kill(process.pid, signal.SIGINT)
    process.read_until(lambda: b"Ctrl-C again stops at once" in process.shown, 30)
    before_s = cpu_seconds(process.pid)
    os.kill(process.pid, signal.SIGINT)
    assert process.exit_code(120) == 130
    assert process.cpu_s - before_s < 3
    assert not has_rows(tmp_path)
    assert not list(tmp_path.glob("results/*/*/checkpoints/*.ckpt"))


def cpu_seconds(pid):
    return sum(psutil.Process(pid).cpu_times()[:2])


def test_no_line_of_the_display_is_wider_than_the_terminal(terminal, tmp_path):
    process = terminal("train", "--timesteps", "2048", *QUICK, "--final-eval-episodes", "3", "--eval-freq", "1024")
    assert process.exit_code(120) == 0
    text = process.shown.decode(errors="replace")
    lines = [line for line in visible_lines(text) if "results/" not in line]
    assert any("2,048/2,048 steps" in line for line in lines)
    assert max(map(len, lines)) <= 80, max(lines, key=len)


def visible_lines(text):
    import re

    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return [part for line in plain.split("\n") for part in line.split("\r")]


def test_a_run_that_fails_leaves_a_report(tmp_path):
    Path(tmp_path, "sick.py").write_text(
        "import gymnasium as gym, numpy as np\n"
        "class Sick(gym.Env):\n"
        "    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    steps = 0\n"
        "    def reset(self, *, seed=None, options=None): return np.zeros(2, np.float32), {}\n"
        "    def step(self, action):\n"
        "        self.steps += 1\n"
        "        if self.steps > 200: raise RuntimeError('sick')\n"
        "        return np.zeros(2, np.float32), 1.0, self.steps % 10 == 0, False, {}\n"
        "gym.register('Sick-v0', Sick)\n"
    )
    command = [*PARCADE, "train", "--env-id", "Sick-v0", "--import", "sick", "--timesteps", "10k", "--n-envs", "2"]
    command += ["--n-steps", "64", "--n-workers", "0", "--save-freq", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    (report,) = tmp_path.glob("results/*/*/report.html")
    assert "Sick-v0" in report.read_text()
