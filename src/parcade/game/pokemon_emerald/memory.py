"""Where Pokemon Emerald (USA, Europe) keeps what, and what its numbers are called.

Addresses: ``pokeemerald.sym`` of pret/pokeemerald, whose build reproduces the ROM with this title's SHA-1.
Offsets: the same repository's ``include/global.h``, ``global.fieldmap.h``, ``pokemon.h`` and ``main.h``.
Flag, variable and behaviour numbers: its ``include/constants``. Map numbers: its ``data/maps/map_groups.json``.
"""

from __future__ import annotations

from collections.abc import Sequence

EWRAM = (0x0200_0000, 0x0204_0000)
IWRAM = (0x0300_0000, 0x0300_8000)
ROM = (0x0800_0000, 0x0A00_0000)

# Fixed addresses, IWRAM.
SCRIPT_STATUS = 0x0300_0E38  # sScriptContext1Status: 0 running, 1 waiting, 2 shut down
CONTROLS_LOCKED = 0x0300_0F2C  # sScriptContext2Enabled, later named sLockFieldControls
MAIN = 0x0300_22C0  # gMain
WINDOW_TILEMAPS = 0x0300_2F70  # gWindowBgTilemapBuffers[4]: a pointer per background, to 32 by 32 entries of 2 bytes
MAIN_BITS = MAIN + 0x439  # bit 1: in battle
CONTROLLERS = 0x0300_5D60  # gBattlerControllerFuncs[4]
SAVE_POINTERS = 0x0300_5D8C  # gSaveBlock1Ptr, gSaveBlock2Ptr
BACKUP_LAYOUT = 0x0300_5DC0  # gBackupMapLayout: width, height, pointer to blocks

# Fixed addresses, EWRAM.
BATTLE_TYPE = 0x0202_2FEC  # gBattleTypeFlags
BATTLE_MONS = 0x0202_4084  # gBattleMons[4], 0x58 bytes each
BATTLE_OUTCOME = 0x0202_433A  # gBattleOutcome
BATTLE_CURSORS = 0x0202_44AC  # gActionSelectionCursor[4], then gMoveSelectionCursor[4]
PARTY_COUNT = 0x0202_44E9  # gPlayerPartyCount
PARTY = 0x0202_44EC  # gPlayerParty[6], 100 bytes each
MAP_HEADER = 0x0203_7318  # gMapHeader: pointer to the layout; 0x12: the layout's number
LAYOUT_ID = MAP_HEADER + 0x12
OBJECT_EVENTS = 0x0203_7350  # gObjectEvents[16], 0x24 bytes each
OBJECT_EVENTS_END = OBJECT_EVENTS + 16 * 0x24
MESSAGE_BOX = 0x0203_75BC  # sFieldMessageBoxMode: 0 again as soon as the text is printed, while its box stays open
OPPONENT_TRAINER = 0x0203_8BCA  # gTrainerBattleOpponent_A
START_MENU_WINDOW = 0x0203_CD8C  # sStartMenuWindowId: 0xFF when closed

# Offsets in save block 1 (moves in memory; its pointer is read each time).
POSITION = 0x0000  # x, y as i16, then group and number as bytes
MONEY = 0x0490  # u32 xor key, then coins u16 xor low half of the key
BAG = 0x0560
POCKETS = {"items": 30, "key_items": 30, "balls": 16, "tms": 64, "berries": 46}  # slots of 4 bytes, in this order
BAG_SIZE = 4 * sum(POCKETS.values())
FLAGS = 0x1270
FLAGS_SIZE = 300
VARIABLES = 0x139C
VARIABLES_SIZE = 512
FIRST_VARIABLE = 0x4000
SAVE_1_SIZE = 0x3D88

# Offsets in save block 2.
NAME = 0x00  # 8 bytes
GENDER = 0x08  # 1: female
TRAINER_ID = 0x0A
PLAY_TIME = 0x0E  # hours u16, minutes, seconds, vblanks
DEX_CAUGHT = 0x28
DEX_SEEN = 0x5C
DEX_SIZE = 52
SECURITY_KEY = 0xAC
SAVE_2_SIZE = 0x0F2C

# The field's text box, of sStandardTextBox_WindowTemplates in src/menu.c: the window's first tile stands in column 2,
# row 15 of background 0 while the box is shown; src/window.c puts it there and takes it away.
TEXT_BOX_ENTRY = 2 * (15 * 32 + 2)
TEXT_BOX_TILE = 0x194
TILE_MASK = 0x3FF
TILEMAP_SIZE = 0x800

