"""Titles on Lantern's ROM whose words, places and numbers raise. Workers import this: keep it light."""

import os

from parcade.game.fields import FieldMeaning
from parcade.game.lantern.title import Lantern


class Speechless(Lantern):
    name = "speechless"
    fields = {**Lantern.fields, "soul": FieldMeaning("what nobody can read", read=lambda state: state.soul)}

    def describe(self, state):
        raise KeyError("no words")

    def place(self, state):
        raise ZeroDivisionError("no place")

    def screen_place(self, state):
        raise RuntimeError("no screen")


class Mumbling(Lantern):
    """Returns what is no place and no text."""

    name = "mumbling"

    def describe(self, state):
        return 3

    def place(self, state):
        return None, "a", "b"


class Uncounted(Lantern):
    name = "uncounted"
    max_steps = 20

    def metrics(self, progress, state):
        raise ValueError("nobody counts")


class Deadly(Lantern):
    name = "deadly"

    def describe(self, state):
        os._exit(7)


class Celled(Lantern):
    name = "celled"

    def cell(self, state):
        raise ValueError("no cell")
