"""The state of Pokemon Emerald, read from a console's memory in a dozen block reads."""

from __future__ import annotations

import struct
from typing import NamedTuple

from parcade.console.base import AddressError, Memory
from parcade.game import emerald_memory as at
from parcade.game.emerald_party import MEMBER_SIZE, PARTY_SLOTS, Item, Member, decode_bag, decode_party, decode_text
from parcade.game.memory_map import count_bits

REACH = 3  # the surroundings are a square of 2 * REACH + 1 blocks with the player in the middle
SIDE = 2 * REACH + 1
NOWHERE = (at.BLOCKED,) * (SIDE * SIDE)

_POINTERS = struct.Struct("<4I28x2I44xiiI")  # controllers, save blocks, backup layout; from CONTROLLERS on
_CALLBACKS = struct.Struct("<4xI4xI")  # callback2, vblank callback; from MAIN on
_PLACE = struct.Struct("<hhBB")
_MONEY = struct.Struct("<IH")
_TIME = struct.Struct("<HBB")
_OBJECT = struct.Struct("<I12xhh4xB11x")  # bits, x, y, facing
_ROW = struct.Struct(f"<{SIDE}H")
_FIGHTER = struct.Struct("<H10x4H20xHBxH30xI8x")  # species, moves, hp, level, max hp, status
_OBJECT_ACTIVE, _OBJECT_HIDDEN, _OBJECT_PLAYER = 1 << 0, 1 << 13, 1 << 16
_FIELD_SIZE = at.MESSAGE_BOX + 1 - at.MAP_HEADER


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
    pointers = memory.read(at.CONTROLLERS, _POINTERS.size)
    controller, _, _, _, save_1, save_2, width, height, blocks = _POINTERS.unpack(pointers)
    callback, vblank = _CALLBACKS.unpack(memory.read(at.MAIN, _CALLBACKS.size))
    screen = at.SCREENS.get(callback & ~1, "other")
    if not (_fits(save_1, at.SAVE_1_SIZE, at.EWRAM) and _fits(save_2, at.SAVE_2_SIZE, at.EWRAM)):
        return State(screen=screen)
    second = memory.read(save_2, at.SAVE_2_READ)
    name = decode_text(bytes(second[at.NAME : at.NAME + 8])).rstrip()
    field = memory.read(at.MAP_HEADER, _FIELD_SIZE)
    layout = int.from_bytes(field[:4], "little")
    width, height = width - at.BORDER_WIDTH, height - at.BORDER_HEIGHT
    if not (_fits(layout, 0x18, at.ROM) and _plausible(width, height, blocks)):
        return State(screen=screen, name=name)  # at the title, in the menu, or during the professor's speech
    first = memory.read(save_1, at.VARIABLES + at.VARIABLES_SIZE)
    x, y, group, number = _PLACE.unpack_from(first, at.POSITION)
    key = int.from_bytes(second[at.SECURITY_KEY : at.SECURITY_KEY + 4], "little")
    money, coins = _MONEY.unpack_from(first, at.MONEY)
    money, coins = money ^ key, coins ^ (key & 0xFFFF)
    count = memory.read(at.PARTY_COUNT, 1)[0]
    party = decode_party(bytes(memory.read(at.PARTY, MEMBER_SIZE * PARTY_SLOTS)), count)
    flags = bytes(first[at.FLAGS : at.FLAGS + at.FLAGS_SIZE])
    hours, minutes, seconds = _TIME.unpack_from(second, at.PLAY_TIME)
    fighting = memory.read(at.MAIN_BITS, 1)[0] & 2
    facing, people = _people(field)
    behaviour, elevation, surroundings = _look_around(memory, layout, blocks, width, height, x, y, people)
    status = memory.read(at.SCRIPT_STATUS, at.CONTROLS_LOCKED + 1 - at.SCRIPT_STATUS)
    settled = vblank != 0 and money <= at.MOST_MONEY and all(member.valid for member in party)
    return State(
        True,
        settled and 0 <= x < width and 0 <= y < height,
        screen,
        name,
        second[at.NAME + 8] == 1,
        int.from_bytes(second[at.TRAINER_ID : at.TRAINER_ID + 4], "little"),
        3600 * hours + 60 * minutes + seconds,
        group,
        number,
        x,
        y,
        width,
        height,
        int.from_bytes(field[0x12:0x14], "little"),
        facing,
        behaviour,
        elevation,
        surroundings,
        money,
        coins,
        int.from_bytes(flags[at.FLAG_FIRST_BADGE >> 3 : (at.FLAG_FIRST_BADGE >> 3) + 2], "little") >> 7 & 0xFF,
        count_bits(second[at.DEX_CAUGHT : at.DEX_CAUGHT + at.DEX_SIZE]),
        count_bits(second[at.DEX_SEEN : at.DEX_SEEN + at.DEX_SIZE]),
        party,
        decode_bag(bytes(first[at.BAG : at.BAG + at.BAG_SIZE]), key & 0xFFFF),
        flags,
        bytes(first[at.VARIABLES :]),
        field[-1] != 0,
        status[-1] != 0,
        status[0] == 0,
        memory.read(at.START_MENU_WINDOW, 1)[0] != 0xFF,
        _read_battle(memory, controller) if fighting else None,
    )


