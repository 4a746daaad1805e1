"""Plays Meadow in mGBA and checks the contract in README.md.  usage: python check.py [--fast]"""
import hashlib
import random
import sys
import time

from bot import BATTLE, KEYS, MAP_ID, TITLE, WALK, Bot, Console, MENU

FLAG = dict(left_house=0, first_monster=1, first_victory=2, route1=3, route2=4, town=5, trainer=6, badge=7, saved=8,
            healed=9, bought=10, caught=13, hall=15)


def has(c, name):
    return bool(c.flags >> FLAG[name] & 1)


def booted():
    c = Console()
    for _ in range(8):
        c.step()
    assert bytes(c.ram[0:4]) == b'MDW1' and c.ram[51] == b'\1' and c.mode == TITLE, 'state block after boot'
    return c


def hunt(bot, done):
    for _ in range(400):
        if done():
            return
        bot.go('route1', 9, 20 + (bot.c.steps & 1))
        bot.go('route1', 10, 20 + (bot.c.steps & 1))
    raise AssertionError('nothing happens in the tall grass')


def play_through(seed):
    c = booted()
    c.restart(seed)
    assert (c.mode, c.map, c.x, c.y, c.frame, c.seed) == (WALK, 0, 10, 3, 0, seed), 'restart'
    assert c.restarts == 1 and c.ram[52] == b'\0' and c.party_size == 0 and c.flags == 0
    bot, marks, lag0 = Bot(c), {}, c.lag

    for key, (dx, dy) in (('down', (0, 1)), ('up', (0, -1))):   # eight frames a cell, no delay
        x, y = c.x, c.y
        for _ in range(8):
            assert c.mode == WALK
            c.step(KEYS[key])
        assert (c.x - x, c.y - y, c.moving) == (dx, dy, 0), 'one cell in eight frames'
    assert c.under == 0 and len(set(c.ram[321:346])) > 1

    bot.go('village', 5, 8)
    marks['left_house'] = c.frame
    assert has(c, 'left_house') and has(c, 'first_monster') and c.party_size == 1 and c.orbs == 5
    mon = c.party()
    assert mon['species'] == 1 and mon['level'] == 5 and 0 < mon['hp'] == mon['max_hp']
    marks['monster'] = c.frame
    bot.go('route1', 9, 22)
    assert has(c, 'route1')
    money = c.money
    hunt(bot, lambda: c.won)
    marks['first_victory'] = c.frame
    assert has(c, 'first_victory') and c.encounters >= 1 and c.money > money and c.in_battle == 0
    assert c.party()['exp'] or c.party()['level'] > 5

    bot.catch = True                                        # catch one
    hunt(bot, lambda: c.caught or not c.orbs)
    bot.catch = False
    assert not c.caught or (has(c, 'caught') and c.party_size == 1 + c.caught)

    bot.heal()
    assert has(c, 'healed') and all(c.party(i)['hp'] == c.party(i)['max_hp'] for i in range(c.party_size))
    bot.go('shop1', 7, 5)
    bot.face('up')
    orbs, money = c.orbs, c.money
    bot.tap('a')
    bot.wait_submenu(5)
    bot.tap('a')
    bot.wait_submenu(5)
    assert has(c, 'bought') and c.orbs == orbs + 1 and c.money == money - 20, 'shop'
    bot.until_walk()

    bot.train(8)
    bot.heal()
    bot.go('town', 10, 10)
    marks['town_after_training'] = c.frame
    assert has(c, 'route2') and has(c, 'town') and has(c, 'trainer'), 'the scout on route 2 lets nobody pass'
    bot.heal('heal2')
    bot.train(11, 'heal2', ('route2', 23, 10))

    bot.go('town', 10, 11)                                  # save, switch off, continue
    lag = c.lag - lag0                                      # writing to flash may take a frame, play may not
    bot.tap('start')
    assert c.mode == MENU and c.submenu == 1
    bot.tap('down'), bot.tap('down')
    assert c.cursor == 2
    bot.tap('a')
    bot.wait_submenu(7)
    bot.tap('a')
    bot.until_walk()
    assert has(c, 'saved')
    saved = c.block()
    c.reset()
    for _ in range(8):
        c.step()
    assert c.mode == TITLE
    bot.tap('a')
    bot.until_walk()
    now = c.block()
    changed = [i for i in range(512) if saved[i] != now[i] and i not in (12, 13, 14, 15, 56, 57, 58, 59)]
    assert not changed, f'after CONTINUE bytes {changed} differ'

    bot.heal('heal2')
    tries = 0
    while not c.badges:
        tries += 1
        assert tries < 8, 'leader'
        bot.go('hall', 7, 4)
        bot.face('up')
        bot.tap('a')
        bot.until_walk()
        if not c.badges:
            bot.train(c.party()['level'] + 1, 'heal2', ('route2', 23, 10))
            bot.heal('heal2')
    assert has(c, 'badge') and has(c, 'hall') and c.badges == 1
    print(f'seed {seed}: badge at level {c.party()["level"]} in attempt {tries}, party {c.party_size}, '
          f'won {c.won}, blackouts {c.lost}; frames {marks}; lag frames {lag}')
    assert lag == 0, 'lag frames'
    return c


