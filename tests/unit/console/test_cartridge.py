"""Cartridges that cannot be played are named before an emulator sees them."""

import pytest

from parcade.console.cartridge import RAM_SIZE, TYPE, check_cartridge
from parcade.console.gameboy import GameBoy
from parcade.console.rom import Rom, builtin_rom
from parcade.env.make import check_spec
from parcade.env.spec import EnvSpec
from parcade.errors import RomError


def changed(size=None, **header):
    data = bytearray(builtin_rom("lantern.gb").data)
    for place, value in header.items():
        data[{"type": TYPE, "ram": RAM_SIZE}[place]] = value
    total = 0
    for byte in data[0x134:0x14D]:
        total = (total - byte - 1) & 0xFF
    data[0x14D] = total
    data = data if size is None else (data + bytes(size))[:size]
    return Rom(bytes(data), "mine.gb")


@pytest.mark.parametrize(
    ("rom", "words"),
    [
        (changed(size=32767), r"mine.gb has 32,767 bytes, but a Game Boy cartridge has a multiple of 16,384"),
        (changed(size=40000), r"has 40,000 bytes"),
        (changed(type=0x04), r"of the unknown cartridge type 0x04; it is damaged"),
        (changed(type=0x22), r"of type 0x22 \(MBC7\), which PyBoy cannot play; try console mgba"),
        (changed(type=0xFF), r"HuC1"),
        (changed(type=0x03, ram=9), r"RAM of the unknown size 0x09"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(rom, words, tmp_path):
    with pytest.raises(RomError, match=words):
        check_cartridge(rom)
    with pytest.raises(RomError, match=words):
        GameBoy(rom)
    (tmp_path / "mine.gb").write_bytes(rom.data)
    with pytest.raises(RomError, match=words):  # before any process is started
        check_spec(EnvSpec(game="lantern", rom=str(tmp_path / "mine.gb")))


@pytest.mark.parametrize("kind", [0x00, 0x03, 0x06, 0x13, 0x1B])
def test_common_cartridges_start(kind):
    rom = changed(type=kind, ram=2)
    check_cartridge(rom)
    GameBoy(rom).close()
