"""Lantern, the built-in Game Boy dungeon; its memory table is in roms/lantern/README.md."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

from parcade.console.base import Console, Memory
from parcade.errors import RunError, SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED, Action, Features, Game, Picture, Place, write_features
from parcade.game.lantern.atlas import floor_picture
from parcade.game.lantern.fields import FACINGS, FIELDS, MODES, lantern_milestones
from parcade.game.lantern.state import (
    BLOCK,
    BLOCK_SIZE,
    CHEST,
    DOOR_PLACES,
    GAME_OVER,
    KEY,
    LANTERN,
    MAGIC,
    PLAYING,
    RESTART,
    SOLID,
    LanternState,
)
from parcade.game.lantern.way import bearings, door_facts, next_goal, way_to

_COUNTS = slice(18, 31)  # from coins to doors_opened: what only changes when something happens
_DOOR_FACTS = ("door", "locked", "unseen", "lock", "dx", "dy")
_PATCH = 5  # the hero sees this many cells each way in its features


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
    fields = FIELDS
    max_steps = 600  # for each floor
    training = {"n_envs": 16, "n_steps": 64, "batch_size": 256, "learning_rate": 5e-4, "total_timesteps": 150_000}
    feature_names = (
        *("x", "y", "x_in_cell", "y_in_cell", "down", "up", "left", "right", "hearts", "invulnerable", "sword", "key"),
        *(f"{side}_{fact}" for side in ("north", "south", "west", "east") for fact in _DOOR_FACTS),
        *("goal", "goal_dx", "goal_dy", "way_up", "way_down", "way_left", "way_right"),
        *(f"{thing}_{fact}" for thing in ("key", "chest", "lantern") for fact in ("here", "dx", "dy")),
        *(f"foe{i}_{fact}" for i in range(3) for fact in ("here", "dx", "dy", "chases", "flies")),
        *(f"solid_{row}_{column}" for row in range(_PATCH) for column in range(_PATCH)),
    )

    def __init__(self, floors: int = 1, way: bool = True) -> None:
        if floors < 1:
            raise SettingsError(f"lantern: floors is {floors}, wanted 1 or more")
        self.floors = floors  # an episode ends when this many floors are cleared
        self.max_steps = Lantern.max_steps * floors  # type: ignore[misc]  # who fights their way takes 500 for three
        self.milestones = lantern_milestones(floors)
        self.success_milestone = self.milestones[-1].name
        self.way = way  # the features hold where to go next; without it, only what the screen and its map show
        if not way:
            self.feature_names = _NAMES_WITHOUT_WAY  # type: ignore[misc]  # of this episode's view

    def start(self, console: Console, seed: int) -> None:
        """Begin the dungeon of ``seed``; the game itself makes it a pure function of that seed."""
        if bytes(console.read(BLOCK, 2)) != MAGIC:
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

    def can_start_from(self, state: LanternState) -> bool:
        """Whether a game has begun; before that there is no place to read."""
        return _has_begun(state)

    def begin(self, state: LanternState) -> dict[str, Any]:
        """Return the record: hearts lost, where the map points to and how far that is."""
        progress: dict[str, Any] = {"hearts_lost": 0}
        progress["goal"], progress["distance"] = bearings(state)
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
        progress["goal"], progress["distance"] = bearings(after)
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
        if self.way:
            values += _door_features(state.room, block, x, y)
            goal = next_goal(state)
            values += [1.0, (goal.x - x) / 80, (goal.y - y) / 64, *way_to(state, goal)] if goal else [0.0] * 7
        else:
            values += _map_features(state.room, block, x, y)
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

    def place(self, state: LanternState) -> Place | None:
        """Return the floor, and the hero's cell on it: every room is 10 by 8 cells, its index row * 4 + column."""
        if not _has_begun(state):
            return None
        column, row = (state.x + 8) // 16, (state.y - 8) // 16
        return f"floor {state.floor}", state.room % 4 * 10 + column, state.room // 4 * 8 + row

    def map_picture(self, console: Console, seed: int, name: str) -> Picture | None:
        """Return a floor of the dungeon of ``seed``."""
        number = name.removeprefix("floor ")
        return floor_picture(console, int(number)) if number.isdecimal() and 1 <= int(number) <= 8 else None

    def cell(self, state: LanternState) -> Hashable | None:
        """Return the dungeon, the room and what was opened in it."""
        if not _has_begun(state):
            return None
        return state.seed, state.floor, state.room, state.keys, state.doors_opened

    def describe(self, state: LanternState) -> str:
        """Return where the hero is, what he has and what lies in the room."""
        if not _has_begun(state):
            return "No game has begun."
        lies_here = [name for name in ("key", "chest", "lantern") if FIELDS[f"{name}_here"].reader(name)(state)]
        foes = sum(1 for at in range(96, 144, 8) if state.block[at])
        return (
            f"Floor {state.floor}, room {state.room % 4 + 1} of row {state.room // 4 + 1}, facing "
            f"{FACINGS[state.facing & 3]}; {state.hearts / 2:g} of {state.max_hearts / 2:g} hearts, "
            f"{'the key' if state.keys else 'no key'}; here: {', '.join(lies_here) or 'nothing'}, foes {foes}; "
            f"doors opened {state.doors_opened}, rooms seen {state.rooms_seen}, foes killed {state.kills}, "
            f"coins {state.coins}; {_doing(state.mode)}."
        )


_NAMES_WITHOUT_WAY = (
    *Lantern.feature_names[:12],
    *(f"{side}_{fact}" for side in ("north", "south", "west", "east") for fact in ("door", "locked", "dx", "dy")),
    *("map_column", "map_row", *(f"seen_{room}" for room in range(16))),
    *Lantern.feature_names[43:],
)

_COUNTED = (
    ("new_room", "rooms_seen_total"),
    ("key", "keys_taken"),
    ("door", "doors_opened"),
    ("floor", "floors_cleared"),
    ("coin", "coins"),
    ("kill", "kills"),
)
_FACING = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _has_begun(state: LanternState) -> bool:
    return state.block[:2] == MAGIC and state.mode >= PLAYING


def _doing(mode: int) -> str:
    return MODES[mode].replace("_", " ") if mode < len(MODES) else f"mode {mode}"


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
        if bytes(console.read(BLOCK, 2)) == MAGIC and console.read(BLOCK + 2, 1)[0] != 0:
            return
    raise RunError("lantern: the game did not reach its title screen within 600 frames")


def _door_features(room: int, block: bytes, x: int, y: int) -> list[float]:
    facts: list[float] = []
    for side, (door_x, door_y) in zip(door_facts(room, block[48:64], block[64:80]), DOOR_PLACES, strict=True):
        facts += side
        facts += ((door_x - x) / 80, (door_y - y) / 64) if side[0] else (0.0, 0.0)
    return facts


def _map_features(room: int, block: bytes, x: int, y: int) -> list[float]:
    """Return the doors of this room, and the map as the game draws it: this room's place, and rooms seen."""
    facts: list[float] = []
    for side, (door_x, door_y) in zip(door_facts(room, block[48:64], block[64:80]), DOOR_PLACES, strict=True):
        facts += (*side[:2], (door_x - x) / 80, (door_y - y) / 64) if side[0] else (0.0,) * 4
    facts += (room % 4 / 3, room // 4 / 3)
    return facts + [float(seen) for seen in block[64:80]]


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
