"""Paints whole maps as pictures; mkdata.py then cuts them into 8x8 tiles.

Light comes from the upper left everywhere.  Painting freely and cutting afterwards keeps shores,
paths and houses seamless without a table of border tiles.
"""
from canvas import Canvas, clay, ellipse, rgb

INK = rgb('#283038')
GRASS, GRASS_D, GRASS_L = rgb('#80d068'), rgb('#68b858'), rgb('#a0e080')
TALL = {'k': rgb('#287840'), 'g': rgb('#48a050'), 'l': rgb('#80d060'), 'd': rgb('#389048')}
PATH, PATH_L, PATH_D, PATH_E = rgb('#e8d8a0'), rgb('#f0e8c0'), rgb('#d0b880'), rgb('#b89860')
WATER, WATER_D, WATER_E, SAND = rgb('#4890e0'), rgb('#3070c8'), rgb('#285098'), rgb('#d8c890')
# The game swaps these two palette entries to make the ripples move; B must look like WATER.
RIPPLE_A, RIPPLE_B = (18, 25, 31), (9, 18, 29)
CANOPY = [rgb(c) for c in ('#185830', '#28783c', '#409850', '#68b860')]
TREE_INK, TRUNK, TRUNK_D = rgb('#103828'), rgb('#a06838'), rgb('#704828')
WOOD = [rgb(c) for c in ('#704828', '#986838', '#c89058', '#e8c088')]
STONE = [rgb(c) for c in ('#585868', '#808090', '#a8a8b8', '#d0d0d8')]
WALL, WALL_D, WALL_E = rgb('#f0e8d0'), rgb('#d8c8a8'), rgb('#a89070')
GLASS, GLASS_L = rgb('#68a8d8'), rgb('#b8e0f8')
WHITE = rgb('#f8f8f8')
ROOFS = {name: [rgb(c) for c in tones.split()] for name, tones in {
    'red': '#882828 #c04038 #e06048 #f09070', 'blue': '#284888 #3868b8 #5890d8 #90b8e8',
    'pink': '#983868 #d05890 #f080b0 #f8b0d0', 'green': '#286048 #389068 #58b888 #98d8b0',
    'slate': '#404858 #606878 #8890a0 #b0b8c0'}.items()}

TUFT = ['l.d.....', 'ld.dl...', '.dld....']
CLUMP = ['...k....', '..kgk.k.', '.kglkkgk', '.kglkglk', 'kglldglk', 'kglgdggk', 'kgggggdk', 'dkkkkkkd']
FLOWER = ['.aa.', 'aCCa', 'aCCa', '.aa.', '.s..', 'ss..']
SIGN = ['................', '.kkkkkkkkkkkkkk.', '.kLLLLLLLLLLLLk.', '.kLmmmmmmmmmmdk.', '.kLmwwwwmwwmmdk.',
        '.kLmmmmmmmmmmdk.', '.kLmwwmwwwwwmdk.', '.kLmmmmmmmmmmdk.', '.kddddddddddddk.', '.kkkkkkkkkkkkkk.',
        '.....kmdmk......', '.....kLmdk......', '.....kLmdk......', '....kkLmdkk.....', '.....kkkkk......',
        '................']


def noise(x, y, n):
    """Small repeatable hash, used for scattering."""
    v = (x * 73856093 ^ y * 19349663) & 0xffffffff
    v ^= v >> 13
    return (v * 1274126177 >> 8) % n


def tree():
    t = Canvas(32, 32)
    for x in range(6, 27):                                  # shadow on the ground
        for y in range(27, 32):
            if ((x - 16) / 11) ** 2 + ((y - 29) / 2.6) ** 2 <= 1:
                t.put(x, y, GRASS_D)
    t.rect(13, 23, 6, 7, TRUNK)
    t.rect(16, 23, 3, 7, TRUNK_D)
    t.frame(12, 23, 8, 8, TREE_INK)
    t.rect(13, 30, 6, 1, TREE_INK)
    for cx, cy, r in ((8, 17, 7.5), (24, 17, 7.5), (16, 19, 8.5), (11, 10, 7.5), (21, 10, 7.5)):
        clay(t, ellipse(cx, cy, r, r * 0.92), CANOPY, TREE_INK)
    clay(t, ellipse(16, 12, 10.5, 10), CANOPY, None)
    clay(t, ellipse(16, 7.5, 7, 6), CANOPY, None)
    for x, y in ((10, 13), (14, 17), (20, 16), (24, 19), (7, 19), (17, 23), (22, 11)):
        t.put(x, y, CANOPY[0]), t.put(x + 1, y, CANOPY[0]), t.put(x + 1, y - 1, CANOPY[0])
    for x, y in ((9, 8), (13, 4), (6, 15)):
        t.put(x, y, CANOPY[3]), t.put(x + 1, y, CANOPY[3]), t.put(x, y + 1, CANOPY[3])
    return t


