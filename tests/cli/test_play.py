"""A person can play: a real window under Xvfb, driven by a real keyboard through xdotool."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcade.env.make import make, save_state_files
from parcade.env.spec import EnvSpec

NEEDED = ("Xvfb", "xdotool")
OUR_PATH = os.environ.get("PYTHONPATH", "")
TOKEN = Path(__file__).parents[1] / "roms" / "token.gb"
DEADLINE_S = 30


@pytest.fixture
def display(tmp_path):
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    number = next(n for n in range(99, 200) if not Path(f"/tmp/.X{n}-lock").exists())
    server = subprocess.Popen(["Xvfb", f":{number}", "-screen", "0", "800x700x24"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not Path(f"/tmp/.X11-unix/X{number}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield f":{number}"
    server.terminate()
    server.wait(10)


def xdotool(display, *words):
    return subprocess.run(
        ["xdotool", *words], env={"DISPLAY": display, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )


def test_the_window_opens_and_the_keyboard_plays(display, tmp_path):
    import cv2

    shot = tmp_path / "shot.png"
    command = [sys.executable, "-m", "parcade.cli.main", "play", "--game", "lantern", "--screenshot", str(shot)]
    environment = {"DISPLAY": display, "PATH": "/usr/bin:/bin", "SDL_VIDEODRIVER": "x11", "HOME": str(tmp_path)}
    environment["PYTHONPATH"] = OUR_PATH
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert "Escape leaves" in process.stderr.readline()
        xdotool(display, "mousemove", "300", "300")  # no window manager here: keys go where the pointer is
        xdotool(display, "key", "r")  # restart: straight into a dungeon
        xdotool(display, "keydown", "Right")
        time.sleep(0.5)
        xdotool(display, "keyup", "Right")
        xdotool(display, "key", "Escape")
        process.wait(30)
    finally:
        process.kill()
        errors = process.stderr.read()
        process.stderr.close()
    assert process.returncode == 0, errors
    picture = cv2.imread(str(shot))
    assert picture.shape == (576, 640, 3)
    assert picture[:64].mean() < picture[64:].mean()  # the dark HUD above the lit room: a dungeon, not the title


def wait_until(fact):
    deadline = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def played(display, tmp_path):
    """Start `parcade play` in tmp_path, and give what presses keys and what waits for its end."""
    environment = {"DISPLAY": display, "PATH": "/usr/bin:/bin", "SDL_VIDEODRIVER": "x11", "HOME": str(tmp_path)}
    environment["PYTHONPATH"] = OUR_PATH
    running = []

    def start(*words):
        command = [sys.executable, "-m", "parcade.cli.main", "play", "--json", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)
        running.append(process)
        said = []
        while "Escape leaves" not in (said or [""])[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        xdotool(display, "mousemove", "300", "300")
        return process, said

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_a_start_state_is_saved_with_its_picture_and_trains(display, played, tmp_path):
    import cv2

    process, _ = played("--game", "lantern", "--visual", "--screenshot", "shot.png")
    xdotool(display, "key", "r")
    xdotool(display, "keydown", "Right")
    time.sleep(0.5)
    xdotool(display, "keyup", "Right")
    folder = tmp_path / "states" / "lantern"
    xdotool(display, "key", "F5")
    wait_until((folder / "001.png").exists)
    xdotool(display, "key", "F5")
    wait_until((folder / "002.png").exists)
    xdotool(display, "key", "F9")
    xdotool(display, "key", "Escape")
    out, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, errors
    saved = json.loads(out.splitlines()[-1])["states"]
    assert saved == ["states/lantern/001.state", "states/lantern/002.state"]
    assert "train from it with --state states/lantern/001.state" in errors
    assert cv2.imread(str(folder / "001.png")).shape == (144, 160, 3)
    assert [file.name for file in save_state_files(str(folder))] == ["001.state", "002.state"]
    env = make(EnvSpec(game="lantern", state=str(folder)))
    env.reset(seed=0)
    assert env.game.read(env.console).x > 72  # where the hero was walked to
    env.close()
    assert cv2.imread(str(tmp_path / "shot.png")).shape == (
        2 * 144,
        2 * 160 + 380,
        3,
    )  # facts beside the picture, which leaves them room on this screen of 800


def test_an_unknown_rom_is_played_and_the_next_step_is_told(display, played, tmp_path):
    process, said = played("--rom", str(TOKEN), "--speed", "4")
    assert "token.gb is no title that Parcade knows: it plays without fields and rewards" in said[0]
    assert "parcade inspect" in said[0]
    assert "--game" not in said[0], "what a training would need is told by `parcade train`"
    time.sleep(1)
    xdotool(display, "key", "F5")
    wait_until((tmp_path / "states" / "token" / "001.png").exists)
    xdotool(display, "key", "p")
    xdotool(display, "key", "Escape")
    out, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, errors
    assert json.loads(out.splitlines()[-1])["frames"] > 90  # four times as fast as sixty a second, less the start


def test_without_a_display_it_says_so(tmp_path):
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    command = [sys.executable, "-m", "parcade.cli.main", "play", "--game", "lantern"]
    environment = {"PATH": "/usr/bin:/bin", "SDL_VIDEODRIVER": "x11", "HOME": str(tmp_path), "PYTHONPATH": OUR_PATH}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 2
    assert "no window can be opened" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_what_is_played_with_the_keyboard_is_recorded_and_replays(display, played, tmp_path):
    from parcade.cli.main import main
    from parcade.game.lantern import Lantern
    from parcade.run.episodes import read_episodes

    process, _ = played("--game", "lantern", "--record", "demo.zip", "--max-steps", "3000")
    xdotool(display, "keydown", "Right")
    time.sleep(0.5)
    xdotool(display, "keyup", "Right")
    xdotool(display, "key", "F9")  # refused: an episode is played from its beginning
    xdotool(display, "key", "Escape")
    out, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, errors
    assert json.loads(out.splitlines()[-1])["episodes"] == 1
    assert "learn from them with `parcade train --algorithm cloning --demos demo.zip`" in errors
    (record,) = read_episodes(tmp_path / "demo.zip")
    names = [Lantern.actions[action].name for action in record.actions["obs"]]
    assert names.count("right") >= 2
    assert (tmp_path / "demo.zip").stat().st_size < 10_000
    assert main(["demos", str(tmp_path / "demo.zip"), "--check"]) == 0
