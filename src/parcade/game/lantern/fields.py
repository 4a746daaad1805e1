"""What Lantern's numbers mean, and the milestones of a dungeon; addresses are in `state`."""

from __future__ import annotations

from parcade.game.fields import Read, choice, flag, number
from parcade.game.lantern.state import CHEST, KEY, LANTERN
from parcade.game.milestone import Milestone

MODES = ("booting", "title", "playing", "room_change", "floor_cleared", "game_over", "paused")
FACINGS = ("down", "up", "left", "right")


def _lies_here(kind: int) -> Read:
    return lambda state: kind in state.block[144:160:4]


FIELDS = {
    "mode": choice("what the game is doing", MODES),
    "floor": number("the floor the hero is on, from 1"),
    "room": number("the room the hero is in: row * 4 + column", 0, 15),
    "x": number("the hero's left edge in pixels of the room", 0, 160),
    "y": number("the hero's upper edge in pixels, the first 16 are the score line", 0, 144),
    "facing": choice("where the hero looks", FACINGS),
    "hearts": number("half hearts left, 0 is game over", 0, 6),
    "invulnerable": number("frames left in which nothing hurts"),
    "keys": number("keys in hand; each floor has one, for its one locked door", 0, 1),
    "coins": number("coins", 0, 65535),
    "kills": number("foes killed", 0, 65535),
    "rooms_seen": number("rooms seen on this floor, the first one included", 0, 16),
    "rooms_seen_total": number("rooms seen on all floors", 0, 65535),
    "floors_cleared": number("floors whose lantern was reached"),
    "keys_taken": number("keys taken on all floors"),
    "doors_opened": number("locked doors opened on all floors"),
    "chests_opened": number("chests opened on all floors"),
    "hits_taken": number("times the hero was hurt"),
    "key_here": flag("the key lies in this room", _lies_here(KEY)),
    "chest_here": flag("a closed chest stands in this room", _lies_here(CHEST)),
    "lantern_here": flag("the lantern is in this room", _lies_here(LANTERN)),
}


def lantern_milestones(floors: int) -> tuple[Milestone, ...]:
    """Return the milestones of an episode that is to clear so many floors; the last one is its success."""
    first = (
        Milestone("second_room", "rooms_seen_total >= 2", "the hero has entered a second room"),
        Milestone("key", "keys_taken >= 1", "the hero has taken the key", ("second_room",)),
        Milestone("door", "doors_opened >= 1", "the hero has opened the locked door", ("key",)),
        Milestone("lantern", "floors_cleared >= 1", "the hero has reached the lantern of the first floor", ("door",)),
    )
    if floors == 1:
        return first
    most = min(floors, 255)  # the game counts in a byte
    last = Milestone("floors", f"floors_cleared >= {most}", f"the hero has cleared {floors} floors", ("lantern",))
    return (*first, last)