def _fits(address: int, size: int, region: tuple[int, int]) -> bool:
    return region[0] <= address and address + size <= region[1]


def _plausible(width: int, height: int, blocks: int) -> bool:
    """Whether a map is loaded."""
    size = (width + at.BORDER_WIDTH) * (height + at.BORDER_HEIGHT)
    return width > 0 and height > 0 and size <= at.MOST_BLOCKS and _fits(blocks, 2 * size, at.EWRAM)


def _people(field: bytes | memoryview) -> tuple[str, list[tuple[int, int]]]:
    """Return where the player looks, and the map positions of everybody and everything else that stands around."""
    objects = field[at.OBJECT_EVENTS - at.MAP_HEADER : at.PLAYER_AVATAR - at.MAP_HEADER]
    facing, people = 0, []
    for bits, x, y, directions in _OBJECT.iter_unpack(objects):
        if not bits & _OBJECT_ACTIVE:
            continue
        if bits & _OBJECT_PLAYER:
            facing = directions & 15
        elif not bits & _OBJECT_HIDDEN:
            people.append((x - at.BORDER, y - at.BORDER))
    return at.FACINGS[facing] if facing < len(at.FACINGS) else "none", people


def _look_around(
    memory: Memory, layout: int, blocks: int, width: int, height: int, x: int, y: int, people: list[tuple[int, int]]
) -> tuple[int, int, tuple[int, ...]]:
    """Return the behaviour and elevation under the player, and the kinds of the blocks around."""
    if not (0 <= x < width and 0 <= y < height):
        return 0, 0, NOWHERE
    stride = width + at.BORDER_WIDTH
    corner = (y + at.BORDER - REACH) * stride + x + at.BORDER - REACH
    window = memory.read(blocks + 2 * corner, 2 * (stride * (SIDE - 1) + SIDE))
    primary, secondary = _attributes(memory, layout)
    kinds, behaviours = [], []
    for start in range(0, 2 * stride * SIDE, 2 * stride):
        for block in _ROW.unpack_from(window, start):
            metatile = block & 0x3FF
            table = primary if metatile < at.PRIMARY_METATILES else secondary
            index = 2 * (metatile & 0x1FF)
            behaviour = table[index] if index < len(table) else 0
            behaviours.append(behaviour)
            if block == at.UNDEFINED_BLOCK:
                kinds.append(at.BLOCKED)
            else:
                kinds.append(at.SOLID_KINDS[behaviour] if block & 0xC00 else at.FREE_KINDS[behaviour])
    for person_x, person_y in people:
        column, row = person_x - x + REACH, person_y - y + REACH
        if 0 <= column < SIDE and 0 <= row < SIDE:
            kinds[row * SIDE + column] = at.PERSON
    middle = _ROW.unpack_from(window, 2 * stride * REACH)[REACH]
    return behaviours[SIDE * SIDE // 2], middle >> 12, tuple(kinds)


def _attributes(memory: Memory, layout: int) -> tuple[bytes | memoryview, bytes | memoryview]:
    """Return the metatile attributes (u16 each, low byte = behaviour) of both tilesets; empty where unreadable."""
    try:
        primary, secondary = struct.unpack("<II", memory.read(layout + 0x10, 8))
        return _attributes_of(memory, primary), _attributes_of(memory, secondary)
    except AddressError:  # a pointer into nowhere, or a ROM shorter than the game's
        return b"", b""


def _attributes_of(memory: Memory, tileset: int) -> bytes | memoryview:
    address = int.from_bytes(memory.read(tileset + 0x10, 4), "little")
    return memory.read(address, 2 * at.PRIMARY_METATILES)


def _read_battle(memory: Memory, controller: int) -> Battle:
    mons = memory.read(at.BATTLE_MONS, 2 * _FIGHTER.size)
    cursors = memory.read(at.BATTLE_CURSORS, 8)
    kind = int.from_bytes(memory.read(at.BATTLE_TYPE, 4), "little")
    outcome = memory.read(at.BATTLE_OUTCOME, 1)[0] & 0x7F
    opponent = int.from_bytes(memory.read(at.OPPONENT_TRAINER, 2), "little")
    return Battle(
        _fighter(mons, 0),
        _fighter(mons, _FIGHTER.size),
        kind,
        opponent if kind & at.BATTLE_TRAINER else 0,
        at.OUTCOMES[outcome] if outcome < len(at.OUTCOMES) else "other",
        at.BATTLE_MENUS.get(controller & ~1, ""),
        cursors[0],
        cursors[4],
    )


def _fighter(mons: bytes | memoryview, offset: int) -> Fighter:
    species, move_1, move_2, move_3, move_4, hp, level, most, status = _FIGHTER.unpack_from(mons, offset)
    return Fighter(species, level, hp, most, status, (move_1, move_2, move_3, move_4))
