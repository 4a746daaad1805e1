"""The Legend of Zelda: Link's Awakening, original and DX, on the user's own ROM."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

from parcade.console.base import Console, Memory
from parcade.game.base import Action, Features, Game, Place, ScreenPlace, write_features
from parcade.game.boot import BootStep, idle, run_boot_script
from parcade.game.links_awakening.fields import (
    CATEGORIES,
    DIRECTIONS,
    FIELDS,
    ITEM_NAMES,
    MILESTONES,
    MOTIONS,
    held_items,
)
from parcade.game.links_awakening.memory import (
    CREDITS,
    DUNGEON,
    EIGHTHS_PER_HEART,
    FEATHER,
    FIRST_OWNED,
    LAST_ITEM,
    LAST_OWNED,
    OVERWORLD,
    SLIME_KEY,
    TAIL_CAVE,
    DungeonItems,
    Entity,
    LinkState,
    read_link_state,
)

Progress = dict[str, Any]

# SHA-1 of each cartridge, from libretro-database, metadat/no-intro (Game Boy and Game Boy Color).
_REVISIONS = {
    "602167f897b4f56fe8cee837933da3bed5882bbd": "original, USA and Europe",
    "5259e68522225a7a830e29ea17dfddc33263ced5": "original, USA and Europe, revision 1",
    "5ab63def958728933571c3b4f6af54db14f3f8b2": "original, USA and Europe, revision 2",
    "d90ac17e9bf17b6c61624ad9f05447bdb5efc01a": "DX, USA and Europe",
    "363d184d9b1e9faa5a2facd80897b7e118446164": "DX, USA and Europe, revision 1",
    "1c091225688d966928cc74336dbef2e07d12a47c": "DX, USA and Europe, revision 2",
}

# Intro, title, an empty file slot, a name, the slot again, Marin's words, out of bed. Three A for one START: START
# ends the naming, and a file without a letter is no file. RIGHT leaves the bed and does nothing in the menus.
BOOT_SCRIPT: tuple[BootStep, ...] = (
    (("a",), 4),
    ((), 12),
    (("a",), 4),
    ((), 12),
    (("a",), 4),
    ((), 12),
    (("start",), 4),
    ((), 13),
    (("right",), 6),
    ((), 10),
)
BOOT_FRAME_LIMIT = 18_000  # five minutes of play

NEAREST_ENEMIES = 4
_MILESTONES = tuple(milestone.name for milestone in MILESTONES)


class LinksAwakening(Game[LinkState, Progress]):
    """Koholint from Tarin's house on; an episode ends with a death or with the credits."""

    name = "links-awakening"
    title = "The Legend of Zelda: Link's Awakening (and DX)"
    system = "gb"
    known_sha1: ClassVar[Mapping[str, str]] = _REVISIONS
    actions: ClassVar[tuple[Action, ...]] = (
        Action("noop"),
        Action("up", ("up",)),
        Action("down", ("down",)),
        Action("left", ("left",)),
        Action("right", ("right",)),
        Action("a", ("a",), tap=True),
        Action("b", ("b",), tap=True),
        Action("up_a", ("up", "a")),
        Action("down_a", ("down", "a")),
        Action("left_a", ("left", "a")),
        Action("right_a", ("right", "a")),
    )
    reward_weights: ClassVar[Mapping[str, float]] = {
        "rooms": 0.2,
        "items": 1.0,
        "instruments": 10.0,
        "hearts": 2.0,
        "shells": 0.5,
        "rupees": 0.01,
        "damage": -0.1,
        "death": -1.0,
    }
    training = {
        **{"n_envs": 16, "n_steps": 256, "batch_size": 512, "learning_rate": 3e-4, "gamma": 0.997},
        **{"total_timesteps": 1_000_000, "eval_freq": 0, "final_eval_episodes": 3},  # an episode takes minutes
    }
    feature_names = (
        *("x", "y", "z", "room_column", "room_row", "overworld", "indoor", "dungeon", "side_view"),
        *(f"faces_{direction}" for direction in DIRECTIONS),
        *(f"motion_{motion}" for motion in MOTIONS),
        *("in_control", "carrying", "dialogue", "dialogue_waits", "room_transition"),
        *("health", "max_hearts", "heart_pieces", "rupees", "bombs", "arrows", "powder"),
        *("sword", "shield", "bracelet", "flippers", "medicine", "toadstool", "trade_item", "shells", "songs"),
        *("tail_key", "angler_key", "face_key", "bird_key", "slime_key", "tarin"),
        *("small_keys", "nightmare_key", "has_map", "has_compass", "has_stone_beak"),
        *(f"instrument_{number}" for number in range(1, 9)),
        *(f"b_holds_{item}" for item in range(LAST_ITEM + 1)),
        *(f"a_holds_{item}" for item in range(LAST_ITEM + 1)),
        *(f"enemy_{n}_{part}" for n in range(NEAREST_ENEMIES) for part in ("near", "dx", "dy")),
        "rooms_visited",
    )
    metric_names = (
        *("success", "rooms", "items", "instruments", "max_hearts", "shells", "rupees", "damage", "deaths"),
        *_MILESTONES,
    )
    fields = FIELDS
    milestones = MILESTONES
    success_milestone = "sword"

    def start(self, console: Console, seed: int) -> None:
        """Boot to the first control in Tarin's house unless a game is loaded, then wait a little by ``seed``."""
        if not read_link_state(console).playing:
            run_boot_script(console, BOOT_SCRIPT, lambda memory: read_link_state(memory).in_control, BOOT_FRAME_LIMIT)
        idle(console, seed)

    def read(self, memory: Memory) -> LinkState:
        """Return what memory means now."""
        return read_link_state(memory)

    def begin(self, state: LinkState) -> Progress:
        """Return the record of an episode: what is owned and seen at its start is not rewarded again."""
        progress: Progress = {
            "places": {str(state.place): 1},
            "owned": dict.fromkeys(holdings(state), 1),
            "items_at_start": 0,
            "instruments": state.instruments,
            "hearts": _quarter_hearts(state),
            "shells": state.shells,
            "rupees_gained": 0,
            "damage": 0.0,
            "deaths_at_start": state.deaths,
            "milestones": dict.fromkeys(_MILESTONES, 0),
        }
        progress["items_at_start"] = len(progress["owned"])
        _note_milestones(progress, state)
        return progress

    def reward(self, progress: Progress, before: LinkState, after: LinkState) -> dict[str, float]:
        """Return what was found, gained and suffered since ``before``."""
        if not (before.playing and after.playing):
            return {}
        parts: dict[str, float] = {}
        place = str(after.place)
        if place not in progress["places"] and after.settled:
            progress["places"][place] = 1
            parts["rooms"] = 1.0
        if after[FIRST_OWNED : LAST_OWNED + 1] != before[FIRST_OWNED : LAST_OWNED + 1]:
            new = [item for item in holdings(after) if item not in progress["owned"]]
            if new:
                progress["owned"].update(dict.fromkeys(new, 1))
                parts["items"] = float(len(new))
        found = after.instruments & ~progress["instruments"]
        if found:
            progress["instruments"] |= found
            parts["instruments"] = float(found.bit_count())
        _raise_best(progress, "hearts", _quarter_hearts(after), parts, 0.25)
        _raise_best(progress, "shells", after.shells, parts, 1.0)
        if after.rupees > before.rupees:
            progress["rupees_gained"] += after.rupees - before.rupees
            parts["rupees"] = float(after.rupees - before.rupees)
        if after.health < before.health:
            parts["damage"] = (before.health - after.health) / EIGHTHS_PER_HEART
            progress["damage"] += parts["damage"]
        if after.deaths > before.deaths:
            parts["death"] = 1.0
        _note_milestones(progress, after)
        return parts

    def over(self, state: LinkState, progress: Progress) -> bool:
        """Whether Link has died in this episode or the credits roll."""
        return (state.playing and state.deaths > progress["deaths_at_start"]) or state.gameplay == CREDITS

    def features(self, state: LinkState, progress: Progress, out: Features) -> None:
        """Write where Link is, what he holds, what is near, each within -1 to 1."""
        here, instruments = state.here, state.instruments
        values = [state.x / 160, state.y / 144, state.z / 32, (state.room & 15) / 15, (state.room >> 4) / 15]
        values += _one_hot(state.category, 3)
        values.append(float(state.side_view))
        values += _one_hot(state.direction, 4)
        values += _one_hot(state.motion, len(MOTIONS))
        values += (
            float(state.in_control),
            float(state.carrying != 0),
            float(state.dialogue != 0),
            float(state.dialogue in (9, 12, 13)),
            float(state.room_transition != 0),
            state.health / max(1, EIGHTHS_PER_HEART * state.max_hearts),
            state.max_hearts / 14,
            state.heart_pieces / 4,
            state.rupees / 999,
            state.bombs / 60,
            state.arrows / 60,
            state.powder / 40,
            state.sword / 2,
            state.shield / 2,
            state.bracelet / 2,
            float(state.flippers != 0),
            float(state.medicine != 0),
            float(state.toadstool != 0),
            state.trade_item / 14,
            state.shells / 26,
            state.songs / 7,
            *(float(held != 0) for held in state.door_keys),
            float(state.golden_leaves >= SLIME_KEY),
            state.tarin / 2,
            here.small_keys / 9,
            float(here.nightmare_key != 0),
            float(here.map != 0),
            float(here.compass != 0),
            float(here.stone_beak != 0),
        )
        values += [float(instruments >> bit & 1) for bit in range(8)]
        values += _one_hot(state.item_b, LAST_ITEM + 1)
        values += _one_hot(state.item_a, LAST_ITEM + 1)
        values += _enemy_features(state)
        values.append(min(1.0, len(progress["places"]) / 256))
        write_features([value if value < 1.0 else 1.0 for value in values], out)  # memory may hold anything

    def metrics(self, progress: Progress, state: LinkState) -> dict[str, float]:
        """Return the episode's finds; ``success`` is holding a sword."""
        milestones = progress["milestones"]
        return {
            "success": float(milestones["sword"]),
            "rooms": float(len(progress["places"])),
            "items": float(len(progress["owned"]) - progress["items_at_start"]),
            "instruments": float(progress["instruments"].bit_count()),
            "max_hearts": progress["hearts"] / 4,
            "shells": float(progress["shells"]),
            "rupees": float(progress["rupees_gained"]),
            "damage": progress["damage"],
            "deaths": float(max(0, state.deaths - progress["deaths_at_start"])) if state.playing else 0.0,
            **{name: float(reached) for name, reached in milestones.items()},
        }

    def place(self, state: LinkState) -> Place | None:
        """Return the map and Link's tile of 16 pixels; the overworld is one map, indoors every room is one."""
        if not state.settled:
            return None
        column, row = max(0, state.x - 8) // 16, max(0, state.y - 16) // 16  # positions are a sprite's, offset by 8, 16
        if state.category == OVERWORLD:
            return "overworld", state.room % 16 * 10 + column, state.room // 16 * 8 + row
        return f"{CATEGORIES[state.category]} room {state.place:03X}", column, row

    def screen_place(self, state: LinkState) -> ScreenPlace | None:
        """Return where the room on the screen lies: it fills the picture above the line with the hearts."""
        place = self.place(state)
        if place is None or state.dialogue:
            return None
        if state.category == OVERWORLD:
            return ScreenPlace(place[0], state.room % 16 * 160, state.room // 16 * 128, 128)
        return ScreenPlace(place[0], 0, 0, 128)

    def cell(self, state: LinkState) -> Hashable | None:
        """Return the room and what Link owns."""
        return (state.place, state.instruments, len(holdings(state))) if state.settled else None

    def describe(self, state: LinkState) -> str:
        """Return where Link is, how he is and what he holds."""
        if not state.playing:
            return "No game is loaded."
        where = f"overworld room {state.room:02X}"
        if state.category != OVERWORLD:
            where = f"{CATEGORIES[state.category]} room {state.place:03X}"
        motion = MOTIONS[state.motion] if state.motion < len(MOTIONS) else f"motion {state.motion}"
        words = [f"Link in {where} at ({state.x}, {state.y}), {motion.replace('_', ' ')}"]
        words += ["a text box is open"] if state.dialogue else []
        words += [f"{state.health / EIGHTHS_PER_HEART:g} of {state.max_hearts} hearts, rupees {state.rupees}"]
        words += [
            f"sword level {state.sword}, shield level {state.shield}, instruments {state.instruments.bit_count()}"
        ]
        items = ", ".join(ITEM_NAMES[item] for item in held_items(state))
        words += [f"holds {items or 'nothing'}", f"enemies near {len(state.enemies)}"]
        return "; ".join(words) + "."


class LinksAwakeningWithMenu(LinksAwakening):
    """The same title with START (inventory) and SELECT (map); without them an agent cannot lose itself in menus."""

    actions = (*LinksAwakening.actions, Action("start", ("start",), tap=True), Action("select", ("select",), tap=True))


def holdings(state: LinkState) -> list[str]:
    """Return a tag for each thing Link owns; small keys, coins and ammunition come and go and are left out."""
    tags = [f"item_{item}" for item in (state.item_b, state.item_a, *state.bag) if 0 < item <= LAST_ITEM]
    for name in ("sword", "shield", "bracelet", "trade_item", "golden_leaves"):
        tags += [f"{name}_{level}" for level in range(1, getattr(state, name) + 1)]
    tags += [name for name in ("flippers", "medicine", "toadstool") if getattr(state, name)]
    tags += [f"door_key_{number}" for number, held in enumerate(state.door_keys, 1) if held]
    tags += [f"song_{bit}" for bit in range(3) if state.songs >> bit & 1]
    for number in range(10):
        names = zip(DungeonItems._fields[:4], state.dungeon(number)[:4], strict=True)
        tags += [f"dungeon_{number}_{name}" for name, held in names if held]
    return tags


def _quarter_hearts(state: LinkState) -> int:
    return 4 * state.max_hearts + state.heart_pieces


def _raise_best(progress: Progress, name: str, value: int, parts: dict[str, float], worth: float) -> None:
    if value > progress[name]:
        parts[name] = (value - progress[name]) * worth
        progress[name] = value


def _note_milestones(progress: Progress, state: LinkState) -> None:
    reached = progress["milestones"]
    if not state.playing:
        return
    facts = (
        state.settled and state.category == OVERWORLD,
        state.shield > 0,
        state.sword > 0,
        state.toadstool != 0,
        state.tarin > 0,
        state.door_keys[0] != 0,
        state.settled and state.category == DUNGEON and state.map_id == TAIL_CAVE,
        FEATHER in state.bag or FEATHER in (state.item_a, state.item_b),
        state.instruments & 1 != 0,
    )
    for name, fact in zip(_MILESTONES, facts, strict=True):
        if fact:
            reached[name] = 1


def _one_hot(value: int, length: int) -> list[float]:
    row = [0.0] * length
    if value < length:
        row[value] = 1.0
    return row


def _enemy_features(state: LinkState) -> list[float]:
    """Return nearness and offset of the nearest enemies, nearest first, zeros where there are fewer."""

    def distance(entity: Entity) -> int:
        return abs(entity.x - state.x) + abs(entity.y - state.y)

    nearest = sorted(state.enemies, key=distance)[:NEAREST_ENEMIES]
    values = []
    for entity in nearest:
        dx, dy = (entity.x - state.x) / 160, (entity.y - state.y) / 144
        values += [1 - distance(entity) / 512, max(-1.0, dx), max(-1.0, dy)]
    return values + [0.0] * (3 * (NEAREST_ENEMIES - len(nearest)))
