"""Screenshots of the game.  usage: python shots.py [folder] [scale] [--all]"""
import os
import sys

from bot import BATTLE, HERE, KEYS, TEXT, VICTORY, WALK, Bot, Console


class Album:
    def __init__(self, folder, scale, every):
        self.folder, self.scale, self.every = folder, scale, every
        self.c = Console()
        self.bot = Bot(self.c)
        self.bot.on_battle = self.on_battle
        self.seen = set()

    def shot(self, name, keep=False, after=0):
        for _ in range(after):
            self.c.step()
        if name not in self.seen and (keep or self.every):
            self.c.shot(f'{self.folder}/{name}.png', self.scale)
        self.seen.add(name)

    def on_battle(self, c):
        if c.kind == 3 and c.phase == 0:
            self.shot('leader', after=3)
        elif c.phase == 0 and c.foe_hp < c.foe_max_hp:
            self.shot('battle', True, 3)
        elif c.phase == 1:
            self.shot('moves', after=3)

    def start(self):
        c, bot = self.c, self.bot
        self.shot('title', True, 20)
        c.restart(4)
        self.shot('home', True, 1)
        for _ in range(400):
            if c.submenu == 6:
                break
            if c.mode == WALK and c.map == 0:
                c.step(KEYS[bot.route({(1, 5, 8)})[0]])
            elif c.mode == TEXT:
                bot.tap('a')
            else:
                c.step()
        self.shot('choice', after=4)
        bot.until_walk()

    def village(self):
        bot = self.bot
        bot.go('village', 11, 9)
        self.shot('village', True)
        bot.go('village', 11, 2)
        bot.face('left')
        bot.tap('a')
        self.shot('sign', after=40)
        bot.until_walk()
        bot.go('shop1', 7, 5)
        bot.face('up')
        bot.tap('a')
        bot.wait_submenu(5)
        self.shot('shop')
        bot.until_walk()
        bot.go('heal1', 7, 5)
        self.shot('heal', after=64)
        bot.go('neighbour', 7, 7)
        self.shot('neighbour', after=64)

    def routes(self):
        c, bot = self.c, self.bot
        bot.go('route1', 9, 20)
        self.shot('grass', True)
        bot.catch = True
        for _ in range(400):
            if c.party_size >= 4 or not c.orbs:
                break
            bot.go('route1', 9, 20 + (c.steps & 1))
            bot.go('route1', 10, 20 + (c.steps & 1))
        bot.catch = False
        bot.tap('start')
        self.shot('menu')
        bot.tap('a')
        self.shot('party', True, 4)
        bot.until_walk()
        bot.tap('start')
        bot.tap('down')
        bot.tap('a')
        self.shot('bag')
        bot.until_walk()
        bot.train(9)
        bot.heal()
        bot.go('route1', 10, 14)
        self.shot('route1')
        bot.go('route2', 15, 8)
        self.shot('route2')

    def town(self):
        c, bot = self.c, self.bot
        bot.go('town', 13, 9)
        self.shot('town', True)
        bot.heal('heal2')
        bot.go('hall', 7, 5)
        self.shot('hall')
        bot.go('hall', 7, 4)
        bot.face('up')
        bot.tap('a')
        for _ in range(5000):
            if c.mode in (VICTORY, WALK):
                break
            if c.mode == BATTLE:
                self.on_battle(c)
                bot.fight()
            elif c.mode == TEXT:
                bot.tap('a')
            else:
                c.step()
        self.shot('ending', after=60)


def main():
    args = [a for a in sys.argv[1:] if a != '--all']
    album = Album(args[0] if args else os.path.join(HERE, 'shots'), int(args[1]) if len(args) > 1 else 2,
                  '--all' in sys.argv)
    album.start()
    album.village()
    album.routes()
    album.town()


if __name__ == '__main__':
    main()
