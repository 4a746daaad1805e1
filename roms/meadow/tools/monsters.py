"""The ten monsters, drawn from shaded shapes on a 64x64 grid (foe view, looking left).

draw(species, back) leaves out the face for the back view and mirrors it, so the player's own
monster looks into the picture.  Each monster uses at most 15 colours.
"""
from canvas import Canvas, clay, ellipse, rgb, spline

INK = rgb('#202030')
WHITE = rgb('#f8f8f8')
EYE = rgb('#181820')

RAMP = {name: [rgb(c) for c in tones.split()] for name, tones in {
    'moss': '#287038 #48a048 #70c858 #a8e880', 'leaf': '#308820 #58b830 #90e048 #c8f880',
    'bark': '#684020 #905828 #b87838 #d8a060', 'ember': '#b03018 #e05020 #f88030 #f8b058',
    'flame': '#e85018 #f89020 #f8d038 #f8f0a0', 'cream': '#c89868 #e0c090 #f0e0b8 #f8f0d8',
    'tide': '#2858a8 #3880d0 #60b0f0 #a0d8f8', 'foam': '#88b0d0 #b0d8e8 #d8f0f8 #f8f8f8',
    'stone': '#585868 #808090 #a8a8b8 #d0d0d8', 'slate': '#484058 #686080 #8880a0 #b0a8c0',
    'seed': '#b0b0a0 #d8d8c8 #f0f0e8 #f8f8f8', 'sun': '#c88010 #e8a820 #f8d040 #f8f090',
    'rose': '#b84060 #e06880 #f898a8 #f8c8d0', 'plum': '#583078 #8048a0 #a870c8 #d0a0e0',
    'coal': '#302830 #484048 #685860 #908088',
}.items()}


class Figure:
    """Collects the parts of one monster; k scales everything (0.5 for the small icons)."""

    def __init__(self, k, back):
        self.k, self.back = k, back
        self.cv = Canvas(int(64 * k), int(64 * k))

    def shape(self, points, mat, line=True, shade=1.0):
        clay(self.cv, [(x * self.k, y * self.k) for x, y in points], RAMP[mat], INK if line else None, shade)

    def oval(self, cx, cy, rx, ry, mat, turn=0, line=True, shade=1.0):
        self.shape(ellipse(cx, cy, rx, ry, turn), mat, line, shade)

    def blob(self, points, mat, line=True, shade=1.0):
        self.shape(spline(points), mat, line, shade)

    def poly(self, points, mat, line=True, shade=1.0):
        self.shape(points, mat, line, shade)

    # ---- face parts, invisible from behind ----
    def eye(self, cx, cy, r=3.0, tall=1.35):
        if self.back:
            return
        k = self.k
        self.cv.disc(cx * k, cy * k, max(r * k, 1), max(r * tall * k, 1.2), EYE)
        self.cv.disc((cx - r * 0.35) * k, (cy - r * 0.55) * k, max(r * 0.42 * k, 0.6), max(r * 0.5 * k, 0.6), WHITE)

    def dots(self, spots, colour=INK):
        if self.back:
            return
        for x, y in spots:
            self.cv.put(int(x * self.k), int(y * self.k), colour)

    def cheek(self, cx, cy, rx=2.6, ry=1.6, mat='rose'):
        if not self.back:
            self.cv.disc(cx * self.k, cy * self.k, rx * self.k, ry * self.k, RAMP[mat][1])

    def smile(self, cx, cy, w=4):
        self.dots([(cx + i, cy + (1 if abs(i) < w - 1 else 0)) for i in range(-w, w + 1)])

    def face(self, part, *args, **kw):
        if not self.back:
            getattr(self, part)(*args, **kw)


def mossip(f):              # a mossy cub with a sprout on its head
    f.blob([(47, 44), (56, 38), (59, 46), (52, 52)], 'leaf')
    f.oval(44, 56, 5.5, 6, 'moss'), f.oval(28, 57, 5.5, 6, 'moss')
    f.blob([(22, 44), (30, 34), (46, 36), (52, 46), (46, 57), (28, 58)], 'moss')
    f.oval(37, 57, 5, 5.5, 'moss'), f.oval(20, 57, 5, 5, 'moss')
    f.blob([(28, 17), (20, 8), (12, 6), (14, 14), (24, 20)], 'leaf')
    f.blob([(28, 17), (32, 6), (42, 3), (42, 11), (32, 19)], 'leaf')
    f.oval(39, 23, 4.5, 5.5, 'moss', 20), f.oval(14, 24, 4.5, 5.5, 'moss', -20)
    f.blob([(12, 30), (18, 19), (27, 16), (37, 20), (42, 31), (37, 42), (26, 45), (15, 41)], 'moss')
    f.face('oval', 23, 37, 9, 6, 'cream', line=False)
    f.eye(18, 29, 2.8), f.eye(32, 29, 2.8)
    f.dots([(23, 34), (24, 34), (25, 34), (24, 35)])
    f.smile(24, 38, 3), f.cheek(14, 35), f.cheek(36, 35)
    for x, y in ((42, 41), (34, 39), (46, 47)):
        f.oval(x, y, 2.6, 2.0, 'leaf', line=False)


