"""Pokémon Red and Blue on the user's own ROM."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

from parcade.console.base import Console, Memory
from parcade.game.base import Action, Features, Game, Place, ScreenPlace, write_features
from parcade.game.boot import BootStep, idle, run_boot_script
from parcade.game.pokemon_red.fields import (
    COUNTED_EVENTS,
    FIELDS,
    GOT_STARTER,
    MILESTONE_EVENTS,
    MILESTONE_MAPS,
    MILESTONES,
    REDS_HOUSE_2F,
)
from parcade.game.pokemon_red.memory import (
    LOST,
    NO_BATTLE,
    PARTY_SIZE,
    TRAINER,
    WILD,
    Mon,
    RedState,
    read_red_state,
)

Progress = dict[str, Any]

# SHA-1 from pret/pokered, roms.sha1, and the same in libretro-database, metadat/no-intro.
_REVISIONS = {
    "ea9bcae617fdf159b045185467ae58b2e4a48b9a": "Red, USA and Europe",
    "d7037c83e1ae5b39bde3c30787637ba1d4c48ce2": "Blue, USA and Europe",
}

# Intro, title, NEW GAME, Oak's speech and both names: A goes on and types a letter, START ends the naming.
BOOT_SCRIPT: tuple[BootStep, ...] = (
    (("a",), 4),
    ((), 10),
    (("a",), 4),
    ((), 11),
    (("start",), 4),
    ((), 12),
)
BOOT_FRAME_LIMIT = 18_000
SETTLE_FRAMES = 180  # play time starts to run before the room has faded in

FIRST_INDOOR_MAP = 0x25  # of pret/pokered, constants/map_constants.asm
LONGEST_MAP = 144  # tiles of Routes 17 and 23: 72 blocks, constants/map_constants.asm
_MAP_NAMES = {number: name.replace("_", " ") for name, number in MILESTONE_MAPS.items()}
_MAP_NAMES[REDS_HOUSE_2F] = "the player's room"


class PokemonRed(Game[RedState, Progress]):
    """Kanto from the player's room on; the game has no end of its own, so an episode ends by its length."""

    name = "pokemon-red"
    title = "Pokémon Red and Blue"
    system = "gb"
    known_sha1: ClassVar[Mapping[str, str]] = _REVISIONS
    frame_skip = 16  # one step of the player takes 16 frames
    actions: ClassVar[tuple[Action, ...]] = (
        Action("noop"),
        Action("up", ("up",)),
        Action("down", ("down",)),
        Action("left", ("left",)),
        Action("right", ("right",)),
        Action("a", ("a",), tap=True),
        Action("b", ("b",), tap=True),
    )
    reward_weights: ClassVar[Mapping[str, float]] = {
        "explore": 0.02,
        "events": 1.0,
        "levels": 0.5,
        "badges": 5.0,
        "healing": 2.0,
        "caught": 0.5,
        "blackout": -0.5,
    }
    training = {
        **{"n_envs": 16, "n_steps": 256, "batch_size": 512, "learning_rate": 3e-4, "gamma": 0.997},
        **{"total_timesteps": 1_000_000, "eval_freq": 0, "final_eval_episodes": 3},  # an episode takes minutes
    }
    feature_names = (
        *("x", "y", "map", "outdoors", "faces_right", "faces_left", "faces_down", "faces_up", "walking"),
        *("bicycle", "surfing", "in_control", "text_open", "input_ignored"),
        *("wild_battle", "trainer_battle", "lost_battle"),
        *(f"opponent_{part}" for part in ("species", "level", "hp", "ailing")),
        *(f"fighter_{part}" for part in ("species", "level", "hp", "ailing")),
        *(f"party_{n}_{part}" for n in range(PARTY_SIZE) for part in ("species", "level", "hp", "ailing")),
        *(f"badge_{number}" for number in range(1, 9)),
        *("money", "items", "owned", "seen", "events", "hp_fraction", "level_sum"),
        *MILESTONE_EVENTS,
        *("coordinates", "tile_is_new"),
    )
    metric_names = (
        *("success", "coordinates", "maps", "events", "level_sum", "badges", "money", "owned", "seen", "blackouts"),
        *MILESTONE_EVENTS,
        *MILESTONE_MAPS,
    )
    fields = FIELDS
    milestones = MILESTONES
    success_milestone = "starter"

    def start(self, console: Console, seed: int) -> None:
        """Boot to the player's room unless a game is loaded, then wait a little by ``seed``."""
        if not read_red_state(console).in_game:
            run_boot_script(console, BOOT_SCRIPT, _in_first_room, BOOT_FRAME_LIMIT)
            console.advance(0, SETTLE_FRAMES, draw=False)
        idle(console, seed)

    def read(self, memory: Memory) -> RedState:
        """Return what memory means now."""
        return read_red_state(memory)

    def begin(self, state: RedState) -> Progress:
        """Return the record of an episode: what is done at its start is not rewarded again."""
        progress: Progress = {
            "tiles": {state.coordinate: 1},
            "maps": {str(state.map_id): 1},
            "events": state.events,
            "events_at_start": state.events,
            "level_sum": state.level_sum,
            "badges": state.badges,
            "owned": state.owned,
            "blackouts": 0,
            "tile_is_new": 1,
        }
        return progress

    def reward(self, progress: Progress, before: RedState, after: RedState) -> dict[str, float]:
        """Return what was found, learnt and won since ``before``."""
        if not (before.in_game and after.in_game):
            return {}
        parts: dict[str, float] = {}
        progress["tile_is_new"] = 0
        if after.battle == NO_BATTLE and after.coordinate not in progress["tiles"]:
            progress["tiles"][after.coordinate] = 1
            progress["maps"][str(after.map_id)] = 1
            progress["tile_is_new"] = 1
            parts["explore"] = 1.0
        _note_new_bits(progress, "events", after.events & COUNTED_EVENTS, parts, "events")
        _note_new_bits(progress, "badges", after.badges, parts, "badges")
        _note_new_bits(progress, "owned", after.owned, parts, "caught")
        if after.level_sum > progress["level_sum"]:
            parts["levels"] = float(after.level_sum - progress["level_sum"])
            progress["level_sum"] = after.level_sum
        healed = _healed(before, after)
        if healed:
            parts["healing"] = healed
        if after.party and before.hp_fraction > 0 and after.hp_fraction == 0:
            parts["blackout"] = 1.0
            progress["blackouts"] += 1
        return parts

    def over(self, state: RedState, progress: Progress) -> bool:
        """Never: a blackout sends the player back to the last Pokémon Center and the game goes on."""
        return False

    def features(self, state: RedState, progress: Progress, out: Features) -> None:
        """Write where the player is, the battle, the party and how far the game is, each within 0 to 1."""
        in_battle = state.battle != NO_BATTLE
        values = [
            state.x / LONGEST_MAP,
            state.y / LONGEST_MAP,
            state.map_id / 255,
            float(state.map_id < FIRST_INDOOR_MAP),
            *(float(state.direction >> bit & 1) for bit in range(4)),
            state.walking / 8,
            float(state.transport == 1),
            float(state.transport == 2),
            float(state.in_control),
            float(state.text_open),
            float(state.input_ignored),
            float(state.battle == WILD),
            float(state.battle == TRAINER),
            float(state.battle == LOST),
            *(_mon_features(state.opponent) if in_battle else _NO_MON),
            *(_mon_features(state.fighter) if in_battle else _NO_MON),
        ]
        for mon in state.party:
            values += _mon_features(mon)
        values += _NO_MON * (PARTY_SIZE - len(state.party))
        values += [float(state.badges >> bit & 1) for bit in range(8)]
        values += [
            state.money / 999_999,
            len(state.items) / 20,
            state.owned.bit_count() / 151,
            state.seen.bit_count() / 151,
            state.events.bit_count() / 512,
            state.hp_fraction,
            state.level_sum / (100 * PARTY_SIZE),
        ]
        values += [float(state.events >> event & 1) for event in MILESTONE_EVENTS.values()]
        values += [min(1.0, len(progress["tiles"]) / 2048), float(progress["tile_is_new"])]
        write_features([value if value < 1.0 else 1.0 for value in values], out)  # memory may hold anything

    def metrics(self, progress: Progress, state: RedState) -> dict[str, float]:
        """Return how far the episode came; ``success`` is having got the first monster from Oak."""
        events, maps = progress["events"], progress["maps"]
        return {
            "success": float(events >> GOT_STARTER & 1),
            "coordinates": float(len(progress["tiles"])),
            "maps": float(len(maps)),
            "events": float((events & ~progress["events_at_start"]).bit_count()),
            "level_sum": float(progress["level_sum"]),
            "badges": float(progress["badges"].bit_count()),
            "money": float(state.money),
            "owned": float(progress["owned"].bit_count()),
            "seen": float(state.seen.bit_count()),
            "blackouts": float(progress["blackouts"]),
            **{name: float(events >> event & 1) for name, event in MILESTONE_EVENTS.items()},
            **{name: float(str(number) in maps) for name, number in MILESTONE_MAPS.items()},
        }

    def place(self, state: RedState) -> Place | None:
        """Return the map and the player's tile on it; none before a game is loaded."""
        return (_map_name(state.map_id), state.x, state.y) if state.in_game else None

    def screen_place(self, state: RedState) -> ScreenPlace | None:
        """Return where the screen lies: the player's tile is the fifth of ten columns and of nine rows."""
        place = self.place(state)
        if place is None or not state.in_control or state.walking:
            return None
        return ScreenPlace(place[0], state.x * 16 - 64, state.y * 16 - 64, 144)

    def cell(self, state: RedState) -> Hashable | None:
        """Return the map, the place to four tiles, the badges and the number of events."""
        if not state.in_game:
            return None
        events = (state.events & COUNTED_EVENTS).bit_count()
        return state.map_id, state.x // 4, state.y // 4, state.badges, events

    def describe(self, state: RedState) -> str:
        """Return where the player is, the battle and the party."""
        if not state.in_game:
            return "No game is loaded."
        words = [f"In {_map_name(state.map_id)} at ({state.x}, {state.y})"]
        if state.text_open:
            words.append("a text box is open")
        if state.battle != NO_BATTLE:
            foe, kind = state.opponent, {WILD: "wild", TRAINER: "trainer"}.get(state.battle, "lost")
            words.append(f"{kind} battle against species {foe.species} L{foe.level}, {foe.hp} of {foe.max_hp} HP")
        party = ", ".join(f"species {mon.species} L{mon.level} {mon.hp}/{mon.max_hp} HP" for mon in state.party)
        words.append(f"party: {party or 'none'}")
        words.append(f"badges {state.badges.bit_count()}, money {state.money}, species owned {state.owned.bit_count()}")
        return "; ".join(words) + "."