def blackout():
    c = booted()
    c.restart(5)
    bot = Bot(c)
    bot.go('route1', 9, 22)
    bot.go('route1', 9, 21)
    purse = []
    bot.on_battle = lambda con: purse.append(con.money)
    for _ in range(400):
        c.ram[66:68] = b'\1\0'                              # one HP, slow
        c.ram[76:77] = b'\0'
        bot.pace()
        bot.until_walk()
        if c.lost:
            break
    assert c.lost == 1 and c.map == MAP_ID['heal1'] and c.money == purse[-1] - purse[-1] // 2
    assert c.party()['hp'] == c.party()['max_hp']
    print('blackout: back at the nurse, half the money lost')


def trace(c, seed, keys):
    """Hash of block and picture of every frame after a restart."""
    c.restart(seed)
    h, out = hashlib.sha1(), []
    for k in keys:
        h.update(c.block())
        h.update(c.picture())
        out.append(h.hexdigest())
        c.step(k)
    return out


def everywhere():
    """Play a whole game, keep a save state of every kind of situation, restart from each of them."""
    states, step = {}, Console.step

    def watch(self, keys=0):
        step(self, keys)
        key = (self.mode, self.submenu, self.phase if self.mode == BATTLE else 0, self.kind, self.moving > 0)
        if key not in states and self.mode:     # mode 0: the main loop does not run yet
            states[key] = self.core.save_raw_state()
    Console.step = watch
    try:
        play_through(9)
        blackout()
    finally:
        Console.step = step
    keys = [KEYS['down']] * 40 + [0] * 20
    clean, dirty = trace(booted(), 77, keys), booted()
    for key, state in states.items():
        assert dirty.core.load_raw_state(state)
        assert trace(dirty, 77, keys) == clean, f'restart from {key}'
    print(f'restart from {len(states)} situations, modes {sorted({k[0] for k in states})}: identical')


def purity():
    def noise(seed, n):
        r, keys = random.Random(seed), []
        while len(keys) < n:
            keys += [r.choice([1, 1, 2, 8, 16, 32, 64, 128, 128, 0])] * r.choice([2, 4, 8, 16])
        return keys[:n]
    c = booted()                                            # a run that gets into a battle
    c.restart(7)
    bot = Bot(c)
    bot.go('route1', 9, 21)
    for _ in range(400):
        bot.pace()
        bot.until_walk()
        if c.won > 1:
            break
    played = list(c.log)
    assert c.won > 1
    cases = [(1, noise(1, 600)), (2, noise(2, 600)), (0xDEADBEEF, noise(3, 600)), (7, played)]
    dirty = booted()
    for n, (seed, keys) in enumerate(cases):
        clean = trace(booted(), seed, keys)
        # leave the dirty console in another place each time: walking, in a menu, in a battle, in a text
        dirty.restart(100 + n)
        for k in (played[:900 + 517 * n] if n % 2 else noise(50 + n, 700 + 131 * n)):
            dirty.step(k)
        where = dirty.mode
        again = trace(dirty, seed, keys)
        bad = next((i for i, (a, b) in enumerate(zip(clean, again)) if a != b), None)
        assert bad is None, f'seed {seed}: differs in frame {bad} (restarted from mode {where})'
        print(f'restart purity: seed {seed}, {len(keys)} frames identical, restarted from mode {where}')
    a, b = trace(booted(), 1, played), trace(booted(), 2, played)
    assert a != b, 'the seed changes nothing'


def speed():
    c = booted()
    c.restart(3)
    bot = Bot(c)
    bot.go('route1', 9, 26)
    run, native = c.native.runFrame, c.native
    for name, skip in (('all drawn', 0), ('1 of 6 drawn', 5), ('none drawn', 1 << 30)):
        c.video.frameskip = c.video.frameskipCounter = skip
        f0, n, t0 = c.frame, 0, time.process_time()
        while time.process_time() - t0 < 1.5:
            # up and down the path of route 1, always walking and scrolling
            native.setKeys(native, KEYS['up'] if n // 32 % 2 else KEYS['down'])
            for _ in range(8):
                run(native)
            n += 8
        dt = time.process_time() - t0
        assert c.frame - f0 == n, 'lag while walking'
        print(f'speed walking, {name}: {n / dt:.0f} frames/s of CPU time')


if __name__ == '__main__':
    for s in (1,) if '--fast' in sys.argv else (1, 2, 3):
        play_through(s)
    blackout()
    purity()
    everywhere()
    speed()
    print('ok')