BORDER = 7  # blocks added left and above a map in gBackupMapLayout
BORDER_WIDTH, BORDER_HEIGHT = 15, 14  # blocks added in all
UNDEFINED_BLOCK = 0x3FF
MOST_BLOCKS = 0x2800  # what gBackupMapData holds
PRIMARY_METATILES = 512
MOST_MONEY = 999_999

# Flags.
FLAG_CLOCK_SET = 0x51
FLAG_RESCUED_BIRCH = 0x52
FLAG_MET_RIVALS_MOTHER = 0x57
FLAG_BEAT_RIVAL_103 = 0x82
FLAG_POKEDEX = 0x861
FLAG_CHAMPION = 0x864
FLAG_FIRST_BADGE = 0x867
FLAG_VISITED = {"littleroot": 0x86F, "oldale": 0x870, "petalburg": 0x876, "rustboro": 0x879}
FLAG_RUNNING_SHOES = 0x112
TRAINERS = (0x500, 0x860)  # one flag per trainer beaten
# Flags a story step sets: scripts, legendaries and meetings, trainers, and the Pokedex and Pokenav. Left out:
# temporary flags, rematch and phone flags, decorations and hidden objects (they come and go), items, visited towns
# and badges (rewarded on their own), daily flags, and those a new game sets at once.
STORY_RANGES = (
    *((0x51, 0x56), (0x57, 0x77), (0x78, 0xAD), (0xBC, 0x13D), (0x14E, 0x15C), (0x1AC, 0x1D3)),
    *(TRAINERS, (0x861, 0x863)),
)
STORY_MASK = sum(((1 << (end - start)) - 1) << start for start, end in STORY_RANGES)
TRAINER_MASK = ((1 << (TRAINERS[1] - TRAINERS[0])) - 1) << TRAINERS[0]

# Variables.
VAR_STARTER = 0x4023  # 0 Treecko, 1 Torchic, 2 Mudkip
VAR_INTRO = 0x4092  # 7: the player may leave the house
INTRO_DONE = 7

# What gMain.callback2 and the battle controller point to (Thumb bit cleared).
SCREENS = {
    0x0808_5E5C: "overworld",
    0x0803_8420: "battle",
    0x081A_AD5C: "bag",
    0x081B_01B0: "party",
    0x081B_FAB4: "summary",
    0x080B_B774: "pokedex",
    0x080C_7D54: "storage",
    0x080C_2710: "trainer_card",
    0x081C_7400: "pokenav",
    0x080B_A4B0: "options",
    0x080D_FD64: "shop",
    0x080E_4F58: "naming",
    0x0802_F6B0: "main_menu",
    0x080A_AB2C: "title",
}
BATTLE_MENUS = {0x0805_7588: "action", 0x0805_7BFC: "move", 0x0805_7824: "target", 0x0805_99D4: "yes_no"}
BATTLE_DOUBLE, BATTLE_TRAINER, BATTLE_FIRST, BATTLE_SAFARI = 1 << 0, 1 << 3, 1 << 4, 1 << 7
OUTCOMES = ("none", "won", "lost", "drew", "ran", "teleported", "foe_fled", "caught")
FACINGS = ("none", "down", "up", "left", "right")

# What a block around the player is for somebody on foot.
BLOCKED, FLOOR, GRASS, WATER, LEDGE, THING, WARP, PERSON = range(8)


def _kinds() -> tuple[bytes, bytes]:
    """Return the kind per metatile behaviour, for blocks without and with the collision bits set."""
    free, solid = bytearray([FLOOR] * 256), bytearray([BLOCKED] * 256)
    groups = {
        GRASS: (0x02, 0x03, 0x09, 0x0B, 0x24),
        WATER: (*range(0x10, 0x16), 0x22, *range(0x50, 0x54)),
    }
    for kind, behaviours in groups.items():
        for behaviour in behaviours:
            free[behaviour] = kind
    # Doors, ledges and things to press A at act although their blocks are solid.
    both: dict[int, Sequence[int]] = {
        LEDGE: range(0x38, 0x40),
        THING: (0x80, 0x83, *range(0x85, 0x88), 0xC5, *range(0xE0, 0xE7)),
        WARP: (0x0E, 0x0F, 0x1B, 0x1C, 0x29, *range(0x60, 0x6F), 0x8D),
    }
    for kind, both_ways in both.items():
        for behaviour in both_ways:
            free[behaviour] = solid[behaviour] = kind
    return bytes(free), bytes(solid)


FREE_KINDS, SOLID_KINDS = _kinds()

