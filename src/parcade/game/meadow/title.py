"""Meadow, the built-in Game Boy Advance role-playing game; its memory table is in roms/meadow/README.md."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from parcade.console.base import Console, Memory
from parcade.errors import RunError, SettingsError, did_you_mean
from parcade.game.base import FIRST_HELD_OUT_SEED, Action, Features, Game, Picture, Place, ScreenPlace
from parcade.game.meadow.atlas import map_pictures
from parcade.game.meadow.features import FEATURE_NAMES, write_meadow_features
from parcade.game.meadow.fields import FIELDS, FIRST_MODE, MILESTONES
from parcade.game.meadow.state import (
    BLOCK,
    BLOCK_SIZE,
    FLAGS,
    HEAD,
    MAGIC,
    MAPS,
    MODE,
    MODES,
    PARTY,
    RESTART,
    RESTART_SEED,
    RESTARTS,
    SAVED,
    MeadowState,
)

GOALS = ("first_victory", "town", "badge")
PAID_VICTORIES = 10  # of an episode: whoever is paid for every one fights on the spot and never walks on
LOW_HP = 0.5  # a nurse is worth reward below this fraction of the party's HP
_LARGEST_HEIGHT = 30
_MENU_MODE, _YES_NO = 5, 7  # values of mode and submenu


class Meadow(Game[MeadowState, dict[str, Any]]):
    """Leave the house, choose a monster, win battles, walk to Craghaven, win the badge."""

    name = "meadow"
    title = "Meadow"
    system = "gba"
    builtin_rom = "meadow.gba"
    restarts_itself = True
    actions: ClassVar[tuple[Action, ...]] = (
        Action("wait"),
        Action("up", ("up",), tap=True),
        Action("down", ("down",), tap=True),
        Action("left", ("left",), tap=True),
        Action("right", ("right",), tap=True),
        Action("a", ("a",), tap=True),
        Action("b", ("b",), tap=True),
    )
    metric_names: ClassVar[tuple[str, ...]] = (
        *("success", "left_house", "first_victory", "town", "badge"),
        *("maps_seen", "cells_seen", "battles_won", "level", "caught", "blackouts"),
    )
    reward_weights = {
        "goal": 10.0,
        "new_map": 0.5,
        "new_cell": 0.05,
        "first_monster": 1.0,
        "victory": 1.0,
        "level": 0.5,
        "caught": 0.5,
        "heal": 0.5,
        "trainer": 2.0,
        "town": 3.0,
        "badge": 10.0,
        "blackout": -1.0,
        "step": -0.003,
    }
    frame_skip = 8  # the frames the hero takes for one cell
    max_steps = 1500
    training = {"n_envs": 32, "batch_size": 256, "learning_rate": 5e-4, "total_timesteps": 300_000}
    feature_names = FEATURE_NAMES
    fields = FIELDS
    milestones = MILESTONES

    def __init__(self, goal: str = "first_victory") -> None:
        if goal not in GOALS:
            raise SettingsError(f"meadow: goal is {goal!r}{did_you_mean(goal, GOALS)}, wanted {', '.join(GOALS)}")
        self.goal = goal  # an episode ends when this flag is set
        self.success_milestone = goal

    def start(self, console: Console, seed: int) -> None:
        """Begin the game of ``seed`` at home; the game itself makes it a pure function of that seed."""
        if bytes(console.read(BLOCK, 4)) != MAGIC or console.read(MODE, 1)[0] == 0:
            _boot(console)
        acknowledged = console.read(RESTARTS, 1)[0]
        console.write(RESTART_SEED, game_seed(seed).to_bytes(4, "little"))
        console.write(RESTART, b"\1")
        for _ in range(30):
            console.advance(0, 1, draw=False)
            if console.read(RESTARTS, 1)[0] != acknowledged:
                break
        else:
            raise RunError("meadow: the game did not take the restart request within 30 frames")
        console.advance(0, 1)  # a picture of the new game, and all buttons released

    def read(self, memory: Memory) -> MeadowState:
        """Return the state block, decoded."""
        block = bytes(memory.read(BLOCK, BLOCK_SIZE))
        return MeadowState._make((*HEAD.unpack(block), block))

    def can_start_from(self, state: MeadowState) -> bool:
        """Whether a game has begun; before that there is no place to read."""
        return state.magic == MAGIC and state.mode >= FIRST_MODE

    def begin(self, state: MeadowState) -> dict[str, Any]:
        """Return a record in which only the present cell was visited."""
        progress: dict[str, Any] = {
            "cells": [[0] * _LARGEST_HEIGHT for _ in MAPS],  # cells[map][y]: bit x is set if visited
            "cells_seen": 0,
        }
        _visit(progress, state)
        return progress

    def reward(self, progress: dict[str, Any], before: MeadowState, after: MeadowState) -> dict[str, float]:
        """Return what happened in this step."""
        parts = {"step": 1.0}
        new_cell = _visit(progress, after)
        if after.blackouts > before.blackouts:
            parts["blackout"] = after.blackouts - before.blackouts
        else:  # who is carried to the nurse has neither walked nor been healed
            if new_cell:
                parts["new_cell"] = 1.0
            if after.visited != before.visited:
                parts["new_map"] = (after.visited & ~before.visited).bit_count()
            if before.block[PARTY:256] != after.block[PARTY:256]:
                _party_parts(parts, before, after)
        if before.won < after.won <= PAID_VICTORIES:
            parts["victory"] = after.won - before.won
        risen = after.flags & ~before.flags
        if risen:
            self._flag_parts(parts, risen)
        return parts

    def _flag_parts(self, parts: dict[str, float], risen: int) -> None:
        if risen >> FLAGS[self.goal] & 1:
            parts["goal"] = 1.0
        for part in ("first_monster", "town", "badge"):  # ``badges`` follows its flag only after a text
            if risen >> FLAGS[part] & 1:
                parts[part] = 1.0
        trainers = (risen >> FLAGS["taro"] & 1) + (risen >> FLAGS["pia"] & 1)
        if trainers:
            parts["trainer"] = trainers

    def over(self, state: MeadowState, progress: dict[str, Any]) -> bool:
        """True when the goal is reached; the game itself never ends."""
        return state.has(self.goal)

    def features(self, state: MeadowState, progress: dict[str, Any], out: Features) -> None:
        """Write what a player sees: mode, place, party, battle, menus, bag, the cells around and events."""
        write_meadow_features(state, progress["cells"], out)

    def metrics(self, progress: dict[str, Any], state: MeadowState) -> dict[str, float]:
        """Success means that the goal was reached; the milestones do not depend on it."""
        return {
            "success": float(state.has(self.goal)),
            "left_house": float(state.has("left_house")),
            "first_victory": float(state.has("first_victory")),
            "town": float(state.has("town")),
            "badge": float(state.has("badge")),
            "maps_seen": state.visited.bit_count(),
            "cells_seen": progress["cells_seen"],
            "battles_won": state.won,
            "level": max(state.levels),
            "caught": state.caught,
            "blackouts": state.blackouts,
        }

    def place(self, state: MeadowState) -> Place | None:
        """Return the map and the hero's cell on it; none before a game has begun."""
        return (MAPS[state.map], state.x, state.y) if state.map < len(MAPS) and state.mode >= FIRST_MODE else None

    def screen_place(self, state: MeadowState) -> ScreenPlace | None:
        """Return where the camera is: it follows the hero up to the map's edges; none while he moves or talks."""
        place = self.place(state)
        if place is None or state.mode != FIRST_MODE or state.moving:
            return None
        left = min(max(0, state.x * 16 - 112), max(0, state.map_w * 16 - 240))
        top = min(max(0, state.y * 16 - 72), max(0, state.map_h * 16 - 160))
        return ScreenPlace(place[0], left, top, 160)

    def map_picture(self, console: Console, seed: int, name: str) -> Picture | None:
        """Return one of the game's maps."""
        return map_pictures(console).get(name)

    def cell(self, state: MeadowState) -> Hashable | None:
        """Return the place and every event that has happened."""
        place = self.place(state)
        return None if place is None else (*place, state.flags)

    def describe(self, state: MeadowState) -> str:
        """Return what the hero does, where, and with which party."""
        place = self.place(state)
        if place is None:
            return "At the title screen."
        doing = MODES[state.mode - FIRST_MODE] if state.mode - FIRST_MODE < len(MODES) else f"mode {state.mode}"
        party = f"party of {state.party_size}, best level {max(state.levels)}, {round(100 * state.party_hp)} % HP"
        done = ", ".join(name.replace("_", " ") for name in FLAGS if state.has(name)) or "nothing yet"
        return (
            f"In {place[0].replace('_', ' ')} at column {state.x}, row {state.y} ({doing}); {party}; "
            f"money {state.money}, potions {state.potions}, orbs {state.orbs}; done: {done}."
        )


