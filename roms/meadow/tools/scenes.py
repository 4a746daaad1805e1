"""The title picture, the battle ground and the tiles of the text layer."""
from canvas import Canvas, mix, rgb
from paint import CANOPY, GRASS, GRASS_D, GRASS_L, TALL, flowers, tree

SKY, HAZE = rgb('#58b0f0'), rgb('#e0f4f8')
WHITE, INK = rgb('#f8f8f8'), rgb('#283048')


def wave(x, *terms):
    """Sum of triangle waves: rolling hills without trigonometry."""
    y = 0
    for period, height, shift in terms:
        t = (x + shift) % period
        t = t if t < period / 2 else period - t
        u = t / (period / 2)
        y += height * u * u * (3 - 2 * u)
    return int(y)


def cloud(cv, x, y, s):
    for dx, dy, rx, ry in ((0, 0, 12, 5), (-8, 3, 9, 4), (9, 3, 11, 4), (2, -4, 7, 5)):
        cv.disc(x + dx * s, y + dy * s + 1, rx * s, ry * s, rgb('#c8e4f4'))
    for dx, dy, rx, ry in ((0, -1, 11, 4), (-8, 2, 8, 3), (9, 2, 10, 3), (2, -5, 6, 4)):
        cv.disc(x + dx * s, y + dy * s, rx * s, ry * s, WHITE)


# The text font's M and W have double strokes; at five times the size single ones look right.
LOGO_M = ['#.....#', '##...##', '#.#.#.#', '#..#..#', '#.....#', '#.....#', '#.....#']
LOGO = {'M': LOGO_M, 'W': LOGO_M[::-1]}


