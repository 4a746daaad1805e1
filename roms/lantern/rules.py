"""Assertions on the state block of Lantern, used by check.py."""
import bot
from bot import CLEAR, OVER, PLAY, SIDES, TRANS


def check_layout(s):
    """The floor as generated: tree, lock, key, lantern."""
    size = {1: (3, 2), 2: (3, 3), 3: (4, 3)}.get(s.floor, (4, 4))
    assert (s.grid_w, s.grid_h) == size, 'grid'
    rooms = [r for r in range(16) if r % 4 < size[0] and r // 4 < size[1]]
    assert [r for r in range(16) if s.content[r] & 0x80] == rooms
    doors = 0
    for r in rooms:
        for bit, step, _ in SIDES.values():
            for b in (bit, bit + 4):
                if s.doors[r] >> b & 1:
                    assert r + step in rooms and s.doors[r + step] >> (b ^ 1) & 1, 'one-sided door'
            doors += s.doors[r] >> bit & 1
    extra = doors // 2 - (len(rooms) - 1)
    assert extra == 0 or (extra == 1 and s.floor > 2), 'not a tree'
    dist, todo = {s.start_room: 0}, [s.start_room]
    for r in todo:
        for bit, step, _ in SIDES.values():
            if s.doors[r] >> bit & 1 and r + step not in dist:
                dist[r + step] = dist[r] + 1
                todo.append(r + step)
    assert len(dist) == len(rooms), 'rooms cut off'
    assert dist[s.lantern_room] == max(dist.values()), 'lantern not farthest'
    mine = s.doors[s.lantern_room]
    assert bin(mine & 15).count('1') == 1 and mine >> 4 == mine & 15, 'lantern door'
    assert sum(bin(d >> 4).count('1') for d in s.doors) == 2, 'one lock, two sides'
    assert s.key_room not in (s.start_room, s.lantern_room)
    assert [r for r in range(16) if s.content[r] & 1] == [s.key_room]
    assert [r for r in range(16) if s.content[r] & 4] == [s.lantern_room]
    assert s.room == s.start_room and s.keys == 0 and s.rooms_seen == 1 and not s.foes


def check_room(s):
    """On entering: doors, ways, foes and objects agree with the tables."""
    d = s.doors[s.room]
    mouths = []
    for bit, _, cells in SIDES.values():
        want = 1 if not d >> bit & 1 else 3 if d >> (4 + bit) & 1 else 2
        for c, r in cells:
            assert s.cell(c, r) == want, 'door cell'
            if want != 1:
                mouths.append((c, r))
    items = [(o[1], o[2]) for o in s.objs]
    for goal in mouths + items:
        for start in mouths:
            assert bot.path(s, {goal}, start), f'no way from {start} to {goal}'
    for kind, c, r, _ in s.objs:
        bit = {1: 1, 2: 2, 4: 4}.get(kind, 0)
        assert s.content[s.room] & bit == bit
        assert s.cell(c, r) == (4 if kind in (2, 3) else 0)
    assert len(s.foes) <= (2 if s.floor == 1 else 4)
    for kind, x, y, *_ in s.foes:
        assert kind in (1, 2) or (kind == 3 and s.floor > 1)
        near = min(abs((x >> 4) - c) + abs((y >> 4) - 1 - r) for c, r in mouths)
        assert near >= 3, f'foe {near} cells from a door'


def check_step(a, b):
    """Two successive frames."""
    assert b.frame == (a.frame + 1) & 0xFFFF, f'lag: mode {a.mode}, {a.frame} -> {b.frame}'
    assert a.mode != TRANS or b.mode == PLAY
    assert b.hearts <= b.max_hearts == 6 and b.raw[0:2] == b'LN' and b.raw[36] == 1
    if b.mode == CLEAR:         # the next floor is being built
        return
    for c, r in (((b.x + u) >> 4, (b.y + v) >> 4) for u in (3, 12) for v in (6, 15)):
        assert b.cell(c, r - 1) in (0, 2), 'hero in a wall'
    for kind, x, y, *_ in b.foes:
        box = ((8, 8),) if kind == 4 else ((0, 0), (15, 0), (0, 15), (15, 15))
        for u, v in box:
            assert b.cell((x + u) >> 4, ((y + v) >> 4) - 1) == 0, f'foe {kind} in a wall'
    if b.hearts < a.hearts:
        assert b.hits == a.hits + 1 and b.inv == 45 and a.inv <= 1
        assert a.hearts - b.hearts <= (1 if b.floor == 1 else 2)
    else:
        assert b.hits == a.hits
    if b.hearts > a.hearts:
        assert b.chests == a.chests + 1 or b.floor == a.floor + 1
    gain = b.coins - a.coins
    assert 0 <= gain <= 5 + (b.kills - a.kills)
    assert gain == 0 or b.chests > a.chests or b.kills > a.kills
    if b.floor == a.floor and b.mode != CLEAR:
        assert b.keys - a.keys == (b.keys_taken - a.keys_taken) - (b.doors_opened - a.doors_opened)
        assert b.rooms_seen == sum(b.seen)
    assert b.seen_total - a.seen_total in (0, 1)
    assert b.mode != CLEAR or b.cleared >= 1
    assert (b.mode == OVER) == (b.hearts == 0)
