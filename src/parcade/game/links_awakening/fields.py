"""What the numbers of Link's Awakening mean, and the milestones of its beginning; addresses are in `memory`."""

from __future__ import annotations

from parcade.game.fields import Read, choice, counted, flag, number
from parcade.game.links_awakening.memory import (
    BOMBS,
    BOOMERANG,
    BOOTS,
    BOW,
    BRACELET,
    FEATHER,
    HOOKSHOT,
    MAGIC_ROD,
    OCARINA,
    POWDER,
    SHIELD,
    SHOVEL,
    SLIME_KEY,
    SWORD,
    TAIL_CAVE,
    LinkState,
)
from parcade.game.milestone import Milestone

CATEGORIES = ("overworld", "indoor", "dungeon")
DIRECTIONS = ("right", "left", "up", "down")
MOTIONS = ("interactive", "swimming", "jumping", "fading_out", "fading_in", "revolving_door", "falling", "passing_out")
ITEM_NAMES = {
    **{SWORD: "sword", BOMBS: "bombs", BRACELET: "power bracelet", SHIELD: "shield", BOW: "bow"},
    **{HOOKSHOT: "hookshot", MAGIC_ROD: "magic rod", BOOTS: "pegasus boots", OCARINA: "ocarina"},
    **{FEATHER: "roc's feather", SHOVEL: "shovel", POWDER: "magic powder", BOOMERANG: "boomerang"},
}
_HELD = {"feather": FEATHER, "bow": BOW, "hookshot": HOOKSHOT, "magic_rod": MAGIC_ROD, "boots": BOOTS}
_HELD |= {"ocarina": OCARINA, "shovel": SHOVEL, "boomerang": BOOMERANG}


def held_items(state: LinkState) -> list[int]:
    """Return the items on the buttons and in the bag, each once, in the order of their numbers."""
    return sorted({state.item_b, state.item_a, *state.bag} & ITEM_NAMES.keys())


def _holds(item: int) -> Read:
    return lambda state: item in state.bag or item in (state.item_a, state.item_b)


def _door_key(index: int) -> Read:
    return lambda state: state.door_keys[index] != 0


FIELDS = {
    "playing": flag("a game is loaded"),
    "settled": flag("Link is in one room, no map fade or change of rooms is under way"),
    "in_control": flag("the next direction pressed moves Link"),
    "category": choice("where Link is", CATEGORIES),
    "map_id": choice("the indoor map; on the overworld the last one", {"tail_cave": TAIL_CAVE}),
    "room": number("the room's number on its map: row * 16 + column on the overworld"),
    "place": number("every room as one number: 256 of the overworld, then indoor rooms", 0, 1023),
    "x": number("Link's column in pixels of the room"),
    "y": number("Link's row in pixels of the room"),
    "direction": choice("where Link looks", DIRECTIONS),
    "motion": choice("how Link moves", MOTIONS),
    "dialogue": number("0 if no text box is open", 0, 127),
    "health": number("eighths of a heart left"),
    "max_hearts": number("hearts when healed"),
    "heart_pieces": number("pieces of the next heart"),
    "rupees": number("rupees held", 0, 9999),
    "bombs": number("bombs", 0, 99),
    "arrows": number("arrows", 0, 99),
    "powder": number("magic powder", 0, 99),
    "shells": number("secret seashells", 0, 99),
    "sword": number("level of the sword; 0: none"),
    "shield": number("level of the shield; 0: none"),
    "bracelet": number("level of the power bracelet; 0: none"),
    "flippers": number("0 if Link has no flippers"),
    "medicine": number("0 if Link has no medicine"),
    "toadstool": number("0 if Link does not hold the toadstool"),
    "trade_item": number("the thing of the trading sequence; 0: none"),
    "tarin": number("Tarin: 0 a raccoon, 1 cured"),
    "tail_key": flag("Link has the key to the Tail Cave", _door_key(0)),
    "angler_key": flag("Link has the key to the Angler's Tunnel", _door_key(1)),
    "face_key": flag("Link has the key to the Face Shrine", _door_key(2)),
    "bird_key": flag("Link has the key to the Eagle's Tower", _door_key(3)),
    "golden_leaves": number("golden leaves"),
    "slime_key": flag("Link has the Slime Key", lambda state: state.golden_leaves >= SLIME_KEY),
    **{name: flag(f"Link has the {ITEM_NAMES[item]}", _holds(item)) for name, item in _HELD.items()},
    "small_keys": number("small keys of the dungeon Link is in", 0, 255, lambda state: state.here.small_keys),
    "nightmare_key": number(
        "0 if Link lacks the nightmare key of the dungeon he is in", read=lambda state: state.here.nightmare_key
    ),
    "instruments": number("instruments of the Sirens, of 8", 0, 8, lambda state: state.instruments.bit_count()),
    "first_instrument": flag("Link has the instrument of the Tail Cave", lambda state: state.instruments & 1),
    "enemies": number("things near that hurt", 0, 16, lambda state: len(state.enemies)),
    "deaths": number("deaths of the loaded game", 0, 9999),
    "rooms": counted("rooms entered in this episode", 1024, lambda progress: len(progress["places"])),
    "damage": counted("hearts lost in this episode", 100_000, lambda progress: progress["damage"]),
}
MILESTONES = (
    Milestone("left_house", "settled and category == 'overworld'", "Link has left the house"),
    Milestone("shield", "playing and shield >= 1", "Link has his shield"),
    Milestone("sword", "playing and sword >= 1", "Link has found his sword on the beach"),
    Milestone("toadstool", "playing and toadstool", "Link has the toadstool of the Mysterious Forest"),
    Milestone("tarin", "playing and tarin >= 1", "Tarin is cured of being a raccoon"),
    Milestone("tail_key", "playing and tail_key", "Link has the key to the Tail Cave"),
    Milestone(
        "tail_cave", "settled and category == 'dungeon' and map_id == 'tail_cave'", "Link has entered the Tail Cave"
    ),
    Milestone("feather", "playing and feather", "Link has the roc's feather of the Tail Cave"),
    Milestone("first_instrument", "playing and first_instrument", "Link has the instrument of the Tail Cave"),
)
