"""Pictures on their way to a client: what arrives is what was shown, and only what changed travels."""

import struct
import zlib

import numpy as np
import pytest

from parcade.view.page.palette import MOST, Palette
from parcade.view.page.pictures import SIDE, Pictures, Sent, changed_blocks


class Screen:
    """Takes messages as the page's script does."""

    def __init__(self):
        self.colours, self.tiles, self.sizes = np.zeros(65536, np.uint32), {}, []

    def take(self, message):
        kind, width, number = struct.unpack_from("<BBxxI", message)
        body = zlib.decompress(message[8:])
        first, n_colours, n_tiles = struct.unpack_from("<III", body)
        heads = [struct.unpack_from("<HHHH", body, 12 + 8 * i) for i in range(n_tiles)]
        at = 12 + 8 * n_tiles
        self.colours[first : first + n_colours] = np.frombuffer(body, "<u4", n_colours, at)
        at += 4 * n_colours
        n_blocks = sum(head[3] for head in heads)
        places = np.frombuffer(body, "<u2", n_blocks, at)
        indices = np.frombuffer(body, f"<u{width}", n_blocks * SIDE * SIDE, at + 2 * n_blocks).reshape(-1, SIDE, SIDE)
        for slot, height, wide, count in heads:
            tile = self.tiles.setdefault(slot, np.zeros((height, wide), np.uint32))
            columns = -(-wide // SIDE)
            for place, block in zip(places[:count], indices[:count], strict=True):
                y, x = place // columns * SIDE, place % columns * SIDE
                tile[y : y + SIDE, x : x + SIDE] = self.colours[block][: height - y, : wide - x]
            places, indices = places[count:], indices[count:]
            self.sizes.append(count)
        return kind, number


def noise(seed, shape=(24, 40), colours=300):
    return np.random.default_rng(seed).integers(0, colours, shape).astype(np.uint32) * 321 & 0xFFFFFF


@pytest.mark.parametrize("shape", [(24, 40), (21, 37), (8, 8)])
def test_every_picture_arrives_exactly(shape):
    pictures, sent, screen = Pictures(), Sent(), Screen()
    for tick in range(5):
        pictures.tick += 1
        for slot in range(3):
            if (tick + slot) % 2:
                pictures.put(slot, noise(tick * 10 + slot, shape))
        message = pictures.message(range(3), sent)
        assert screen.take(message) == (1, tick + 1)
    for slot in range(3):
        newest = max(tick for tick in range(5) if (tick + slot) % 2)
        assert (screen.tiles[slot] == noise(newest * 10 + slot, shape)).all()


def test_only_blocks_that_changed_travel():
    pictures, sent, screen = Pictures(), Sent(), Screen()
    pictures.tick = 1
    first = noise(1, (144, 160), 4)
    pictures.put(0, first)
    whole = pictures.message([0], sent)
    screen.take(whole)
    second = first.copy()
    second[17, 25] ^= 321
    pictures.tick = 2
    pictures.put(0, second)
    message = pictures.message([0], sent)
    screen.take(message)
    assert screen.sizes == [18 * 20, 1]
    assert len(message) < len(whole) / 10
    assert (screen.tiles[0] == second).all()
    pictures.tick = 3
    pictures.put(0, second.copy())
    assert pictures.message([0], sent) is None


def test_a_client_that_comes_late_or_lags_gets_all_it_lacks():
    pictures, prompt, late = Pictures(), Sent(), Sent()
    screens = Screen(), Screen()
    for tick in range(1, 6):
        pictures.tick = tick
        pictures.put(0, noise(tick, colours=tick * 3))
        screens[0].take(pictures.message([0], prompt))
    screens[1].take(pictures.message([0], late))
    assert (screens[1].tiles[0] == screens[0].tiles[0]).all()


def test_a_slot_that_comes_back_into_view_is_brought_up_to_date():
    pictures, sent, screen = Pictures(), Sent(), Screen()
    for tick, slots in ((1, [0, 1]), (2, [0]), (3, [0, 1])):
        pictures.tick = tick
        pictures.put(0, noise(tick))
        pictures.put(1, noise(10 + tick))
        screen.take(pictures.message(slots, sent))
    assert (screen.tiles[1] == noise(13)).all()


def test_a_picture_of_another_size_replaces_the_old_one():
    pictures, sent = Pictures(), Sent()
    pictures.tick = 1
    pictures.put(0, noise(1, (16, 16)))
    pictures.message([0], sent)
    pictures.tick = 2
    pictures.put(0, noise(2, (24, 32)))
    screen = Screen()
    screen.colours[: len(pictures.palette.colours)] = pictures.palette.colours
    screen.take(pictures.message([0], sent))
    assert (screen.tiles[0] == noise(2, (24, 32))).all()


def test_what_the_policy_sees_becomes_a_picture():
    pictures, sent, screen = Pictures(), Sent(), Screen()
    pictures.tick = 1
    planes = np.arange(2 * 3 * 8 * 8, dtype=np.uint8).reshape(6, 8, 8)
    pictures.put_planes(0, planes, 3)
    pictures.put_planes(1, planes, 1)
    screen.take(pictures.message([0, 1], sent))
    red, green, blue = planes[3:].astype(int)
    assert (screen.tiles[0] == red + green * 256 + blue * 65536).all()
    assert (screen.tiles[1] == planes[5].astype(int) * 0x010101).all()


def test_changed_blocks_are_those_that_differ():
    before = noise(1, (32, 48))
    after = before.copy()
    for y, x in ((0, 0), (15, 8), (31, 47)):
        after[y, x] += 1
    assert np.argwhere(changed_blocks(before, after)).tolist() == [[0, 0], [1, 1], [3, 5]]


def test_too_many_colours_become_coarse_and_all_are_known():
    palette = Palette()
    many = np.arange(MOST + 5000, dtype=np.uint32) * 97 & 0xFFFFFF
    first = palette.indices(many[:60000])
    assert palette.generation == 0
    assert (np.array(palette.colours)[first] == many[:60000]).all()
    indices = palette.indices(many)
    assert palette.generation == 1
    assert (np.array(palette.colours)[indices] == many & 0xF8FCF8).all()


def test_a_client_survives_a_palette_that_begins_anew():
    pictures, sent, screen = Pictures(), Sent(), Screen()
    for tick in range(1, 4):
        pictures.tick = tick
        pictures.put(0, np.arange(tick, tick + 32768, dtype=np.uint32).reshape(128, 256) * (tick * 211) & 0xFFFFFF)
        for _ in range(2):
            message = pictures.message([0], sent)
            if message is not None:
                screen.take(message)
    last = pictures._tiles[0].pixels
    assert pictures.palette.generation == 1
    assert (screen.tiles[0] == last & 0xF8FCF8).all()
