"""Which emulator plays what, who needs a process of its own, and how a folder of states is dealt out."""

from __future__ import annotations

import importlib.util
import logging
import re
from pathlib import Path

import pytest

from parcade.console import gba
from parcade.console.gba import GameBoyAdvance
from parcade.console.registry import console_for
from parcade.console.rom import builtin_rom
from parcade.env.make import make, read_save_states
from parcade.env.sharing import one_console_per_process, workers_for
from parcade.env.spec import EnvSpec
from parcade.errors import SaveStateError, SettingsError
from parcade.game.meadow import Meadow


@pytest.fixture
def states(tmp_path: Path) -> Path:
    """Three states of Meadow, told apart by the hero's place."""
    console, game = GameBoyAdvance(builtin_rom("meadow.gba")), Meadow()
    game.start(console, 1)
    for name, steps in (("b.state", 2), ("a.state", 0), ("c.state", 4)):
        folder = tmp_path / "states"
        folder.mkdir(exist_ok=True)
        game.start(console, 1)
        console.advance(1 << console.buttons.index("down"), 8 * steps + 1)
        console.advance(0, 16)
        (folder / name).write_bytes(console.save())
    console.close()
    return folder


@pytest.mark.parametrize(
    ("system", "wanted", "console"),
    [
        *(("gb", "auto", "pyboy"), ("gb", "mgba", "mgba"), ("gba", "auto", "mgba"), ("gba", "libretro", "libretro")),
        *(("genesis", "auto", "libretro"), ("gb", "libretro", "libretro")),
    ],
)
def test_the_console_of_a_system(system: str, wanted: str, console: str) -> None:
    assert console_for(system, wanted).name == console


@pytest.mark.parametrize(("system", "wanted"), [("gba", "pyboy"), ("genesis", "mgba"), ("gb", "mgbaa")])
def test_a_console_that_cannot_play_it_is_refused(system: str, wanted: str) -> None:
    with pytest.raises(SettingsError, match=r"does not play|not known .did you mean 'mgba'"):
        console_for(system, wanted)


def test_without_mgba_a_gba_game_plays_on_libretro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no wheel, the bindings' library is None; stable-retro is found by its spec."""
    real, here = importlib.util.find_spec, {"stable_retro": True}
    monkeypatch.setattr(gba, "lib", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: here.get(name) or real(name) if here else None)
    assert console_for("gba").name == "libretro"
    assert one_console_per_process(EnvSpec(game="meadow"))
    here.clear()
    assert console_for("gba").name == "mgba"  # whose error names both ways to install


def test_who_wants_few_workers_learns_that_mgba_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Libretro was not asked for, so its limit alone would explain nothing."""
    real, here = importlib.util.find_spec, {"stable_retro": True}
    monkeypatch.setattr(gba, "lib", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: here.get(name) or real(name))
    said = "plays on libretro (mgba is not here; `parcade doctor` says what it needs)"
    with pytest.raises(SettingsError, match=re.escape(said)):
        workers_for(EnvSpec(game="meadow"), 4, 1)
    workers_for(EnvSpec(game="meadow"), 4, None)
    assert said in caplog.text
    caplog.clear()
    workers_for(EnvSpec(game="meadow", console="libretro"), 4, None)
    assert "plays on libretro, one console" in caplog.text


def test_libretro_gives_each_game_a_worker_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    spec = EnvSpec(game="meadow", console="libretro")
    assert workers_for(spec, 5, None) == 5
    assert "one console per process: each of 5 games gets a worker" in caplog.text
    assert workers_for(spec, 5, 5) == 5
    for wanted in (0, 2):
        with pytest.raises(SettingsError, match="5 games need 5 workers"):
            workers_for(spec, 5, wanted)


@pytest.mark.parametrize("spec", [EnvSpec(game="meadow"), EnvSpec(env_id="CartPole-v1"), EnvSpec(factory=b"")])
def test_others_get_what_was_asked_for(spec: EnvSpec, caplog: pytest.LogCaptureFixture) -> None:
    assert [workers_for(spec, 5, wanted) for wanted in (None, 0, 2)] == [None, 0, 2]
    assert not caplog.records


def test_slot_i_starts_every_episode_from_state_i_in_turn(states: Path) -> None:
    files = [path.read_bytes() for path in sorted(states.iterdir())]
    assert len(set(files)) == 3
    for slot in range(5):
        env = make(EnvSpec(game="meadow", state=str(states), slot=slot))
        assert env._save_states == (files[slot % 3],)
        env.close()
    alone = make(EnvSpec(game="meadow", state=str(states)))  # an evaluation takes them in turn, by its seeds
    assert alone._save_states == tuple(files)
    alone.close()


def test_states_that_no_game_starts_from_are_told(states: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    workers_for(EnvSpec(game="meadow", state=str(states)), 3, None)
    assert not caplog.records
    workers_for(EnvSpec(game="meadow", state=str(states)), 2, None)
    assert "3 save states for 2 games, so the last 1 are never used" in caplog.text


def test_a_damaged_state_of_a_folder_is_named(states: Path) -> None:
    (states / "b.state").write_bytes(b"x" * 1000)
    console = GameBoyAdvance(builtin_rom("meadow.gba"))
    with pytest.raises(SaveStateError, match=r"b\.state: the save state has 1000 bytes"):
        read_save_states(str(states), console=console)
    assert len(read_save_states(str(states), 0, console)) == 1
    console.close()


def test_a_spec_in_a_file_belongs_to_no_slot() -> None:
    spec = EnvSpec(game="meadow", slot=3)
    assert EnvSpec.from_dict(spec.to_dict()).slot is None