def cindle(f):              # a fox kit, the tail burns
    f.blob([(46, 52), (55, 46), (56, 34), (52, 26), (58, 16), (61, 28), (62, 40), (57, 52), (50, 57)], 'ember')
    f.blob([(57, 40), (51, 30), (54, 20), (58, 8), (61, 20), (63, 32)], 'flame')
    f.blob([(26, 42), (38, 36), (49, 44), (50, 57), (40, 60), (27, 59)], 'ember')
    f.oval(46, 57, 5.5, 4, 'ember')
    f.face('oval', 29, 52, 5.5, 8, 'cream', line=False)
    f.oval(35, 57, 4.2, 4.5, 'ember'), f.oval(24, 57, 4.2, 4.5, 'ember')
    f.poly([(11, 21), (9, 3), (23, 14)], 'ember'), f.poly([(29, 14), (43, 4), (40, 23)], 'ember')
    f.face('poly', [(14, 18), (12, 9), (19, 14)], 'coal', line=False)
    f.face('poly', [(33, 14), (40, 9), (38, 19)], 'coal', line=False)
    f.blob([(6, 32), (12, 19), (25, 13), (38, 19), (45, 32), (35, 43), (25, 46), (15, 43)], 'ember')
    f.face('blob', [(9, 36), (18, 34), (25, 38), (32, 34), (41, 36), (33, 43), (25, 45), (17, 43)], 'cream', line=False)
    f.eye(17, 30, 2.9), f.eye(33, 30, 2.9)
    f.dots([(24, 38), (25, 38), (26, 38), (25, 39)]), f.smile(25, 41, 3)
    f.blob([(25, 22), (22, 14), (25, 6), (29, 14)], 'flame', line=False)


def puddlo(f):              # a seal pup with a crest of spray
    f.blob([(44, 52), (54, 46), (62, 40), (60, 50), (63, 58), (52, 57)], 'tide')
    f.blob([(18, 40), (30, 32), (46, 40), (54, 53), (46, 60), (26, 61), (16, 54)], 'tide')
    f.face('oval', 27, 52, 9, 8, 'foam', line=False)
    f.blob([(40, 46), (50, 50), (52, 59), (44, 60), (38, 53)], 'tide')
    f.blob([(17, 47), (9, 53), (8, 60), (16, 60), (22, 53)], 'tide')
    f.blob([(27, 15), (24, 4), (32, 9), (38, 3), (37, 13), (44, 12), (37, 20)], 'foam')
    f.blob([(9, 29), (14, 17), (27, 12), (40, 17), (44, 29), (38, 41), (26, 45), (14, 41)], 'tide')
    f.face('oval', 23, 36, 9.5, 6.5, 'foam', line=False)
    f.eye(16, 27, 3.2), f.eye(33, 27, 3.2)
    f.face('oval', 23, 33, 3, 2, 'coal', line=False), f.smile(23, 38, 3)
    f.dots([(13, 36), (11, 35), (13, 38), (34, 36), (36, 35), (34, 38)])
    f.cheek(12, 33, 2.2, 1.4), f.cheek(37, 33, 2.2, 1.4)


def dandel(f):              # a walking dandelion clock
    f.blob([(28, 44), (32, 43), (36, 44), (35, 56), (29, 56)], 'leaf')
    f.blob([(31, 56), (20, 49), (8, 51), (14, 58), (28, 60)], 'leaf')
    f.blob([(33, 56), (44, 48), (57, 50), (51, 58), (36, 60)], 'leaf')
    for i, (x, y) in enumerate(((32, 7), (43, 9), (52, 17), (56, 28), (51, 39), (42, 46), (22, 46), (13, 39),
                                (8, 28), (12, 17), (21, 9))):
        f.oval(x, y, 6.5, 6.5, 'seed')
    f.oval(32, 27, 20, 19, 'seed', line=False)
    f.face('oval', 29, 29, 12, 10.5, 'sun', line=True)
    f.eye(25, 27, 2.6), f.eye(34, 27, 2.6), f.smile(29, 33, 3)
    f.cheek(21, 32, 2, 1.3), f.cheek(37, 32, 2, 1.3)


