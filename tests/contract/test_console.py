"""One suite over every console that is installed here."""

import numpy as np
import pytest

from parcade.console.base import AddressError, Console, button_mask
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom, read_rom
from parcade.errors import RomError, SaveStateError
from parcade.game.lantern import Lantern
from parcade.game.lantern.state import BLOCK

GAME = Lantern()


def open_mgba(rom):
    pytest.importorskip("mgba.core", reason="mGBA is not installed (pip install mgba, apt install libmgba0.10)")
    from parcade.console.gba import MgbaGameBoy

    return MgbaGameBoy(rom)


@pytest.fixture(params=[GameBoy, open_mgba], ids=["pyboy", "mgba"])
def console(request):
    console = request.param(builtin_rom("lantern.gb"))
    yield console
    console.close()


def mask(console, *names):
    return button_mask(console.buttons, *names)


def walk(console, seed, steps=60):
    rng = np.random.default_rng(seed)
    names = ("right", "left", "up", "down", "a")
    for _ in range(steps):
        console.advance(mask(console, names[rng.integers(5)]), 6)
    return bytes(console.read(BLOCK, 40)) + bytes(console.read(BLOCK + 44, 200)), console.screen()[..., 0].copy()


def test_keeps_the_protocol(console):
    assert isinstance(console, Console)
    assert console.screen().shape == console.screen_shape == (144, 160, 4)
    assert set(console.buttons) == {"right", "left", "up", "down", "a", "b", "select", "start"}


def test_buttons_move_the_game(console):
    GAME.start(console, 1)
    before = GAME.read(console)
    console.advance(mask(console, "right"), 12)
    after = GAME.read(console)
    assert after.x > before.x
    assert after.facing == 3
    assert after.frame == before.frame + 12


def test_the_picture_is_drawn_only_when_asked(console):
    GAME.start(console, 1)
    console.advance(0, 2)
    before = console.screen().copy()
    console.advance(mask(console, "right"), 30, draw=False)
    assert np.array_equal(console.screen(), before)
    console.advance(0, 1)
    assert not np.array_equal(console.screen(), before)


def test_read_and_write(console):
    console.write(0xDE00, b"\x12\x34\x56")
    assert bytes(console.read(0xDE00, 3)) == b"\x12\x34\x56"
    console.write(0xDE01, b"\x99")
    assert bytes(console.read(0xDE00, 3)) == b"\x12\x99\x56"


@pytest.mark.parametrize(("address", "length"), [(0x20000, 1), (-1, 1), (0xFFFF, 2), (0xC000, -1)])
def test_addresses_are_checked(console, address, length):
    with pytest.raises(AddressError):
        console.read(address, length)


def test_writing_to_rom_is_refused(console):
    with pytest.raises(AddressError):
        console.write(0x2000, b"\1")


@pytest.mark.parametrize("frames", [0, -3])
def test_frame_counts_that_never_return_are_refused(console, frames):
    with pytest.raises(ValueError, match="frames"):
        console.advance(0, frames)


def test_save_and_load_go_on_exactly(console):
    GAME.start(console, 5)
    walk(console, 1)
    console.advance(mask(console, "left", "a"), 3)  # buttons held at the moment of saving
    saved = console.save()
    first = walk(console, 2)
    console.advance(mask(console, "down"), 40)
    console.load(saved)
    second = walk(console, 2)
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])


def test_a_damaged_state_is_refused(console):
    with pytest.raises(SaveStateError):
        console.load(b"not a state")


def test_a_refused_state_leaves_the_machine_as_it_was(console):
    GAME.start(console, 2)
    console.advance(mask(console, "right"), 5)
    before = console.save()
    for damaged in (b"", b"x" * 300_000, before[: len(before) // 2], b"\x89PNG\r\n\x1a\n" + before):
        with pytest.raises(SaveStateError) as caught:
            console.load(damaged)
        assert "\n" not in str(caught.value)
        assert console.save() == before


def test_identical_replays_save_identical_bytes(console):
    """From the same state; a game that begins anew without loading one goes on in the machine's time."""
    GAME.start(console, 2)
    start = console.save()
    ends = []
    for history in (0, 70):
        walk(console, 9, history)
        console.load(start)
        walk(console, 3)
        ends.append(console.save())
    fresh = type(console)(builtin_rom("lantern.gb"))
    fresh.load(start)
    walk(fresh, 3)
    assert ends[0] == ends[1] == fresh.save()
    fresh.close()


def test_same_inputs_same_machine_beside_others(console):
    other = type(console)(builtin_rom("lantern.gb"))
    GAME.start(console, 9)
    GAME.start(other, 9)
    for turn in range(5):
        a, b = walk(console, turn), walk(other, turn)
        assert a[0] == b[0]
        assert np.array_equal(a[1], b[1])
    other.close()


def test_close_twice(console):
    console.close()
    console.close()


def test_no_file_is_read_or_written_beside_the_rom(tmp_path):
    path = tmp_path / "game.gb"
    data = bytearray(builtin_rom("lantern.gb").data)
    data[0x147], data[0x149] = 0x03, 0x02  # MBC1 with battery-backed RAM: PyBoy would keep game.gb.ram
    total = 0
    for byte in data[0x134:0x14D]:
        total = (total - byte - 1) & 0xFF
    data[0x14D] = total
    path.write_bytes(data)
    (tmp_path / "game.gb.ram").write_bytes(b"\x55" * 8192)
    console = GameBoy(read_rom(path))
    console.advance(0, 60)
    assert bytes(console.read_bank(0, 0xA000, 4)) != b"\x55" * 4
    console.close()
    assert (tmp_path / "game.gb.ram").read_bytes() == b"\x55" * 8192


def test_a_file_that_is_no_rom(tmp_path):
    path = tmp_path / "x.gb"
    path.write_bytes(b"\xff" * 40000)
    with pytest.raises(RomError, match="no Game Boy ROM"):
        GameBoy(read_rom(path))
    with pytest.raises(RomError, match="no ROM at"):
        read_rom(tmp_path / "missing.gb")
    with pytest.raises(RomError, match="folder"):
        read_rom(tmp_path)


def test_pyboy_and_mgba_play_the_same_game():
    one, two = GameBoy(builtin_rom("lantern.gb")), open_mgba(builtin_rom("lantern.gb"))
    for seed in (1, 2, 3):
        GAME.start(one, seed)
        GAME.start(two, seed)
        for turn in range(4):
            assert walk(one, turn)[0] == walk(two, turn)[0]
    one.close()
    two.close()