class PokemonRedWithMenu(PokemonRed):
    """The same title with START and SELECT, which field moves, items and switching need."""

    actions = (*PokemonRed.actions, Action("start", ("start",), tap=True), Action("select", ("select",), tap=True))


def _map_name(number: int) -> str:
    return _MAP_NAMES.get(number, f"map {number}")


def _in_first_room(memory: Memory) -> bool:
    state = read_red_state(memory)
    return state.in_control and state.map_id == REDS_HOUSE_2F


def _note_new_bits(progress: Progress, name: str, bits: int, parts: dict[str, float], part: str) -> None:
    new = bits & ~progress[name]
    if new:
        progress[name] |= new
        parts[part] = float(new.bit_count())


def _healed(before: RedState, after: RedState) -> float:
    """Return the part of the party's HP that came back by healing.

    A changed party or level changes HP without healing, and a blackout heals for free: neither counts.
    """
    if len(after.party) != len(before.party) or after.level_sum != before.level_sum or before.hp_fraction == 0:
        return 0.0
    return max(0.0, after.hp_fraction - before.hp_fraction)


_NO_MON = [0.0, 0.0, 0.0, 0.0]


def _mon_features(mon: Mon) -> list[float]:
    return [mon.species / 190, mon.level / 100, mon.hp / max(1, mon.max_hp), float(mon.status != 0)]
