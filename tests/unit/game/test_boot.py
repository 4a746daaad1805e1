"""The boot script's runner, on a parked console and on a real game with a title screen."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from parcade.console.base import Memory
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom, read_rom
from parcade.errors import EnvError
from parcade.game.boot import idle, run_boot_script

PARK = Path(__file__).parents[2] / "roms" / "park.gb"
MODE = 0xC102  # Lantern: 1 title, 2 play
TITLE, PLAY = 1, 2


@pytest.fixture
def park() -> Iterator[GameBoy]:
    console = GameBoy(read_rom(PARK))
    yield console
    console.close()


def test_nothing_is_pressed_where_nothing_is_needed(park: GameBoy) -> None:
    assert run_boot_script(park, ((("a",), 4),), lambda memory: True, 100) == 0


def test_the_script_is_repeated_until_done(park: GameBoy) -> None:
    asked = []

    def done(memory: Memory) -> bool:
        asked.append(memory)
        return len(asked) == 5

    assert run_boot_script(park, ((("a",), 4), ((), 6)), done, 100) == 21


def test_the_limit_holds_and_is_told(park: GameBoy) -> None:
    with pytest.raises(EnvError, match=r"in 50 frames; .* --state"):
        run_boot_script(park, ((("start",), 7), ((), 9)), lambda memory: False, 50)


@pytest.mark.parametrize("script", [(), ((("a",), 0),)])
def test_a_script_that_never_moves_on_is_refused(
    park: GameBoy, script: tuple[tuple[tuple[str, ...], int], ...]
) -> None:
    with pytest.raises(ValueError, match="1 frame or more"):
        run_boot_script(park, script, lambda memory: False, 50)


def test_idling_depends_on_the_seed_alone(park: GameBoy) -> None:
    for seed in (0, 59, 60, 1 << 40):
        idle(park, seed)


def test_a_real_title_screen_is_passed() -> None:
    if not resources.files("parcade.roms").joinpath("lantern.gb").is_file():
        pytest.skip("lantern.gb is not built")
    console = GameBoy(builtin_rom("lantern.gb"))
    try:
        wait = run_boot_script(console, (((), 10),), lambda memory: memory.read(MODE, 1)[0] == TITLE, 600)
        assert wait > 0
        script = ((("start",), 4), ((), 8))
        run_boot_script(console, script, lambda memory: memory.read(MODE, 1)[0] == PLAY, 600)
        console.advance(0, 60)
        assert console.read(MODE, 1)[0] == PLAY
    finally:
        console.close()
