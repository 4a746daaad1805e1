"""Paints the rooms inside houses, 16x16 pixels a cell."""
from canvas import Canvas, clay, ellipse, rgb
from paint import CANOPY, GLASS, GLASS_L, INK, ROOFS, STONE, TREE_INK, WALL, WALL_D, WALL_E, WHITE, WOOD

VOID = rgb('#101018')
FLOOR, FLOOR_L, FLOOR_D = rgb('#d8a868'), rgb('#e8c088'), rgb('#b88850')
RUG, RUG_L, RUG_D = rgb('#c04858'), rgb('#e88888'), rgb('#882840')
TOP, TOP_L = rgb('#786050'), rgb('#988070')
GOLD = rgb('#f8d040')


def floor(cv, x, y):
    cv.rect(x, y, 16, 16, FLOOR)
    for j in (0, 8):
        cv.rect(x, y + j, 16, 1, FLOOR_L)
        cv.rect(x, y + j + 7, 16, 1, FLOOR_D)
        cv.rect(x + (4 if j else 12), y + j, 1, 8, FLOOR_D)


def rug(cv, x, y, at):
    cv.rect(x, y, 16, 16, RUG)
    for i, j in ((4, 4), (12, 12)):
        cv.put(x + i, y + j, RUG_L), cv.put(x + i - 1, y + j, RUG_L), cv.put(x + i, y + j - 1, RUG_L)
    sides = (at(0, -1), at(0, 1), at(-1, 0), at(1, 0))
    for depth, c in ((0, RUG_D), (1, RUG_L), (2, RUG_D)):
        if sides[0] != 'g':
            cv.rect(x, y + depth, 16, 1, c)
        if sides[1] != 'g':
            cv.rect(x, y + 15 - depth, 16, 1, c)
        if sides[2] != 'g':
            cv.rect(x + depth, y, 1, 16, c)
        if sides[3] != 'g':
            cv.rect(x + 15 - depth, y, 1, 16, c)


def wall(cv, x, y):
    cv.rect(x, y, 16, 16, WALL)
    for i in (3, 11):
        cv.rect(x + i, y, 2, 12, WALL_D)
    cv.rect(x, y, 16, 2, WALL_E)
    cv.rect(x, y + 11, 16, 4, WOOD[1])
    cv.rect(x, y + 11, 16, 1, WOOD[3])
    cv.rect(x, y + 15, 16, 1, INK)


def window(cv, x, y):
    cv.rect(x + 2, y + 1, 12, 10, INK)
    cv.rect(x + 3, y + 2, 10, 8, WHITE)
    cv.rect(x + 4, y + 3, 8, 6, GLASS)
    cv.rect(x + 4, y + 3, 4, 3, GLASS_L)
    cv.rect(x + 8, y + 3, 1, 6, WHITE)


def case(cv, x, y, goods):
    """Shelf with rows of things; goods are the colours of the things."""
    cv.rect(x, y, 16, 16, WOOD[1])
    cv.frame(x, y, 16, 16, INK)
    cv.rect(x + 1, y + 1, 14, 1, WOOD[3])
    for r in (3, 9):
        cv.rect(x + 2, y + r, 12, 5, WOOD[0])
        for i in range(6):
            c = goods[(i * 2 + r) % len(goods)]
            top = 1 if (i + r) % 3 == 0 else 0
            cv.rect(x + 2 + i * 2, y + r + top, 2, 5 - top, c)
            cv.rect(x + 3 + i * 2, y + r + top, 1, 5 - top, WOOD[0] if i % 2 else c)


def counter(cv, x, y, at):
    cv.rect(x, y, 16, 9, WOOD[3])
    cv.rect(x, y, 16, 1, WHITE)
    cv.rect(x, y + 9, 16, 6, WOOD[2])
    cv.rect(x, y + 9, 16, 1, WOOD[1])
    cv.rect(x + 7, y + 10, 1, 5, WOOD[1])
    cv.rect(x, y + 15, 16, 1, INK)
    if at(-1, 0) != 'c':
        cv.rect(x, y, 1, 16, INK)
    if at(1, 0) != 'c':
        cv.rect(x + 15, y, 1, 16, INK)


def table(cv, x, y, at):
    cv.rect(x + 1, y + 11, 2, 5, WOOD[0]), cv.rect(x + 13, y + 11, 2, 5, WOOD[0])
    cv.rect(x, y + 2, 16, 10, WOOD[2])
    cv.rect(x, y + 2, 16, 1, WOOD[3])
    cv.rect(x, y + 1, 16, 1, INK), cv.rect(x, y + 12, 16, 1, INK), cv.rect(x, y + 10, 16, 2, WOOD[1])
    if at(-1, 0) != 't':
        cv.rect(x, y + 1, 1, 12, INK)
    if at(1, 0) != 't':
        cv.rect(x + 15, y + 1, 1, 12, INK)
        cv.disc(x + 7, y + 5, 3.2, 2.2, WHITE), cv.disc(x + 7, y + 5, 1.6, 1.0, WOOD[1])


