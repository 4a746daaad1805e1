#!/usr/bin/env python3
"""ASCII art -> tile data and tile numbers.
usage: mkart.py artdir out_prefix     writes out_prefix.h, .c, .inc, _mt.s

Background pictures are cut into 8 x 8 tiles, equal tiles are stored once. Pictures of
16 x 16 become "metatiles": four tables give their four tiles. Sprites are 8 x 16, kept
in order: left column, then right column."""
import sys
artdir, out = sys.argv[1:]
PX = {'.': 0, '-': 1, '+': 2, '#': 3}


def pictures(name):
    """(name, options, rows of pixels) for each picture of a file"""
    found = []
    for line in open(f'{artdir}/{name}', encoding='ascii'):
        line = line.rstrip('\n')
        if line.startswith('@'):
            words = line[1:].split()
            found.append((words[0], words[1:], []))
        elif found and line and set(line) <= set(PX):
            found[-1][2].append([PX[c] for c in line])
    done = {}
    for key, opts, rows in found:
        if opts[:1] == ['half']:
            rows = [r + r[::-1] for r in rows]
        elif opts[:1] == ['mirror']:
            rows = [r[::-1] for r in done[opts[1]]]
        elif opts[:1] == ['flip']:
            rows = done[opts[1]][::-1]
        elif opts[:1] == ['turn']:      # 8 x 16 pointing up -> 16 x 16 pointing right
            src = done[opts[1]]
            body = [[src[15 - x][y] for x in range(16)] for y in range(8)]
            rows = [[0] * 16] * 4 + body + [[0] * 16] * 4
        assert rows and all(len(r) == len(rows[0]) for r in rows), f'{name}: {key} is ragged'
        assert len(rows) % 8 == 0 and len(rows[0]) % 8 == 0, f'{name}: {key} size'
        done[key] = rows
    return done


def tile(rows, x, y):
    """16 bytes: two planes per row, leftmost pixel in bit 7"""
    data = []
    for r in rows[y:y + 8]:
        px = r[x:x + 8]
        data.append(sum((v & 1) << (7 - i) for i, v in enumerate(px)))
        data.append(sum((v >> 1) << (7 - i) for i, v in enumerate(px)))
    return bytes(data)


bg, defs, tables = [], [], []


def add(t):
    if t not in bg:
        bg.append(t)
    return bg.index(t)


# the font is contiguous: a glyph is found by adding to the number of its first one
for line in open(f'{artdir}/font.txt', encoding='ascii'):
    word = line.split()
    if len(word) == 8:
        rows = [[3] * 8 for _ in range(8)]
        for y, bits in enumerate(word[1:]):
            for x, b in enumerate(bits):
                if b == '1':
                    rows[y][x + 1] = 0
        defs.append((f'T_{word[0]}', len(bg)))
        bg.append(tile(rows, 0, 0))
defs.append(('T_SPACE', add(tile([[3] * 8] * 8, 0, 0))))

# minimap: upper and lower room of a tile, 0 none, 1 not seen, 2 seen, 3 here
LOOK = {0: ('########',) * 4,
        1: ('########', '##+++###', '########', '########'),
        2: ('-------#', '-------#', '-------#', '########'),
        3: ('.......#', '.-###-.#', '.......#', '########')}
defs.append(('T_MAP', len(bg)))
for up in range(4):
    for low in range(4):
        bg.append(tile([[PX[c] for c in r] for r in LOOK[up] + LOOK[low]], 0, 0))

for key, rows in pictures('hud.txt').items():
    defs.append((f'T_{key.upper()}', len(bg)))
    bg.append(tile(rows, 0, 0))

metas = []
for key, rows in pictures('tiles.txt').items():
    assert len(rows) == 16 and len(rows[0]) == 16, key
    defs.append((f'MT_{key.upper()}', len(metas)))
    metas.append([add(tile(rows, x, y)) for y in (0, 8) for x in (0, 8)])
mt = dict(defs)
corners = [(f'mt_{c}', [m[i] for m in metas]) for i, c in enumerate(('tl', 'tr', 'bl', 'br'))]

# which metatile a wall or an (open) door shows at each of the 80 cells
wall, door = [], []
for r in range(8):
    for c in range(10):
        side = {(0, 0): 'NW', (0, 9): 'NE', (7, 0): 'SW', (7, 9): 'SE'}.get((r, c)) or (
            'N' if r == 0 else 'S' if r == 7 else 'W' if c == 0 else 'E' if c == 9 else '')
        if side == 'N' and c in (2, 7):
            side = 'N2'
        wall.append(mt['MT_WALL_' + side] if side else 255)
        place = {(0, 4): 'N1', (0, 5): 'N2', (7, 4): 'S1', (7, 5): 'S2',
                 (3, 0): 'W1', (4, 0): 'W2', (3, 9): 'E1', (4, 9): 'E2'}.get((r, c))
        door.append(mt['MT_DOOR_' + place] if place else 0)
assert mt['MT_LOCK_N1'] == mt['MT_DOOR_N1'] + 8, 'locked doors follow the open ones in the same order'
tables += [('wall_look', wall), ('door_look', door)]

for key, rows in pictures('title.txt').items():
    w = len(rows[0]) // 8
    defs.append((f'{key.upper()}_W', w))
    defs.append((f'{key.upper()}_H', len(rows) // 8))
    tables.append((f'pic_{key}', [add(tile(rows, x, y)) for y in range(0, len(rows), 8)
                                  for x in range(0, w * 8, 8)]))
assert len(bg) <= 256, f'{len(bg)} background tiles'

obj = []
for key, rows in pictures('sprites.txt').items():
    defs.append((f'O_{key.upper()}', len(obj)))
    for x in range(0, len(rows[0]), 8):
        for y in (0, 8):
            obj.append(tile(rows, x, y))
assert len(obj) <= 128, f'{len(obj)} sprite tiles'

with open(out + '.h', 'w', encoding='ascii', newline='\n') as f:
    f.write('/* generated by tools/mkart.py */\n')
    for key, v in defs:
        f.write(f'#define {key} {v}\n')
    for key, data in corners + tables:
        f.write(f'extern const u8 {key}[{len(data)}];\n')
with open(out + '.c', 'w', encoding='ascii', newline='\n') as f:
    f.write('/* generated by tools/mkart.py */\n#include "lantern.h"\n#include "tiles.h"\n')
    for key, data in tables + [('bg_tiles', b''.join(bg)), ('obj_tiles', b''.join(obj))]:
        f.write(f'const u8 {key}[{len(data)}] = {{\n')
        for i in range(0, len(data), 16):
            f.write(' ' + ','.join(map(str, data[i:i + 16])) + ',\n')
        f.write('};\n')
        if key.endswith('_tiles'):
            f.write(f'const u8 {key}_end[1] = {{ 0 }};\n')
with open(out + '.inc', 'w', encoding='ascii', newline='\n') as f:
    f.write(f'T_SPACE = {mt["T_SPACE"]}\n')
with open(out + '_mt.s', 'w', encoding='ascii', newline='\n') as f:
    # one ROM page each, so that a metatile number is the low byte of an address
    f.write('; generated by tools/mkart.py\n        .module mt\n        .area _MT (ABS)\n')
    for i, (key, data) in enumerate(corners):
        f.write(f'        .org 0x{0x7C00 + 256 * i:04X}\n_{key}::\n')
        for v in data:
            f.write(f'        .db {v}\n')
print(f'{len(bg)} background tiles, {len(obj)} sprite tiles')