class MeadowWithStart(Meadow):
    """The same with the START button, whose menu saves to flash memory; more ways to get lost, for tests and soaks."""

    actions = (*Meadow.actions, Action("start", ("start",), tap=True))
    metric_names = (*Meadow.metric_names, "saves")
    # What is open is closed; then the menu's third entry, YES, past the text, and out again.
    save_script = (
        *("b", "b", "b", "b", "start", "down", "down", "a", "wait"),
        *("a", "wait", "wait", "wait", "a", "b"),
    )

    def begin(self, state: MeadowState) -> dict[str, Any]:
        """Return a record without saves."""
        return {**super().begin(state), "saves": 0}

    def reward(self, progress: dict[str, Any], before: MeadowState, after: MeadowState) -> dict[str, float]:
        """Count the saves too; they are worth nothing."""
        if _saves(before, after):
            progress["saves"] += 1
        return super().reward(progress, before, after)

    def metrics(self, progress: dict[str, Any], state: MeadowState) -> dict[str, float]:
        """Add how often flash memory was written in this episode."""
        return {**super().metrics(progress, state), "saves": progress["saves"]}


def _saves(before: MeadowState, after: MeadowState) -> bool:
    """Whether YES was chosen under SAVE in this step: NO goes back to the START menu, which is submenu 1."""
    asked = before.mode == _MENU_MODE and before.submenu == _YES_NO
    return asked and after.mode == _MENU_MODE and after.submenu == 0 and bool(after.flags & SAVED)