_CENTER = "Pokemon Center 1F|Pokemon Center 2F"
_TOWNS = (
    "Petalburg City|Slateport City|Mauville City|Rustboro City|Fortree City|Lilycove City|Mossdeep City|"
    "Sootopolis City|Ever Grande City|Littleroot Town|Oldale Town|Dewford Town|Lavaridge Town|Fallarbor Town|"
    "Verdanturf Town|Pacifidlog Town"
)
_UNDERWATER = (124, 126, 127, 128, 129, 105, 125)
_INTERIORS = {  # group: (where, rooms by number); an empty room has no name here
    1: ("Littleroot", "Brendan's house 1F|Brendan's house 2F|May's house 1F|May's house 2F|Birch's lab"),
    2: ("Oldale", f"house 1|house 2|{_CENTER}|mart"),
    3: ("Dewford", f"house 1|{_CENTER}|gym|hall|house 2"),
    4: ("Lavaridge", f"herb shop|gym 1F|gym B1F|house|mart|{_CENTER}"),
    5: ("Fallarbor", f"mart|tent lobby|tent corridor|tent arena|{_CENTER}|Cozmo's house|move relearner"),
    6: (
        "Verdanturf",
        f"tent lobby|tent corridor|tent arena|mart|{_CENTER}|Wanda's house|friendship rater|house",
    ),
    7: ("Pacifidlog", f"{_CENTER}|house 1|house 2|house 3|house 4|house 5"),
    8: ("Petalburg", f"Wally's house|gym|house 1|house 2|{_CENTER}|mart"),
    9: (
        "Slateport",
        (
            "shipyard 1F|shipyard 2F|tent lobby|tent corridor|tent arena|name rater|fan club|museum 1F|museum 2F|"
            f"harbor|house|{_CENTER}|mart"
        ),
    ),
    10: ("Mauville", f"gym|bike shop|house 1|game corner|house 2|{_CENTER}|mart"),
    11: (
        "Rustboro",
        (
            f"Devon 1F|Devon 2F|Devon 3F|gym|school|{_CENTER}|mart|flat 1 1F|flat 1 2F|house 1|Cutter's house|house 2|"
            "flat 2 1F|flat 2 2F|flat 2 3F|house 3"
        ),
    ),
    12: ("Fortree", f"house 1|gym|{_CENTER}|mart|house 2|house 3|house 4|house 5|decoration shop"),
    13: (
        "Lilycove",
        (
            f"motel 1F|motel 2F|museum 1F|museum 2F|contest lobby|contest hall|{_CENTER}|unused mart|trainer fan club|"
            "harbor|move deleter|house 1|house 2|house 3|house 4|store 1F|store 2F|store 3F|store 4F|store 5F|"
            "store roof|store elevator"
        ),
    ),
    14: (
        "Mossdeep",
        (
            f"gym|house 1|house 2|{_CENTER}|mart|house 3|Steven's house|house 4|space center 1F|space center 2F|"
            "game corner 1F|game corner B1F"
        ),
    ),
    15: (
        "Sootopolis",
        (
            f"gym 1F|gym B1F|{_CENTER}|mart|house 1|house 2|house 3|house 4|house 5|house 6|house 7|size judges|"
            "mystery house 1F|mystery house B1F"
        ),
    ),
    16: (
        "Ever Grande",
        (
            "Sidney's room|Phoebe's room|Glacia's room|Drake's room|champion's room|hall 1|hall 2|hall 3|hall 4|hall 5|"
            f"league 1F|hall of fame|{_CENTER}|league 2F"
        ),
    ),
    17: ("Route 104", "Briney's house|flower shop"),
    18: ("Route 111", "Winstrate house|rest stop"),
    19: ("Cable car", "Route 112 station|Mt. Chimney station"),
    20: ("Route 114", "fossil maniac's house|fossil maniac's tunnel|Lanette's house"),
    21: ("Route 116", "rest house"),
    22: ("Route 117", "day care"),
    23: ("Route 121", "Safari Zone entrance"),
    24: (
        "",
        (
            "Meteor Falls 1F 1|Meteor Falls 1F 2|Meteor Falls B1F 1|Meteor Falls B1F 2|Rusturf Tunnel|"
            "Underwater Sootopolis|Desert Ruins|Granite Cave 1F|Granite Cave B1F|Granite Cave B2F|Granite Cave Steven|"
            "Petalburg Woods|Mt. Chimney|Jagged Pass|Fiery Path|Mt. Pyre 1F|Mt. Pyre 2F|Mt. Pyre 3F|Mt. Pyre 4F|"
            "Mt. Pyre 5F|Mt. Pyre 6F|Mt. Pyre exterior|Mt. Pyre summit|Aqua Hideout 1F|Aqua Hideout B1F|"
            "Aqua Hideout B2F|Underwater Seafloor Cavern|Seafloor Cavern entrance|Seafloor Cavern 1|Seafloor Cavern 2|"
            "Seafloor Cavern 3|Seafloor Cavern 4|Seafloor Cavern 5|Seafloor Cavern 6|Seafloor Cavern 7|"
            "Seafloor Cavern 8|Seafloor Cavern 9|Cave of Origin entrance|Cave of Origin 1F||||Cave of Origin B1F|"
            "Victory Road 1F|Victory Road B1F|"
            "Victory Road B2F|Shoal Cave entrance, low tide|Shoal Cave inner, low tide|Shoal Cave stairs|"
            "Shoal Cave lower|Shoal Cave entrance, high tide|Shoal Cave inner, high tide|New Mauville entrance|"
            "New Mauville|Abandoned Ship deck|Abandoned Ship corridors 1F|Abandoned Ship rooms 1F|"
            "Abandoned Ship corridors B1F|Abandoned Ship rooms B1F|Abandoned Ship rooms B1F 2|"
            "Abandoned Ship underwater 1|Abandoned Ship room B1F|Abandoned Ship rooms 1F 2|Abandoned Ship captain|"
            "Abandoned Ship underwater 2|Abandoned Ship hidden corridors|Abandoned Ship hidden rooms|Island Cave|"
            "Ancient Tomb|Underwater Route 134|Underwater Sealed Chamber|Sealed Chamber outer|Sealed Chamber inner|"
            "Scorched Slab||||Sky Pillar entrance|Sky Pillar outside|Sky Pillar 1F|Sky Pillar 2F|Sky Pillar 3F|"
            "Sky Pillar 4F|Shoal Cave ice|Sky Pillar 5F|Sky Pillar top|Magma Hideout 1F|Magma Hideout 2F 1|"
            "Magma Hideout 2F 2|Magma Hideout 3F 1|Magma Hideout 3F 2|Magma Hideout 4F|Magma Hideout 3F 3|"
            "Magma Hideout 2F 3|Mirage Tower 1F|Mirage Tower 2F|Mirage Tower 3F|Mirage Tower 4F|Desert Underpass|"
            "Artisan Cave B1F|Artisan Cave 1F|Underwater Marine Cave|Marine Cave entrance|Marine Cave end|"
            "Terra Cave entrance|Terra Cave end|Altering Cave|Meteor Falls Steven"
        ),
    ),
    28: ("Route 109", "seashore house"),
    29: ("Route 110", "trick house entrance|trick house end|trick house corridor"),
    30: ("Route 113", "glass workshop"),
    31: ("Route 123", "berry master's house"),
    32: ("Route 119", "Weather Institute 1F|Weather Institute 2F|house"),
    33: ("Route 124", "treasure hunter's house"),
}


