"""A cartridge is known by its hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcade.console.rom import Rom, builtin_rom, read_rom
from parcade.env.make import title_of_rom
from parcade.errors import RomError
from parcade.game.pokemon_red import PokemonRed

TOKEN = Path(__file__).parents[2] / "roms" / "token.gb"


@pytest.mark.parametrize(("file", "title"), [("lantern.gb", "lantern"), ("meadow.gba", "meadow")])
def test_our_own_cartridges_are_known(file: str, title: str) -> None:
    assert title_of_rom(Rom(builtin_rom(file).data, "renamed.bin")) == title


def test_a_users_cartridge_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    rom = read_rom(TOKEN)
    monkeypatch.setattr(PokemonRed, "known_sha1", {rom.sha1: "as if it were Red"})
    assert title_of_rom(rom) == "pokemon-red"


def test_an_unknown_one_is_told_with_the_next_step() -> None:
    with pytest.raises(RomError, match=r"token\.gb .*SHA-1.*no title.*--game.*parcade inspect.*add-a-game"):
        title_of_rom(read_rom(TOKEN))
