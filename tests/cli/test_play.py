"""A person can play: a real window under Xvfb, driven by a real keyboard through xdotool."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

NEEDED = ("Xvfb", "xdotool")


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


def test_without_a_display_it_says_so(tmp_path):
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    command = [sys.executable, "-m", "parcade.cli.main", "play", "--game", "lantern"]
    environment = {"PATH": "/usr/bin:/bin", "SDL_VIDEODRIVER": "x11", "HOME": str(tmp_path)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 2
    assert "no window can be opened" in answer.stderr
    assert "Traceback" not in answer.stderr
