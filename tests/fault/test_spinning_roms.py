"""Verbs on a ROM or a state that makes PyBoy spin: ended at once by SIGTERM and Ctrl-C, without a traceback."""

import io
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from parcade.console.gameboy import GameBoy
from parcade.console.pyboy_state import pack
from parcade.console.rom import builtin_rom
from parcade.game.lantern import Lantern

ROM = builtin_rom("lantern.gb")
WITHOUT_DEADLINE = """
import sys
from parcade.console import hosted
hosted.DEADLINE_S = 600
from parcade.cli.main import main
sys.exit(main())
"""


def spinning_rom(folder):
    data = bytearray(ROM.data)
    data[0x100:0x104], data[0x150:0x152] = bytes([0x00, 0xC3, 0x50, 0x01]), b"\xdd\xdd"
    (folder / "spin.gb").write_bytes(data)


def spinning_state(folder):
    """Write a state of Lantern whose next instruction is none."""
    console = GameBoy(ROM)
    pyboy = console._pyboy
    Lantern().start(console, 0)  # a state of the title screen is refused
    console.write(0xC800, b"\xdd\xdd\xdd")
    pyboy.register_file.PC = 0xC800
    file = io.BytesIO()
    pyboy.save_state(file)
    (folder / "spin.state").write_bytes(pack(0, file.getvalue(), ROM.sha1))
    console.close()


def begun(folder, *words, sign, **environment):
    """Start a verb and return its process once it has said ``sign``."""
    command = [sys.executable, "-c", WITHOUT_DEADLINE, *words]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # this process may have been told to ignore it
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, preexec_fn=heeds, **streams)
    heard = []
    for line in process.stdout:
        heard.append(line)
        if sign in line:
            return process, heard
    raise AssertionError("".join(heard))


def wait_for_work(parent, seconds):
    """Wait until a console of the process has computed for so long since now."""
    began, deadline = worked(parent), time.monotonic() + 120
    while worked(parent) - began < seconds:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def worked(parent):
    """Return the processor time of all children of a process."""
    fields = [_read(stat).rpartition(")")[2].split() for stat in Path("/proc").glob("[0-9]*/stat")]
    ticks = sum(int(found[11]) for found in fields if len(found) > 11 and found[1] == str(parent))
    return ticks / os.sysconf("SC_CLK_TCK")


def ended_by(process, heard, number):
    started = time.monotonic()
    process.send_signal(number)
    rest, _ = process.communicate(timeout=120)
    text = "".join(heard) + rest
    assert "Traceback" not in text
    return process.returncode, time.monotonic() - started, text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_inspect_ends_at_once(tmp_path, number):
    spinning_rom(tmp_path)
    (tmp_path / "script.txt").write_text("hex C000 1\nwait 600\n")
    process, heard = begun(tmp_path, "inspect", "--rom", "spin.gb", "--script", "script.txt", sign="C000")
    wait_for_work(process.pid, 0.3)
    code, seconds, _ = ended_by(process, heard, number)
    assert code == (130 if number == signal.SIGINT else -signal.SIGTERM)
    assert seconds < 50


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_play_ends_at_once(tmp_path, number):
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    spinning_rom(tmp_path)
    words = ("play", "--rom", "spin.gb", "--console", "pyboy")
    process, heard = begun(tmp_path, *words, sign="Escape leaves", SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy")
    wait_for_work(process.pid, 0.5)  # a game that is played takes far less
    code, seconds, _ = ended_by(process, heard, number)
    assert code == (130 if number == signal.SIGINT else -signal.SIGTERM)
    assert seconds < 50


@pytest.mark.long
def test_eval_says_that_a_game_does_not_move_and_ends_at_once(tmp_path):
    spinning_state(tmp_path)
    words = ("eval", "--random", "--game", "lantern", "--state", "spin.state", "--episodes", "2", "--n-workers", "1")
    process, heard = begun(tmp_path, *words, sign="makes no progress since")
    assert "slot 0 of 'lantern' makes no progress since 5 s (worker 0, in its reset)" in heard[-1]
    code, seconds, _ = ended_by(process, heard, signal.SIGTERM)
    assert code == 143
    assert seconds < 50  # the pool's deadline is 60
    assert not [stat for stat in Path("/proc").glob("[0-9]*/stat") if f" {process.pid} " in _read(stat)]


def _read(stat):
    try:
        return stat.read_text()
    except OSError:
        return ""
