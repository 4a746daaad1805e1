"""What the numbers of Pokémon Red mean, and the milestones up to the second badge; addresses are in `memory`.

Map numbers are those of pret/pokered, constants/map_constants.asm, event flags those of constants/event_constants.asm.
"""

from __future__ import annotations

from parcade.game.fields import Read, choice, counted, flag, number
from parcade.game.milestone import Milestone
from parcade.game.pokemon_red.memory import LOST, NO_BATTLE, PARTY_SIZE, TRAINER, WILD, RedState

PALLET_TOWN, VIRIDIAN_CITY, PEWTER_CITY, CERULEAN_CITY, ROUTE_1 = 0x00, 0x01, 0x02, 0x03, 0x0C
REDS_HOUSE_2F, OAKS_LAB, VIRIDIAN_FOREST = 0x26, 0x28, 0x33
GOT_STARTER, GOT_POKEDEX, OAK_GOT_PARCEL, GOT_OAKS_PARCEL, BEAT_BROCK, BEAT_MISTY = 0x22, 0x25, 0x38, 0x39, 0x77, 0xBF
MUSEUM_TICKET = 0x68  # set and cleared at every visit to the museum: no progress
COUNTED_EVENTS = ~(1 << MUSEUM_TICKET)
MILESTONE_EVENTS = {
    "starter": GOT_STARTER,
    "parcel": GOT_OAKS_PARCEL,
    "parcel_delivered": OAK_GOT_PARCEL,
    "pokedex": GOT_POKEDEX,
    "beat_brock": BEAT_BROCK,
    "beat_misty": BEAT_MISTY,
}
MILESTONE_MAPS = {
    "pallet_town": PALLET_TOWN,
    "oaks_lab": OAKS_LAB,
    "route_1": ROUTE_1,
    "viridian_city": VIRIDIAN_CITY,
    "viridian_forest": VIRIDIAN_FOREST,
    "pewter_city": PEWTER_CITY,
    "cerulean_city": CERULEAN_CITY,
}
_EVENT_WORDS = {
    "starter": "the player has a first Pokémon from Oak",
    "parcel": "the player has taken Oak's parcel from the shop in Viridian City",
    "parcel_delivered": "Oak has his parcel",
    "pokedex": "the player has the Pokédex",
    "beat_brock": "Brock, the leader in Pewter City, is beaten",
    "beat_misty": "Misty, the leader in Cerulean City, is beaten",
}
_WAY = (
    *("pallet_town", "oaks_lab", "starter", "route_1", "viridian_city", "parcel", "parcel_delivered", "pokedex"),
    *("viridian_forest", "pewter_city", "beat_brock", "cerulean_city", "beat_misty"),
)


def _event(bit: int) -> Read:
    return lambda state: state.events >> bit & 1


def _share(hp: int, most: int) -> float:
    return 100 * min(hp, most) / most if most else 0.0


def _opponent_hp(state: RedState) -> float:
    return 0.0 if state.battle == NO_BATTLE else _share(state.opponent.hp, state.opponent.max_hp)


FIELDS = {
    "in_game": flag("a game is loaded"),
    "in_control": flag("the next direction pressed moves the player"),
    "map": choice(
        "the map the player is on, by its number in the game",
        {"players_room": REDS_HOUSE_2F, **MILESTONE_MAPS},
        lambda state: state.map_id,
    ),
    "x": number("the player's column on the map, in tiles"),
    "y": number("the player's row on the map, in tiles"),
    "text_open": flag("a text box is open"),
    "battle": choice("the battle under way", {"none": NO_BATTLE, "wild": WILD, "trainer": TRAINER, "lost": LOST}),
    "opponent_hp": number("HP of the opponent's Pokémon, in percent; 0 outside battles", 0, 100, _opponent_hp),
    "opponent_level": number(
        "level of the opponent's Pokémon; 0 outside battles",
        0,
        255,
        lambda state: 0 if state.battle == NO_BATTLE else state.opponent.level,
    ),
    "party_size": number("Pokémon in the party", 0, PARTY_SIZE, lambda state: len(state.party)),
    "level_sum": number("levels of the party together", 0, 255 * PARTY_SIZE),
    "level": number(
        "level of the strongest Pokémon", 0, 255, lambda state: max((mon.level for mon in state.party), default=0)
    ),
    "party_hp": number("HP of the party, in percent", 0, 100, lambda state: 100 * min(1.0, state.hp_fraction)),
    "badges": number("badges, of 8", 0, 8, lambda state: state.badges.bit_count()),
    "money": number("money", 0, 999_999),
    "coins": number("coins of the game corner", 0, 9999),
    "items": number("kinds of things in the bag", 0, 20, lambda state: len(state.items)),
    "owned": number("species owned", 0, 152, lambda state: state.owned.bit_count()),
    "seen": number("species seen", 0, 152, lambda state: state.seen.bit_count()),
    "events": number(
        "event flags set in the loaded game", 0, 2560, lambda state: (state.events & COUNTED_EVENTS).bit_count()
    ),
    **{name: flag(words, _event(MILESTONE_EVENTS[name])) for name, words in _EVENT_WORDS.items()},
    "coordinates": counted("tiles stood on in this episode", 1e6, lambda progress: len(progress["tiles"])),
    "maps": counted("maps entered in this episode", 256, lambda progress: len(progress["maps"])),
    "blackouts": counted("times that the whole party fainted", 1e6, lambda progress: progress["blackouts"]),
}


def _milestone(name: str) -> Milestone:
    if name in _EVENT_WORDS:
        return Milestone(name, f"in_game and {name}", _EVENT_WORDS[name])
    place = name.replace("_", " ").title().replace("Oaks", "Oak's")
    return Milestone(name, f"in_game and map == '{name}'", f"the player has been in {place}")


MILESTONES = tuple(map(_milestone, _WAY))
