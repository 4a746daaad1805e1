"""States of older PyBoys, of other cartridges and of other emulators, each made from a real one."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parcade.console import gameboy
from parcade.console.base import button_mask
from parcade.console.gameboy import BUTTONS, GameBoy
from parcade.console.pyboy_state import lcd_end, pack, readings, unpack
from parcade.console.rom import Rom, builtin_rom, read_rom
from parcade.errors import SaveStateError
from parcade.game.lantern import Lantern

LANTERN = builtin_rom("lantern.gb")
ROMS = Path(__file__).parents[2] / "roms"
OLD = sorted(path.name.removesuffix(".state.gz") for path in (ROMS / "states").glob("*.state.gz"))


@pytest.fixture
def console() -> Iterator[GameBoy]:
    console = GameBoy(LANTERN)
    Lantern().start(console, 3)
    play(console, 30, seed=1)
    yield console
    console.close()


def play(console: GameBoy, steps: int, seed: int) -> list[tuple[bytes, bytes]]:
    """Return memory and picture after each of some random steps."""
    rng, seen = np.random.default_rng(seed), []
    for name in rng.choice(("right", "left", "up", "down", "a"), steps):
        console.advance(button_mask(BUTTONS, name), 6)
        seen.append((bytes(console.read(0xC000, 0x2000)), console.screen().tobytes()))
    return seen


def raw_of(console: GameBoy) -> bytes:
    """The state as PyBoy itself writes it, with no button held."""
    console.advance(0, 1)
    return unpack(console.save(), LANTERN.sha1).raw


def with_ram(banks: int, cartridge_type: int = 0x03, game: Rom = LANTERN) -> Rom:
    """A game on a cartridge with RAM, which it does not use."""
    data = bytearray(game.data)
    data[0x147], data[0x149] = cartridge_type, {1: 0x02, 4: 0x03}[banks]
    data[0x14D] = (-sum(data[0x134:0x14D]) - (0x14D - 0x134)) & 0xFF
    return Rom(bytes(data), f"mapper-{cartridge_type:02x}-{banks}.gb")


def old_file(name: str, kind: str = "state") -> bytes:
    return gzip.decompress((ROMS / "states" / f"{name}.{kind}.gz").read_bytes())


def rom_of(name: str) -> Rom:
    """The cartridge that an old PyBoy played: Token Room, its header changed for another mapper, or the colour one."""
    kind = name.partition("-")[2]
    if kind == "colour":
        return read_rom(ROMS / "colour.gbc")
    token = read_rom(ROMS / "token.gb")
    mapper = {"mbc1": 0x03, "mbc3": 0x10, "mbc5": 0x1E}.get(kind)
    return token if mapper is None else with_ram(4, mapper, token)


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("used", [False, True], ids=["on a new console", "on a used one"])
def test_an_old_state_plays_on_as_in_the_pyboy_that_wrote_it(name: str, used: bool) -> None:
    console = GameBoy(rom_of(name))
    if used:
        console.advance(button_mask(BUTTONS, "down"), 1000)
    console.load(old_file(name))
    console.advance(button_mask(BUTTONS, "right"), 60)
    console.advance(0, 60)
    after = old_file(name, "after")
    assert bytes(console.read(0xC000, 0x1000)) + bytes(console.read(0xD000, 0x1000)) == after[:0x2000]
    assert console.screen()[..., :3].tobytes() == after[0x2000:]
    console.close()


@pytest.mark.parametrize("name", OLD)
def test_the_missing_byte_belongs_behind_the_lcds_clocks(name: str) -> None:
    """Before its place stand the clock, the time of the next change of mode, and that mode."""
    raw = old_file(name)
    at = lcd_end(raw[0], in_colour=name.endswith("colour"))
    clock, target = (int.from_bytes(raw[at - end : at - end + 8], "little") for end in (17, 9))
    assert 0 <= target - clock <= 456
    assert clock < 2 * 70_224  # cycles of a frame; PyBoy before 2.5 counted on in the next one
    assert raw[at - 1] in (0, 1, 2, 3)
    assert readings(raw, 0)[0].startswith(raw[:at] + b"\0" + raw[at : at + 1])


def test_every_layout_that_was_released_is_there() -> None:
    assert {old_file(name)[0] for name in OLD} == {9, 10, 11, 12, 14, 15}


@pytest.mark.parametrize("name", OLD)
def test_pyboy_alone_misreads_the_old_state(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason for all this; if it fails, PyBoy reads them itself and ``readings`` has to be looked at."""
    monkeypatch.setattr(gameboy, "_tried", {})
    monkeypatch.setattr(gameboy, "readings", lambda raw, cartridge_type: [raw])
    console = GameBoy(rom_of(name))
    with pytest.raises(SaveStateError, match="does not load in PyBoy"):
        console.load(old_file(name))
    console.close()


