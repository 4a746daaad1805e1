"""What Meadow's numbers mean, and the milestones from the house to the badge; addresses are in `state`."""

from __future__ import annotations

from operator import attrgetter

from parcade.game.fields import Read, choice, counted, flag, number
from parcade.game.meadow.state import FLAGS, MAPS, MODES, MeadowState
from parcade.game.milestone import Milestone

ELEMENTS = ("plain", "leaf", "ember", "tide", "stone")
FIRST_MODE = 2  # of play; 0 is booting, 1 the title
_EVENTS = {
    "left_house": "the hero has left the house",
    "first_monster": "the hero has the Elder's monster",
    "first_victory": "the hero has won a battle",
    "route1": "the hero has been on Route 1",
    "route2": "the hero has been on Route 2",
    "town": "the hero has been in Craghaven",
    "taro": "the scout TARO on Route 2 is beaten",
    "badge": "the leader is beaten and the badge won",
    "healed": "a nurse has healed the party",
    "bought": "something was bought",
    "pia": "the trainer PIA on Route 2 is beaten",
    "gift": "the hero has the gift of the cottage in Craghaven",
    "caught": "a wild monster was caught",
    "level_gained": "a monster has gained a level",
    "hall": "the hero has entered the leader's hall in Craghaven",
}
_BEFORE = {  # what the maps and the story allow only after something else
    **{"first_monster": "left_house", "route1": "left_house", "first_victory": "first_monster"},
    **{"route2": "route1", "taro": "route2", "town": "route2", "hall": "town", "badge": "hall"},
}
_WAY = ("left_house", "first_monster", "route1", "first_victory", "route2", "taro", "town", "hall", "badge")


def _event(name: str) -> Read:
    bit = FLAGS[name]
    return lambda state: state.flags >> bit & 1


def _first_monster_hp(state: MeadowState) -> float:
    first = state.monster(0)
    return 100 * first.hp / max(1, first.max_hp)


def _foe_hp(state: MeadowState) -> float:
    foe = state.foe
    return 100 * foe.hp / max(1, foe.max_hp)


FIELDS = {
    "mode": choice("what the game is doing", {name: FIRST_MODE + index for index, name in enumerate(MODES)}),
    "map": choice("the map the hero is on", MAPS),
    "x": number("the hero's column on the map, in cells", 0, 31),
    "y": number("the hero's row on the map, in cells; 0 is the north", 0, 29),
    "facing": choice("where the hero looks", ("down", "up", "left", "right")),
    "money": number("money", 0, 99_999),
    "won": number("battles won", 0, 65535),
    "blackouts": number("times that all monsters were out and the hero woke at the nurse", 0, 65535),
    "monsters_caught": number("wild monsters caught", 0, 65535, attrgetter("caught")),
    "encounters": number("wild monsters met", 0, 65535),
    "badges": number("badges, given after the leader's last words"),
    "party_size": number("monsters in the party", 0, 6),
    "orbs": number("orbs, which catch monsters"),
    "potions": number("potions"),
    "in_battle": flag("a battle is under way"),
    "battle_kind": choice("who is fought", ("nobody", "wild", "trainer", "leader")),
    "phase": choice("what a battle waits for", ("menu", "move", "text", "over")),
    "foes_left": number("monsters that the foe has left"),
    "nurse_map": choice("the nurse's house that a blackout leads to", MAPS),
    "steps": number("steps walked", 0, 2**32 - 1),
    "level": number("level of the strongest monster", 0, 50, lambda state: max(state.levels)),
    "level_sum": number("levels of the party together", 0, 300, lambda state: sum(state.levels)),
    "party_hp": number("HP of the party, in percent", 0, 100, lambda state: 100 * state.party_hp),
    "first_hp": number("HP of the first monster, in percent", 0, 100, _first_monster_hp),
    "first_element": choice("element of the first monster", ELEMENTS, lambda state: state.monster(0).element),
    "foe_hp": number("HP of the foe's monster, in percent; 0 outside battles", 0, 100, _foe_hp),
    "foe_level": number("level of the foe's monster; 0 outside battles", 0, 50, lambda state: state.foe.level),
    "maps_seen": number("maps entered so far, of 12", 0, 16, lambda state: state.visited.bit_count()),
    "cells_seen": counted("cells stood on in this episode", 10_000, lambda progress: progress["cells_seen"]),
    **{name: flag(words, _event(name)) for name, words in _EVENTS.items()},
}
MILESTONES = tuple(Milestone(name, name, _EVENTS[name], (_BEFORE[name],) if name in _BEFORE else ()) for name in _WAY)
