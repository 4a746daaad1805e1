"""Where Link's Awakening keeps its state, and the record read from it.

Addresses are those of the public disassembly zladx/LADX-Disassembly (src/constants/memory/wram.asm and hram.asm,
constants in gameplay.asm, inventory.asm, entities.asm, maps.asm, directions.asm), which rebuilds DX. The addresses
below DC00 agree with Data Crystal's RAM map of the original. Work RAM from D000 is bank 1 on a Game Boy Color.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from parcade.console.base import Memory
from parcade.game.memory_map import decode_bcd

OVERWORLD, INDOOR, DUNGEON = 0, 1, 2
WORLD, INVENTORY, WORLD_MAP, CREDITS = 0x0B, 0x0C, 0x07, 0x01  # wGameplayType
FIRST_PLAY_SCREEN, LAST_PLAY_SCREEN = 0x06, 0x1A  # below are the intro and the file screens
IN_PLAY_SUBTYPE = 0x07  # wGameplaySubtype of WORLD once it is loaded
WARP_DONE = 4  # wTransitionSequenceCounter while no map fade is under way
INTERACTIVE, SWIMMING, PASSING_OUT = 0, 1, 7  # wLinkMotionState
EIGHTHS_PER_HEART = 8
TAIL_CAVE, COLOR_DUNGEON = 0x00, 0xFF  # hMapId
SLIME_KEY = 6  # what five golden leaves become
DUNGEON_MAPS = frozenset((*range(9), COLOR_DUNGEON))  # eight dungeons, the Wind Fish's Egg, the Color Dungeon
INDOOR_B_MAPS = range(0x06, 0x1A)  # maps whose rooms are in the second group of 256
SWORD, BOMBS, BRACELET, SHIELD, BOW, HOOKSHOT, MAGIC_ROD = 1, 2, 3, 4, 5, 6, 7
BOOTS, OCARINA, FEATHER, SHOVEL, POWDER, BOOMERANG = 8, 9, 10, 11, 12, 13
LAST_ITEM = BOOMERANG

_ENTITIES = 16
_ALIVE = frozenset((4, 5, 6))  # entity status: being set up, active, stunned
_SIDE_VIEW = 2  # hIsSideScrolling
_HARMLESS = 0x80  # bit of the entity's physics flags
_SVBK = 0xFF70  # which work RAM bank the CPU of a Game Boy Color sees from D000


class Entity(NamedTuple):
    """Something that moves in the room; ``x`` and ``y`` in pixels of the room, negative left of and above it."""

    slot: int
    kind: int
    x: int
    y: int
    z: int
    status: int
    health: int
    direction: int
    hostile: bool  # touching it hurts


class DungeonItems(NamedTuple):
    """What Link holds for one dungeon."""

    map: int
    compass: int
    stone_beak: int
    nightmare_key: int
    small_keys: int


class LinkState(NamedTuple):
    """Everything the title knows of one moment. Fields from ``item_b`` to ``songs`` are what Link owns."""

    category: int  # OVERWORLD, INDOOR or DUNGEON
    map_id: int  # of the last indoor map while on the overworld
    room: int
    x: int
    y: int
    z: int
    side_view: bool
    direction: int  # 0 right, 1 left, 2 up, 3 down
    motion: int
    motion_blocked: int
    carrying: int
    physics: int  # 1 jumping off a cliff, on a ladder, diving; 2 diving in side view; see ``game_over_stage``
    gameplay: int
    gameplay_subtype: int
    dialogue: int  # 0 closed, 9 and 12 wait for a button, 13 is a question
    dialogue_index: int
    room_transition: int
    warp_step: int
    item_b: int
    item_a: int
    bag: tuple[int, ...]  # the ten slots of the inventory screen
    sword: int
    shield: int
    bracelet: int
    flippers: int
    medicine: int
    trade_item: int
    toadstool: int
    door_keys: tuple[int, ...]  # Tail, Angler, Face, Bird
    golden_leaves: int  # SLIME_KEY means the key
    dungeons: bytes  # five bytes each for dungeons 1 to 8 and the Egg, see ``dungeon``
    color_dungeon: DungeonItems  # zeros outside DX
    songs: int
    here: DungeonItems  # of the dungeon Link is in
    shells: int
    instruments: int  # bit n-1 is dungeon n's instrument
    health: int  # in eighths of a heart
    max_hearts: int
    heart_pieces: int
    rupees: int
    bombs: int
    arrows: int
    powder: int
    tarin: int  # 1 cured of being a raccoon, 2 after Bottle Grotto
    deaths: int
    entities: tuple[Entity, ...]

    @property
    def place(self) -> int:
        """The room as one number: 256 overworld rooms, then indoor A, indoor B and the Color Dungeon."""
        if self.category == OVERWORLD:
            return self.room
        if self.map_id == COLOR_DUNGEON:
            return 0x300 + self.room
        return (0x200 if self.map_id in INDOOR_B_MAPS else 0x100) + self.room

    def dungeon(self, number: int) -> DungeonItems:
        """Return what Link holds for dungeon ``number``: 1 to 8, 9 the Wind Fish's Egg, 0 the Color Dungeon."""
        return DungeonItems(*self.dungeons[5 * number - 5 : 5 * number]) if number else self.color_dungeon

    @property
    def playing(self) -> bool:
        """Whether a game is loaded: memory means nothing on the title and file screens."""
        return FIRST_PLAY_SCREEN <= self.gameplay <= LAST_PLAY_SCREEN

    @property
    def settled(self) -> bool:
        """Whether Link is in one room: on the way to another, map and room do not change together."""
        return (
            self.gameplay == WORLD
            and self.gameplay_subtype == IN_PLAY_SUBTYPE
            and self.warp_step == WARP_DONE
            and not self.room_transition
        )

    @property
    def in_control(self) -> bool:
        """Whether the next direction pressed moves Link, on foot or in the water."""
        return self.settled and self.motion in (INTERACTIVE, SWIMMING) and not (self.dialogue or self.motion_blocked)

    @property
    def game_over_stage(self) -> int:
        """How far the game over screen is, 0 while Link lives: the byte is ``physics`` unless he is passing out."""
        return self.physics if self.motion == PASSING_OUT else 0

    @property
    def enemies(self) -> tuple[Entity, ...]:
        """The entities that hurt."""
        return tuple(entity for entity in self.entities if entity.hostile)