def test_a_state_of_our_first_kind_loads(console: GameBoy) -> None:
    console.advance(button_mask(BUTTONS, "left"), 3)
    state = unpack(console.save(), LANTERN.sha1)
    expected = play(console, 20, seed=4)
    console.load(b"PGB1" + bytes([state.held or 0]) + state.raw)
    assert console._held == button_mask(BUTTONS, "left")
    assert play(console, 20, seed=4) == expected


def damaged(console: GameBoy) -> dict[str, tuple[bytes, str]]:
    ours, raw = console.save(), raw_of(console)
    flipped = bytearray(ours)
    flipped[50_000] ^= 1
    other, large = GameBoy(read_rom(ROMS / "token.gb")), GameBoy(with_ram(4))
    foreign, foreign_raw = other.save(), unpack(large.save(), with_ram(4).sha1).raw
    other.close()
    large.close()
    old = old_file("2.4.1-token")
    return {
        "nothing": (b"", r"\(0 bytes\) .* too early"),
        "a word": (b"not a state", "does not load"),
        "our first word": (b"PGB1", "does not load"),
        "half of ours": (ours[:80_000], "checksum is wrong"),
        "the head of ours": (ours[:29], "checksum is wrong"),
        "one bit of ours": (bytes(flipped), "checksum is wrong"),
        "half of PyBoy's": (raw[:80_000], "ends too early"),
        "all but the last byte": (raw[:-1], "does not load"),
        "an old one cut": (old[:-1], "does not load"),
        "an old one with more": (old + b"\0", "left over"),
        "more than a state": (raw + bytes(10), "10 bytes are left over"),
        "of another cartridge, ours": (foreign, "is of a ROM with SHA-1"),
        "of another cartridge, PyBoy's": (foreign_raw, "lantern.gb: .* another cartridge"),
        "a later version": (b"\xfe" + raw[1:], "newer version"),
        "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG picture, as mGBA writes"),
        "gzipped": (gzip.compress(raw), "gzipped, as stable-retro"),
    }


def test_a_refused_state_is_told_in_one_sentence_and_changes_nothing(console: GameBoy) -> None:
    cases = damaged(console)
    console.advance(button_mask(BUTTONS, "right"), 3)
    before = console.save()
    for name, (state, text) in cases.items():
        with pytest.raises(SaveStateError, match=text) as caught:
            console.load(state)
        assert "\n" not in str(caught.value), name
        assert console.save() == before, name
    expected = play(console, 20, seed=5)
    console.load(before)
    assert play(console, 20, seed=5) == expected


def test_a_state_of_mgba_is_named(console: GameBoy) -> None:
    pytest.importorskip("mgba", reason="mGBA cannot be loaded", exc_type=ImportError)
    from parcade.console.gba import GameBoyAdvance, MgbaGameBoy

    advance = GameBoyAdvance(builtin_rom("meadow.gba"))
    for other, system, what, back in (
        (MgbaGameBoy(LANTERN), "Game Boy", "use console mgba", "use console pyboy"),
        (advance, "Game Boy Advance", "use it with a Game Boy Advance ROM", "use it with a Game Boy ROM"),
    ):
        with pytest.raises(SaveStateError, match=f"an mGBA state of a {system}; .*: {what}"):
            console.load(other.save())
        with pytest.raises(SaveStateError, match=f"a state of PyBoy; .*: {back}"):
            other.load(console.save())
        other.close()


def test_a_state_is_tried_once_and_ours_never(console: GameBoy, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_of(console)
    ours = pack(0, raw, LANTERN.sha1)
    console.load(raw)
    monkeypatch.setattr(gameboy, "_new_pyboy", None)  # any further trial would fail
    console.load(raw)
    console.load(ours)


def test_without_pyboys_version_ours_are_tried_too(console: GameBoy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gameboy, "_STATE_VERSION", -1)
    monkeypatch.setattr(gameboy, "_tried", {})
    state = console.save()
    expected = play(console, 10, seed=6)
    console.load(state)
    assert len(gameboy._tried) == 1
    assert play(console, 10, seed=6) == expected


def test_only_old_states_are_changed() -> None:
    for version in (*range(8), *range(16, 30)):
        assert readings(bytes([version]) + bytes(20_000), 0x00) == [bytes([version]) + bytes(20_000)]
    assert readings(b"", 0x00) == [b""]