def game_seed(seed: int) -> int:
    """Return the 32-bit seed of the game; the upper half of all games is kept for held-out env seeds.

    The game mixes its seed, so neighbours give unlike games.

    >>> hex(game_seed(5)), hex(game_seed(FIRST_HELD_OUT_SEED + 5))
    ('0x5', '0x80000005')
    """
    return seed & 0x7FFFFFFF | (0x80000000 if seed >= FIRST_HELD_OUT_SEED else 0)


def _boot(console: Console) -> None:
    for _ in range(60):
        console.advance(0, 10, draw=False)
        if bytes(console.read(BLOCK, 4)) == MAGIC and console.read(MODE, 1)[0] != 0:
            return
    raise RunError("meadow: the game did not reach its title screen within 600 frames")


def _visit(progress: dict[str, Any], state: MeadowState) -> bool:
    """Note the cell the hero stands on and return whether it is new."""
    rows = progress["cells"][state.map]
    if rows[state.y] >> state.x & 1:
        return False
    rows[state.y] |= 1 << state.x
    progress["cells_seen"] += 1
    return True


def _party_parts(parts: dict[str, float], before: MeadowState, after: MeadowState) -> None:
    if after.party_size == before.party_size:
        levels = sum(after.levels) - sum(before.levels)
        if levels > 0:
            parts["level"] = levels
        if not (before.in_battle or after.in_battle):
            low, now = before.party_hp, after.party_hp
            if low < LOW_HP and now > low:
                parts["heal"] = now - low
    elif before.party_size:  # the first monster is a gift
        species = (after.species_caught & ~before.species_caught).bit_count()
        if species:
            parts["caught"] = species
