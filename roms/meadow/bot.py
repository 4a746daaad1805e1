"""Meadow in mGBA, and a bot that plays it from the state block.  Used by check.py and shots.py."""
import heapq
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'tools'))
sys.dont_write_bytecode = True

import mgba.core                                            # noqa: E402
import mgba.image                                           # noqa: E402
import mgba.log                                             # noqa: E402
import mgba.vfs                                             # noqa: E402
from mgba._pylib import ffi, lib                            # noqa: E402
from mkdata import read_maps                                # noqa: E402

ROM = os.path.join(HERE, '..', '..', 'src', 'parcade', 'roms', 'meadow.gba')
KEYS = {'a': 1, 'b': 2, 'select': 4, 'start': 8, 'right': 16, 'left': 32, 'up': 64, 'down': 128}
DIRS = {'down': (0, 1), 'up': (0, -1), 'left': (-1, 0), 'right': (1, 0)}
TITLE, WALK, TEXT, BATTLE, MENU, SHOP, TRANSITION, BLACKOUT, VICTORY = range(1, 10)
FIELDS = {
    'mode': (4, 'B'), 'map': (5, 'B'), 'x': (6, 'B'), 'y': (7, 'B'), 'facing': (8, 'B'), 'moving': (9, 'B'),
    'frame': (12, 'I'), 'rng': (16, 'I'), 'seed': (20, 'I'), 'money': (24, 'I'), 'won': (28, 'H'), 'lost': (30, 'H'),
    'caught': (32, 'H'), 'encounters': (34, 'H'), 'flags': (36, 'I'), 'badges': (40, 'B'), 'party_size': (41, 'B'),
    'orbs': (42, 'B'), 'potions': (43, 'B'), 'cursor': (49, 'B'), 'submenu': (50, 'B'), 'restarts': (53, 'B'),
    'steps': (60, 'I'), 'in_battle': (256, 'B'), 'kind': (257, 'B'), 'phase': (259, 'B'), 'my_slot': (260, 'B'),
    'battle_cursor': (261, 'B'), 'foe_species': (264, 'B'), 'foe_hp': (266, 'H'), 'foe_max_hp': (268, 'H'),
    'under': (320, 'B')}
MAPS = read_maps()
MAP_ID = {m['id']: n for n, m in enumerate(MAPS)}
_silent = []


class Console:
    """One mGBA core with the ROM; counts lag frames (game frame did not advance by one)."""

    def __init__(self, rom=ROM):
        if not _silent:
            mgba.log.silence()
            _silent.append(True)
        self.core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GBA))
        vf = mgba.vfs.open_path(rom, 'r')
        assert self.core.load_rom(vf), rom
        vf._claimed = True                  # the core owns and closes the file now
        self.native = self.core._core
        self.native.clearCoreCallbacks(self.native)
        self.core.reset()
        self.img = mgba.image.Image(240, 160)
        self.core.set_video_buffer(self.img)
        self.reset()
        self.video = ffi.cast('struct GBA*', self.native.board).video

    def reset(self):
        self.core.reset()
        size = ffi.new('size_t*')
        p = self.native.getMemoryBlock(self.native, 2, size)
        self.ram = ffi.buffer(p, size[0])
        self.lag, self.log = 0, []

    def __getattr__(self, name):
        at, kind = FIELDS[name]
        return struct.unpack_from('<' + kind, self.ram, at)[0]

    def party(self, slot=0):
        sp, lv, hp, top, exp, nxt = struct.unpack_from('<BBHHHH', self.ram, 64 + 32 * slot)
        moves = struct.unpack_from('8B', self.ram, 64 + 32 * slot + 16)
        return dict(species=sp, level=lv, hp=hp, max_hp=top, exp=exp, exp_next=nxt, moves=moves)

    def step(self, keys=0):
        before = self.frame
        self.native.setKeys(self.native, keys)
        self.native.runFrame(self.native)
        self.log.append(keys)
        if self.frame != before + 1:
            self.lag += 1

    def restart(self, seed):
        self.ram[56:60] = struct.pack('<I', seed)
        self.ram[52:53] = b'\1'
        self.native.setKeys(self.native, 0)
        self.native.runFrame(self.native)
        if self.ram[52] != b'\0':           # it was busy writing the flash memory
            self.native.runFrame(self.native)
        assert self.ram[52] == b'\0', 'no restart within two frames'
        self.log = []

    def block(self):
        b = bytearray(self.ram[0:512])
        b[53] = 0                           # RESTARTS is the one byte that may differ
        return bytes(b)

    def picture(self):
        return bytes(ffi.buffer(self.img.buffer))

    def shot(self, path, scale=2):
        im = self.img.to_pil().convert('RGB')
        im.resize((240 * scale, 160 * scale), 0).save(path)