def grass(cv, x, y):
    cv.rect(x, y, 16, 16, GRASS)
    for i, j, c in ((2, 3, GRASS_D), (3, 4, GRASS_D), (4, 3, GRASS_D), (11, 11, GRASS_D), (12, 12, GRASS_D),
                    (13, 11, GRASS_D), (9, 4, GRASS_L), (4, 12, GRASS_L)):
        cv.put(x + i, y + j, c)


def tall_grass(cv, x, y):
    cv.rect(x, y, 16, 16, TALL['d'])
    for i, j in ((0, 0), (8, 0), (0, 8), (8, 8)):
        cv.ascii(CLUMP, TALL, x + i, y + j)


def flowers(cv, x, y, petal, heart):
    key = {'a': petal, 'C': heart, 's': TALL['g']}
    for i, j in ((2, 1), (10, 3), (5, 9), (12, 10)):
        cv.ascii(FLOWER[:5 if j > 8 else 6], key, x + i - (i == 12), y + j)


def area(rows, ch, w, h, radius):
    """Pixel mask of all cells ch, outer corners rounded.  Outside the map the edge cell continues."""
    def at(cx, cy):
        return rows[min(max(cy, 0), h - 1)][min(max(cx, 0), w - 1)] == ch
    mask = set()
    for cy in range(h):
        for cx in range(w):
            if not at(cx, cy):
                continue
            for y in range(16):
                for x in range(16):
                    dx, dy = (-1 if x < 8 else 1), (-1 if y < 8 else 1)
                    if not at(cx + dx, cy) and not at(cx, cy + dy):
                        ex, ey = (x if x < 8 else 15 - x), (y if y < 8 else 15 - y)
                        if ex < radius and ey < radius and (radius - ex) ** 2 + (radius - ey) ** 2 > radius * radius:
                            continue
                    mask.add((cx * 16 + x, cy * 16 + y))
    return mask


def ground(cv, rows, w, h):
    path = area(rows, '_', w, h, 5)
    for x, y in sorted(path):
        cv.put(x, y, PATH)
        def out(dx, dy):
            q = (min(max(x + dx, 0), w * 16 - 1), min(max(y + dy, 0), h * 16 - 1))
            return q not in path
        if out(0, -1) or out(-1, 0) or out(0, 1) or out(1, 0):
            cv.put(x, y, PATH_E)
        elif out(0, -2) or out(-2, 0):
            cv.put(x, y, PATH_D)
        elif (x % 16, y % 16) in ((4, 6), (5, 6), (11, 12), (10, 3)):
            cv.put(x, y, PATH_D)
        elif (x % 16, y % 16) in ((4, 5), (11, 11), (7, 9)):
            cv.put(x, y, PATH_L)
    lake = area(rows, '~', w, h, 6)
    for x, y in sorted(lake):
        def edge(d):
            return any((x + i, y + j) not in lake for i, j in ((0, -d), (-d, 0), (d, 0), (0, d)))
        if edge(1):
            c = WATER_E
        elif (x, y - 2) not in lake or (x, y - 3) not in lake:
            c = SAND if (x, y - 2) not in lake else WATER_E
        elif (x, y - 5) not in lake:
            c = WATER_D
        else:
            u, v = x % 16, y % 16
            c = WATER
            if v in (4, 12) and (u + v) % 16 in range(2, 7):
                c = RIPPLE_A
            elif v in (6, 14) and (u + v) % 16 in range(8, 13):
                c = RIPPLE_B
        cv.put(x, y, c)


def fence(cv, x, y):
    k, m, lt = WOOD[0], WOOD[2], WOOD[3]
    for yy in (5, 10):
        cv.rect(x, y + yy, 16, 3, m)
        cv.rect(x, y + yy, 16, 1, lt)
        cv.rect(x, y + yy + 2, 16, 1, k)
    for px in (2, 10):
        cv.rect(x + px, y + 2, 4, 13, m)
        cv.rect(x + px, y + 2, 1, 13, lt)
        cv.frame(x + px - 1, y + 1, 6, 14, k)


def rock(cv, x, y):
    clay(cv, ellipse(x + 8, y + 9, 7.5, 6.5), STONE, INK)
    cv.put(x + 6, y + 11, STONE[1]), cv.put(x + 10, y + 7, STONE[1]), cv.put(x + 9, y + 12, STONE[0])


HEART = ['.kk.kk.', 'krrkrrk', 'krrrrrk', 'krrrrrk', '.krrrk.', '..krk..', '...k...']
COIN = ['..kkk..', '.kyyyk.', 'kywwyyk', 'kywyyyk', 'kyyyydk', '.kyddk.', '..kkk..']
STAR = ['...k...', '..kyk..', 'kkkykkk', 'kyyyyyk', '.kyyyk.', 'kyykyyk', 'kkk.kkk']
EMBLEM_KEY = {'k': INK, 'r': rgb('#e84858'), 'y': rgb('#f8d040'), 'w': WHITE, 'd': rgb('#d09820')}