def plant(cv, x, y):
    cv.rect(x + 4, y + 10, 8, 5, ROOFS['red'][2])
    cv.rect(x + 9, y + 10, 3, 5, ROOFS['red'][1])
    cv.frame(x + 3, y + 9, 10, 7, INK)
    for cx, cy, r in ((4, 6, 3.6), (11, 6, 3.6), (8, 4, 4.2)):
        clay(cv, ellipse(x + cx, y + cy, r, r), CANOPY, TREE_INK)


def bed(cv, x, y, foot):
    cv.rect(x + 1, y, 14, 16, ROOFS['blue'][2] if foot else WHITE)
    if foot:
        cv.rect(x + 1, y, 14, 2, WHITE)
        cv.rect(x + 11, y + 2, 4, 12, ROOFS['blue'][1])
        cv.rect(x + 1, y + 12, 14, 3, WOOD[1])
        cv.rect(x + 1, y + 15, 14, 1, INK)
    else:
        cv.rect(x + 1, y, 14, 4, WOOD[2]), cv.rect(x + 1, y, 14, 1, INK), cv.rect(x + 1, y + 4, 14, 1, WOOD[0])
        cv.rect(x + 4, y + 6, 8, 6, GLASS_L), cv.frame(x + 3, y + 5, 10, 8, STONE[2])
    cv.rect(x, y, 1, 16, INK), cv.rect(x + 15, y, 1, 16, INK)


def machine(cv, x, y):
    cv.rect(x, y, 16, 15, STONE[3])
    cv.rect(x + 11, y + 1, 4, 14, STONE[2])
    cv.frame(x, y, 16, 16, INK)
    cv.rect(x + 3, y + 2, 8, 5, GLASS), cv.rect(x + 3, y + 2, 4, 2, GLASS_L), cv.frame(x + 2, y + 1, 10, 7, INK)
    for i, c in enumerate((ROOFS['red'][2], GOLD, CANOPY[3])):
        cv.rect(x + 3 + i * 4, y + 10, 2, 2, c)


def banner(cv, x, y):
    cv.rect(x + 3, y + 1, 10, 11, ROOFS['slate'][1]), cv.frame(x + 2, y, 12, 13, INK)
    cv.rect(x + 7, y + 3, 2, 6, GOLD), cv.rect(x + 5, y + 5, 6, 2, GOLD)
    cv.rect(x + 3, y + 11, 10, 1, GOLD)


def statue(cv, x, y):
    cv.rect(x + 1, y + 10, 14, 5, STONE[1]), cv.rect(x + 1, y + 10, 14, 1, STONE[3]), cv.frame(x, y + 9, 16, 7, INK)
    clay(cv, ellipse(x + 8, y + 5, 6, 5), STONE, INK)
    cv.rect(x + 5, y + 4, 2, 1, GOLD), cv.rect(x + 9, y + 4, 2, 1, GOLD)


def mat(cv, x, y):
    cv.rect(x, y + 2, 16, 13, ROOFS['green'][1])
    cv.frame(x, y + 2, 16, 13, ROOFS['green'][0])
    for i in range(5):                                      # arrow towards the way out
        cv.rect(x + 3 + i, y + 6 + i, 10 - 2 * i, 1, ROOFS['green'][3])


BOOKS = [ROOFS['red'][2], ROOFS['blue'][2], ROOFS['green'][2], GOLD]


def paint_room(rows):
    w, h = len(rows[0]), len(rows)
    cv = Canvas(w * 16, h * 16, VOID)
    for y in range(h):
        for x in range(w):
            c, px, py = rows[y][x], x * 16, y * 16

            def at(dx, dy):
                return rows[y + dy][x + dx] if 0 <= y + dy < h and 0 <= x + dx < w else '-'
            if c == '#':
                cv.rect(px, py, 16, 16, TOP)
                cv.rect(px, py, 16, 2, TOP_L), cv.rect(px, py + 14, 16, 2, INK)
                continue
            if c in 'WnL':
                wall(cv, px, py)
            elif c != '-':
                floor(cv, px, py)
                if at(0, -1) in 'WnL':                      # shadow under the wall
                    cv.rect(px, py, 16, 2, FLOOR_D)
            if c == 'n':
                window(cv, px, py)
            elif c == 'L':
                banner(cv, px, py)
            elif c == 'g':
                rug(cv, px, py, at)
            elif c == 'k':
                case(cv, px, py, BOOKS)
            elif c == 'i':
                case(cv, px, py, [WHITE, ROOFS['red'][2], WHITE, ROOFS['blue'][2]])
            elif c == 'c':
                counter(cv, px, py, at)
            elif c == 't':
                table(cv, px, py, at)
            elif c == 'p':
                plant(cv, px, py)
            elif c in 'Bv':
                bed(cv, px, py, c == 'v')
            elif c == 'h':
                machine(cv, px, py)
            elif c == 's':
                statue(cv, px, py)
            elif c == 'M':
                mat(cv, px, py)
    for y in range(1, h):                                   # room outline
        for x in range(w):
            if rows[y][x] == '-' and x + 1 < w and rows[y][x + 1] != '-':
                cv.rect(x * 16 + 14, y * 16, 2, 16, TOP)
            if rows[y][x] == '-' and x > 0 and rows[y][x - 1] != '-':
                cv.rect(x * 16, y * 16, 2, 16, TOP)
            if rows[y][x] == '-' and rows[y - 1][x] != '-':
                cv.rect(x * 16, y * 16, 16, 2, TOP)
    return cv
