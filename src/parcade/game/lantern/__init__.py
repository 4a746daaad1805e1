"""Lantern: its memory block (`state`), the way to its goals (`way`), and the title itself."""

from parcade.game.lantern.title import Lantern

__all__ = ["Lantern"]