FIRST_OWNED, LAST_OWNED = LinkState._fields.index("item_b"), LinkState._fields.index("songs")
_BCD = tuple(decode_bcd(bytes([byte])) for byte in range(256))
_NO_DUNGEON = DungeonItems(0, 0, 0, 0, 0)


def read_link_state(memory: Memory) -> LinkState:
    """Return what memory means now, in a dozen block reads (each costs more than the bytes in it)."""
    link = memory.read(0xFF98, 11)
    room = memory.read(0xFFF6, 9)
    color = room[8] == 1  # hIsGBC
    bank_1 = _bank_1_reader(memory) if color else memory.read
    own = bytes(bank_1(0xDB00, 0xD1))
    motion = memory.read(0xC112, 0x13)
    talk = memory.read(0xC15B, 0x19)
    map_id = room[1]
    return LinkState(
        category=OVERWORLD if not own[0xA5] else DUNGEON if map_id in DUNGEON_MAPS else INDOOR,
        map_id=map_id,
        room=room[0],
        x=link[0],
        y=link[1],
        z=link[10],
        side_view=room[3] == _SIDE_VIEW,
        direction=link[6],
        motion=motion[10],
        motion_blocked=link[9],
        carrying=talk[1],
        physics=link[4],
        gameplay=own[0x95],
        gameplay_subtype=own[0x96],
        dialogue=memory.read(0xC19F, 1)[0] & 0x7F,
        dialogue_index=motion[0] << 8 | talk[0x18],
        room_transition=motion[0x12],
        warp_step=talk[0x10],
        item_b=own[0x00],
        item_a=own[0x01],
        bag=tuple(own[0x02:0x0C]),
        sword=own[0x4E],
        shield=own[0x44],
        bracelet=own[0x43],
        flippers=own[0x0C],
        medicine=own[0x0D],
        trade_item=own[0x0E],
        toadstool=own[0x4B],
        door_keys=tuple(own[0x11:0x15]),
        golden_leaves=own[0x15],
        dungeons=own[0x16:0x43],
        color_dungeon=DungeonItems(*bank_1(0xDDDA, 5)) if color else _NO_DUNGEON,
        songs=own[0x49],
        here=DungeonItems(*own[0xCC:0xD1]),
        shells=_BCD[own[0x0F]],
        instruments=decode_instruments(own[0x65:0x6D]),
        health=own[0x5A],
        max_hearts=own[0x5B],
        heart_pieces=own[0x5C],
        rupees=100 * _BCD[own[0x5D]] + _BCD[own[0x5E]],
        bombs=_BCD[own[0x4D]],
        arrows=_BCD[own[0x45]],
        powder=_BCD[own[0x4C]],
        tarin=own[0x48],
        deaths=100 * _BCD[own[0x58]] + _BCD[own[0x57]],  # low digits first, unlike the rupees
        entities=read_entities(memory),
    )


def decode_instruments(flags: bytes) -> int:
    """Return bit 1 of each of the eight dungeons' flag bytes as one number.

    >>> bin(decode_instruments(bytes([3, 1, 2, 0, 0, 0, 0, 2])))
    '0b10000101'
    """
    found = int.from_bytes(flags, "little") >> 1 & 0x0101010101010101
    return found * 0x0102040810204080 >> 56 & 0xFF  # gathers the lowest bit of every byte in the top byte


def _bank_1_reader(memory: Memory) -> Callable[[int, int], bytes | memoryview]:
    """Return what reads D000 and above as bank 1, whichever bank the game has switched in at this instant.

    DX swaps bank 2 in for a few instructions at a time, and a frame may end between them.
    """
    banked: Callable[[int, int, int], bytes] | None = getattr(memory, "read_bank", None)
    if banked is not None and memory.read(_SVBK, 1)[0] & 7 > 1:
        return partial(banked, 1)
    return memory.read


def read_entities(memory: Memory) -> tuple[Entity, ...]:
    """Return the living entities of the room, in slot order."""
    status = bytes(memory.read(0xC280, _ENTITIES))
    slots = [slot for slot in range(_ENTITIES) if status[slot] in _ALIVE] if any(status) else []
    if not slots:
        return ()
    places = memory.read(0xC200, 4 * _ENTITIES)  # x, y, then a byte each that is FF where they are negative
    heights = memory.read(0xC310, _ENTITIES)
    bodies = memory.read(0xC340, 3 * _ENTITIES)  # physics flags, hitbox, health
    kinds = memory.read(0xC380, 3 * _ENTITIES)  # direction, private, type
    return tuple(
        [
            Entity(
                slot,
                kinds[32 + slot],
                places[slot] - (256 if places[32 + slot] else 0),
                places[16 + slot] - (256 if places[48 + slot] else 0),
                heights[slot],
                status[slot],
                bodies[32 + slot],
                kinds[slot],
                not bodies[slot] & _HARMLESS,
            )
            for slot in slots
        ]
    )
