#!/usr/bin/env python3
"""Plays Lantern with bot.py and checks its rules. Needs pyboy.
usage: check.py [--seeds N] [--rom FILE]"""
import argparse
import pathlib
import random
import statistics
import time

from pyboy import PyBoy

import bot
from bot import BASE, CLEAR, OVER, PAUSE, PLAY, SIDES, TRANS, State

HERE = pathlib.Path(__file__).resolve().parent


class Game:
    def __init__(self, rom):
        self.pb = PyBoy(str(rom), window='null', sound_emulated=False)
        self.pb.set_emulation_speed(0)
        self.held = set()
        while self.pb.memory[BASE + 2] != 1:
            self.pb.tick(1, False)

    def state(self):
        return State(bytes(self.pb.memory[BASE:BASE + 256]))

    def hold(self, *keys):
        for k in self.held - set(keys):
            self.pb.button_release(k)
        for k in set(keys) - self.held:
            self.pb.button_press(k)
        self.held = set(keys)

    def step(self, *keys, draw=False):
        self.hold(*keys)
        self.pb.tick(1, draw)
        return self.state()

    def poke(self, offset, value):
        self.pb.memory[BASE + offset] = value

    def restart(self, seed):
        """Returns how many frames passed until the game acknowledged."""
        before = self.state().restarts
        self.poke(41, seed & 255)
        self.poke(42, seed >> 8)
        self.poke(40, 1)
        for n in range(1, 10):
            self.pb.tick(1, False)
            s = self.state()
            if s.restarts != before:
                break
        assert n <= 2, f'restart took {n} frames'
        assert s.restarts == (before + 1) & 255 and not s.restart
        assert s.mode == PLAY and s.frame == 0 and s.floor == 1
        assert s.raw[4] | s.raw[5] << 8 == seed
        return n


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


def play(game, seed, floors, refill):
    """Frames per floor; stops at game over. refill: hearts are topped up by the test."""
    game.restart(seed)
    s = game.state()
    check_layout(s)
    check_room(s)
    times, since = [], 0
    while len(times) < floors:
        if refill and s.hearts < 4 and s.mode == PLAY:
            game.poke(13, 6)
            s = game.state()
        key = bot.act(s)
        n = game.step(*([key] if key else []))
        check_step(s, n)
        if n.mode == TRANS:
            check_room(n)
        if s.mode == CLEAR and n.mode == PLAY:
            check_layout(n)
            check_room(n)
            times.append(n.frame - since)
            since = n.frame
        if n.mode == OVER:
            break
        assert n.frame - since < 12000, f'seed {seed}: floor {n.floor} not solved'
        s = n
    return times


def random_keys(rng):
    keys = []
    if rng.random() < .85:
        keys.append(rng.choice(('up', 'down', 'left', 'right')))
    if rng.random() < .3:
        keys.append('a')
    return keys


def bring(game, mode):
    """Some play that ends in the wanted mode."""
    game.restart(4711)
    s = game.state()
    if mode == 1:
        bring(game, OVER)
        for _ in range(5):
            game.step()
        s = game.step('start')
        game.step()
    elif mode == PAUSE:
        game.step()
        s = game.step('start')
    else:
        while s.mode != mode:
            if s.mode == PLAY:
                game.poke(13, 1 if mode == OVER else 6)
            key = bot.act(s)
            s = game.step(*([key] if key and not (mode == OVER and key == 'a') else []))
            if s.mode == CLEAR != mode or s.frame > 5000:
                game.restart(s.frame)
    assert game.state().mode == mode


def trace(game, seed, frames):
    """State and picture of each frame after a restart, under random keys."""
    game.restart(seed)
    rng = random.Random(seed)
    out = []
    for i in range(frames):
        if i % 5 == 0:
            keys = random_keys(rng)
            if i % 200 == 50:
                keys = ['start']
            if i % 200 == 60:
                keys = ['start']
        s = game.step(*keys, draw=True)
        raw = bytearray(s.raw)
        raw[43] = 0
        out.append((bytes(raw), game.pb.screen.ndarray.tobytes()))
    return out


def check_purity(rom, seeds, frames=600):
    used = Game(rom)
    modes = [1, PLAY, TRANS, CLEAR, OVER, PAUSE]
    for i, seed in enumerate(seeds):
        fresh = Game(rom)
        want = trace(fresh, seed, frames)
        rng = random.Random(seed + 1)
        for _ in range(1500):
            used.step(*random_keys(rng), *(['start'] if rng.random() < .02 else []))
        bring(used, modes[i % len(modes)])
        used.hold('a', 'up')        # keys held across the restart
        got = trace(used, seed, frames)
        for k, (a, b) in enumerate(zip(want, got)):
            assert a[0] == b[0], f'seed {seed} frame {k}: state differs at ' \
                f'{[j for j in range(256) if a[0][j] != b[0][j]]}'
            assert a[1] == b[1], f'seed {seed} frame {k}: picture differs'
        fresh.pb.stop(save=False)
    used.pb.stop(save=False)


def speed(game, draw, frames=24000):
    rng = random.Random(1)
    game.restart(1)
    spent = time.process_time()
    for i in range(frames // 6):
        game.hold(*random_keys(rng))
        game.pb.tick(6, draw)
        if i % 200 == 199:
            game.restart(i)
    return frames / (time.process_time() - spent)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--seeds', type=int, default=30)
    ap.add_argument('--rom', default=HERE.parents[1] / 'src/parcade/roms/lantern.gb')
    args = ap.parse_args()
    game = Game(args.rom)
    seeds = [(i * 40503 + 1) & 0xFFFF for i in range(args.seeds)]

    times = [play(game, s, 3, refill=True) for s in seeds]
    for f in range(3):
        v = [t[f] for t in times]
        print(f'floor {f + 1}: {len(v)} of {len(seeds)} cleared, frames median '
              f'{statistics.median(v):.0f}, {min(v)}-{max(v)}')
    deep = play(game, 77, 6, refill=True)
    print(f'floors 1-6 in one game: {deep}')
    alive = [len(play(game, s, 3, refill=False)) for s in seeds]
    print('without refilled hearts, games that cleared at least floor 1, 2, 3: '
          f'{[sum(n >= k for n in alive) for k in (1, 2, 3)]} of {len(alive)}')
    check_purity(args.rom, seeds[:6])
    print('restart purity: 6 seeds, 600 frames each, from title, play, transition, banner, game over, pause')
    for draw in (True, False):
        print(f'tick(6, {draw}): {speed(game, draw):.0f} frames/s of CPU time')
    game.pb.stop(save=False)
    print('ok')


if __name__ == '__main__':
    main()
