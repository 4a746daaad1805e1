"""What the numbers of Pokémon Emerald mean, and the milestones up to the first badge; addresses are in `memory`."""

from __future__ import annotations

from parcade.game.fields import Read, choice, counted, flag, number
from parcade.game.milestone import Milestone
from parcade.game.pokemon_emerald import memory as at
from parcade.game.pokemon_emerald.party import PARTY_SLOTS
from parcade.game.pokemon_emerald.state import State

_SCREENS = tuple(dict.fromkeys((*at.SCREENS.values(), "other")))
_BATTLE_MENUS = ("none", *at.BATTLE_MENUS.values())
_STORY = {  # in the usual order
    "running": "a map is loaded",
    "named": "the player has a name",
    "littleroot": "the player has been outside in Littleroot Town",
    "clock_set": "the clock in the player's room is set",
    "intro_done": "the player may leave the house",
    "rivals_house": "the player has met the rival's mother",
    "starter": "the player has a first Pokémon",
    "oldale": "the player has been in Oldale Town",
    "rival_beaten": "the rival on Route 103 is beaten",
    "pokedex": "the player has the Pokédex",
    "petalburg": "the player has been in Petalburg City",
    "rustboro": "the player has been in Rustboro City",
    "first_badge": "the player has the badge of Rustboro City",
    "champion": "the champion is beaten",
}
_FLAGS = {
    **at.FLAG_VISITED,
    "clock_set": at.FLAG_CLOCK_SET,
    "rivals_house": at.FLAG_MET_RIVALS_MOTHER,
    "rival_beaten": at.FLAG_BEAT_RIVAL_103,
    "pokedex": at.FLAG_POKEDEX,
    "running_shoes": at.FLAG_RUNNING_SHOES,
    "champion": at.FLAG_CHAMPION,
}


def _flag(bit: int) -> Read:
    return lambda state: state.flag(bit)


def _screen(state: State) -> float:
    return _SCREENS.index(state.screen) if state.screen in _SCREENS else _SCREENS.index("other")


def _battle_menu(state: State) -> float:
    return 0 if state.battle is None or not state.battle.menu else _BATTLE_MENUS.index(state.battle.menu)


def _foe_hp(state: State) -> float:
    foe = None if state.battle is None else state.battle.foe
    return 0.0 if foe is None else 100 * foe.hp / max(foe.max_hp, foe.hp, 1)


def _party_hp(state: State) -> float:
    most = sum(max(member.max_hp, member.hp) for member in state.party)
    return 100 * sum(member.hp for member in state.party) / most if most else 0.0


def _trainers_beaten(state: State) -> float:
    return (int.from_bytes(state.flags, "little") & at.TRAINER_MASK).bit_count()


FIELDS = {
    "running": flag(_STORY["running"]),
    "settled": flag("memory is whole: no battle or menu is just opening; trust other fields only then"),
    "screen": choice("what is on the screen", _SCREENS, _screen),
    "map": choice(
        "the map the player is on",
        {name: 256 * group + number for (group, number), name in at.MAP_NAMES.items()},
        lambda state: 256 * state.group + state.number,
    ),
    "x": number("the player's column on the map, in tiles", -32768, 32767),
    "y": number("the player's row on the map, in tiles", -32768, 32767),
    "facing": choice("where the player looks", at.FACINGS, lambda state: at.FACINGS.index(state.facing)),
    "dialogue": flag("a text box is open"),
    "menu": flag("the START menu is open"),
    "locked": flag("a script keeps the player from walking"),
    "in_battle": flag("a battle is under way", lambda state: state.battle is not None),
    "trainer_battle": flag(
        "the battle is one against a trainer", lambda state: state.battle is not None and state.battle.trainer != 0
    ),
    "battle_menu": choice("what a battle waits for", _BATTLE_MENUS, _battle_menu),
    "foe_hp": number("HP of the foe's Pokémon, in percent; 0 outside battles", 0, 100, _foe_hp),
    "foe_level": number(
        "level of the foe's Pokémon; 0 outside battles",
        read=lambda state: 0 if state.battle is None else state.battle.foe.level,
    ),
    "party_size": number("Pokémon in the party", 0, PARTY_SLOTS, lambda state: len(state.party)),
    "level": number(
        "level of the strongest Pokémon", read=lambda state: max((member.level for member in state.party), default=0)
    ),
    "level_sum": number(
        "levels of the party together", 0, 255 * PARTY_SLOTS, lambda state: sum(member.level for member in state.party)
    ),
    "party_hp": number("HP of the party, in percent", 0, 100, _party_hp),
    "money": number("money", 0, 2**32 - 1),
    "coins": number("coins of the game corner", 0, 65535),
    "badges": number("badges, of 8", 0, 8, lambda state: state.badges.bit_count()),
    "caught": number("species caught", 0, 8 * at.DEX_SIZE),
    "seen": number("species seen", 0, 8 * at.DEX_SIZE),
    "trainers_beaten": number("trainers beaten", 0, at.TRAINERS[1] - at.TRAINERS[0], _trainers_beaten),
    "intro": number(
        "how far the first scene is; 7: the player may leave the house",
        *(0, 65535, lambda state: state.variable(at.VAR_INTRO)),
    ),
    "named": flag(_STORY["named"], lambda state: bool(state.name.strip())),
    "intro_done": flag(_STORY["intro_done"], lambda state: state.variable(at.VAR_INTRO) >= at.INTRO_DONE),
    "starter": flag(_STORY["starter"], lambda state: bool(state.party)),
    "first_badge": flag(_STORY["first_badge"], lambda state: state.badges & 1),
    **{name: flag(_STORY.get(name, "the player has the running shoes"), _flag(bit)) for name, bit in _FLAGS.items()},
    "maps": counted("maps entered in this episode", 1e5, lambda progress: progress["maps"]),
    "tiles": counted("tiles stood on in this episode", 1e6, lambda progress: progress["tiles"]),
    "story": counted("story flags set, those of the start included", 2400, lambda progress: progress["story"]),
    "battles": counted("battles begun in this episode", 1e6, lambda progress: progress["battles"]),
    "blackouts": counted("times that the whole party fainted", 1e6, lambda progress: progress["blackouts"]),
}


def _milestone(name: str, words: str) -> Milestone:
    return Milestone(name, name if name == "named" else f"settled and {name}", words)


MILESTONES = tuple(_milestone(name, words) for name, words in _STORY.items())
