"""Game Boy cartridges that PyBoy can play, told from the ROM's length and header before an emulator sees them."""

from __future__ import annotations

from parcade.console.rom import Rom
from parcade.errors import RomError

BANK = 0x4000  # bytes
TYPE, RAM_SIZE = 0x147, 0x149  # places in the header
_PLAYED = {0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x08, 0x09, *range(0x0F, 0x14), *range(0x19, 0x1F)}
_OTHERS = {0x0B: "MMM01", 0x0C: "MMM01", 0x0D: "MMM01", 0x20: "MBC6", 0x22: "MBC7"}
_OTHERS |= {0xFC: "Pocket Camera", 0xFD: "TAMA5", 0xFE: "HuC3", 0xFF: "HuC1"}
_RAM_SIZES = range(6)


def check_cartridge(rom: Rom) -> None:
    """Raise RomError, in one sentence, for a cartridge that PyBoy refuses or that cannot be one."""
    if rom.system != "gb":
        raise RomError(f"{rom.name} is no Game Boy ROM (its header checksum is wrong); give a .gb or .gbc file")
    size = len(rom.data)
    if size % BANK:
        raise RomError(
            f"{rom.name} has {size:,} bytes, but a Game Boy cartridge has a multiple of {BANK:,}; "
            "the dump is cut or has something added: make it anew"
        )
    kind, ram = rom.data[TYPE], rom.data[RAM_SIZE]
    if kind in _OTHERS:
        raise RomError(
            f"{rom.name} is a cartridge of type {kind:#04x} ({_OTHERS[kind]}), which PyBoy cannot play; "
            "try console mgba"
        )
    if kind not in _PLAYED:
        raise RomError(f"{rom.name} is of the unknown cartridge type {kind:#04x}; it is damaged: make the dump anew")
    if ram not in _RAM_SIZES:
        raise RomError(f"{rom.name} has RAM of the unknown size {ram:#04x}; it is damaged: make the dump anew")
