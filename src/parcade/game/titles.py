"""Every title Parcade knows, by name; a title's module is imported only when it is asked for."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from parcade.errors import SettingsError, did_you_mean
from parcade.game.base import Game

_TITLES = {
    "lantern": "parcade.game.lantern:Lantern",
    "meadow": "parcade.game.meadow:Meadow",
    "links-awakening": "parcade.game.links_awakening:LinksAwakening",
    "pokemon-emerald": "parcade.game.pokemon_emerald:PokemonEmerald",
    "pokemon-red": "parcade.game.pokemon_red:PokemonRed",
    "airstriker": "parcade.game.airstriker:Airstriker",
}


def find_modules_here() -> None:
    """Let the user's own modules be imported from the current folder; a console script's path holds only its own."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def title_names() -> tuple[str, ...]:
    """Return the names of all titles."""
    return tuple(_TITLES)


def find_title(name: str) -> Game[Any, Any]:
    """Return the title ``name``; ``module:Class`` loads a title of the user's own."""
    target = _TITLES.get(name, name if ":" in name else None)
    if target is None:
        known = ", ".join(_TITLES)
        raise SettingsError(f"game {name!r} is not known{did_you_mean(name, _TITLES)}; known games: {known}")
    module_name, _, class_name = target.partition(":")
    if name not in _TITLES:
        find_modules_here()
    try:
        game: Game[Any, Any] = getattr(import_module(module_name), class_name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise SettingsError(f"game {name!r} cannot be loaded: {error}") from None
    return game
