"""Maps of titles as pictures: drawn on a console of their own from what the ROM holds."""

from __future__ import annotations

from parcade.console.registry import open_console
from parcade.env.make import find_rom, make_game
from parcade.env.spec import EnvSpec
from parcade.game.base import Game, Picture

__all__ = ["Picture", "draws_maps", "map_picture"]


def draws_maps(spec: EnvSpec) -> bool:
    """Whether the title draws its maps by itself, without a file of the user's."""
    if spec.game is None:
        return False
    game = make_game(spec)
    return game.builtin_rom is not None and spec.rom is None and type(game).map_picture is not Game.map_picture


def map_picture(spec: EnvSpec, seed: int, name: str) -> Picture | None:
    """Return the map ``name`` of the episode ``seed``; None where the title has none of this name."""
    game = make_game(spec)
    console = open_console(find_rom(spec, game), spec.console, game.system)
    try:
        game.start(console, seed)
        return game.map_picture(console, seed, name)
    finally:
        console.close()
