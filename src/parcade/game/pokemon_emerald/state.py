"""The state of Pokemon Emerald, read from a console's memory: all of RAM in two views, little of the ROM."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from parcade.console.base import AddressError, Memory
from parcade.game.memory_map import count_bits
from parcade.game.pokemon_emerald import memory as at
from parcade.game.pokemon_emerald.party import (
    MEMBER_SIZE,
    PARTY_SLOTS,
    Item,
    Member,
    decode_bag,
    decode_party,
    decode_text,
)

REACH = 3  # the surroundings are a square of 2 * REACH + 1 blocks with the player in the middle
SIDE = 2 * REACH + 1
NOWHERE = (at.BLOCKED,) * (SIDE * SIDE)

_EWRAM, _IWRAM = at.EWRAM[0], at.IWRAM[0]
_POINTERS = struct.Struct("<II44xiiI")  # save blocks, backup layout; from SAVE_POINTERS on
_CALLBACKS = struct.Struct("<4xI4xI")  # callback2, vblank callback; from MAIN on
_PLACE = struct.Struct("<hhBB")
_MONEY = struct.Struct("<IH")
_TIME = struct.Struct("<HBB")
_OBJECT = struct.Struct("<I12xhh4xB11x")  # bits, x, y, facing
_TILESETS = struct.Struct("<II")
_WORD = struct.Struct("<I")
_HALF = struct.Struct("<H")
_ROW = struct.Struct(f"<{SIDE}H")
_FIGHTER = struct.Struct("<H10x4H20xHBxH30xI8x")  # species, moves, hp, level, max hp, status
_OBJECT_ACTIVE, _OBJECT_HIDDEN, _OBJECT_PLAYER = 1 << 0, 1 << 13, 1 << 16
_FIRST_SIZE = at.VARIABLES + at.VARIABLES_SIZE  # as far as anything is read of the save blocks
_SECOND_SIZE = at.SECURITY_KEY + 4

Bytes = bytes | memoryview


class Fighter(NamedTuple):
    """One side's active Pokemon in a battle."""

    species: int
    level: int
    hp: int
    max_hp: int
    status: int
    moves: tuple[int, int, int, int]


class Battle(NamedTuple):
    """A battle under way. ``trainer`` is 0 for a wild one; ``menu`` is action, move, target, yes_no or empty."""

    own: Fighter
    foe: Fighter
    kind: int
    trainer: int
    outcome: str
    menu: str
    action_cursor: int
    move_cursor: int


class State(NamedTuple):
    """Everything read after a step.

    ``running`` is False before a game is started or continued; all else is then 0 or empty, but for ``name`` and
    ``screen``. ``settled`` is False while the game rearranges its own memory (see ``read``): values may then be torn,
    and nothing is rewarded.
    """

    running: bool = False
    settled: bool = False
    screen: str = ""
    name: str = ""
    female: bool = False
    trainer_id: int = 0
    play_time_s: int = 0
    group: int = 0
    number: int = 0
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    layout: int = 0
    facing: str = "none"
    behaviour: int = 0
    elevation: int = 0
    surroundings: tuple[int, ...] = NOWHERE  # kinds, row by row
    money: int = 0
    coins: int = 0
    badges: int = 0  # bit i: badge i + 1
    caught: int = 0
    seen: int = 0
    party: tuple[Member, ...] = ()
    bag: tuple[Item, ...] = ()
    flags: bytes = bytes(at.FLAGS_SIZE)
    variables: bytes = bytes(at.VARIABLES_SIZE)
    dialogue: bool = False
    locked: bool = False
    script: bool = False
    menu: bool = False
    battle: Battle | None = None

    @property
    def map_name(self) -> str:
        """The current map's name, or ``group.number``."""
        return at.map_name(self.group, self.number)

    def flag(self, number: int) -> bool:
        """Whether event flag ``number`` is set."""
        return bool(self.flags[number >> 3] >> (number & 7) & 1)

    def variable(self, number: int) -> int:
        """Return event variable ``number`` (0x4000 to 0x40FF)."""
        low = 2 * (number - at.FIRST_VARIABLE)
        return self.variables[low] | self.variables[low + 1] << 8

    @property
    def milestones(self) -> dict[str, bool]:
        """The first steps of the story, in the usual order."""
        visited = {name: self.flag(flag) for name, flag in at.FLAG_VISITED.items()}
        return {
            "running": self.running,
            "named": bool(self.name.strip()),
            "littleroot": visited["littleroot"],
            "clock_set": self.flag(at.FLAG_CLOCK_SET),
            "intro_done": self.variable(at.VAR_INTRO) >= at.INTRO_DONE,
            "rivals_house": self.flag(at.FLAG_MET_RIVALS_MOTHER),
            "starter": bool(self.party),  # the flag of the same meaning is set before the choice
            "oldale": visited["oldale"],
            "rival_beaten": self.flag(at.FLAG_BEAT_RIVAL_103),
            "pokedex": self.flag(at.FLAG_POKEDEX),
            "petalburg": visited["petalburg"],
            "rustboro": visited["rustboro"],
            "first_badge": bool(self.badges & 1),
            "champion": self.flag(at.FLAG_CHAMPION),
        }


