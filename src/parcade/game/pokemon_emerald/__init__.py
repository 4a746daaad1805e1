"""Pokémon Emerald: addresses (`memory`), the party's records (`party`), one reading (`state`), and the title itself."""

from parcade.game.pokemon_emerald.title import PokemonEmerald, PokemonEmeraldWithStart

__all__ = ["PokemonEmerald", "PokemonEmeraldWithStart"]
