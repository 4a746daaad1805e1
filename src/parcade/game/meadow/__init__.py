"""Meadow: its memory block (`state`), its feature vector (`features`), and the title itself."""

from parcade.game.meadow.title import Meadow, MeadowWithStart

__all__ = ["Meadow", "MeadowWithStart"]