def read_state(memory: Memory) -> State:
    """Return what memory means now; never fails, whatever the game is doing.

    The save blocks move each time a battle or a menu opens, so their pointers are read every time. While the game
    moves them or changes the security key, or while it has a party member decrypted in place, a frame may end:
    then the vblank callback is empty, the money is impossible or a checksum is wrong, and ``settled`` is False.
    """
    ewram = memory.read(_EWRAM, at.EWRAM[1] - _EWRAM)  # on a GBA console both are views, not copies
    iwram = memory.read(_IWRAM, at.IWRAM[1] - _IWRAM)
    save_1, save_2, columns, rows, blocks = _POINTERS.unpack_from(iwram, at.SAVE_POINTERS - _IWRAM)
    callback, vblank = _CALLBACKS.unpack_from(iwram, at.MAIN - _IWRAM)
    screen = at.SCREENS.get(callback & ~1, "other")
    if not (_fits(save_1, at.SAVE_1_SIZE, at.EWRAM) and _fits(save_2, at.SAVE_2_SIZE, at.EWRAM)):
        return State(screen=screen)
    second = bytes(ewram[save_2 - _EWRAM : save_2 - _EWRAM + _SECOND_SIZE])
    name = decode_text(second[at.NAME : at.NAME + 8]).rstrip()
    (layout,) = _WORD.unpack_from(ewram, at.MAP_HEADER - _EWRAM)
    width, height = columns - at.BORDER_WIDTH, rows - at.BORDER_HEIGHT
    if not (_fits(layout, 0x18, at.ROM) and _plausible(width, height, blocks)):
        return State(screen=screen, name=name)  # at the title, in the menu, or during the professor's speech
    first = bytes(ewram[save_1 - _EWRAM : save_1 - _EWRAM + _FIRST_SIZE])
    x, y, group, number = _PLACE.unpack_from(first, at.POSITION)
    player, facing, people = _people(ewram)
    if player is not None:  # the save block's place does not follow scripted moves
        x, y = player
    inside = 0 <= x < width and 0 <= y < height
    under, around = (0, NOWHERE)
    if inside:
        behaviours, kinds = _block_tables(*_attributes(memory, layout))
        under, around = _look_around(ewram, kinds, blocks - _EWRAM, columns, x, y, people)
    (key,) = _WORD.unpack_from(second, at.SECURITY_KEY)
    money, coins = _MONEY.unpack_from(first, at.MONEY)
    money ^= key
    party = _read_party(ewram)
    hours, minutes, seconds = _TIME.unpack_from(second, at.PLAY_TIME)
    return State(
        running=True,
        settled=inside and vblank != 0 and money <= at.MOST_MONEY and all(member.valid for member in party),
        screen=screen,
        name=name,
        female=second[at.GENDER] == 1,
        trainer_id=_WORD.unpack_from(second, at.TRAINER_ID)[0],
        play_time_s=3600 * hours + 60 * minutes + seconds,
        group=group,
        number=number,
        x=x,
        y=y,
        width=width,
        height=height,
        layout=_HALF.unpack_from(ewram, at.LAYOUT_ID - _EWRAM)[0],
        facing=facing,
        behaviour=behaviours[under & 0x3FF] if inside else 0,
        elevation=under >> 12,
        surroundings=around,
        money=money,
        coins=coins ^ (key & 0xFFFF),
        badges=_HALF.unpack_from(first, at.FLAGS + (at.FLAG_FIRST_BADGE >> 3))[0] >> 7 & 0xFF,
        caught=count_bits(second[at.DEX_CAUGHT : at.DEX_CAUGHT + at.DEX_SIZE]),
        seen=count_bits(second[at.DEX_SEEN : at.DEX_SEEN + at.DEX_SIZE]),
        party=party,
        bag=decode_bag(first[at.BAG : at.BAG + at.BAG_SIZE], key & 0xFFFF),
        flags=first[at.FLAGS : at.FLAGS + at.FLAGS_SIZE],
        variables=first[at.VARIABLES :],
        dialogue=ewram[at.MESSAGE_BOX - _EWRAM] != 0 or (screen == "overworld" and _text_box_shown(ewram, iwram)),
        locked=iwram[at.CONTROLS_LOCKED - _IWRAM] != 0,
        script=iwram[at.SCRIPT_STATUS - _IWRAM] == 0,
        menu=ewram[at.START_MENU_WINDOW - _EWRAM] != 0xFF,
        battle=_read_battle(ewram, iwram) if iwram[at.MAIN_BITS - _IWRAM] & 2 else None,
    )