class Bot:
    def __init__(self, console, catch=False):
        self.c, self.catch, self.on_battle = console, catch, None

    def tap(self, key, hold=2, rest=2):
        for _ in range(hold):
            self.c.step(KEYS[key])
        for _ in range(rest):
            self.c.step()

    def wait_submenu(self, number):
        for _ in range(600):
            if self.c.submenu == number:
                return
            self.c.step()
        raise AssertionError(f'submenu {number} did not open, mode {self.c.mode}')

    def fight(self):
        """One decision in a battle."""
        c = self.c
        if c.phase == 0:
            weak = c.foe_hp * 2 <= c.foe_max_hp
            want = 1 if self.catch and weak and c.kind == 1 and c.orbs and c.party_size < 6 else 0
            if c.battle_cursor != want:
                self.tap('right' if (c.battle_cursor ^ want) & 1 else 'down')
            else:
                self.tap('a')
        elif c.phase == 1:
            moves = c.party(c.my_slot)['moves']
            # prefer elemental attacks 3-6 and 9-12, never the ones without damage
            able = [i for i in range(4) if moves[2 * i] not in (0, 7, 8, 13) and moves[2 * i + 1]]
            best = max(able, key=lambda i: moves[2 * i], default=0)
            self.tap('a' if c.battle_cursor == best else 'down')
        else:
            self.tap('a')

    def until_walk(self, limit=30000):
        """Deal with texts and battles until the hero is in control again."""
        c = self.c
        for _ in range(limit):
            if c.mode == WALK and not c.moving:
                return
            if c.mode == BATTLE:
                if self.on_battle:
                    self.on_battle(c)
                self.fight()
            elif c.mode in (TEXT, BLACKOUT, VICTORY, MENU, SHOP):
                self.tap('b' if c.mode in (MENU, SHOP) and c.submenu != 6 else 'a')
            else:
                c.step()
        raise AssertionError(f'stuck in mode {c.mode}')

    def route(self, goals):
        """Cheapest way over all maps to one of the (map, x, y) goals; tall grass costs more."""
        c = self.c
        start = (c.map, c.x, c.y)
        queue, prev, done = [(0, start)], {start: None}, set()
        best = {start: 0}
        while queue:
            cost, at = heapq.heappop(queue)
            if at in done:
                continue
            done.add(at)
            if at in goals:
                out = []
                while prev[at]:
                    at, key = prev[at]
                    out.append(key)
                return out[::-1]
            m = MAPS[at[0]]
            people = {(n[0], n[1]) for n in m['npcs']}
            for key, (dx, dy) in DIRS.items():
                x, y = at[1] + dx, at[2] + dy
                if not (0 <= y < len(m['rows']) and 0 <= x < len(m['rows'][0])) or (x, y) in people:
                    continue
                kind = m['kinds'][y][x]
                if kind not in (0, 2, 3):
                    continue
                to = (at[0], x, y)
                if kind == 3:
                    w = next(w for w in m['warps'] if w[:2] == (x, y))
                    to = (MAP_ID[w[2]], w[3], w[4])
                price = cost + (4 if kind == 2 else 1)
                if price < best.get(to, 1 << 30):
                    best[to] = price
                    prev[to] = (at, key)
                    heapq.heappush(queue, (price, to))
        raise AssertionError(f'no way from {start} to {goals}')

    def go(self, place, x, y):
        c, goal = self.c, (MAP_ID[place], x, y)
        for _ in range(3000):
            self.until_walk()
            if (c.map, c.x, c.y) == goal:
                return
            key = self.route({goal})[0]
            for _ in range(8):
                c.step(KEYS[key])
        raise AssertionError(f'did not reach {place} {x},{y}')

    def face(self, key):
        self.c.step(KEYS[key])
        self.until_walk()

    def heal(self, place='heal1'):
        self.go(place, 7, 5)
        self.face('up')
        self.tap('a')
        self.until_walk()

    def pace(self):
        """One step between the two rows of tall grass across route 1, without what may follow."""
        key = 'up' if self.c.y == 21 else 'down'
        for _ in range(8):
            self.c.step(KEYS[key])

    def train(self, level, nurse='heal1', grass=('route1', 9, 20)):
        """Walk in the grass until the first monster has the level."""
        c = self.c
        for _ in range(2000):
            p = c.party()
            if p['level'] >= level:
                return
            if p['hp'] * 3 < p['max_hp'] or p['moves'][3] < 2:
                self.heal(nurse)
            self.go(grass[0], grass[1], grass[2] + (c.steps & 1))
            self.go(grass[0], grass[1] + 1, grass[2] + (c.steps & 1))
        raise AssertionError(f'level {level} not reached')
