"""The memory search, on images made by hand; no console."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcade.console.rom import Rom
from parcade.console.search import TESTS, Candidates, Layout, Region, hex_lines, ram_regions

WORK, HIGH = Region("work RAM", 0xC000, 0xC004), Region("high RAM", 0xFF80, 0xFF82)


class Ram:
    """Two regions of bytes, read by address."""

    def __init__(self, work: bytes, high: bytes = bytes(2)) -> None:
        self.bytes = {0xC000: work, 0xFF80: high}

    def read(self, address: int, length: int) -> bytes:
        start = 0xC000 if address < 0xFF80 else 0xFF80
        return self.bytes[start][address - start : address - start + length]


@pytest.fixture
def layout() -> Layout:
    return Layout([WORK, HIGH])


def search(layout: Layout, kind: str, first: Ram, *narrowings: tuple[Ram, str, int | None]) -> list[int]:
    found = layout.begin(layout.image(first), kind)
    for ram, test, number in narrowings:
        found = layout.narrow(found, layout.image(ram), test, number)
    return layout.addresses(found).tolist()


def test_a_new_search_holds_every_address(layout: Layout) -> None:
    assert search(layout, "u8", Ram(bytes(4))) == [0xC000, 0xC001, 0xC002, 0xC003, 0xFF80, 0xFF81]


def test_no_u16_reaches_from_one_region_into_the_next(layout: Layout) -> None:
    assert search(layout, "u16", Ram(bytes(4))) == [0xC000, 0xC001, 0xC002, 0xFF80]


@pytest.mark.parametrize(
    ("test", "number", "left"),
    [
        ("changed", None, [0xC001, 0xC002, 0xFF81]),
        ("unchanged", None, [0xC000, 0xC003, 0xFF80]),
        ("increased", None, [0xC001, 0xFF81]),
        ("increased", 2, [0xFF81]),
        ("decreased", None, [0xC002]),
        ("decreased", 1, []),
        ("decreased", 3, [0xC002]),
        ("equals", 7, [0xC001]),
    ],
)
def test_what_each_test_keeps(layout: Layout, test: str, number: int | None, left: list[int]) -> None:
    before, after = Ram(bytes([1, 2, 3, 0]), bytes([255, 6])), Ram(bytes([1, 7, 0, 0]), bytes([255, 8]))
    assert search(layout, "u8", before, (after, test, number)) == left


def test_each_narrowing_compares_with_the_one_before(layout: Layout) -> None:
    up, same = Ram(bytes([5, 5, 0, 0])), Ram(bytes([5, 6, 0, 0]))
    assert search(layout, "u8", Ram(bytes(4)), (up, "increased", None), (same, "unchanged", None)) == [0xC000]


def test_a_u16_is_little_endian(layout: Layout) -> None:
    before, after = Ram(bytes([0, 0xFF, 0x00, 0])), Ram(bytes([0, 0x00, 0x01, 0]))
    assert search(layout, "u16", before, (after, "increased", 1)) == [0xC001, 0xC002]  # 0x00FF -> 0x0100, 0 -> 1
    assert search(layout, "u16", before, (after, "equals", 256)) == [0xC001]


def test_numbers_where_none_belongs_and_none_where_one_does(layout: Layout) -> None:
    with pytest.raises(ValueError, match="changed takes no number"):
        search(layout, "u8", Ram(bytes(4)), (Ram(bytes(4)), "changed", 1))
    with pytest.raises(ValueError, match="equals needs a number"):
        search(layout, "u8", Ram(bytes(4)), (Ram(bytes(4)), "equals", None))


@given(
    images=st.lists(st.binary(min_size=64, max_size=64), min_size=2, max_size=6),
    tests=st.lists(st.sampled_from([name for name in TESTS if name != "equals"]), min_size=5, max_size=5),
    kind=st.sampled_from(["u8", "i8", "u16", "i16", "u16be"]),
)
def test_the_arrays_say_what_a_plain_loop_says(images: list[bytes], tests: list[str], kind: str) -> None:
    layout, size = Layout([Region("work RAM", 0xC000, 0xC040)]), 1 if kind.endswith("8") else 2

    def value(image: bytes, at: int) -> int:
        order: Literal["big", "little"] = "big" if kind == "u16be" else "little"
        return int.from_bytes(image[at : at + size], order, signed=kind[0] == "i")

    holds = {
        "changed": lambda a, b: a != b,
        "unchanged": lambda a, b: a == b,
        "increased": lambda a, b: b > a,
        "decreased": lambda a, b: b < a,
    }
    wanted = [
        at
        for at in range(65 - size)
        if all(
            holds[test](value(a, at), value(b, at)) for a, b, test in zip(images[:-1], images[1:], tests, strict=False)
        )
    ]
    arrays = [np.frombuffer(image, np.uint8) for image in images]
    found: Candidates = layout.begin(arrays[0], kind)
    for array, test in zip(arrays[1:], tests, strict=False):
        found = layout.narrow(found, array, test)
    assert (layout.addresses(found) - 0xC000).tolist() == wanted
    assert found.values.tolist() == [value(images[-1], at) for at in wanted]


def test_a_signed_value_passes_zero(layout: Layout) -> None:
    before, after = Ram(bytes([255, 1, 0, 0])), Ram(bytes([1, 255, 0, 0]))
    assert search(layout, "i8", before, (after, "increased", 2)) == [0xC000]
    assert search(layout, "i8", before, (after, "equals", -1)) == [0xC001]
    assert search(layout, "i16", Ram(bytes([0, 0, 0, 0])), (Ram(bytes([0, 0xFE, 0xFF, 0])), "equals", -2)) == [0xC001]


def test_decimal_digits_are_searched_as_the_number_they_show(layout: Layout) -> None:
    before, after = Ram(bytes([0x12, 0x99, 0x1A, 0])), Ram(bytes([0x13, 0x00, 0x1B, 0]))
    assert search(layout, "bcd", before) == [0xC000, 0xC001, 0xC003, 0xFF80, 0xFF81]  # 1A is no number
    assert search(layout, "bcdx2", before) == [0xC000, 0xFF80]
    assert search(layout, "bcdx2", before, (after, "increased", 1)) == [0xC000]  # 1299, then 1300
    assert search(
        layout, "bcdx3", Ram(bytes([0, 1, 0x23, 0x45])), (Ram(bytes([0, 1, 0x23, 0x46])), "equals", 12346)
    ) == [0xC001]


def test_what_stops_being_decimal_is_dropped(layout: Layout) -> None:
    assert search(layout, "bcd", Ram(bytes([9, 9, 0, 0])), (Ram(bytes([0x10, 0x0A, 0, 0])), "changed", None)) == [
        0xC000
    ]


def test_looking_again_keeps_all_and_compares_from_there(layout: Layout) -> None:
    found = layout.begin(layout.image(Ram(bytes([5, 5, 5, 5]))), "u8")
    found = layout.look(found, layout.image(Ram(bytes([9, 1, 5, 5]))))
    assert len(found) == 6
    left = layout.narrow(found, layout.image(Ram(bytes([9, 2, 5, 4]))), "increased")
    assert layout.addresses(left).tolist() == [0xC001]


def test_an_image_is_a_copy(layout: Layout) -> None:
    live = bytearray(4)

    class Live(Ram):
        def read(self, address: int, length: int) -> memoryview:  # type: ignore[override]
            return memoryview(live)[:length]

    image = layout.image(Live(b""))
    live[0] = 9
    assert image[0] == 0


def gameboy_rom(cartridge_type: int, ram_size: int) -> Rom:
    data = bytearray(0x8000)
    data[0x147], data[0x149] = cartridge_type, ram_size
    data[0x14D] = sum(-byte - 1 for byte in data[0x134:0x14D]) & 0xFF
    return Rom(bytes(data), "test.gb")


@pytest.mark.parametrize(("cartridge_type", "ram_size", "first"), [(0, 0, 0xC000), (3, 2, 0xA000), (6, 0, 0xA000)])
def test_cartridge_ram_is_searched_where_there_is_some(cartridge_type: int, ram_size: int, first: int) -> None:
    regions = ram_regions(gameboy_rom(cartridge_type, ram_size))
    assert regions[0].start == first
    assert [(r.start, r.end) for r in regions[-2:]] == [(0xC000, 0xE000), (0xFF80, 0xFFFF)]


def test_a_gba_has_two_kinds_of_work_ram() -> None:
    data = bytearray(0x200)
    data[0xB2] = 0x96
    assert [(r.name, r.start, r.size) for r in ram_regions(Rom(bytes(data), "test.gba"))] == [
        ("EWRAM", 0x02000000, 256 * 1024),
        ("IWRAM", 0x03000000, 32 * 1024),
    ]


def test_hex_lines_mark_what_changed() -> None:
    ram = Ram(bytes(range(32)))
    plain = hex_lines(ram, 0xC000, 2)
    assert plain[1] == "C010  " + "  ".join(f"{n:02X}" for n in range(16, 32))
    marked = hex_lines(ram, 0xC000, 1, bytes([0, 9]) + bytes(range(2, 16)))
    assert marked[0].startswith("C000  00  01* 02  03")
