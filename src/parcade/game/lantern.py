"""Lantern, the built-in Game Boy dungeon; its memory table is in roms/lantern/README.md."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Any, NamedTuple

from parcade.console.base import Console, Memory
from parcade.errors import RunError, SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED, Action, Features, Game, write_features

BLOCK, BLOCK_SIZE = 0xC100, 256
RESTART = BLOCK + 40
PLAYING, GAME_OVER = 2, 5
KEY, CHEST, LANTERN = 1, 2, 4  # object kinds; 3 is an opened chest
_COUNTS = slice(18, 31)  # from coins to doors_opened: what only changes when something happens
_SIDES = ((0, -4), (1, 4), (2, -1), (3, 1))  # bit of a door byte, step of the room index
_DOOR_FACTS = ("door", "locked", "unseen", "lock", "dx", "dy")
_DOOR_PLACES = ((72, 16), (72, 128), (0, 72), (144, 72))  # where the hero stands in the doorways of the four sides
_DOOR_CELLS = ((4, 5), (74, 75), (30, 40), (39, 49))  # row * 10 + column of each side's doorway
SOLID = (1, 3, 4)  # cell kinds that stop the hero: wall, locked door, chest
_PATCH = 5  # the hero sees this many cells each way in its features


def _byte(at: int) -> Any:
    return property(lambda state: state.block[at])


def _word(at: int) -> Any:
    return property(lambda state: state.block[at] | state.block[at + 1] << 8)


class LanternState:
    """What Lantern's state block means after a step; a field is decoded when it is asked for, since few are."""

    __slots__ = ("block",)

    def __init__(self, block: bytes) -> None:
        self.block = block  # the whole 256 bytes; doors, foes, objects and cells are read from it directly

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanternState) and self.block == other.block

    def __hash__(self) -> int:
        return hash(self.block)

    mode = _byte(2)
    floor = _byte(3)
    seed = _word(4)
    rng = _word(6)
    frame = _word(8)
    x = _byte(10)
    y = _byte(11)
    facing = _byte(12)
    hearts = _byte(13)
    max_hearts = _byte(14)
    sword = _byte(15)
    invulnerable = _byte(16)
    keys = _byte(17)
    coins = _word(18)
    kills = _word(20)
    room = _byte(22)
    grid_w = _byte(23)
    grid_h = _byte(24)
    rooms_seen = _byte(25)
    floors_cleared = _byte(26)
    rooms_seen_total = _word(27)
    keys_taken = _byte(29)
    doors_opened = _byte(30)
    chests_opened = _byte(31)
    start_room = _byte(32)
    key_room = _byte(33)
    lantern_room = _byte(34)
    hits_taken = _byte(35)
    version = _byte(36)


