"""What the mGBA consoles promise, on real cartridges of our own."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parcade.console.base import AddressError, Console, button_mask
from parcade.console.rom import Rom, read_rom
from parcade.errors import RomError, SaveStateError

pytest.importorskip(
    "mgba", reason="mGBA cannot be loaded: it needs the mgba wheel and libmgba.so.0.10", exc_type=ImportError
)

from parcade.console.gba import GB_BUTTONS, GBA_BUTTONS, GameBoyAdvance, MgbaGameBoy

ROMS = Path(__file__).parents[1] / "roms"
TOKEN, PARK, FLASH = (read_rom(ROMS / f"{name}.gba") for name in ("token", "park", "flash"))
RAW_STATE = 397_312
STATE = 0x03000000  # Token Room: x y score16 rng16 room coin_x coin_y facing keys bumps frame16 'T' 'R'


def gb_rom(cartridge: int = 0x00, ram: int = 0x00) -> Rom:
    """A Game Boy cartridge without logo: copies the directions held to 0xC000 and into the palette, counts at 0xC001.

    Cartridge RAM, where there is any, gets the counter too.
    """
    code = bytes.fromhex("3E0A EA0000 3E20 E000 F000 EA00C0 E047 2101C0 34 7E EA00A0 18EA")
    data = bytearray(0x8000)
    data[0x100:0x104] = bytes.fromhex("00C35001")
    data[0x134:0x13B] = b"JOYTEST"
    data[0x147], data[0x149] = cartridge, ram
    data[0x14D] = (-sum(data[0x134:0x14D]) - (0x14D - 0x134)) & 0xFF
    data[0x150 : 0x150 + len(code)] = code
    return Rom(bytes(data), "joytest.gb")


@pytest.fixture
def gba_console() -> Iterator[GameBoyAdvance]:
    console = GameBoyAdvance(TOKEN)
    yield console
    console.close()


@pytest.fixture
def mgba_gb_console() -> Iterator[MgbaGameBoy]:
    console = MgbaGameBoy(gb_rom())
    yield console
    console.close()


def play(console: Console, steps: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for held in rng.integers(0, 1 << len(console.buttons), steps):
        console.advance(int(held), 6)


def test_both_keep_the_contract(gba_console: GameBoyAdvance, mgba_gb_console: MgbaGameBoy) -> None:
    assert isinstance(gba_console, Console)
    assert isinstance(mgba_gb_console, Console)
    assert gba_console.buttons == GBA_BUTTONS
    assert gba_console.screen_shape == (160, 240, 4)
    assert mgba_gb_console.buttons == GB_BUTTONS
    assert mgba_gb_console.screen_shape == (144, 160, 4)
    assert gba_console.screen().shape == (160, 240, 4)
    assert mgba_gb_console.screen().shape == (144, 160, 4)


def test_advance_runs_exactly_so_many_frames(gba_console: GameBoyAdvance) -> None:
    gba_console.advance(0, 10)
    before = struct.unpack("<H", gba_console.read(STATE + 12, 2))[0]
    gba_console.advance(0, 7)
    assert struct.unpack("<H", gba_console.read(STATE + 12, 2))[0] == before + 7


@pytest.mark.parametrize("frames", [0, -1])
def test_no_frames_are_refused(gba_console: GameBoyAdvance, frames: int) -> None:
    with pytest.raises(ValueError, match="wanted 1 or more"):
        gba_console.advance(0, frames)


def test_every_button_reaches_the_game() -> None:
    console = GameBoyAdvance(FLASH)
    for bit, name in enumerate(GBA_BUTTONS):
        console.advance(button_mask(GBA_BUTTONS, name), 2)
        assert struct.unpack("<I", console.read(STATE + 12, 4))[0] == 1 << bit, name


def test_directions_reach_a_game_boy_in_gameboys_order(mgba_gb_console: MgbaGameBoy) -> None:
    for bit in range(4):
        mgba_gb_console.advance(1 << bit, 2)
        assert ~mgba_gb_console.read(0xC000, 1)[0] & 0x0F == 1 << bit, GB_BUTTONS[bit]


def test_the_screen_is_live_and_only_the_last_frame_is_drawn() -> None:
    every, last, none = (GameBoyAdvance(TOKEN) for _ in range(3))
    screen = last.screen()
    for step in range(20):
        held = 1 << 4 + step % 4
        for _ in range(6):
            every.advance(held, 1)
        last.advance(held, 6)
        none.advance(held, 6, draw=False)
        assert np.array_equal(every.screen(), screen)
    assert not none.screen().any()
    assert every.save() == last.save() == none.save()
    none.advance(0, 1)
    last.advance(0, 1)
    assert np.array_equal(none.screen(), screen)


def test_the_screen_view_cannot_be_written(gba_console: GameBoyAdvance) -> None:
    with pytest.raises(ValueError, match="read-only"):
        gba_console.screen()[0, 0] = 1


def test_read_is_in_place_and_write_is_seen_by_the_game(gba_console: GameBoyAdvance) -> None:
    gba_console.advance(0, 6)
    view = gba_console.read(STATE, 16)
    assert bytes(view[14:16]) == b"TR"
    gba_console.write(STATE + 2, b"\x39\x05")
    assert struct.unpack("<H", view[2:4])[0] == 1337
    frame = view[12]
    gba_console.advance(0, 1)
    assert view[12] == frame + 1
    with pytest.raises(TypeError):
        view[0] = 1  # type: ignore[index]


def test_park_leaves_a_ram_image_as_it_is() -> None:
    console = GameBoyAdvance(PARK)
    image = np.random.default_rng(1).bytes(0x40000)
    console.write(0x02000000, image)
    console.advance(0, 30)
    assert console.read(0x02000000, 0x40000) == image


def test_a_palette_write_is_drawn(gba_console: GameBoyAdvance) -> None:
    gba_console.advance(0, 6)
    before = gba_console.screen().copy()
    gba_console.write(0x05000001, b"\x7c")  # an odd address: the halfword keeps its other byte
    assert gba_console.read(0x05000001, 1) == b"\x7c"
    gba_console.advance(0, 1)
    assert not np.array_equal(gba_console.screen(), before)


def test_the_rom_reads_as_the_file(gba_console: GameBoyAdvance) -> None:
    assert gba_console.read(0x08000000, len(TOKEN.data)) == TOKEN.data


def test_a_rom_of_32_mib_reads_to_its_end() -> None:
    console = GameBoyAdvance(Rom(TOKEN.data.ljust((32 << 20) - 4, b"\0") + b"last", "large.gba"))
    assert console.read(0x08000000, 0x100) == TOKEN.data[:0x100]
    assert console.read(0x09FFFFFC, 4) == b"last"
    with pytest.raises(AddressError):
        console.read(0x09FFFFFC, 5)


BAD_READS = [
    (0x00000000, 1),
    (0x01000000, 4),
    (0x0203FFFF, 2),
    (0x03008000, 1),
    (0x08001000, 1),
    (0x10000000, 1),
    (-1, 1),
    (0x02000000, -1),
]


@pytest.mark.parametrize(("address", "length"), BAD_READS)
def test_reads_outside_memory_are_refused(gba_console: GameBoyAdvance, address: int, length: int) -> None:
    with pytest.raises(AddressError, match="outside"):
        gba_console.read(address, length)


@pytest.mark.parametrize("address", [0x08000000, 0x09000000, 0x0203FFFE, 0x04000000, 0x0E000000, -4])
def test_writes_outside_ram_are_refused(gba_console: GameBoyAdvance, address: int) -> None:
    with pytest.raises(AddressError, match="outside"):
        gba_console.write(address, b"abcd")


def test_game_boy_memory_is_checked(mgba_gb_console: MgbaGameBoy) -> None:
    mgba_gb_console.write(0xC100, b"abc")
    assert mgba_gb_console.read(0xC100, 3) == b"abc"
    mgba_gb_console.write(0xD100, b"def")
    assert mgba_gb_console.read(0xD100, 3) == b"def"
    assert mgba_gb_console.read(0x134, 7) == b"JOYTEST"
    for bad in ((0xFFFF, 2), (-1, 1), (0xC000, -1)):
        with pytest.raises(AddressError):
            mgba_gb_console.read(*bad)
    with pytest.raises(AddressError):
        mgba_gb_console.write(0x2000, b"\x01")


@pytest.mark.parametrize("rom", [TOKEN, FLASH], ids=["token", "flash"])
def test_a_loaded_console_goes_on_exactly(rom: Rom) -> None:
    first, second = GameBoyAdvance(rom), GameBoyAdvance(rom)
    play(first, 15)
    saved = first.save()
    play(second, 4, seed=9)  # it must not matter what the second console did before
    second.load(saved)
    assert second.save() == saved
    for console in (first, second):
        play(console, 15, seed=2)
    assert first.save() == second.save()
    assert np.array_equal(first.screen(), second.screen())
    assert first.save_memory() == second.save_memory()


def test_a_game_boy_goes_on_exactly_with_its_battery_ram() -> None:
    first, second = (MgbaGameBoy(gb_rom(cartridge=0x03, ram=0x02)) for _ in range(2))
    play(first, 10)
    saved = first.save()
    memory = first.save_memory()
    assert memory
    assert memory[0] == first.read(0xA000, 1)[0]
    play(second, 3, seed=5)
    second.load(saved)
    assert second.save() == saved
    assert second.save_memory() == memory
    for console in (first, second):
        play(console, 10, seed=2)
    assert first.save() == second.save()
    assert np.array_equal(first.screen(), second.screen())


def test_a_game_without_save_memory_saves_mgbas_raw_state(gba_console: GameBoyAdvance) -> None:
    assert len(gba_console.save()) == RAW_STATE


def test_the_screen_after_a_load_is_not_the_old_one(gba_console: GameBoyAdvance) -> None:
    gba_console.advance(0, 6)
    saved = gba_console.save()
    gba_console.advance(16, 60)
    gba_console.load(saved)
    assert not gba_console.screen().any()
    fresh = GameBoyAdvance(TOKEN)
    fresh.advance(0, 6)
    for console in (gba_console, fresh):
        console.advance(0, 1)
    assert np.array_equal(gba_console.screen(), fresh.screen())


@pytest.mark.parametrize("rom", [TOKEN, FLASH], ids=["token", "flash"])
def test_reset_equals_a_new_console_and_keeps_the_views(rom: Rom) -> None:
    used, fresh = GameBoyAdvance(rom), GameBoyAdvance(rom)
    view = used.read(STATE, 16)
    play(used, 10)
    used.reset()
    assert used.save() == fresh.save()
    for console in (used, fresh):
        play(console, 10, seed=3)
    assert used.save() == fresh.save()
    assert view == fresh.read(STATE, 16)


def test_mgbas_own_state_files_load(tmp_path: Path) -> None:
    """Plain and PNG files, with and without save memory, written by mGBA itself."""
    from mgba._pylib import ffi, lib

    source = GameBoyAdvance(FLASH)
    play(source, 10)
    screenshot, save_memory = 1, 2
    for flags in (0, save_memory, screenshot, screenshot | save_memory):
        path = tmp_path / f"state{flags}"
        file = lib.VFileOpen(str(path).encode(), os.O_RDWR | os.O_CREAT)
        assert lib.mCoreSaveStateNamed(source._core, file, flags)
        file.close(file)
        assert path.read_bytes().startswith(b"\x89PNG") == bool(flags & screenshot)
        target = GameBoyAdvance(FLASH)
        target.load(path.read_bytes())
        expected = source.save_memory() if flags & save_memory else b"\xff" * 0x10000
        assert target.save_memory() == expected
        assert target.save()[:RAW_STATE] == source.save()[:RAW_STATE]
    assert ffi is not None


def test_mgba_reads_our_state_files(tmp_path: Path) -> None:
    from mgba._pylib import lib

    source, target = GameBoyAdvance(FLASH), GameBoyAdvance(FLASH)
    play(source, 10)
    path = tmp_path / "ours.state"
    path.write_bytes(source.save())
    file = lib.VFileOpen(str(path).encode(), os.O_RDONLY)
    assert lib.mCoreLoadStateNamed(target._core, file, 2)
    file.close(file)
    assert target.save_memory() == source.save_memory()


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in chunks:
        parts += [len(data).to_bytes(4, "big"), kind, data, zlib.crc32(kind + data).to_bytes(4, "big")]
    return b"".join(parts)


def damaged_states() -> dict[str, bytes]:
    state = bytearray(GameBoyAdvance(FLASH).save())
    packed = zlib.compress(bytes(state))
    flipped = bytearray(png((b"gbAs", packed)))
    flipped[40] ^= 1
    return {
        "empty": b"",
        "cut": bytes(state[:1000]),
        "text": b"not a state " * 40_000,
        "no magic": bytes(4) + bytes(state[4:]),
        "cut in a block header": bytes(state) + b"\x02\0\0\0",
        "a block past the end": bytes(state) + struct.pack("<IiQ", 2, 100, RAW_STATE),
        "a picture": png((b"IEND", b"")),
        "a flipped bit": bytes(flipped),
        "bad compression": png((b"gbAs", b"zzzz" + packed)),
        "cut compression": png((b"gbAs", packed[:100])),
        "too small inside": png((b"gbAs", zlib.compress(b"tiny"))),
    }


@pytest.mark.parametrize("name", damaged_states())
def test_damaged_states_are_told_in_one_sentence(name: str) -> None:
    console = GameBoyAdvance(FLASH)
    play(console, 3)
    before = console.save()
    with pytest.raises(SaveStateError) as caught:
        console.load(damaged_states()[name])
    assert "\n" not in str(caught.value)
    assert "state" in str(caught.value)
    assert console.save() == before


def test_a_state_of_another_title_is_refused(gba_console: GameBoyAdvance) -> None:
    with pytest.raises(SaveStateError, match="another game"):
        gba_console.load(GameBoyAdvance(FLASH).save())


def test_a_state_of_another_rom_with_the_same_title_loads(gba_console: GameBoyAdvance) -> None:
    """mGBA compares title and code only: a parked ROM takes the real game's state, to read its memory."""
    play(gba_console, 5)
    parked = GameBoyAdvance(PARK)
    parked.load(gba_console.save())
    assert parked.read(STATE, 16) == gba_console.read(STATE, 16)


def test_a_rom_of_another_system_is_refused() -> None:
    with pytest.raises(RomError, match="no Game Boy Advance ROM"):
        GameBoyAdvance(gb_rom())
    with pytest.raises(RomError, match="no Game Boy ROM"):
        MgbaGameBoy(TOKEN)


def test_close_twice_is_fine_and_a_closed_console_says_so() -> None:
    console = GameBoyAdvance(TOKEN)
    console.advance(0, 6)
    view, screen = console.read(STATE, 16), console.screen()
    expected, picture = bytes(view), screen.copy()
    console.close()
    console.close()
    for call in (lambda: console.advance(0, 1), console.save, lambda: console.read(STATE, 1), console.reset):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert view == expected
    assert np.array_equal(screen, picture)
