"""What Pokémon Emerald costs beside the emulator: microseconds a step for reading and features, memory per game.

The cartridge is not needed: images of RAM written by the tests' encoder are put into real mGBA cores.
    .venv/bin/python tools/emerald_cost.py
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit" / "game"))

import test_pokemon_emerald as images  # noqa: E402

from parcade.bench.machine import private_mb  # noqa: E402
from parcade.console.gba import GameBoyAdvance  # noqa: E402
from parcade.console.rom import Rom  # noqa: E402
from parcade.game.pokemon_emerald import PokemonEmerald  # noqa: E402

ROUNDS, READS, GAMES, ROM_SIZE = 15, 1000, 8, 16 << 20


def microseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(READS):
            work()
        best = min(best, time.process_time() - began)
    return best / READS * 1e6


def reading() -> dict[str, float]:
    """Return the cost of a step's reading, features and reward, in the overworld and in a battle."""
    costs = {}
    for name, scene in (("overworld, party of 2", images.FIRST), ("battle, party of 6", images.SECOND)):
        console, game = GameBoyAdvance(Rom(images.ROM, "park.gba")), PokemonEmerald()
        images.put(console, scene)
        state = game.read(console)
        progress = game.begin(state)
        out = np.zeros(len(game.feature_names), np.float32)
        costs[f"{name}: read, us"] = microseconds(lambda console=console, game=game: game.read(console))
        costs[f"{name}: features, us"] = microseconds(
            lambda game=game, state=state, progress=progress, out=out: game.features(state, progress, out)
        )
        costs[f"{name}: reward, us"] = microseconds(
            lambda game=game, state=state, progress=progress: game.reward(progress, state, state)
        )
        console.close()
    return costs


def memory() -> float:
    """Return the MB that one more game takes in a process which already has two; the ROM's pages are shared."""
    cartridge = Rom(images.ROM.ljust(ROM_SIZE, b"\xff"), "large.gba")
    consoles: list[GameBoyAdvance] = []
    before = 0.0
    for number in range(2 + GAMES):
        if number == 2:  # with one core alone, the shared pages would count as its own
            before = private_mb(os.getpid())
        consoles.append(GameBoyAdvance(cartridge))
        consoles[-1].advance(0, 60)
    return (private_mb(os.getpid()) - before) / GAMES


if __name__ == "__main__":
    found = {"a further game with a 16 MiB ROM, MB": memory(), **reading()}
    print(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=1))
