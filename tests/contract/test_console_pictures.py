"""Every console's pictures against a plain reference, on real frames of grey and colour games."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from parcade.console import picture
from parcade.console.base import Console
from parcade.console.gameboy import GameBoy
from parcade.console.picture import ScreenPictures, half_of
from parcade.console.rom import Rom, builtin_rom, read_rom

COLOUR = Path(__file__).parents[1] / "roms" / "colour.gbc"
Pixels = npt.NDArray[np.uint8]


def on_mgba(name: str) -> Callable[[Rom], Console]:
    def opened(rom: Rom) -> Console:
        pytest.importorskip("mgba", reason="mGBA cannot be loaded", exc_type=ImportError)
        from parcade.console import gba

        console: Console = getattr(gba, name)(rom)
        return console

    return opened


def on_libretro(rom: Rom | None) -> Console:
    if importlib.util.find_spec("stable_retro") is None:
        pytest.skip("stable-retro is not installed: pip install parcade[retro]")
    from parcade.console.libretro import LibretroConsole, integrated_rom

    return LibretroConsole(rom or integrated_rom("Airstriker-Genesis-v0"))


FRAMES: dict[str, Callable[[], Console]] = {
    "lantern on pyboy": lambda: GameBoy(builtin_rom("lantern.gb")),
    "lantern on mgba": lambda: on_mgba("MgbaGameBoy")(builtin_rom("lantern.gb")),
    "meadow on mgba": lambda: on_mgba("GameBoyAdvance")(builtin_rom("meadow.gba")),
    "colour on pyboy": lambda: GameBoy(read_rom(COLOUR)),
    "colour on mgba": lambda: on_mgba("MgbaGameBoy")(read_rom(COLOUR)),
    "colour on libretro": lambda: on_libretro(read_rom(COLOUR)),
    "airstriker on libretro": lambda: on_libretro(None),
}
IN_COLOUR = [name for name in FRAMES if not name.startswith("lantern")]


@pytest.fixture(params=FRAMES)
def drawn(request: pytest.FixtureRequest) -> Iterator[Console]:
    """A console that shows something other than its boot logo."""
    console = FRAMES[request.param]()
    for held in (0, 1 << console.buttons.index("start"), 0):
        console.advance(held, 200)
    yield console
    console.close()


def plain_half(pixels: Pixels) -> Pixels:
    """The mean of each 2 x 2 block, halves rounded up; at an odd edge of what is there."""
    height, width = half_of(pixels.shape)
    out = np.zeros((height, width, pixels.shape[2]), np.uint8)
    for y in range(height):
        for x in range(width):
            block = pixels[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].reshape(-1, pixels.shape[2]).astype(int)
            out[y, x] = (2 * block.sum(0) + len(block)) // (2 * len(block))
    return out


def plain_grey(pixels: Pixels) -> Pixels:
    red, green, blue = (pixels[..., channel].astype(int) for channel in range(3))
    return ((9798 * red + 19235 * green + 3735 * blue + (1 << 14)) // (1 << 15)).astype(np.uint8)


def pictures(console: ScreenPictures | Console) -> tuple[Pixels, Pixels, Pixels, Pixels]:
    size = console.screen().shape[:2]
    half = half_of(size)
    out = (np.empty(size, np.uint8), np.empty(half, np.uint8))
    coloured = (np.empty((3, *size), np.uint8), np.empty((3, *half), np.uint8))
    for plane in out:
        console.luminance(plane)
    for planes in coloured:
        console.colour(planes)
    return *out, *coloured


def check(console: ScreenPictures | Console) -> None:
    screen = console.screen()[..., :3].copy()
    full, half, coloured, coloured_half = pictures(console)
    assert np.array_equal(full, plain_grey(screen))
    assert np.array_equal(half, plain_grey(plain_half(screen)))
    assert np.array_equal(coloured, screen.transpose(2, 0, 1))
    assert np.array_equal(coloured_half, plain_half(screen).transpose(2, 0, 1))


def test_all_four_pictures_equal_the_reference(drawn: Console) -> None:
    assert len(np.unique(drawn.screen()[..., :3].reshape(-1, 3), axis=0)) > 2
    assert np.array_equal(drawn.screen().shape, drawn.screen_shape)
    check(drawn)


def test_without_an_exact_opencv_the_pictures_are_the_same(drawn: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = pictures(drawn)
    monkeypatch.setattr(picture, "opencv_is_exact", lambda: False)
    assert all(np.array_equal(a, b) for a, b in zip(quick, pictures(drawn), strict=True))


def test_luminance_is_near_rec_601(drawn: Console) -> None:
    full = pictures(drawn)[0]
    assert np.abs(full - drawn.screen()[..., :3] @ np.array([0.299, 0.587, 0.114])).max() <= 0.51


@pytest.mark.parametrize("name", IN_COLOUR)
def test_one_level_of_red_stands_for_more_than_one_luminance(name: str) -> None:
    console = FRAMES[name]()
    for held in (0, 1 << console.buttons.index("start"), 0):
        console.advance(held, 200)
    full = pictures(console)[0]
    red = console.screen()[..., 0]
    seen_through_red = [len(np.unique(full[red == level])) for level in np.unique(red)]
    console.close()
    assert max(seen_through_red) > 1


def test_a_line_one_pixel_wide_is_seen_at_half_size() -> None:
    console = GameBoy(read_rom(COLOUR))
    console.advance(0, 400)
    half = np.empty((72, 80), np.uint8)
    console.luminance(half)
    console.close()
    red, green, blue, white = 74, 146, 28, 248  # the four lines of the first tile
    assert half[0, 0] == round((red + green) / 2)
    assert half[0, 1] == round((blue + white) / 2)


class Odd(ScreenPictures):
    """A real frame with its last line and columns cut off: some libretro cores have odd sizes."""

    def __init__(self, screen: Pixels) -> None:
        self._screen = screen

    def screen(self) -> Pixels:
        return self._screen


@pytest.mark.parametrize("size", [(143, 160), (144, 157), (143, 159), (1, 1)])
@pytest.mark.parametrize("channels", [3, 4])
def test_odd_sizes(size: tuple[int, int], channels: int) -> None:
    console = GameBoy(read_rom(COLOUR))
    console.advance(0, 400)
    check(Odd(np.ascontiguousarray(console.screen()[: size[0], : size[1], :channels])))
    console.close()


@pytest.mark.parametrize(
    "out",
    [
        np.empty((71, 80), np.uint8),
        np.empty((72, 80), np.float32),
        np.empty((72, 160), np.uint8)[:, ::2],
        np.empty((80, 72), np.uint8).T,
    ],
    ids=["size", "dtype", "strided", "transposed"],
)
def test_an_array_that_does_not_fit_is_refused(out: Pixels) -> None:
    console = GameBoy(builtin_rom("lantern.gb"))
    with pytest.raises(ValueError, match="picture"):
        console.luminance(out)
    with pytest.raises(ValueError, match="picture"):
        console.colour(np.empty((4, 72, 80), np.uint8))
    console.close()


def test_an_opencv_that_rounds_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = picture.cv2.cvtColor
    assert picture.opencv_is_exact()
    picture.opencv_is_exact.cache_clear()
    monkeypatch.setattr(picture.cv2, "cvtColor", lambda *args: real(*args) ^ 1)
    assert not picture.opencv_is_exact()
    picture.opencv_is_exact.cache_clear()
