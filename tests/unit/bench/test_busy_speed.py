"""The busy cartridge keeps the CPU at work, and the bench says what it measured."""

import json

import pytest

from parcade.bench.busy_speed import Busy
from parcade.cli.main import main
from parcade.console.gba import GameBoyAdvance
from parcade.console.rom import builtin_rom

pytestmark = pytest.mark.long


def test_the_cpu_never_halts_and_every_frame_is_worked_through():
    console, game = GameBoyAdvance(builtin_rom("busy.gba")), Busy()
    console.advance(0, 20, draw=False)  # it prepares its memory first
    before, halted = game.read(console), 0
    for _ in range(60):
        console.advance(1 << console.buttons.index("right"), 1, draw=False)
        halted += console._machine.cpu.halted
    after = game.read(console)
    assert halted == 0
    assert 58 <= after.frames - before.frames <= 60
    assert after.searched - before.searched > 60 * 50  # it works on where a game would wait
    assert after.check != before.check
    assert after.keys == 1 << 4
    console.close()


def test_the_picture_changes_and_the_cross_moves_something():
    pictures = []
    for button in ("left", "right"):
        console = GameBoyAdvance(builtin_rom("busy.gba"))
        console.advance(1 << console.buttons.index(button), 60)
        pictures.append(console.screen()[..., :3].copy())
        console.close()
    assert (pictures[0] != pictures[1]).any()
    assert len(set(map(bytes, pictures[0].reshape(-1, 3)))) > 50


def test_the_bench_counts_per_core_and_against_the_users(capsys):
    assert main(["bench", "busy", "--seconds", "0.2", "--rounds", "1", "--n-envs", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["per_core_steps_per_s"] * result["n_cores"] == result["all_cores_steps_per_s"] > 0
    low, high = result["one_console_over_users"]
    assert (low * 40, high * 35) == pytest.approx([result["one_console_steps_per_s"]] * 2)
    assert result["pool_steps_per_s"] > 0
