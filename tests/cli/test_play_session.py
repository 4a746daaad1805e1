"""What `parcade play` knows of a game, without a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from parcade.cli.play_session import PlaySession, field_lines
from parcade.console.base import button_mask
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom, read_rom
from parcade.env.make import save_state_files
from parcade.errors import UserError
from parcade.game.lantern import Lantern

TOKEN = Path(__file__).parents[1] / "roms" / "token.gb"


@pytest.fixture
def console() -> Iterator[GameBoy]:
    console = GameBoy(builtin_rom("lantern.gb"))
    yield console
    console.close()


def play(session: PlaySession, frames: int, *buttons: str) -> None:
    for _ in range(frames):
        session.advance(button_mask(session.console.buttons, *buttons))


def test_rewards_are_counted_from_the_start_of_an_episode(console: GameBoy, tmp_path: Path) -> None:
    session = PlaySession(console, Lantern(), tmp_path, seed=5)
    assert "R begins an episode; rewards are counted from there" in session.facts()[0]
    session.restart()
    play(session, 60, "right")
    sentences, fields = session.facts()
    assert sentences[0] == "held: right (action right)"
    assert sentences[1].startswith("place: floor 1, column")
    assert sentences[2].startswith("Floor 1, room")
    assert "after 10 steps" in sentences[3]
    assert "  step -0.04" in sentences
    assert "hearts 6" in fields
    session.restart()
    assert "after 0 steps" in session.facts()[0][3]


def test_weights_are_those_that_were_given(console: GameBoy, tmp_path: Path) -> None:
    session = PlaySession(console, Lantern(), tmp_path, weights={**Lantern.reward_weights, "step": -1.0})
    session.restart()
    play(session, 12)
    assert "  step -2.00" in session.facts()[0]


def test_a_saved_state_comes_back(console: GameBoy, tmp_path: Path) -> None:
    session = PlaySession(console, Lantern(), tmp_path / "new" / "folder")
    assert not session.load()
    session.restart()
    before = Lantern().read(console)
    path = session.save()
    assert path == tmp_path / "new" / "folder" / "001.state"
    assert path.with_suffix(".png").is_file()
    play(session, 40, "right")
    assert Lantern().read(console).x != before.x
    assert session.load()
    assert Lantern().read(console).x == before.x
    again = PlaySession(console, Lantern(), path.parent, start=path.read_bytes())
    assert Lantern().read(console).x == before.x
    assert again.save().name == "002.state"
    assert "after 0 steps" in again.facts()[0][3]  # a state that is given begins an episode


def test_a_folder_that_cannot_be_made_is_told(console: GameBoy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = PlaySession(console, Lantern(), tmp_path / "file" / "states")
    with pytest.raises(UserError, match=r"no state can be saved in .*states: Not a directory"):
        session.save()


def test_a_rom_without_a_title_has_buttons_only(tmp_path: Path) -> None:
    console = GameBoy(read_rom(TOKEN))
    session = PlaySession(console, None, tmp_path)
    play(session, 130, "up", "a")
    assert session.facts() == (["held: up+a", "this ROM has no title: no fields, no rewards"], [])
    session.restart()
    assert session.save().is_file()
    console.close()


def test_fields_are_found_in_every_kind_of_state() -> None:
    class Pair(NamedTuple):
        x: int
        party: tuple[int, ...]

    @dataclass
    class Record:
        name: str
        raw: bytes

    class Lazy:
        @property
        def coins(self) -> int:
            return 3

    assert field_lines(Pair(1, (2,))) == ["x 1"]
    assert field_lines(Record("May", b"")) == ["name May"]
    assert field_lines(Lazy()) == ["coins 3"]
    assert field_lines(7) == []


def test_pictures_beside_states_are_no_states(tmp_path: Path) -> None:
    for name in ("001.state", "001.png", "shot.png"):  # mGBA writes states into pictures: one alone may be a state
        (tmp_path / name).write_bytes(b"x")
    assert [file.name for file in save_state_files(str(tmp_path))] == ["001.state", "shot.png"]
