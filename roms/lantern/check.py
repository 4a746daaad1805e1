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
from bot import BASE, CLEAR, OVER, PAUSE, PLAY, TRANS, State
from rules import check_layout, check_room, check_step

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

    def restart(self, seed, draw=False):
        """Returns how many frames passed until the game acknowledged."""
        before = self.state().restarts
        self.poke(41, seed & 255)
        self.poke(42, seed >> 8)
        self.poke(40, 1)
        for n in range(1, 10):
            self.pb.tick(1, draw)
            s = self.state()
            if s.restarts != before:
                break
        assert n <= 2, f'restart took {n} frames'
        assert s.restarts == (before + 1) & 255 and not s.restart
        assert s.mode == PLAY and s.frame == 0 and s.floor == 1
        assert s.raw[4] | s.raw[5] << 8 == seed
        return n


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
            for _ in range(10):
                s, n = n, game.step()
                assert n.mode == OVER and n.frame == s.frame + 1
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
    game.restart(seed, draw=True)
    rng = random.Random(seed)
    out = [(b'', game.pb.screen.ndarray.tobytes())]
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
        used.hold('a', 'up', 'start')       # keys held across the restart
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
