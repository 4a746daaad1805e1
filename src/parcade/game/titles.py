"""Every title Parcade knows, by name; a title's module is imported only when it is asked for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from parcade.errors import SettingsError, StartsWhenImportedError, did_you_mean
from parcade.game.base import Game
from parcade.game.options import check_options
from parcade.host.own_modules import import_own

_TITLES = {
    "lantern": "parcade.game.lantern:Lantern",
    "meadow": "parcade.game.meadow:Meadow",
    "links-awakening": "parcade.game.links_awakening:LinksAwakening",
    "pokemon-emerald": "parcade.game.pokemon_emerald:PokemonEmerald",
    "pokemon-red": "parcade.game.pokemon_red:PokemonRed",
    "airstriker": "parcade.game.airstriker:Airstriker",
}
_MODULE_AND_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def find_modules_here() -> None:
    """Let the user's own modules be imported from the current folder; a console script's path holds only its own."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def title_names() -> tuple[str, ...]:
    """Return the names of all titles."""
    return tuple(_TITLES)


def find_title(name: str, options: Mapping[str, Any] | None = None) -> Game[Any, Any]:
    """Return the title ``name`` with its options set; ``module:Class`` imports a title of the user's own.

    Only a subclass of ``Game`` is called, and only with options that it declares.
    """
    title = _title_class(name)
    check_options(name, title, options or {})
    try:
        return title(**(options or {}))
    except TypeError as error:
        raise SettingsError(f"game {name!r} cannot be loaded: {error}") from None


def _title_class(name: str) -> type[Game[Any, Any]]:
    target = _TITLES.get(name, name if ":" in name else None)
    if target is None:
        known = ", ".join(_TITLES)
        raise SettingsError(f"game {name!r} is not known{did_you_mean(name, _TITLES)}; known games: {known}")
    if not _MODULE_AND_CLASS.fullmatch(target):
        raise SettingsError(f"game is {name!r}, wanted a built-in title or module:Class")
    module_name, _, class_name = target.partition(":")
    if name not in _TITLES:
        find_modules_here()
    try:
        found = getattr(import_own(module_name), class_name)
    except StartsWhenImportedError:
        raise
    except Exception as error:  # a module of the user's own may raise anything while it is imported
        what = "" if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: "
        raise SettingsError(f"game {name!r} cannot be loaded: {what}{error}") from None
    if not (isinstance(found, type) and issubclass(found, Game)):
        raise SettingsError(f"game {name!r} is no subclass of parcade.game.base.Game; see docs/add-a-game.md")
    return found
