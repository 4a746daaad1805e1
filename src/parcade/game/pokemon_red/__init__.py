"""Pokémon Red and Blue: addresses and one reading (`memory`), and the title itself."""

from parcade.game.pokemon_red.title import PokemonRed, PokemonRedWithMenu

__all__ = ["PokemonRed", "PokemonRedWithMenu"]
