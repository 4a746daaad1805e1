"""Screenshots of the game.  usage: python shots.py [folder] [scale]"""
import os
import sys

from bot import BATTLE, HERE, KEYS, Bot, Console

out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, 'shots')
scale = int(sys.argv[2]) if len(sys.argv) > 2 else 2
every = '--all' in sys.argv
c = Console()
bot = Bot(c)


def shot(name, keep=False):
    if keep or every:
        c.shot(f'{out}/{name}.png', scale)


for _ in range(20):
    c.step()
shot('title', True)
c.restart(4)
c.step()
shot('home', True)
while c.submenu != 6:
    if c.mode == 2:
        bot.c.step(KEYS[bot.route({(1, 5, 8)})[0]]) if c.map == 0 else c.step()
    else:
        bot.tap('a')
for _ in range(4):
    c.step()
shot('choice')
bot.until_walk()
bot.go('village', 11, 9)
shot('village', True)
bot.go('village', 12, 14)
shot('village2')
bot.go('village', 11, 3)
bot.go('village', 11, 2)
bot.face('left')
bot.tap('a')
for _ in range(40):
    c.step()
shot('sign')
bot.until_walk()
bot.go('shop1', 7, 5)
bot.face('up')
bot.tap('a')
while c.submenu != 5:
    c.step()
shot('shop')
bot.until_walk()
bot.go('heal1', 7, 5)
shot('heal')
bot.go('neighbour', 7, 7)
shot('neighbour')
bot.go('route1', 9, 22)
bot.go('route1', 9, 20)
shot('grass', True)
bot.catch = True
seen = set()


def on_battle(con):
    if con.phase in (0, 1):
        for _ in range(3):
            con.step()
        key = ('battle', 'moves')[con.phase]
        if key not in seen and (con.phase or con.foe_hp < con.foe_max_hp):
            seen.add(key)
            shot(key, key == 'battle')


bot.on_battle = on_battle
while c.party_size < 4 and c.orbs:
    bot.go('route1', 9, 20 + (c.steps & 1))
    bot.go('route1', 10, 20 + (c.steps & 1))
bot.catch = False
bot.tap('start')
shot('menu')
bot.tap('a')
for _ in range(4):
    c.step()
shot('party', True)
bot.until_walk()
bot.tap('start')
bot.tap('down')
bot.tap('a')
shot('bag')
bot.until_walk()
bot.train(9)
bot.heal()
bot.go('route1', 10, 14)
shot('route1')
bot.go('route2', 15, 8)
shot('route2')
bot.go('town', 13, 9)
shot('town', True)
bot.go('town', 19, 9)
shot('town2')
bot.heal('heal2')
bot.go('hall', 7, 5)
shot('hall')
bot.go('hall', 7, 4)
bot.face('up')
bot.tap('a')
while c.mode != 9:
    if c.mode == BATTLE and c.phase == 0 and 'leader' not in seen:
        seen.add('leader')
        shot('leader')
    if c.mode == BATTLE:
        bot.fight()
    elif c.mode == 3:
        bot.tap('a')
    elif c.mode == 2:
        break
    else:
        c.step()
for _ in range(60):
    c.step()
shot('ending')
