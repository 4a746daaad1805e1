"""Where a player with Lantern's map would go next, and how far it is round the walls."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import NamedTuple

from parcade.game.lantern.state import DOOR_PLACES, KEY, LANTERN, SOLID, LanternState

_SIDES = ((0, -4), (1, 4), (2, -1), (3, 1))  # bit of a door byte, step of the room index
_DOOR_CELLS = ((4, 5), (74, 75), (30, 40), (39, 49))  # row * 10 + column of each side's doorway


@lru_cache(maxsize=4096)
def door_facts(room: int, doors: bytes, seen: bytes) -> tuple[tuple[float, ...], ...]:
    """Return for each side: a door, a lock on it, how near an unseen room lies that way, and how near a known lock.

    Nearness is 1 / (rooms to walk), 0 if none is known. Only rooms already seen tell their doors, as on the map
    the game draws.
    """
    sides = []
    here = doors[room]
    for bit, step in _SIDES:
        door, locked = here >> bit & 1, here >> (bit + 4) & 1
        unseen, lock = _look_through(room, room + step, doors, seen) if door and not locked else (0.0, 0.0)
        sides.append((float(door), float(locked), unseen, lock))
    return tuple(sides)


def _look_through(room: int, first: int, doors: bytes, seen: bytes) -> tuple[float, float]:
    distance = {room: 0, first: 1}
    queue = deque([first])
    unseen = lock = 0.0
    while queue:
        here = queue.popleft()
        if not seen[here]:
            unseen = unseen or 1 / distance[here]
            continue
        if doors[here] >> 4:
            lock = lock or 1 / distance[here]
        for bit, step in _SIDES:
            if doors[here] >> bit & 1 and not doors[here] >> (bit + 4) & 1 and here + step not in distance:
                distance[here + step] = distance[here] + 1
                queue.append(here + step)
    return unseen, lock


class Goal(NamedTuple):
    """Where a player with a map would go next: a thing or a doorway of this room."""

    room: int
    x: int  # where the hero would stand, in pixels
    y: int
    cells: tuple[int, ...]


def next_goal(state: LanternState) -> Goal | None:
    """Return the lantern or the key of this room; with a key in hand the way to a lock; else to an unseen room."""
    block = state.block
    return _goal_of(state.room, state.keys > 0, block[48:80], block[144:160])


def bearings(state: LanternState) -> tuple[list[int], float]:
    """Return where the map points to, as plain data, and how far that is; nothing and 0 where nothing is left."""
    block = state.block
    x, y = block[10] + 8, block[11] - 8  # the hero's middle, from the playfield's corner
    goal, around = _bearings(block[22], block[17] > 0, block[48:80], block[144:240], *_cell(x, y))
    return goal, _shortest(around, x, y) if around else 0.0


@lru_cache(maxsize=65536)
def _bearings(
    room: int, has_key: bool, doors_and_seen: bytes, objects_and_cells: bytes, column: int, row: int
) -> tuple[list[int], tuple[tuple[int, int, int], ...]]:
    """Return the goal as plain data, and the distances of the cells around one; both empty where nothing is left."""
    goal = _goal_of(room, has_key, doors_and_seen, objects_and_cells[:16])
    if goal is None:
        return [], ()
    return [goal.room, goal.x, goal.y], _near(objects_and_cells[16:], goal.cells, column, row)


@lru_cache(maxsize=8192)
def _goal_of(room: int, has_key: bool, doors_and_seen: bytes, objects: bytes) -> Goal | None:
    for kind in (LANTERN, KEY):
        for at in range(0, 16, 4):
            if objects[at] == kind:
                column, row = objects[at + 1], objects[at + 2]
                return Goal(room, column * 16, row * 16 + 16, (row * 10 + column,))
    sides = door_facts(room, doors_and_seen[:16], doors_and_seen[16:])
    to_lock = [side[1] * 2 + side[3] for side in sides]  # a lock of this room comes first
    wanted = to_lock if has_key and any(to_lock) else [side[2] for side in sides]
    best = wanted.index(max(wanted))
    return Goal(room, *DOOR_PLACES[best], _DOOR_CELLS[best]) if wanted[best] else None


def walking_distance(state: LanternState, goal: Goal) -> float:
    """Return the cells to walk to the goal, round the walls; fine enough to tell single pixels."""
    x, y = state.x + 8, state.y - 8
    return _shortest(_near(state.block[160:240], goal.cells, *_cell(x, y)), x, y)


def _cell(x: int, y: int) -> tuple[int, int]:
    """Return column and row of the hero's middle; in a doorway it may stand beyond the room."""
    return min(x >> 4, 9), min(max(y >> 4, 0), 7)


def _shortest(around: tuple[tuple[int, int, int], ...], x: int, y: int) -> float:
    nearest = 99.0
    for cells, middle_x, middle_y in around:
        here = cells + (abs(x - middle_x) + abs(y - middle_y)) / 16
        if here < nearest:
            nearest = here
    return nearest


@lru_cache(maxsize=65536)
def _near(cells: bytes, goals: tuple[int, ...], column: int, row: int) -> tuple[tuple[int, int, int], ...]:
    """Return distance and middle of a cell and of the four beside it."""
    field = _distances(cells, goals)
    around = ((column, row), (column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1))
    inside = [(c, r) for c, r in around if 0 <= c < 10 and 0 <= r < 8]
    return tuple((field[r * 10 + c], c * 16 + 8, r * 16 + 8) for c, r in inside)


def way_to(state: LanternState, goal: Goal) -> list[float]:
    """Return for up, down, left and right whether the cell there is nearer to the goal (1) or farther (-1)."""
    field = _distances(state.block[160:240], goal.cells)
    column, row = _cell(state.x + 8, state.y - 8)
    here = field[row * 10 + column]
    way = []
    for c, r in ((column, row - 1), (column, row + 1), (column - 1, row), (column + 1, row)):
        there = field[r * 10 + c] if 0 <= c < 10 and 0 <= r < 8 else 99
        way.append(1.0 if there < here else -1.0)
    return way


@lru_cache(maxsize=4096)
def _distances(cells: bytes, goals: tuple[int, ...]) -> tuple[int, ...]:
    """Return for every cell of a room how many cells lie between it and the nearest goal; 99 where no way leads."""
    field = [99] * 80
    for goal in goals:
        field[goal] = 0
    queue = deque(goals)
    while queue:
        here = queue.popleft()
        for step in (-10, 10, -1, 1):
            there = here + step
            beside = abs(step) == 10 or there // 10 == here // 10
            if 0 <= there < 80 and beside and field[there] == 99 and cells[there] not in SOLID:
                field[there] = field[here] + 1
                queue.append(there)
    return tuple(field)
