"""Signals at a bad moment: many of them at once, and one that finds the process stuck in a game."""

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

STUCK = """
import sys
from parcade.cli import main as cli
from parcade.console.gameboy import GameBoy
from parcade.console.rom import Rom, builtin_rom
from parcade.host import stuck_watch
from parcade.pool.mapped import Field, MappedArrays, plan_layout

stuck_watch.PATIENCE_S, stuck_watch.GRACE_S = 600.0, 0.5
data = bytearray(builtin_rom("lantern.gb").data)
data[0x100:0x104], data[0x150:0x152] = bytes([0x00, 0xC3, 0x50, 0x01]), b"\\xdd\\xdd"  # no instruction: PyBoy spins

def hang(arguments):
    made = MappedArrays.create(plan_layout([Field("numbers", (4,), "<f8")]))
    console = GameBoy(Rom(bytes(data), "spin.gb"))
    console.advance(0, 60)
    print(made.path, flush=True)
    console.advance(0, 60)

cli._run = hang
sys.exit(cli.main())
"""


def heeding(command, folder):
    """Start a process that heeds Ctrl-C, whatever this one was told."""
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, preexec_fn=heeds, **streams)


@pytest.mark.parametrize("gap_s", [0.0, 0.15])
def test_many_interrupts_at_once_end_a_training_with_130(tmp_path, gap_s):
    words = ["--plain", "--timesteps", "50M", "--n-envs", "2", "--n-workers", "1"]
    process = heeding([sys.executable, "-m", "parcade.cli.main", "train", *words], tmp_path)
    for line in process.stdout:
        if line.startswith("step "):
            break
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        time.sleep(gap_s)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert "Traceback" not in told


def test_a_second_signal_ends_a_process_that_is_stuck_in_c_code_and_leaves_no_file(tmp_path):
    process = heeding([sys.executable, "-c", STUCK], tmp_path)
    shared = Path(process.stdout.readline().strip())
    assert shared.exists()
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    try:
        told, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, told
    assert not shared.exists()
