"""Link's Awakening: addresses and one reading (`memory`), and the title itself."""

from parcade.game.links_awakening.title import LinksAwakening, LinksAwakeningWithMenu

__all__ = ["LinksAwakening", "LinksAwakeningWithMenu"]