class Lantern(Game[LanternState, dict[str, Any]]):
    """Find the key, unlock the door, reach the lantern; every episode is a new dungeon."""

    name = "lantern"
    title = "Lantern"
    system = "gb"
    builtin_rom = "lantern.gb"
    restarts_itself = True
    actions = (
        Action("wait"),
        Action("up", ("up",)),
        Action("down", ("down",)),
        Action("left", ("left",)),
        Action("right", ("right",)),
        Action("sword", ("a",)),
    )
    metric_names = ("success", "floors_cleared", "rooms_seen", "keys", "coins", "hearts", "kills")
    reward_weights = {
        "new_room": 1.0,
        "key": 2.0,
        "door": 2.0,
        "floor": 5.0,
        "coin": 0.05,
        "kill": 0.2,
        "hurt": -0.25,
        "death": -2.0,
        "approach": 0.05,
        "step": -0.004,
    }
    max_steps = 600
    training = {"n_envs": 32, "n_steps": 128, "batch_size": 256, "learning_rate": 5e-4, "total_timesteps": 300_000}
    feature_names = (
        *("x", "y", "x_in_cell", "y_in_cell", "down", "up", "left", "right", "hearts", "invulnerable", "sword", "key"),
        *(f"{side}_{fact}" for side in ("north", "south", "west", "east") for fact in _DOOR_FACTS),
        *("goal", "goal_dx", "goal_dy", "way_up", "way_down", "way_left", "way_right"),
        *(f"{thing}_{fact}" for thing in ("key", "chest", "lantern") for fact in ("here", "dx", "dy")),
        *(f"foe{i}_{fact}" for i in range(3) for fact in ("here", "dx", "dy", "chases", "flies")),
        *(f"solid_{row}_{column}" for row in range(_PATCH) for column in range(_PATCH)),
    )

    def __init__(self, floors: int = 1) -> None:
        if floors < 1:
            raise SettingsError(f"lantern: floors is {floors}, wanted 1 or more")
        self.floors = floors  # an episode ends when this many floors are cleared

    def start(self, console: Console, seed: int) -> None:
        """Begin the dungeon of ``seed``; the game itself makes it a pure function of that seed."""
        if bytes(console.read(BLOCK, 2)) != b"LN":
            _boot(console)
        acknowledged = console.read(RESTART + 3, 1)[0]
        console.write(RESTART + 1, dungeon_seed(seed).to_bytes(2, "little"))
        console.write(RESTART, b"\1")
        for _ in range(30):
            console.advance(0, 1, draw=False)
            if console.read(RESTART + 3, 1)[0] != acknowledged:
                break
        else:
            raise RunError("lantern: the game did not take the restart request within 30 frames")
        console.advance(0, 3)  # PyBoy's picture lags memory by up to two frames: let the old game leave it

    def read(self, memory: Memory) -> LanternState:
        """Return the state block, decoded."""
        return LanternState(bytes(memory.read(BLOCK, BLOCK_SIZE)))

    def begin(self, state: LanternState) -> dict[str, Any]:
        """Return the record: hearts lost, where the map points to and how far that is."""
        progress: dict[str, Any] = {"hearts_lost": 0}
        _note_goal(progress, state)
        return progress

    def reward(self, progress: dict[str, Any], before: LanternState, after: LanternState) -> dict[str, float]:
        """Return what happened in this step."""
        parts = {"step": 1.0}
        if before.block[_COUNTS] != after.block[_COUNTS]:
            for part, field in _COUNTED:
                gained = getattr(after, field) - getattr(before, field)
                if gained > 0:
                    parts[part] = gained
        lost = before.hearts - after.hearts
        if lost > 0:
            parts["hurt"] = lost
            progress["hearts_lost"] += lost
        goal, distance = progress["goal"], progress["distance"]
        _note_goal(progress, after)
        if progress["distance"] != distance and progress["goal"] == goal:  # a new goal is no step towards the old one
            parts["approach"] = distance - progress["distance"]
        if after.mode == GAME_OVER and before.mode != GAME_OVER:
            parts["death"] = 1.0
        return parts

    def over(self, state: LanternState, progress: dict[str, Any]) -> bool:
        """True at game over and when the last wanted floor is cleared."""
        return bool(state.mode == GAME_OVER or state.floors_cleared >= self.floors)

    def features(self, state: LanternState, progress: dict[str, Any], out: Features) -> None:
        """Write what a player sees: the hero, the doors and the map, things, the nearest foes, walls around."""
        block, x, y = state.block, state.x, state.y
        values = [
            x / 80 - 1,
            y / 72 - 1,
            (x & 15) / 8 - 1,
            (y & 15) / 8 - 1,
            *_FACING[state.facing & 3],
            state.hearts / 6,
            1.0 if state.invulnerable else 0.0,
            1.0 if state.sword else 0.0,
            1.0 if state.keys else 0.0,
        ]
        values += _door_features(state.room, block, x, y)
        goal = next_goal(state)
        values += [1.0, (goal.x - x) / 80, (goal.y - y) / 64, *_way(state, goal)] if goal else [0.0] * 7
        values += _object_features(block, x, y)
        values += _foe_features(block, x, y)
        values += _solid_patch(block, (x + 8) >> 4, (y - 8) >> 4)
        write_features(values, out)

    def metrics(self, progress: dict[str, Any], state: LanternState) -> dict[str, float]:
        """Success means that the wanted floors were cleared."""
        return {
            "success": float(state.floors_cleared >= self.floors),
            "floors_cleared": state.floors_cleared,
            "rooms_seen": state.rooms_seen_total,
            "keys": state.keys_taken,
            "coins": state.coins,
            "hearts": state.hearts / 2,
            "kills": state.kills,
        }