def pebbit(f):              # a hare made of pebbles
    f.blob([(36, 22), (36, 8), (44, 2), (48, 8), (44, 24)], 'stone')
    f.blob([(20, 23), (13, 8), (18, 2), (26, 6), (29, 22)], 'stone')
    f.face('blob', [(22, 20), (17, 9), (19, 6), (23, 9), (26, 20)], 'rose', line=False)
    f.oval(52, 48, 6, 5.5, 'seed')
    f.blob([(20, 48), (26, 37), (42, 37), (52, 46), (50, 58), (36, 61), (22, 59)], 'stone')
    f.oval(45, 57, 8, 4.5, 'slate'), f.oval(23, 58, 6.5, 4, 'slate')
    f.blob([(12, 31), (17, 21), (30, 18), (43, 22), (48, 33), (42, 43), (28, 46), (16, 42)], 'stone')
    f.poly([(36, 20), (44, 24), (40, 29), (35, 25)], 'slate', line=False)
    f.poly([(44, 38), (38, 42), (36, 38), (41, 35)], 'slate', line=False)
    f.eye(20, 31, 3), f.eye(34, 31, 3)
    f.dots([(25, 36), (26, 36), (27, 36), (26, 37), (26, 38)]), f.smile(26, 39, 2)
    if not f.back:
        f.cv.rect(int(25 * f.k), int(41 * f.k), max(int(3 * f.k), 1), max(int(3 * f.k), 1), WHITE)


def lumbug(f):              # a fire beetle with a glowing tail
    f.oval(47, 46, 13, 12, 'flame')
    f.blob([(30, 22), (44, 10), (60, 14), (58, 28), (42, 36)], 'foam')
    f.blob([(28, 24), (32, 8), (46, 2), (52, 12), (38, 32)], 'foam')
    f.blob([(20, 34), (30, 24), (44, 28), (48, 42), (38, 52), (24, 48)], 'coal')
    f.blob([(30, 25), (43, 28), (48, 40), (40, 50), (34, 38)], 'ember')
    for x, y in ((38, 32), (42, 40), (38, 45)):
        f.oval(x, y, 2.4, 2.4, 'coal', line=False)
    for x, y in ((22, 52), (31, 55), (39, 57)):
        f.poly([(x, y - 6), (x + 3, y - 5), (x - 1, y + 3), (x - 5, y + 4), (x - 3, y)], 'coal')
    f.poly([(17, 20), (10, 6), (13, 5), (21, 18)], 'coal'), f.oval(11, 5, 3, 3, 'flame')
    f.poly([(25, 18), (26, 4), (29, 4), (29, 18)], 'coal'), f.oval(28, 4, 3, 3, 'flame')
    f.oval(20, 31, 13.5, 13, 'ember')
    f.face('oval', 17, 34, 9.5, 8, 'cream', line=False)
    f.eye(13, 31, 2.8), f.eye(23, 31, 2.8), f.smile(17, 38, 3)


def shellip(f):             # a sea snail with a spiral house
    f.blob([(8, 52), (14, 44), (24, 48), (40, 50), (54, 50), (62, 58), (50, 61), (20, 61)], 'foam')
    f.oval(40, 34, 20, 19, 'tide')
    f.oval(38, 36, 14, 13, 'plum'), f.oval(37, 37, 8.5, 8, 'tide'), f.oval(36, 38, 4, 3.6, 'plum')
    f.poly([(48, 16), (56, 8), (54, 19)], 'tide'), f.poly([(56, 24), (63, 19), (59, 30)], 'tide')
    f.poly([(8, 32), (4, 18), (7, 17), (12, 30)], 'foam'), f.oval(5, 16, 3.4, 3.4, 'foam')
    f.poly([(17, 30), (18, 16), (21, 16), (20, 31)], 'foam'), f.oval(20, 15, 3.4, 3.4, 'foam')
    f.blob([(3, 40), (7, 31), (15, 29), (23, 34), (24, 46), (16, 55), (7, 51)], 'foam')
    f.eye(9, 38, 2.5), f.eye(18, 38, 2.5), f.smile(12, 45, 3), f.cheek(5, 43, 1.8, 1.4), f.cheek(20, 43, 1.8, 1.4)


