"""A window beside a run, under a real X server whose screen is read from its own file."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from parcade.cli.main import main
from parcade.env.picture_file import PictureReader

PARCADE = [sys.executable, "-m", "parcade.cli.main"]
SMALL = ["--n-envs", "4", "--n-steps", "32", "--max-steps", "60", "--final-eval-episodes", "0", "--no-video", "--json"]
DEADLINE_S = 200
OUR_PATH = os.environ.get("PYTHONPATH", "")


@pytest.fixture
def screen(tmp_path):
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    folder = tmp_path / "screen"
    folder.mkdir()
    read_end, write_end = os.pipe()  # the server finds a free number by itself and tells it
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "900x700x24", "-fbdir", str(folder)]
    server = subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.DEVNULL)
    os.close(write_end)
    with os.fdopen(read_end) as told:
        number = told.readline().strip()
    yield Screen(f":{number}", folder / "Xvfb_screen0", tmp_path)
    server.terminate()
    server.wait(10)


class Screen:
    def __init__(self, display, framebuffer, home):
        self.environment = {
            "DISPLAY": display,
            "PATH": os.environ["PATH"],
            "SDL_VIDEODRIVER": "x11",
            "HOME": str(home),
            "PYTHONPATH": OUR_PATH,
        }
        self._file, self._home = framebuffer, home

    def start(self, *words, program=PARCADE):
        return subprocess.Popen(
            [*program, *words],
            cwd=self._home,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in what a shell runs behind
        )

    def picture(self):
        """Return what the screen shows, (height, width, 3): the server keeps it in a file in the form of xwd."""
        data = self._file.read_bytes()
        head = struct.unpack(">25I", data[:100])
        offset, width, height, line = head[0] + head[19] * 12, head[4], head[5], head[12]
        pixels = np.frombuffer(data, np.uint8, height * line, offset).reshape(height, line // 4, 4)
        return pixels[:, :width, 2::-1].copy()

    def key(self, name):
        for words in (("mousemove", "450", "350"), ("key", name)):  # keys go where the pointer is
            subprocess.run(["xdotool", *words], env=self.environment, check=True)


@contextlib.contextmanager
def ended(process):
    """Leave nothing running, whatever the test finds."""
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(fact, process=None):
    deadline = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < deadline
        if process is not None and process.poll() is not None:
            raise AssertionError(process.communicate()[1])
        time.sleep(0.1)


def windows_of(process):
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"parcade.view.window" in command.read_bytes():
                session = int(command.with_name("stat").read_text().rpartition(")")[2].split()[3])
                found += [command.parent.name] if session == process.pid else []
    return found


def rows_of(folder):
    files = list(Path(folder).glob("results/*/*/metrics.jsonl"))
    return files[0].read_text().count("\n") if files else 0


def shows_games(screen):
    """Bright pixels in many places: pictures, and not only the words of an empty window."""
    return (screen.picture().max(axis=2) > 120).mean() > 0.03


@pytest.mark.long
def test_closing_the_window_does_not_end_the_run_and_ctrl_c_does(screen, tmp_path):
    with ended(screen.start("train", "--visual", "--timesteps", "50M", *SMALL)) as process:
        wait_until(lambda: shows_games(screen), process)
        screen.key("Escape")
        wait_until(lambda: not windows_of(process), process)
        assert screen.picture().max() == 0
        seen = rows_of(tmp_path)
        wait_until(lambda: rows_of(tmp_path) > seen + 1, process)
        os.killpg(process.pid, signal.SIGINT)
        out, shown = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130, shown
        assert json.loads(out.splitlines()[-1])["worker_restarts"] == 0


def test_ctrl_c_ends_both_and_leaves_nothing(screen, tmp_path):
    with ended(screen.start("train", "--visual", "--timesteps", "50M", *SMALL)) as process:
        wait_until(lambda: shows_games(screen) and rows_of(tmp_path), process)
        assert len(windows_of(process)) == 1
        (folder,) = Path("/dev/shm").glob(f"parcade-window-{process.pid}-*")
        assert json.loads((folder / "training.json").read_text())["raw"] is True
        os.killpg(process.pid, signal.SIGINT)
        _, shown = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130, shown
        assert not windows_of(process)
        assert not folder.exists()


def test_a_training_in_python_has_its_window_and_lines(screen):
    code = (
        "import parcade\n"
        "parcade.train(n_envs=2, n_steps=32, max_steps=60, n_workers=1, total_timesteps=10**7, final_eval_episodes=0,\n"
        "              video=False, progress=True, visual=True)\n"
    )
    with ended(screen.start(code, program=[sys.executable, "-c"])) as process:
        wait_until(lambda: shows_games(screen), process)
        os.killpg(process.pid, signal.SIGINT)
        _, shown = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, shown
        assert "starting 2 games of lantern" in shown
        assert "stopping, with a checkpoint" in shown
        assert "go on with   parcade resume" in shown  # the summary
        assert not windows_of(process)


def test_a_killed_run_takes_its_window_along(screen):
    with ended(screen.start("train", "--visual", "--timesteps", "50M", *SMALL)) as process:
        wait_until(lambda: shows_games(screen), process)
        (folder,) = Path("/dev/shm").glob(f"parcade-window-{process.pid}-*")
        process.kill()
        wait_until(lambda: not windows_of(process))
        wait_until(lambda: not folder.exists())


@pytest.mark.long
def test_the_numbers_are_those_of_a_run_nobody_watched(screen, tmp_path):
    runs = []
    for extra in (["--visual", "--render-freq", "1", "--observation", "both"], ["--observation", "both"]):
        with ended(screen.start("train", "--timesteps", "512", *extra, *SMALL)) as process:
            out, shown = process.communicate(timeout=DEADLINE_S)
            assert process.returncode == 0, shown
        rows = (tmp_path / json.loads(out.splitlines()[-1])["run_dir"] / "metrics.jsonl").read_text().splitlines()
        runs.append([{key: value for key, value in json.loads(row).items() if key != "time"} for row in rows])
    assert runs[0] == runs[1]
    assert len(runs[0]) == 4


def test_eval_shows_the_game_itself_and_scales_it(screen):
    words = ["eval", "--random", "--game", "lantern", "--episodes", "1000", "--visual", "--visual-scale", "2"]
    with ended(screen.start(*words)) as process:
        wait_until(lambda: shows_games(screen), process)
        lit = np.argwhere(screen.picture().max(axis=2) > 0)
        (top, left), (bottom, right) = lit.min(axis=0), lit.max(axis=0) + 1
        height, width = bottom - top, right - left
        assert height == 2 * 144 + 16 + 2 * 4 + 16  # the picture twice as large, a caption, a border, the keys
        assert width > 2 * 160 + 2 * 4  # and what the policy sees beside it
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130


def steps_shown(process):
    """Return the step of the game that is shown, from the file the window reads."""
    (file,) = Path("/dev/shm").glob(f"parcade-window-{process.pid}-*/game-00000.picture")
    shown = PictureReader(file).read()
    return shown.step if shown else -1


@pytest.mark.long
def test_eval_keeps_the_games_pace_and_can_be_stopped_and_stepped(screen):
    words = ["eval", "--random", "--game", "lantern", "--episodes", "1000", "--visual"]
    with ended(screen.start(*words)) as process:
        wait_until(lambda: shows_games(screen), process)
        started, first = time.monotonic(), steps_shown(process)
        time.sleep(2)
        steps, seconds = steps_shown(process) - first, time.monotonic() - started
        assert 0 < steps <= 10 * seconds + 1  # six frames a step, sixty a second
        screen.key("space")
        time.sleep(0.5)
        stopped = steps_shown(process)
        time.sleep(0.5)
        assert steps_shown(process) == stopped
        screen.key("n")
        wait_until(lambda: steps_shown(process) == stopped + 1, process)
        time.sleep(0.3)
        assert steps_shown(process) == stopped + 1
        os.killpg(process.pid, signal.SIGINT)  # the paused episode is played to its end, and quickly
        process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130


@pytest.mark.parametrize(
    ("display", "why"),
    [({}, "this machine has no display"), ({"DISPLAY": ":4711"}, "the display ':4711' does not answer")],
)
@pytest.mark.parametrize("command", [["train", "--visual", *SMALL], ["play", "--game", "lantern"]])
def test_without_a_display_it_says_so_before_anything_starts(tmp_path, command, display, why):
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": OUR_PATH, **display}
    answer = subprocess.run([*PARCADE, *command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert answer.returncode == 2
    (line,) = [line for line in answer.stderr.splitlines() if line.startswith("parcade: ")]
    assert f"no window can be opened here ({why}" in line
    assert "--video" in line
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "results").exists()


def test_a_missing_pygame_is_named_with_its_extra(tmp_path):
    (tmp_path / "pygame.py").write_text("raise ImportError('No module named pygame')\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path}{os.pathsep}{OUR_PATH}"}
    command = [*PARCADE, "eval", "--random", "--visual", "--episodes", "1"]
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert answer.returncode == 2
    assert "pip install 'parcade[view]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_what_killed_runs_left_is_swept_away():
    from parcade.view.launch import sweep_stale

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stale = Path(f"/dev/shm/parcade-window-{gone.pid}-left")
    kept = Path(f"/dev/shm/parcade-window-{os.getpid()}-mine")
    for folder in (stale, kept):
        folder.mkdir()
    try:
        sweep_stale()
        assert not stale.exists()
        assert kept.exists()
    finally:
        shutil.rmtree(stale, ignore_errors=True)
        shutil.rmtree(kept)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--render-freq", "5"], "--render-freq says how a window looks; add --visual"),
        (["--visual-only-preproc"], "add --visual"),
        (["--visual", "--render-freq", "0"], "--render-freq is 0, wanted 1 or more"),
        (["--visual", "--visual-scale", "0"], "--visual-scale is 0, wanted 1 or more"),
    ],
)
def test_flags_that_make_no_sense(flags, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *flags]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--speed", "2"], "--speed says how fast a window shows the game; add --visual"),
        (["--visual", "--speed", "-1"], "'-1' is no speed, wanted 0 to 64"),
        (["--visual", "--speed", "quick"], "'quick' is no speed"),
    ],
)
def test_speeds_that_make_no_sense(flags, text, capsys):
    assert main(["eval", "--random", *flags]) == 2
    assert text in capsys.readouterr().err
