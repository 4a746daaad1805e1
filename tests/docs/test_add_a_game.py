"""docs/add-a-game.md, followed word by word; and the contract tests on games that keep it and one that does not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.game.base import Action
from parcade.game.lantern import Lantern
from parcade.testing import test_game as contract
from parcade.testing.episode import Examiner

REPO = Path(__file__).parents[2]
PAGE = (REPO / "docs" / "add-a-game.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
DEADLINE_S = 240.0
CONTRACT = ("-p", "parcade.testing.plugin", "--pyargs", "parcade.testing", "-p", "no:cacheprovider")


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def shell(command: str, folder: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in ``folder`` as a person would, with this Python's programs first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        input=typed,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder, with the ROM in it."""
    place = tmp_path_factory.mktemp("add_a_game")
    done = shell(blocks("sh")[0].replace("/path/to/parcade", str(REPO)), place)
    assert done.returncode == 0, done.stderr
    return place / "my-game"


@pytest.fixture(scope="module")
def inspected(folder: Path) -> str:
    """What `parcade inspect` answers to the page's lines."""
    command, *transcript = "".join(blocks("text")).splitlines()
    assert command.startswith("$ ")
    typed = "".join(f"{line[2:]}\n" for line in transcript if line.startswith("> "))
    done = shell(command[2:], folder, typed)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def my_game(folder: Path, inspected: str) -> Path:
    """The page's game, beside the memory map that inspect wrote."""
    assert (folder / "token-map.yaml").is_file(), inspected
    (listing,) = blocks("python")
    (folder / "my_game.py").write_text(listing)
    return folder


def test_the_transcript_is_what_inspect_answers(inspected: str) -> None:
    assert inspected == "".join(blocks("text")).partition("\n")[2]


def test_the_contract_tests_pass(my_game: Path) -> None:
    _, command, _, _ = blocks("sh")
    done = shell(command, my_game)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 passed" in done.stdout


@pytest.mark.long
def test_training_leaves_a_run_folder_with_a_model(my_game: Path) -> None:
    _, _, command, playing = blocks("sh")
    done = shell(command, my_game)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (my_game / "results" / "my_game-MyGame").iterdir()
    assert (run / "models" / "final_model.zip").stat().st_size > 0
    summary = json.loads((run / "summary.json").read_text())
    assert summary["env_steps"] == 4000
    assert summary["worker_restarts"] == 0
    played = shell(playing, my_game)
    assert played.returncode == 0, played.stderr
    unasked = shell(playing.partition(" --game")[0], my_game)
    assert unasked.returncode == 2
    assert "add --game my_game:MyGame if you trust it" in unasked.stderr


def test_lantern_keeps_the_contract(tmp_path: Path) -> None:
    done = shell(f"pytest {' '.join(CONTRACT)} --parcade-game lantern --parcade-steps 100", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 passed" in done.stdout


FAULTY = """
import random

from my_game import Milestone, MyGame


class Faulty(MyGame):
    metric_names = ("success", "coins", "coins")

    def start(self, console, seed):
        console.advance(0, 120 + random.randrange(60), draw=False)

    def read(self, memory):
        for _ in range(100):
            memory.read(0xC000, 1)
        return super().read(memory)

    def begin(self, state):
        return {"coins": 0, "seen": (1, 2), "rewards": 0}

    def reward(self, progress, before, after):
        return {**super().reward(progress, before, after), "bonus": random.random()}

    def over(self, state, progress):
        return 0

    def features(self, state, progress, out):
        out[:-1] = 100.0

    def metrics(self, progress, state):
        return {"success": 0.5}

    def place(self, state):
        return state.x, state.y

    milestones = (Milestone("first_coin", "coin >= 1", "an unknown field"),)
"""


def test_a_faulty_game_fails_each_test_it_should(my_game: Path) -> None:
    (my_game / "faulty.py").write_text(FAULTY)
    flags = "--parcade-game faulty:Faulty --parcade-rom token.gb --parcade-steps 20"
    done = shell(f"pytest -v {' '.join(CONTRACT)} {flags}", my_game)
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = dict(re.findall(r"::(test_\w+) (PASSED|FAILED)", done.stdout))
    assert len(outcomes) == 14
    passed = {name for name, outcome in outcomes.items() if outcome == "PASSED"}
    assert passed == {"test_the_console_has_the_buttons_of_all_actions"}, done.stdout


def test_a_button_that_is_not_there_is_named() -> None:
    class Jumper(Lantern):
        actions = (Action("jump", ("turbo",)),)

    console = GameBoy(builtin_rom("lantern.gb"))
    with pytest.raises(AssertionError, match="action 'jump' holds 'turbo'; the console has right, left"):
        contract.test_the_console_has_the_buttons_of_all_actions(Jumper(), Examiner(console, Jumper(), [], 1))
    console.close()