def house(cv, cx, cy, cw, ch, colour, emblem):
    x, y, w, h = cx * 16, cy * 16, cw * 16, ch * 16
    roof = ROOFS[colour]
    wall_y = y + h - 32
    cv.rect(x + 2, wall_y, w - 4, 31, WALL)                           # wall with boards
    for j in range(wall_y + 9, y + h - 4, 6):
        cv.rect(x + 2, j, w - 4, 1, WALL_D)
    cv.rect(x + w - 6, wall_y, 3, 31, WALL_D)
    cv.rect(x + 2, y + h - 5, w - 4, 4, WALL_E)
    cv.frame(x + 2, wall_y, w - 4, 31, INK)
    cv.rect(x + 2, y + h - 1, w - 4, 1, GRASS_D)
    door = cw // 2
    for i in range(cw):                                               # windows and door
        if i == door:
            dx, dy = x + i * 16, y + h - 21
            cv.rect(dx + 1, dy, 14, 20, INK)
            cv.rect(dx + 2, dy + 1, 12, 18, WOOD[1])
            cv.rect(dx + 3, dy + 2, 10, 16, WOOD[2])
            cv.rect(dx + 4, dy + 3, 8, 6, GLASS)
            cv.rect(dx + 4, dy + 3, 4, 2, GLASS_L)
            cv.rect(dx + 4, dy + 11, 8, 6, WOOD[1])
            cv.rect(dx + 11, dy + 12, 2, 2, EMBLEM_KEY['y'])
            cv.rect(dx + 1, dy + 19, 14, 2, STONE[2])
        elif abs(i - door) >= 1:
            wx, wy = x + i * 16 + (4 if i < door else 0), y + h - 19
            cv.rect(wx, wy, 12, 11, INK)
            cv.rect(wx + 1, wy + 1, 10, 9, WHITE)
            cv.rect(wx + 2, wy + 2, 8, 7, GLASS)
            cv.rect(wx + 2, wy + 2, 3, 3, GLASS_L)
            cv.rect(wx + 5, wy + 2, 1, 7, WHITE)
    rh = h - 32 + 8                                                   # roof
    for j in range(rh):
        inset = max(0, 7 - j // 3)
        for i in range(inset, w - inset):
            c = roof[2]
            if j % 6 == 5:
                c = roof[1]
            elif (i + (j // 6 % 2) * 5) % 10 == 0:
                c = roof[1]
            elif j % 6 == 0:
                c = roof[3] if i < w * 0.6 else roof[2]
            if i > w - inset - 6:
                c = roof[1]
            if j < 2 or j >= rh - 2 or i in (inset, w - inset - 1):
                c = roof[0] if 0 < j < rh - 1 else INK
            if i in (inset, w - inset - 1):
                c = INK
            cv.put(x + i, y + 1 + j, c)
    cv.rect(x + 2, y + 1 + rh, w - 4, 2, WALL_E)                      # shadow of the eave
    if emblem != 'none':
        ex, ey = x + w // 2 - 9, y + rh // 2 - 6
        cv.disc(ex + 8.5, ey + 8.5, 8.6, 8.6, INK)
        cv.disc(ex + 8.5, ey + 8.5, 7.6, 7.6, WHITE)
        cv.ascii({'heart': HEART, 'coin': COIN, 'star': STAR}[emblem], EMBLEM_KEY, ex + 5, ey + 5)


def paint_field(rows, houses):
    w, h = len(rows[0]), len(rows)
    cv = Canvas(w * 16, h * 16)
    for y in range(h):
        for x in range(w):
            grass(cv, x * 16, y * 16)
    ground(cv, rows, w, h)
    big = tree()
    for y in range(h):
        for x in range(w):
            c, px, py = rows[y][x], x * 16, y * 16
            if c == ',':
                for i, j in ((1, 2), (8, 9)):
                    cv.ascii(TUFT, {'l': GRASS_L, 'd': TALL['g']}, px + i, py + j)
            elif c == 'f':
                flowers(cv, px, py, rgb('#f05858'), rgb('#f8e070'))
            elif c == 'y':
                flowers(cv, px, py, rgb('#f8f8f8'), rgb('#f8c030'))
            elif c == 'w':
                tall_grass(cv, px, py)
            elif c == 'r':
                rock(cv, px, py)
            elif c == 'S':
                cv.ascii(SIGN, {'k': WOOD[0], 'm': WOOD[2], 'd': WOOD[1], 'L': WOOD[3], 'w': WOOD[0]}, px, py)
            elif c == '=':
                fence(cv, px, py)
            elif c == 'T' and x % 2 == 0 and y % 2 == 0:
                assert rows[y][x + 1] == rows[y + 1][x] == rows[y + 1][x + 1] == 'T', f'odd tree at {x},{y}'
                cv.blit(big, px, py)
    for spec in houses:
        house(cv, *spec)
    return cv