_COUNTED = (
    ("new_room", "rooms_seen_total"),
    ("key", "keys_taken"),
    ("door", "doors_opened"),
    ("floor", "floors_cleared"),
    ("coin", "coins"),
    ("kill", "kills"),
)
_FACING = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def dungeon_seed(seed: int) -> int:
    """Return the 16-bit dungeon of an env seed; one dungeon in 64 is kept for held-out seeds.

    >>> dungeon_seed(5) & 63 != 63, dungeon_seed(FIRST_HELD_OUT_SEED + 5) & 63 == 63
    (True, True)
    """
    if seed >= FIRST_HELD_OUT_SEED:
        return (seed - FIRST_HELD_OUT_SEED) % 1024 << 6 | 63
    mixed = seed * 0x9E3779B1 & 0xFFFFFFFF
    return (mixed >> 16 & 1023) << 6 | (mixed >> 26) % 63


def _boot(console: Console) -> None:
    for _ in range(60):  # the boot animation ends at frame 74
        console.advance(0, 10, draw=False)
        if bytes(console.read(BLOCK, 2)) == b"LN" and console.read(BLOCK + 2, 1)[0] != 0:
            return
    raise RunError("lantern: the game did not reach its title screen within 600 frames")


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


def _note_goal(progress: dict[str, Any], state: LanternState) -> None:
    """Keep where the map points to and how far it is, as plain data."""
    block = state.block
    x, y = block[10] + 8, block[11] - 8  # the hero's middle, from the playfield's corner
    progress["goal"], around = _bearings(block[22], block[17] > 0, block[48:80], block[144:240], *_cell(x, y))
    progress["distance"] = _shortest(around, x, y) if around else 0.0


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
    return Goal(room, *_DOOR_PLACES[best], _DOOR_CELLS[best]) if wanted[best] else None


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


def _way(state: LanternState, goal: Goal) -> list[float]:
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


def _door_features(room: int, block: bytes, x: int, y: int) -> list[float]:
    facts: list[float] = []
    for side, (door_x, door_y) in zip(door_facts(room, block[48:64], block[64:80]), _DOOR_PLACES, strict=True):
        facts += side
        facts += ((door_x - x) / 80, (door_y - y) / 64) if side[0] else (0.0, 0.0)
    return facts


def _object_features(block: bytes, x: int, y: int) -> list[float]:
    facts = [0.0] * 9
    for at in range(144, 160, 4):
        kind = block[at]
        place = 0 if kind == KEY else 3 if kind == CHEST else 6 if kind == LANTERN else -1
        if place >= 0:
            dx, dy = block[at + 1] * 16 - x, block[at + 2] * 16 + 16 - y
            facts[place : place + 3] = [1.0, dx / 80, dy / 64]
    return facts


def _foe_features(block: bytes, x: int, y: int) -> list[float]:
    foes = []
    for at in range(96, 144, 8):
        kind = block[at]
        if kind:
            dx, dy = block[at + 1] - x, block[at + 2] - y
            foes.append((abs(dx) + abs(dy), dx / 80, dy / 64, float(kind == 2), float(kind == 4)))
    facts: list[float] = []
    for _, *foe in sorted(foes)[:3]:
        facts += [1.0, *foe]
    return facts + [0.0] * (15 - len(facts))


def _solid_patch(block: bytes, column: int, row: int) -> list[float]:
    return _patches(block[160:240])[min(max(row, 0), 7) * 10 + min(max(column, 0), 9)]


@lru_cache(maxsize=4096)
def _patches(cells: bytes) -> list[list[float]]:
    """Return for every cell of a room which of the cells around it stop the hero; beyond the room is wall."""
    margin = _PATCH // 2
    solid = [[1.0] * (10 + 2 * margin) for _ in range(8 + 2 * margin)]
    for index, cell in enumerate(cells):
        solid[index // 10 + margin][index % 10 + margin] = float(cell in SOLID)
    return [
        [solid[row + i][column + j] for i in range(_PATCH) for j in range(_PATCH)]
        for row in range(8)
        for column in range(10)
    ]