def _fits(address: int, size: int, region: tuple[int, int]) -> bool:
    return region[0] <= address and address + size <= region[1]


def _plausible(width: int, height: int, blocks: int) -> bool:
    """Whether a map is loaded."""
    size = (width + at.BORDER_WIDTH) * (height + at.BORDER_HEIGHT)
    return width > 0 and height > 0 and size <= at.MOST_BLOCKS and _fits(blocks, 2 * size, at.EWRAM)


def _read_party(ewram: Bytes) -> tuple[Member, ...]:
    start = at.PARTY - _EWRAM
    return decode_party(bytes(ewram[start : start + MEMBER_SIZE * PARTY_SLOTS]), ewram[at.PARTY_COUNT - _EWRAM])


def _text_box_shown(ewram: Bytes, iwram: Bytes) -> bool:
    """Whether the field's text box is on the screen, printing or waiting."""
    (tilemap,) = _WORD.unpack_from(iwram, at.WINDOW_TILEMAPS - _IWRAM)
    if not _fits(tilemap, at.TILEMAP_SIZE, at.EWRAM):
        return False
    (entry,) = _HALF.unpack_from(ewram, tilemap - _EWRAM + at.TEXT_BOX_ENTRY)
    return bool(entry & at.TILE_MASK == at.TEXT_BOX_TILE)


def _people(ewram: Bytes) -> tuple[tuple[int, int] | None, str, list[tuple[int, int]]]:
    """Return where the player stands and looks, and the map positions of everybody and everything else around."""
    player, facing, people = None, 0, []
    for bits, x, y, directions in _OBJECT.iter_unpack(ewram[at.OBJECT_EVENTS - _EWRAM : at.OBJECT_EVENTS_END - _EWRAM]):
        if not bits & _OBJECT_ACTIVE:
            continue
        if bits & _OBJECT_PLAYER:
            player, facing = (x - at.BORDER, y - at.BORDER), directions & 15
        elif not bits & _OBJECT_HIDDEN:
            people.append((x - at.BORDER, y - at.BORDER))
    return player, at.FACINGS[facing] if facing < len(at.FACINGS) else "none", people


