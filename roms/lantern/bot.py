"""A plain bot for Lantern: reads the state block, walks to the key, the door, the lantern."""
from collections import deque

BASE = 0xC100
PLAY, TRANS, CLEAR, OVER, PAUSE = 2, 3, 4, 5, 6
KEYS = ('right', 'left', 'up', 'down', 'a', 'start')
# door bit, room step, doorway cells (column, row)
SIDES = {'up': (0, -4, ((4, 0), (5, 0))), 'down': (1, 4, ((4, 7), (5, 7))),
         'left': (2, -1, ((0, 3), (0, 4))), 'right': (3, 1, ((9, 3), (9, 4)))}
FACING = ('down', 'up', 'left', 'right')


class State:
    """The 256 bytes, with names for what the bot and the checks use."""

    def __init__(self, raw):
        self.raw = raw
        self.mode, self.floor = raw[2], raw[3]
        self.frame = raw[8] | raw[9] << 8
        self.x, self.y, self.facing = raw[10], raw[11], raw[12]
        self.hearts, self.max_hearts, self.sword, self.inv, self.keys = raw[13:18]
        self.coins = raw[18] | raw[19] << 8
        self.kills = raw[20] | raw[21] << 8
        self.room, self.grid_w, self.grid_h, self.rooms_seen, self.cleared = raw[22:27]
        self.seen_total = raw[27] | raw[28] << 8
        self.keys_taken, self.doors_opened, self.chests = raw[29:32]
        self.start_room, self.key_room, self.lantern_room, self.hits = raw[32:36]
        self.restart, self.restarts = raw[40], raw[43]
        self.doors, self.seen, self.content = raw[48:64], raw[64:80], raw[80:96]
        self.foes = [raw[i:i + 8] for i in range(96, 144, 8) if raw[i]]
        self.objs = [raw[i:i + 4] for i in range(144, 160, 4) if raw[i]]

    def cell(self, c, r):
        return self.raw[160 + 10 * r + c]


def route(s, goal, locked_ok):
    """First side to leave by on the way to a room, None if there is no way."""
    todo, seen = deque([(s.room, None)]), {s.room}
    while todo:
        room, first = todo.popleft()
        if room == goal:
            return first or 'here'
        for side, (bit, step, _) in SIDES.items():
            if s.doors[room] >> bit & 1 and (locked_ok or not s.doors[room] >> (4 + bit) & 1):
                if room + step not in seen:
                    seen.add(room + step)
                    todo.append((room + step, first or side))
    return None


def path(s, goals, start=None, extra=()):
    """Cells from start to the nearest goal; goals may be solid, cells between not."""
    start = start or ((s.x + 8) >> 4, (s.y - 5) >> 4)
    todo, back = deque([start]), {start: None}
    while todo:
        at = todo.popleft()
        if at in goals:
            way = []
            while at is not None:
                way.append(at)
                at = back[at]
            return way[::-1]
        c, r = at
        for n in ((c + 1, r), (c - 1, r), (c, r + 1), (c, r - 1)):
            if 0 <= n[0] < 10 and 0 <= n[1] < 8 and n not in back and n not in extra:
                if n in goals or s.cell(*n) in (0, 2):
                    back[n] = at
                    todo.append(n)
    return None


def towards(s, cell):
    """Key that brings the hero nearer to the middle of a cell."""
    dx, dy = 16 * cell[0] - s.x, 16 * cell[1] + 13 - s.y
    if abs(dx) <= 2 and abs(dy) <= 2:
        return None
    if abs(dx) > abs(dy):
        return 'right' if dx > 0 else 'left'
    return 'down' if dy > 0 else 'up'


def fight(s):
    """Face and strike a foe in reach, else None."""
    for kind, fx, fy, *_ in s.foes:
        dx, dy = fx - s.x, fy - s.y
        if abs(dx) > 30 or abs(dy) > 30 or min(abs(dx), abs(dy)) > 12:
            continue
        if abs(dx) > abs(dy):
            side = 'right' if dx > 0 else 'left'
        else:
            side = 'down' if dy > 0 else 'up'
        return 'a' if FACING[s.facing] == side else side
    return None


def act(s):
    """One key (or None) for this frame."""
    if s.mode != PLAY:
        return None
    blow = fight(s)
    if blow:
        return blow
    want_key = not s.keys and s.content[s.key_room] & 1
    side = route(s, s.key_room if want_key else s.lantern_room, locked_ok=not want_key)
    if side == 'here':
        goals = {(o[1], o[2]) for o in s.objs if o[0] == (1 if want_key else 4)}
    else:
        goals = set(SIDES[side][2])
    way = path(s, goals)
    if len(way) > 1:
        dx, dy = way[1][0] - way[0][0], way[1][1] - way[0][1]
        # come to the middle of the present cell across the way first
        off = 16 * way[0][1] + 13 - s.y if dx else 16 * way[0][0] - s.x
        if abs(off) > 4 and s.cell(*way[0]) == 0:
            return towards(s, way[0]) if len(way) < 3 or s.cell(*way[1]) == 0 else towards(s, way[1])
        return 'right' if dx > 0 else 'left' if dx < 0 else 'down' if dy > 0 else 'up'
    return side if side != 'here' else towards(s, way[0])