def logo(cv, font, text, x, y, k):
    """Big letters with a soft corner, a gradient and a double outline."""
    ink = set()
    for ch in text:
        g = LOGO.get(ch) or font[ch]
        wide = max(i for row in g for i, c in enumerate(row) if c == '#') + 1
        for j, row in enumerate(g[:7]):
            for i, c in enumerate(row):
                if c == '#':
                    ink |= {(x + i * k + a, y + j * k + b) for a in range(k) for b in range(k)}
        x += wide * k + k
    near = {(i + a, j + b) for i, j in ink for a in range(-3, 4) for b in range(-3, 4) if a * a + b * b <= 10}
    for i, j in sorted(near):
        cv.put(i, j + 3, rgb('#184828'))
    for i, j in sorted(near):
        cv.put(i, j, rgb('#206838'))
    for i, j in sorted((i + a, j + b) for i, j in ink for a in (-1, 0, 1) for b in (-1, 0, 1)):
        cv.put(i, j, WHITE)
    tones = [rgb(c) for c in ('#f8f0a0', '#f8e068', '#f8c840', '#f0a830')]
    for i, j in sorted(ink):
        cv.put(i, j, tones[min(3, (j - y) * 4 // (7 * k))])


def title(font):
    cv = Canvas(240, 160)
    for y in range(160):
        cv.rect(0, y, 240, 1, mix(SKY, HAZE, min(1, (y // 8) / 11)))
    cv.disc(206, 26, 15, 15, rgb('#f8f0a0'))
    cv.disc(206, 26, 12, 12, rgb('#f8e060'))
    cloud(cv, 36, 18, 1), cloud(cv, 150, 12, 0.8), cloud(cv, 218, 72, 0.9), cloud(cv, 14, 76, 0.7)
    for x in range(240):
        top = 100 - wave(x, (140, 26, 30), (60, 8, 10))
        cv.rect(x, top, 1, 160 - top, rgb('#80b0c8'))
        cv.put(x, top, rgb('#b0d0e0')), cv.put(x, top + 1, rgb('#b0d0e0'))
    for x in range(240):
        top = 112 - wave(x, (120, 16, 70), (44, 4, 5))
        cv.rect(x, top, 1, 160 - top, CANOPY[3])
        cv.rect(x, top, 1, 2, GRASS)
    for x in range(240):
        top = 124 - wave(x, (200, 10, 0))
        cv.rect(x, top, 1, 160 - top, GRASS)
        cv.rect(x, top, 1, 2, GRASS_L)
    big = tree()
    for x, y in ((0, 84), (22, 92), (-14, 100), (196, 92), (214, 82), (222, 102)):
        cv.blit(big, x, y)
    for x, y in ((8, 144), (40, 136), (196, 144), (216, 138), (96, 148), (144, 146)):
        flowers(cv, x, y, rgb('#f05858') if x % 16 else WHITE, rgb('#f8c030'))
    for x in range(0, 240, 24):
        cv.ascii(['l.d', 'ldl', '.d.'], {'l': GRASS_L, 'd': GRASS_D}, x + (x * 7 % 13), 130 + x * 5 % 24)
    logo(cv, font, 'MEADOW', 23, 28, 5)
    return cv


def battle():
    cv = Canvas(240, 160, GRASS)
    for y in range(56):
        cv.rect(0, y, 240, 1, mix(rgb('#98d8f8'), rgb('#f0fcf8'), y // 8 / 6))
    for x in range(240):
        top = 46 - wave(x, (96, 10, 0), (40, 4, 12))
        cv.rect(x, top, 1, 56 - top, rgb('#a8d8b8'))
        top = 52 - wave(x, (60, 5, 22))
        cv.rect(x, top, 1, 60 - top, rgb('#90d090'))
    for y in range(56, 112):
        cv.rect(0, y, 240, 1, [rgb('#b0e890'), rgb('#a0e080'), rgb('#90d878')][(y - 56) // 8 % 2 + (y > 84)])
    for cx, cy, rx, ry in ((184, 70, 54, 12), (60, 110, 66, 14)):
        cv.disc(cx, cy + 2, rx, ry, TALL['g'])
        cv.disc(cx, cy, rx, ry, TALL['l'])
        cv.disc(cx, cy - 1, rx - 4, ry - 3, GRASS)
        cv.disc(cx - 4, cy - 2, rx - 16, ry - 6, GRASS_L)
    cv.rect(0, 112, 240, 48, INK)
    return cv


# ---- text layer ----
UI = [(0, 0, 0)] + [rgb(c) for c in (
    '#f8f8f8', '#303848', '#385890', '#88a8d8', '#c8d0d8', '#30a048', '#70d878', '#d89818', '#f8d858', '#c83030',
    '#f87868', '#3070d0', '#505868', '#e8eef4', '#78b0f8')]

ARROW = ['........', '.2......', '.222....', '.22222..', '.222222.', '.22222..', '.222....', '.2......']
MORE = ['........', '........', '.aaaaaa.', '..aaaa..', '..aaaa..', '...aa...', '...aa...', '........']
LV = ['........', '22......', '22......', '22..2..2', '22..2..2', '22...22.', '2222.22.', '........']
HP = ['........', '2..2.222', '2..2.2.2', '2222.222', '2..2.2..', '2..2.2..', '........', '........']


def box_tile(n):
    """One of nine 8x8 pieces of the rounded window frame."""
    gx, gy = n % 3, n // 3
    px = [[1] * 8 for _ in range(8)]
    for y in range(8):
        for x in range(8):
            dx = x if gx == 0 else 7 - x if gx == 2 else 9
            dy = y if gy == 0 else 7 - y if gy == 2 else 9
            d = min(dx, dy)
            if gx != 1 and gy != 1 and dx < 4 and dy < 4:
                far = (4 - dx - 0.5) ** 2 + (4 - dy - 0.5) ** 2
                d = 4 - int(far ** 0.5 + 0.5) if far > 4 else max(d, 2)
            px[y][x] = 0 if d < 0 else (3, 4, 3)[d] if d < 3 else 1
    if gx == 1 and gy == 1:
        px = [[1] * 8 for _ in range(8)]
    return px


def bar_tile(fill, dark, light):
    """Piece of a bar, fill 0..8 pixels."""
    rows = [[1] * 8, [2] * 8] + [[(light if y == 0 else dark) if x < fill else 13 for x in range(8)] for y in range(4)]
    return rows + [[2] * 8, [1] * 8]


def cap_tile(right):
    rows = [[1] * 8 for _ in range(8)]
    for y in range(2, 6):
        rows[y][0 if right else 7] = 2
    return rows


def glyph_tile(g):
    """Font glyph, strokes made two pixels wide for the 8-pixel pitch."""
    px = [[1] * 8 for _ in range(8)]
    wide = max((i for row in g for i, c in enumerate(row) if c == '#'), default=0) > 4
    for y, row in enumerate(g):
        for x, c in enumerate(row):
            if c == '#':
                px[y][x + (0 if wide else 1)] = 2
                if not wide:
                    px[y][x + 2] = 2
    return px


def on_white(rows):
    return [[1 if c == '.' else int(c, 16) for c in row] for row in rows]


def ui_tiles(font):
    """Tile number = ASCII code for text; the rest fills the numbers below 32 and above 126."""
    tiles = {0: [[0] * 8 for _ in range(8)], 32: [[1] * 8 for _ in range(8)]}
    for n in range(9):
        tiles[1 + n] = box_tile(n)
    tiles[10], tiles[11], tiles[12], tiles[13] = on_white(ARROW), on_white(MORE), on_white(LV), on_white(HP)
    tiles[14], tiles[15] = cap_tile(False), cap_tile(True)
    for base, dark, light in ((16, 6, 7), (128, 8, 9), (137, 10, 11), (146, 12, 15)):
        for f in range(9):
            tiles[base + f] = bar_tile(f, dark, light)
    for ch, g in font.items():
        tiles[ord(ch)] = glyph_tile(g)
    return [tiles.get(i, tiles[0]) for i in range(max(tiles) + 1)]