def bramboar(f):            # a boar with a hedge for a mane
    f.oval(50, 56, 5, 6, 'bark'), f.oval(33, 57, 5, 6, 'bark')
    f.blob([(18, 40), (26, 26), (46, 24), (59, 34), (60, 48), (48, 56), (28, 56)], 'bark')
    f.poly([(20, 26), (22, 10), (29, 18), (34, 6), (39, 16), (46, 7), (48, 19), (57, 13), (56, 25), (63, 26),
            (58, 36), (46, 32), (32, 33)], 'leaf')
    f.poly([(59, 42), (63, 36), (63, 40), (60, 46)], 'bark')
    f.oval(43, 58, 5, 5, 'bark'), f.oval(25, 58, 5, 5, 'bark')
    f.poly([(28, 27), (36, 19), (37, 31)], 'bark'), f.poly([(10, 27), (6, 17), (17, 22)], 'bark')
    f.blob([(6, 38), (10, 27), (22, 23), (34, 29), (36, 42), (27, 50), (14, 50)], 'bark')
    f.face('oval', 16, 43, 9.5, 6.5, 'cream')
    f.dots([(13, 42), (13, 43), (14, 42), (14, 43), (18, 42), (18, 43), (19, 42), (19, 43)])
    f.face('poly', [(6, 46), (3, 38), (7, 40), (9, 47)], 'seed')
    f.face('poly', [(25, 47), (30, 38), (27, 37), (22, 46)], 'seed')
    f.eye(12, 33, 2.3), f.eye(25, 33, 2.3)
    f.dots([(9, 29), (10, 29), (11, 30), (12, 30), (13, 31), (28, 29), (27, 29), (26, 30), (25, 30), (24, 31)])


def cragor(f):              # a small mountain with fists
    f.oval(45, 58, 8, 5, 'slate'), f.oval(22, 58, 8, 5, 'slate')
    f.blob([(54, 28), (62, 32), (63, 46), (56, 50), (50, 40)], 'stone')
    f.poly([(16, 28), (22, 10), (30, 16), (36, 3), (45, 12), (52, 26), (56, 44), (48, 56), (20, 56), (11, 44)], 'stone')
    f.poly([(36, 3), (45, 12), (41, 17), (35, 13), (30, 16)], 'foam')
    f.poly([(22, 10), (29, 17), (25, 22), (19, 19)], 'foam')
    f.poly([(44, 22), (51, 30), (48, 38), (41, 30)], 'slate', line=False)
    f.poly([(46, 44), (50, 50), (42, 54), (38, 48)], 'slate', line=False)
    f.oval(56, 50, 7, 7, 'slate')
    f.blob([(12, 28), (3, 34), (1, 46), (8, 50), (14, 40)], 'stone'), f.oval(8, 50, 7.5, 7, 'slate')
    f.face('poly', [(16, 28), (24, 31), (36, 31), (42, 27), (42, 33), (34, 37), (24, 37), (16, 34)], 'coal', line=False)
    if not f.back:
        for cx in (22, 34):
            f.cv.disc(cx * f.k, 33 * f.k, 2.4 * f.k, max(1.8 * f.k, 1), RAMP['flame'][2])
    f.dots([(22 + i, 45 + (i % 3 == 1)) for i in range(16)])


def ashwing(f):             # a fire bird
    f.blob([(40, 44), (52, 50), (62, 48), (58, 54), (62, 60), (50, 60), (38, 54)], 'flame')
    f.blob([(38, 30), (46, 14), (60, 4), (58, 16), (63, 18), (57, 26), (61, 30), (52, 38), (42, 42)], 'ember')
    f.blob([(42, 34), (49, 22), (55, 17), (52, 29), (46, 38)], 'flame', line=False)
    f.poly([(27, 56), (29, 56), (30, 62), (24, 62)], 'sun'), f.poly([(36, 56), (38, 56), (39, 62), (33, 62)], 'sun')
    f.blob([(16, 38), (24, 28), (38, 30), (46, 44), (40, 56), (26, 58), (18, 50)], 'ember')
    f.face('oval', 25, 47, 7.5, 9, 'cream', line=False)
    f.blob([(19, 34), (8, 30), (2, 18), (1, 34), (6, 46), (16, 46)], 'ember')
    f.blob([(24, 13), (20, 4), (27, 7), (32, 1), (33, 9), (40, 7), (35, 16)], 'flame')
    f.oval(26, 23, 12.5, 12, 'ember')
    f.face('oval', 22, 25, 8, 7.5, 'cream', line=False)
    f.eye(19, 22, 2.6), f.eye(29, 22, 2.6)
    f.face('poly', [(17, 27), (24, 26), (28, 28), (22, 34), (19, 31)], 'sun')


SPECIES = [mossip, cindle, puddlo, dandel, pebbit, lumbug, shellip, bramboar, cragor, ashwing]


def draw(index, k=1.0, back=False):
    f = Figure(k, back)
    SPECIES[index](f)
    if not back:
        return f.cv
    out = Canvas(f.cv.w, f.cv.h)
    out.blit(f.cv, 0, 0, flip=True)
    return out

