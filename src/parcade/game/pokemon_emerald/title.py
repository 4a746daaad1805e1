"""Pokemon Emerald (Game Boy Advance), for the user's own ROM: what its memory means, and what is worth reward.

Nothing here is true of other revisions: the addresses are those of the one build named in ``known_sha1``.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import log10
from typing import Any, ClassVar

from parcade.console.base import Console, Memory
from parcade.game.base import Action, Features, Game, Place, ScreenPlace, write_features
from parcade.game.boot import idle
from parcade.game.pokemon_emerald import memory as at
from parcade.game.pokemon_emerald.fields import FIELDS
from parcade.game.pokemon_emerald.fields import MILESTONES as WAY
from parcade.game.pokemon_emerald.party import PARTY_SLOTS
from parcade.game.pokemon_emerald.state import REACH, Fighter, State, read_state

MILESTONES = tuple(State().milestones)
Progress = dict[str, Any]

_PARTS = {
    "maps": 1.0,
    "tiles": 0.005,
    "story": 0.5,
    "badges": 10.0,
    "levels": 0.25,
    "caught": 0.5,
    "money": 0.02,
    "healing": 0.1,
    "blackout": -1.0,
}
_COUNTS = ("badges", "maps", "tiles", "story", "levels", "caught", "seen", "money", "healing", "blackouts", "battles")
_KIND_VALUES = (-1.0, 0.0, 0.3, -0.5, 0.5, 0.6, 1.0, 0.8)  # one per kind of block, BLOCKED to PERSON
_SCALARS = (
    *("running", "settled", "in_battle", "dialogue", "locked", "menu", "x", "y", "group", "number", "width", "height"),
    *("facing_down", "facing_up", "facing_left", "facing_right", "badges", "caught", "seen", "money", "intro"),
    *("story", "maps", "party_size", "own_hp", "own_level", "foe_hp", "foe_level", "trainer_battle"),
    *("action_menu", "move_menu", "action_cursor", "move_cursor", "pp_1", "pp_2", "pp_3", "pp_4"),
)


class PokemonEmerald(Game[State, Progress]):
    """Pokemon Emerald; see docs/emerald.md for the fields, their addresses and their sources."""

    name = "pokemon-emerald"
    title = "Pokemon Emerald"
    system = "gba"
    known_sha1: ClassVar[dict[str, str]] = {"f3ae088181bf583e55daf962a92bb46f4f1d07b7": "USA, Europe"}
    actions = (
        Action("noop"),
        *(Action(name, (name,)) for name in ("up", "down", "left", "right")),
        *(Action(name, (name,), tap=True) for name in ("a", "b")),
    )
    training = {
        **{"n_envs": 16, "n_steps": 256, "batch_size": 512, "learning_rate": 3e-4, "gamma": 0.997},
        **{"total_timesteps": 1_000_000, "eval_freq": 0, "final_eval_episodes": 3},  # an episode takes minutes
    }
    feature_names = (
        *_SCALARS,
        *(f"{what}_{slot + 1}" for slot in range(PARTY_SLOTS) for what in ("hp", "level", "ill")),
        *(f"block_{dx:+d}_{dy:+d}" for dy in range(-REACH, REACH + 1) for dx in range(-REACH, REACH + 1)),
    )
    metric_names = (*MILESTONES, *_COUNTS, "success")
    reward_weights = _PARTS
    fields = FIELDS
    milestones = WAY
    success_milestone = "starter"

    def start(self, console: Console, seed: int) -> None:
        """Wait up to a second, told by ``seed``: the game draws a random number a frame, so episodes differ."""
        idle(console, seed)

    def read(self, memory: Memory) -> State:
        """Return what memory means now; never fails, whatever the game is doing."""
        return read_state(memory)

    def begin(self, state: State) -> Progress:
        """Return the record of an episode; it starts counting at the first settled state."""
        progress: Progress = {
            "started": 0,
            "places": {},  # "group.number" -> visited tiles of that map, 32 to an int
            "known": "0",  # story flags ever seen set, in hex
            "party": [],  # [personality, hp, max hp] of each member
            "milestones": [],
            "fighting": 0,
            "down": 0,
            **dict.fromkeys(_COUNTS, 0),
        }
        self.reward(progress, state, state)
        return progress

    def reward(self, progress: Progress, before: State, after: State) -> dict[str, float]:
        """Return what is new in this episode; what the start state already had is never rewarded.

        Everything is compared with ``progress``, not with ``before``, so a torn state delays a reward by a step but
        never makes or loses one.
        """
        if not after.settled:
            if not after.running:  # a name may be given before the game is running
                self._reach(progress, after)
            return {}
        first, progress["started"] = not progress["started"], 1
        parts: dict[str, float] = {}
        self._explore(progress, after, parts)
        if first or not before.settled or before.flags != after.flags:
            self._tell(progress, after, parts)
        if first or not before.settled or _story_of(before) != _story_of(after):
            self._reach(progress, after)
        best = (
            ("badges", after.badges.bit_count(), 1),
            ("levels", sum(member.level for member in after.party), 1),
            ("caught", after.caught, 1),
            ("money", after.money, 1000),
        )
        for part, now, unit in best:
            if now > progress[part]:
                parts[part] = (now - progress[part]) / unit
                progress[part] = now
        progress["seen"] = max(progress["seen"], after.seen)
        progress["battles"] += after.battle is not None and not progress["fighting"]
        progress["fighting"] = int(after.battle is not None)
        self._nurse(progress, after, parts)
        if first:
            progress["healing"] = progress["blackouts"] = 0
            return {}
        return parts

    def _explore(self, progress: Progress, state: State, parts: dict[str, float]) -> None:
        places, key = progress["places"], f"{state.group}.{state.number}"
        tiles = places.get(key)
        if tiles is None:
            tiles = places[key] = [0] * ((state.width * state.height + 31) // 32)
            progress["maps"] += 1
            parts["maps"] = 1.0
        word, bit = divmod(state.y * state.width + state.x, 32)
        if word < len(tiles) and not tiles[word] >> bit & 1:
            tiles[word] |= 1 << bit
            progress["tiles"] += 1
            parts["tiles"] = 1.0

    def _tell(self, progress: Progress, state: State, parts: dict[str, float]) -> None:
        known = int(progress["known"], 16)
        new = int.from_bytes(state.flags, "little") & at.STORY_MASK & ~known
        if new:
            progress["known"] = f"{known | new:x}"
            progress["story"] += new.bit_count()
            parts["story"] = float(new.bit_count())

    def _reach(self, progress: Progress, state: State) -> None:
        reached = progress["milestones"]
        if len(reached) < len(MILESTONES):
            reached.extend(name for name, met in state.milestones.items() if met and name not in reached)

    def _nurse(self, progress: Progress, state: State, parts: dict[str, float]) -> None:
        """Note healing, as the sum of regained fractions of HP, and a party that has just fainted."""
        now = [[member.personality, member.hp, member.max_hp] for member in state.party]
        if now == progress["party"]:
            return
        was = {personality: (hp, most) for personality, hp, most in progress["party"]}
        # A level gives HP too, and a blackout heals everybody: neither is a visit to the nurse.
        healed = sum(
            max(0, hp - was[personality][0]) / most
            for personality, hp, most in now
            if most and personality in was and was[personality][1] == most
        )
        if healed and not progress["down"]:
            parts["healing"] = healed
            progress["healing"] += healed
        down = bool(now) and not any(hp for _, hp, _ in now)
        if down and not progress["down"]:
            parts["blackout"] = 1.0
            progress["blackouts"] += 1
        progress["down"], progress["party"] = int(down), now

    def over(self, state: State, progress: Progress) -> bool:
        """Whether the champion is beaten; a blackout goes on from the last healing place."""
        return state.settled and state.flag(at.FLAG_CHAMPION)

    def features(self, state: State, progress: Progress, out: Features) -> None:
        """Write ``feature_names``, each within -1 to 1."""
        battle = state.battle
        own, foe = (battle.own, battle.foe) if battle else (_NOBODY, _NOBODY)
        lead = state.party[0] if state.party else None
        values = [
            state.running,
            state.settled,
            battle is not None,
            state.dialogue,
            state.locked,
            state.menu,
            _clip(2 * state.x / max(state.width, 1) - 1),
            _clip(2 * state.y / max(state.height, 1) - 1),
            min(state.group / 34, 1.0),
            min(state.number / 60, 1.0),
            min(state.width / 100, 1.0),
            min(state.height / 100, 1.0),
            *(state.facing == facing for facing in at.FACINGS[1:]),
            state.badges.bit_count() / 8,
            min(state.caught / 50, 1.0),
            min(state.seen / 100, 1.0),
            min(log10(1 + state.money) / 6, 1.0),
            min(state.variable(at.VAR_INTRO) / at.INTRO_DONE, 1.0),
            min(progress["story"] / 100, 1.0),
            min(progress["maps"] / 50, 1.0),
            len(state.party) / PARTY_SLOTS,
            own.hp / max(own.max_hp, own.hp, 1),
            min(own.level / 100, 1.0),
            foe.hp / max(foe.max_hp, foe.hp, 1),
            min(foe.level / 100, 1.0),
            battle is not None and battle.trainer != 0,
            battle is not None and battle.menu == "action",
            battle is not None and battle.menu == "move",
            (battle.action_cursor & 3) / 3 if battle else 0.0,
            (battle.move_cursor & 3) / 3 if battle else 0.0,
            *((min(pp / 40, 1.0) for pp in lead.pp) if lead else (0.0,) * 4),
        ]
        for member in state.party:
            values += (member.hp / max(member.max_hp, member.hp, 1), min(member.level / 100, 1.0), member.status != 0)
        values += (0.0,) * (3 * (PARTY_SLOTS - len(state.party)))
        values += [_KIND_VALUES[kind] for kind in state.surroundings]
        write_features(values, out)

    def metrics(self, progress: Progress, state: State) -> dict[str, float]:
        """Return milestones as 0 or 1, the episode's counts, and ``success``: a starter was chosen."""
        reached = progress["milestones"]
        values = {name: float(name in reached) for name in MILESTONES}
        values |= {name: float(progress[name]) for name in _COUNTS}
        values["success"] = values["starter"]
        return values

    def place(self, state: State) -> Place | None:
        """Return the map and the player's block on it; none while memory is not settled."""
        return (state.map_name, state.x, state.y) if state.settled else None

    def screen_place(self, state: State) -> ScreenPlace | None:
        """Return where the screen lies: the player's block begins at column 112 and line 72 of the picture."""
        place = self.place(state)
        is_covered = state.dialogue or state.menu or state.script or state.battle is not None
        if place is None or is_covered:
            return None
        return ScreenPlace(place[0], state.x * 16 - 112, state.y * 16 - 72, 160)

    def cell(self, state: State) -> Hashable | None:
        """Return the map, the place to four blocks, the badges and the number of story flags."""
        if not state.settled:
            return None
        story = (int.from_bytes(state.flags, "little") & at.STORY_MASK).bit_count()
        return state.group, state.number, state.x // 4, state.y // 4, state.badges, story

    def describe(self, state: State) -> str:
        """Return where the player is, what is open, the battle and the party."""
        if not state.running:
            return f"No game is running; screen: {state.screen or 'unknown'}."
        words = [f"{state.name or 'Nameless'} in {state.map_name} at ({state.x}, {state.y}), facing {state.facing}"]
        words += [
            text for shown, text in ((state.dialogue, "a text box is open"), (state.menu, "the menu is open")) if shown
        ]
        if state.battle is not None:
            foe, kind = state.battle.foe, "trainer" if state.battle.trainer else "wild"
            words.append(f"{kind} battle against species {foe.species} L{foe.level}, {foe.hp} of {foe.max_hp} HP")
        party = ", ".join(f"{m.nickname} L{m.level} {m.hp}/{m.max_hp} HP" for m in state.party)
        words.append(f"party: {party or 'none'}")
        words.append(f"badges {state.badges.bit_count()}, money {state.money}, species caught {state.caught}")
        return "; ".join(words) + "."


class PokemonEmeraldWithStart(PokemonEmerald):
    """The same with the START button, for runs that need the menu; more to explore, more ways to get lost."""

    actions = (*PokemonEmerald.actions, Action("start", ("start",), tap=True))


_NOBODY = Fighter(0, 0, 0, 0, 0, (0, 0, 0, 0))


def _clip(value: float) -> float:
    return -1.0 if value < -1.0 else min(value, 1.0)


def _story_of(state: State) -> tuple[bytes, bytes, int]:
    """What milestones hang on while the game is running."""
    return state.flags, state.variables, len(state.party)