def _look_around(
    ewram: Bytes, kinds_by_block: bytes, blocks: int, columns: int, x: int, y: int, people: list[tuple[int, int]]
) -> tuple[int, tuple[int, ...]]:
    """Return the block under the player, and the kinds of the blocks around."""
    corner = blocks + 2 * ((y + at.BORDER - REACH) * columns + x + at.BORDER - REACH)
    rows = [_ROW.unpack_from(ewram, corner + 2 * columns * row) for row in range(SIDE)]
    kinds = [kinds_by_block[block & 0xFFF] for row in rows for block in row]
    for person_x, person_y in people:
        column, row = person_x - x + REACH, person_y - y + REACH
        if 0 <= column < SIDE and 0 <= row < SIDE:
            kinds[row * SIDE + column] = at.PERSON
    return rows[REACH][REACH], tuple(kinds)


def _attributes(memory: Memory, layout: int) -> tuple[bytes, bytes]:
    """Return the metatile attributes of both tilesets; empty where a pointer leads nowhere or the ROM is too short."""
    try:
        primary, secondary = _TILESETS.unpack(memory.read(layout + 0x10, 8))
        return _attributes_of(memory, primary), _attributes_of(memory, secondary)
    except AddressError:
        return b"", b""


def _attributes_of(memory: Memory, tileset: int) -> bytes:
    (address,) = _WORD.unpack(memory.read(tileset + 0x10, 4))
    return bytes(memory.read(address, 2 * at.PRIMARY_METATILES))


@lru_cache(maxsize=128)
def _block_tables(primary: bytes, secondary: bytes) -> tuple[bytes, bytes]:
    """Return the behaviour per metatile, and the kind per block without its elevation.

    Attributes are 16 bits a metatile with the behaviour in the low byte; a block is a metatile and two collision bits.
    """
    behaviours = primary[::2].ljust(at.PRIMARY_METATILES, b"\0") + secondary[::2].ljust(at.PRIMARY_METATILES, b"\0")
    free = bytearray(at.FREE_KINDS[behaviour] for behaviour in behaviours)
    free[at.UNDEFINED_BLOCK] = at.BLOCKED
    return behaviours, bytes(free) + 3 * bytes(at.SOLID_KINDS[behaviour] for behaviour in behaviours)


def _read_battle(ewram: Bytes, iwram: Bytes) -> Battle:
    """Return the battle as seen from the player's first and the first opponent's place."""
    (kind,) = _WORD.unpack_from(ewram, at.BATTLE_TYPE - _EWRAM)
    (opponent,) = _HALF.unpack_from(ewram, at.OPPONENT_TRAINER - _EWRAM)
    (controller,) = _WORD.unpack_from(iwram, at.CONTROLLERS - _IWRAM)
    outcome = ewram[at.BATTLE_OUTCOME - _EWRAM] & 0x7F
    return Battle(
        own=_fighter(ewram, at.BATTLE_MONS - _EWRAM),
        foe=_fighter(ewram, at.BATTLE_MONS - _EWRAM + _FIGHTER.size),
        kind=kind,
        trainer=opponent if kind & at.BATTLE_TRAINER else 0,
        outcome=at.OUTCOMES[outcome] if outcome < len(at.OUTCOMES) else "other",
        menu=at.BATTLE_MENUS.get(controller & ~1, ""),
        action_cursor=ewram[at.BATTLE_CURSORS - _EWRAM],
        move_cursor=ewram[at.BATTLE_CURSORS - _EWRAM + 4],
    )


def _fighter(ewram: Bytes, offset: int) -> Fighter:
    species, move_1, move_2, move_3, move_4, hp, level, most, status = _FIGHTER.unpack_from(ewram, offset)
    return Fighter(species, level, hp, most, status, (move_1, move_2, move_3, move_4))
