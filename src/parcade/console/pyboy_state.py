"""PyBoy's save states as bytes: ours around them, whose they are, and what PyBoy 2.8 misreads in older ones.

A state's first byte is the version of its layout: 9 to 12, 14 and 15 in PyBoy 1.6 to 2.7, 29 in 2.8. PyBoy 2.8.1 reads
some fields from older layouts that do not have them, and everything behind them at the wrong place:

- ``stat_transition``, the last of the LCD's registers, is not in versions 8 to 15;
- of the sound unit, which is in versions 14 and 15, ``NR50`` is written from PyBoy 2.7 on, and two fields each of the
  sweep and of the wave channel from 2.8 on;
- the rumble flag of an MBC5 cartridge is not in any of them.

``readings`` puts them in; tests/roms/states holds states that those PyBoys wrote. Nothing in a state names its
cartridge; only its length tells one with other RAM.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from parcade.errors import SaveStateError

_FIRST = b"PGB1"  # held buttons, PyBoy's bytes
_OURS = b"PGB2"  # SHA-1 of the ROM, held buttons, CRC-32 of PyBoy's bytes, PyBoy's bytes
_HEAD = len(_OURS) + 20 + 1 + 4

_SHORT = range(8, 16)  # versions that PyBoy 2.8 misreads
_WITH_SOUND, _WITH_SERIAL = 14, 15  # versions from which these are in the file
_NR50 = b"\x77"  # both loudspeakers at full volume, as the boot ROM leaves it
_MBC5 = range(0x19, 0x1F)  # cartridge types

_MGBA_GB, _MGBA_GBA = (0x00400000, 71_680), (0x01000000, 397_312)  # high bits of the first word, size
_MGBA_VERSIONS = 0xFFFF


@dataclass(frozen=True, slots=True)
class PyBoyState:
    """What a state file holds: the buttons held (None: nobody knows) and PyBoy's own bytes.

    ``is_whole`` says that a checksum has shown the bytes to be those saved, with the same ROM.
    """

    held: int | None
    raw: bytes
    is_whole: bool = False


def pack(held: int, raw: bytes, rom_sha1: str) -> bytes:
    """Return PyBoy's state with what it leaves out: the buttons held, and whose state it is."""
    return _OURS + bytes.fromhex(rom_sha1) + bytes([held]) + zlib.crc32(raw).to_bytes(4, "little") + raw


def unpack(save_state: bytes, rom_sha1: str) -> PyBoyState:
    """Return what a file of ours or of PyBoy holds; SaveStateError says what another one is."""
    if save_state.startswith(_FIRST) and len(save_state) > 5:
        return PyBoyState(save_state[4], save_state[5:])
    if not save_state.startswith(_OURS):
        _refuse_foreign(save_state)
        return PyBoyState(None, save_state)
    theirs, raw = save_state[4:24].hex(), save_state[_HEAD:]
    if len(save_state) <= _HEAD or zlib.crc32(raw) != int.from_bytes(save_state[25:_HEAD], "little"):
        raise SaveStateError(
            f"the save state ({len(save_state)} bytes) is damaged: its checksum is wrong; make it anew"
        )
    if theirs != rom_sha1:
        raise SaveStateError(
            f"the save state is of a ROM with SHA-1 {theirs}, but the cartridge has {rom_sha1}; make one with this ROM"
        )
    return PyBoyState(save_state[24], raw, is_whole=True)


def _refuse_foreign(save_state: bytes) -> None:
    if save_state.startswith(b"\x89PNG"):
        raise SaveStateError(
            "the save state is a PNG picture, as mGBA writes its states; PyBoy cannot read it: use console mgba"
        )
    if save_state.startswith(b"\x1f\x8b"):
        raise SaveStateError(
            "the save state is gzipped, as stable-retro's are; PyBoy cannot read it: use console libretro"
        )
    first = int.from_bytes(save_state[:4], "little")
    here, there = "use console mgba", "use it with a Game Boy Advance ROM"
    for (magic, size), system, what in ((_MGBA_GB, "Game Boy", here), (_MGBA_GBA, "Game Boy Advance", there)):
        if first & ~_MGBA_VERSIONS == magic and len(save_state) >= size:
            raise SaveStateError(f"the save state is an mGBA state of a {system}; PyBoy cannot read it: {what}")


def readings(raw: bytes, cartridge_type: int) -> list[bytes]:
    """Return the state as PyBoy may be given it; if there are two, only one has the length that PyBoy reads."""
    if not raw or raw[0] not in _SHORT:
        return [raw]
    version, in_colour = raw[0], raw[4:5] != b"\0"
    lcd = lcd_end(version, in_colour)
    gaps = [(lcd, b"\0")]
    behind = []
    if cartridge_type in _MBC5:
        joypad = len(raw) - (2 + 36 if version >= _WITH_SERIAL else 2)  # and the serial port behind it
        behind = [(joypad, b"\0")]
    if version < _WITH_SOUND:
        return [_filled(raw, gaps + behind)]
    sound = lcd + (8192 + 1 + 2 * (4 + 64) if in_colour else 0)  # a second video RAM and the palettes before it
    return [_filled(raw, gaps + _sound_gaps(raw, sound, has_nr50) + behind) for has_nr50 in (True, False)]


def lcd_end(version: int, in_colour: bool) -> int:
    """Return where the LCD's registers end in a state of versions 8 to 15.

    >>> lcd_end(9, in_colour=False)
    8405
    """
    head = 5 + (10 if in_colour else 0)  # flags, and the colour machine's DMA
    cpu = 18 + (8 if version >= 12 else 0)  # registers and, later, the cycles
    memory = (
        8192 + 160 + 11 + (5 * 144 if version >= 11 else 0)
    )  # video RAM, sprites, registers, a record for each line
    clocks = 2 + (3 if version >= 13 else 0) + (8 if version >= 12 else 0) + 16 + 1
    return head + cpu + memory + clocks


def _sound_gaps(raw: bytes, sound: int, has_nr50: bool) -> list[tuple[int, bytes]]:
    samples = int.from_bytes(raw[sound + 8 : sound + 16], "little")
    nr50 = sound + 24 + 2 * (samples + 1) + 1 + 5 * 8 + 2 * 8 + 2 + 8  # behind the buffer, the clocks and the switches
    tone = 9 + 6 * 8  # bytes of a channel: registers and timers
    sweep = nr50 + (1 if has_nr50 else 0) + tone + 3 + 8
    wave = sweep + 1 + 8 + tone + 16 + 7 + 4 * 8
    gaps = [(sweep, bytes(8 + 1)), (wave, b"\0"), (wave + 8, b"\0")]
    return gaps if has_nr50 else [(nr50, _NR50), *gaps]


def _filled(raw: bytes, gaps: list[tuple[int, bytes]]) -> bytes:
    """Return ``raw`` with what is missing put in, each at its place in ``raw``."""
    parts, at = [], 0
    for place, missing in gaps:
        parts += [raw[at:place], missing]
        at = place
    return b"".join([*parts, raw[at:]])