def _map_names() -> dict[tuple[int, int], str]:
    names = {(0, number): name for number, name in enumerate(_TOWNS.split("|"))}
    names |= {(0, 16 + i): f"Route {101 + i}" for i in range(34)}
    names |= {(0, 50 + i): f"Underwater Route {route}" for i, route in enumerate(_UNDERWATER)}
    for group, (where, rooms) in _INTERIORS.items():
        for number, room in enumerate(rooms.split("|")):
            if room:
                names[group, number] = f"{where}: {room}" if where else room
    names[25, 40] = "Moving truck"
    names |= {(25, 41): "S.S. Tidal corridor", (25, 42): "S.S. Tidal lower deck", (25, 43): "S.S. Tidal rooms"}
    safari = {
        0: "northwest",
        1: "north",
        2: "southwest",
        3: "south",
        11: "rest house",
        12: "northeast",
        13: "southeast",
    }
    names |= {(26, number): f"Safari Zone {side}" for number, side in safari.items()}
    names |= {(26, 4): "Battle Frontier west", (26, 14): "Battle Frontier east"}
    return names


MAP_NAMES = _map_names()


def map_name(group: int, number: int) -> str:
    """Return the map's name, or ``group.number`` for one without a name here.

    >>> map_name(0, 9), map_name(11, 3), map_name(26, 40)
    ('Littleroot Town', 'Rustboro: gym', '26.40')
    """
    return MAP_NAMES.get((group, number)) or f"{group}.{number}"
