#!/usr/bin/env python3
"""Art and maps -> data.c and data.h.  usage: mkdata.py outdir   (python3, no packages needed)"""
import glob
import os
import shlex
import sys

import monsters
import paint
import rooms
import scenes
from canvas import Canvas, rgb

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KIND_FIELD = {'.': 0, ',': 0, 'f': 0, 'y': 0, '_': 0, 'w': 2, '~': 4, 'S': 6, 'D': 3}
KIND_ROOM = {'o': 0, 'g': 0, 'M': 3, 'c': 6}
FACING = {'down': 0, 'up': 1, 'left': 2, 'right': 3}
SCRIPTS = ['text', 'elder', 'heal', 'shop', 'trainer1', 'trainer2', 'leader', 'gift']
# name: head, body, OBJ palette, then the colours
PEOPLE = {
    'hero': ('cap', 'trousers', 0), 'mother': ('short', 'dress', 1), 'girl': ('long', 'dress', 1),
    'elder': ('elder', 'trousers', 2), 'boy': ('short', 'trousers', 3), 'man': ('cap', 'trousers', 3),
    'nurse': ('long', 'dress', 4), 'keeper': ('short', 'trousers', 5), 'scout': ('cap', 'trousers', 5),
    'leader': ('long', 'trousers', 6)}
SKIN = 'k=#302830 s=#f8d0a8 d=#d8a078 w=#f8f8f8 e=#202028 '
CLOTHES = [SKIN + c for c in (
    'h=#704020 H=#986030 c=#d83838 C=#f07060 b=#3868c8 B=#6898e8 p=#485068 P=#b03030',
    'h=#885028 H=#b87840 c=#e8b040 C=#f8d070 b=#e07898 B=#f8a8b8 p=#a85878 P=#804058 a=#f8f0e0',
    'h=#d0d0d0 H=#f0f0f0 c=#806040 C=#a08058 b=#8868a8 B=#b098d0 p=#605080 P=#503828',
    'h=#d89830 H=#f0c860 c=#389048 C=#60b868 b=#48a858 B=#88d088 p=#806848 P=#584028',
    'h=#e080a0 H=#f8b0c8 c=#f8f8f8 C=#f8f8f8 b=#f8f8f8 B=#e0e8f0 p=#c8d0d8 P=#c05070 a=#f090a8',
    'h=#383848 H=#585868 c=#d88828 C=#f0b058 b=#e0a040 B=#f8c870 p=#485888 P=#383840',
    'h=#b04828 H=#d87848 c=#606878 C=#8890a0 b=#687080 B=#98a0b0 p=#404858 P=#302830')]


def read_font():
    font, lines = {}, open(f'{HERE}/art/font.txt').read().split('\n')
    for i in range(0, len(lines) - 8, 9):
        cols = [line.split() for line in lines[i + 1:i + 9]]
        for n, ch in enumerate(lines[i]):
            font[ch] = [cols[r][n] for r in range(8)]
    return font


def read_parts():
    parts = {}
    for line in open(f'{HERE}/art/people.txt'):
        line = line.rstrip('\n')
        if line.startswith('@'):
            rows = parts.setdefault(line[1:], [])
        elif not line.startswith('#'):
            rows.append(line)
    return parts


def read_map(path):
    """-> dict with rows, kinds and the lists of things on the map."""
    head, body = open(path).read().split('\n\n', 1)
    name, style, *rows = head.split('\n')
    m = dict(id=os.path.basename(path)[3:-4], name=name[5:], field=style == 'field', rows=rows,
             warps=[], npcs=[], looks=[], houses=[], counter='text')
    assert len({len(r) for r in rows}) == 1 and len(rows) <= 32 and 15 <= len(rows[0]) <= 32, path
    kind = KIND_FIELD if m['field'] else KIND_ROOM
    m['kinds'] = [[kind.get(c, 1) for c in r] for r in rows]
    for line in body.split('\n'):
        w = shlex.split(line)
        if not w:
            continue
        if w[0] == 'house':
            m['houses'].append((*map(int, w[1:5]), *w[5:]))
        elif w[0] == 'warp':
            m['warps'].append((int(w[1]), int(w[2]), w[3], int(w[4]), int(w[5]), FACING[w[6]]))
            m['kinds'][int(w[2])][int(w[1])] = 3
        elif w[0] == 'npc':
            m['npcs'].append((int(w[1]), int(w[2]), w[3], FACING[w[4]], w[5]))
        elif w[0] in ('sign', 'look'):
            m['looks'].append((int(w[1]), int(w[2]), w[3]))
            m['kinds'][int(w[2])][int(w[1])] = 6
        elif w[0] == 'counter':
            m['counter'] = w[1]
        else:
            raise SystemExit(f'{path}: {line}')
    return m


def read_maps():
    return [read_map(p) for p in sorted(glob.glob(f'{HERE}/maps/*.txt'))]


def cut(cv):
    return [[tuple(cv.px[y + j][x + i] for j in range(8) for i in range(8)) for x in range(0, cv.w, 8)]
            for y in range(0, cv.h, 8)]


def pack_palettes(tiles, first, limit):
    """Assign every tile's colours to one of few 15-colour palettes, largest sets first."""
    sets = sorted({frozenset(t) for t in tiles}, key=lambda s: (-len(s), sorted(s)))
    bins, home = [], {}
    for s in sets:
        assert len(s) <= 15, f'{len(s)} colours in one tile'
        best = min((b for b in bins if len(b | s) <= 15), key=lambda b: len(b | s) - len(b), default=None)
        if best is None:
            best = set()
            bins.append(best)
        best |= s
        home[s] = best
    assert len(bins) <= limit, f'{len(bins)} palettes'
    index = {id(b): n for n, b in enumerate(bins)}
    pals = [[(0, 0, 0)] + sorted(b) for b in bins]
    return pals, {s: first + index[id(b)] for s, b in home.items()}


def word(px):
    return sum(v << (4 * i) for i, v in enumerate(px))


def hexlist(kind, name, values, per=12):
    body = ',\n '.join(','.join(f'{v:#x}' for v in values[i:i + per]) for i in range(0, len(values), per))
    return f'const {kind} {name}[{len(values)}] = {{\n {body}\n}};\n'


def colour(c):
    return c[0] | c[1] << 5 | c[2] << 10


def pal16(cols):
    return [colour(c) for c in cols] + [0] * (16 - len(cols))


def obj_words(cv, pal):
    """4-bit tiles of a picture in 1D OBJ order; unknown colours go to the nearest of the palette."""
    def near(c):
        if c is None:
            return 0
        return min(range(1, len(pal)), key=lambda i: (sum((a - b) ** 2 for a, b in zip(pal[i], c)), i))
    cache = {}
    out = []
    for ty in range(0, cv.h, 8):
        for tx in range(0, cv.w, 8):
            for y in range(8):
                row = cv.px[ty + y][tx:tx + 8]
                for c in row:
                    if c not in cache:
                        cache[c] = near(c)
                out.append(word([cache[c] for c in row]))
    return out


def reduce_colours(pictures):
    """The 15 most useful colours of one monster."""
    count = {}
    for cv in pictures:
        for row in cv.px:
            for c in row:
                if c is not None:
                    count[c] = count.get(c, 0) + 1
    while len(count) > 15:
        drop = min(count, key=lambda c: (count[c], c))
        rest = [c for c in count if c != drop]
        to = min(rest, key=lambda c: (sum((a - b) ** 2 for a, b in zip(c, drop)), c))
        count[to] += count.pop(drop)
    return [(0, 0, 0)] + sorted(count)


def person(parts, head, body, clothes, view):
    key = {k: rgb(v) for k, v in (kv.split('=') for kv in clothes.split())}
    key.setdefault('a', key['w'])
    cv = Canvas(16, 32)
    legs = f'{body}_{view}'
    cv.ascii(parts[f'{head}_{view.rstrip("2")}'] + parts[legs if legs in parts else legs.rstrip('2')], key, 0, 11)
    return cv, [(0, 0, 0)] + sorted(set(key.values()))


BANG = ['....kkkkkkk.....', '...kwwwwwwwk....', '..kwwwrrrwwwk...', '..kwwwrrrwwwk...', '..kwwwrrrwwwk...',
        '..kwwwwrwwwwk...', '..kwwwwrwwwwk...', '..kwwwwwwwwwk...', '..kwwwwrwwwwk...', '...kwwwwwwwk....',
        '....kkwwkkk.....', '......kwk.......', '.......k........']
ORB = ['................', '................', '.....kkkkkk.....', '...kkyyyyyykk...', '...kyywwyyyyk...',
       '..kyywwwyyyyyk..', '..kyyywyyyyydk..', '..kkkkkkkkkkkk..', '..kwwwkggkwwwk..', '..kwwwkggkwvvk..',
       '..kwwwwkkwwvvk..', '...kwwwwwvvvk...', '...kkvvvvvvkk...', '.....kkkkkk.....', '................',
       '................']
FX = {'k': rgb('#303038'), 'w': rgb('#f8f8f8'), 'r': rgb('#e04040'), 'y': rgb('#f8b830'), 'd': rgb('#d08818'),
      'g': rgb('#50c868'), 'v': rgb('#b8c0d0')}


def main(out):
    font, parts, maps = read_font(), read_parts(), read_maps()
    ids = {m['id']: n for n, m in enumerate(maps)}
    src = ['/* generated by tools/mkdata.py - do not edit */\n#include "data.h"\n']
    hdr = ['/* generated by tools/mkdata.py - do not edit */\n#pragma once\n#include "types.h"\n']

    # ---- backgrounds ----
    pictures = [cut(paint.paint_field(m['rows'], m['houses']) if m['field'] else rooms.paint_room(m['rows']))
                for m in maps]
    battle, title = cut(scenes.battle()), cut(scenes.title(font))
    ui = scenes.ui_tiles(font)
    # The title has its own palettes; field, rooms and battle share a set, so nothing reloads in play.
    packed = [pack_palettes([t for p in group for row in p for t in row], 1, 15)
              for group in ((*pictures, battle), (title,))]
    number = [{}, {}]                       # world tiles; scene tiles (after the text layer's)
    words = []

    def entry(t, group, pack):
        key = t, pack
        if key not in number[group]:
            pals, home = packed[pack]
            n = len(number[group]) + (len(ui) if group else 0)
            assert n < 1024, 'too many tiles'
            pal = home[frozenset(t)]
            words.append((group, [word([pals[pal - 1].index(c) for c in t[y * 8:y * 8 + 8]]) for y in range(8)]))
            number[group][key] = n | pal << 12
        return number[group][key]
    map_words = [[entry(t, 0, 0) for row in p for t in row] for p in pictures]
    battle_words = [entry(t, 1, 0) for row in battle for t in row]
    title_words = [entry(t, 1, 1) for row in title for t in row]
    world = [w for g, ws in words if g == 0 for w in ws]
    scene = [word(r) for t in ui for r in t] + [w for g, ws in words if g == 1 for w in ws]
    bg_pal, title_pal = ([c for p in [scenes.UI] + pals for c in pal16(p)] for pals, _ in packed)
    bg_pal += [0] * (256 - len(bg_pal))
    title_pal += [0] * (256 - len(title_pal))
    ripple = [(n * 16 + 16 + p.index(paint.RIPPLE_A), n * 16 + 16 + p.index(paint.RIPPLE_B))
              for n, p in enumerate(packed[0][0]) if paint.RIPPLE_A in p and paint.RIPPLE_B in p]
    src += [hexlist('u32', 'world_tiles', world), hexlist('u32', 'scene_tiles', scene),
            hexlist('u16', 'bg_palette', bg_pal), hexlist('u16', 'title_palette', title_pal),
            hexlist('u16', 'battle_map', battle_words),
            hexlist('u16', 'title_map', title_words), hexlist('u8', 'ripples', [v for ab in ripple for v in ab])]
    hdr += [f'extern const u32 world_tiles[{len(world)}], scene_tiles[{len(scene)}];\n',
            'extern const u16 bg_palette[256], title_palette[256], battle_map[600], title_map[600];\n',
            f'#define N_RIPPLES {len(ripple)}\nextern const u8 ripples[{2 * len(ripple)}];\n']

    # ---- people and small things ----
    obj, obj_pal = [], []
    for c in CLOTHES:
        obj_pal += pal16(person(parts, 'cap', 'trousers', c, 'down')[1])
    fx = [(0, 0, 0)] + sorted(set(FX.values()) | set(paint.TALL.values()))
    obj_pal += pal16(fx)
    for n, (who, (head, body, pal)) in enumerate(PEOPLE.items()):
        hdr.append(f'#define SPR_{who.upper()} {n}\n')
        views = ('down', 'up', 'left', 'down2', 'up2', 'left2') if who == 'hero' else ('down', 'up', 'left')
        hdr.append(f'#define TILE_{who.upper()} {len(obj) // 8}\n')
        for view in views:
            cv, cols = person(parts, head, body, CLOTHES[pal], view)
            obj += obj_words(cv, cols)
    for name, art in (('BANG', BANG), ('ORB', ORB)):
        hdr.append(f'#define TILE_{name} {len(obj) // 8}\n')
        cv = Canvas(16, 16)
        cv.ascii(art, FX)
        obj += obj_words(cv, fx)
    tuft = Canvas(16, 8)
    tuft.ascii(paint.CLUMP, paint.TALL)
    tuft.ascii(paint.CLUMP, paint.TALL, 8)
    hdr.append(f'#define TILE_TUFT {len(obj) // 8}\n')
    obj += obj_words(tuft, fx)
    hdr.append(f'#define TILE_FREE {len(obj) // 8}\n#define PAL_FX {len(CLOTHES)}\n')
    src += [hexlist('u32', 'obj_tiles', obj), hexlist('u16', 'obj_palette', obj_pal),
            'const struct person people[] = {\n'
            + ''.join(f' {{ TILE_{w.upper()}, {p[2]} }},\n' for w, p in PEOPLE.items()) + '};\n']
    hdr += [f'extern const u32 obj_tiles[{len(obj)}];\nextern const u16 obj_palette[{len(obj_pal)}];\n',
            'struct person { u16 tile, pal; };\nextern const struct person people[];\n']

    # ---- monsters ----
    front, back, icon, mpal = [], [], [], []
    for n in range(len(monsters.SPECIES)):
        a, b, c = monsters.draw(n), monsters.draw(n, back=True), monsters.draw(n, 0.5)
        pal = reduce_colours([a, b])
        front += obj_words(a, pal)
        back += obj_words(b, pal)
        icon += obj_words(c, pal)
        mpal += pal16(pal)
    for name, data in (('mon_front', front), ('mon_back', back), ('mon_icon', icon)):
        src.append(hexlist('u32', name, data))
        hdr.append(f'extern const u32 {name}[{len(data)}];\n')
    src.append(hexlist('u16', 'mon_palette', mpal))
    hdr.append(f'extern const u16 mon_palette[{len(mpal)}];\n')

    # ---- maps ----
    hdr.append('enum { ' + ', '.join(f'SC_{s.upper()}' for s in SCRIPTS) + ' };\n')
    hdr.append('enum { ' + ', '.join(f'MAP_{m["id"].upper()}' for m in maps) + ', N_MAPS };\n')
    hdr.append('struct warp { u8 x, y, map, tx, ty, face; };\n'
               'struct npc { u8 x, y, sprite, face, script; const char *text; };\n'
               'struct look { u8 x, y; const char *text; };\n'
               'struct map { const char *name; const u16 *tiles; const u8 *kinds; const struct warp *warps;\n'
               '             const struct npc *npcs; const struct look *looks;\n'
               '             u8 w, h, n_warps, n_npcs, n_looks, field, counter; };\n'
               'extern const struct map maps[N_MAPS];\n')
    table = []
    for m, words in zip(maps, map_words):
        i = m['id']
        kinds = [k for r in m['kinds'] for k in r]
        src.append('static ' + hexlist('u16', f'tiles_{i}', words) + 'static ' + hexlist('u8', f'kinds_{i}', kinds, 32))
        src.append(f'static const struct warp warps_{i}[] = {{ '
                   + ', '.join(f'{{ {x}, {y}, {ids[t]}, {a}, {b}, {f} }}' for x, y, t, a, b, f in m['warps']) + ' };\n')
        npcs = [f' {{ {x}, {y}, SPR_{s.upper()}, {f}, '
                + (f'SC_{t.upper()}, 0' if t in SCRIPTS else f'SC_TEXT, "{t}"') + ' },\n'
                for x, y, s, f, t in m['npcs']]
        looks = [f' {{ {x}, {y}, "{t}" }},\n' for x, y, t in m['looks']]
        if npcs:
            src.append(f'static const struct npc npcs_{i}[] = {{\n' + ''.join(npcs) + '};\n')
        if looks:
            src.append(f'static const struct look looks_{i}[] = {{\n' + ''.join(looks) + '};\n')
        table.append(f' {{ "{m["name"]}", tiles_{i}, kinds_{i}, warps_{i}, {"npcs_" + i if npcs else 0}, '
                     f'{"looks_" + i if looks else 0}, {len(m["rows"][0])}, {len(m["rows"])}, {len(m["warps"])}, '
                     f'{len(npcs)}, {len(looks)}, {int(m["field"])}, SC_{m["counter"].upper()} }},\n')
    src.append('const struct map maps[N_MAPS] = {\n' + ''.join(table) + '};\n')
    for name, text in (('data.c', src), ('data.h', hdr)):
        with open(f'{out}/{name}', 'w') as f:
            f.write(''.join(text))
    print(f'{len(number[0])} world tiles, {len(number[1])} scene tiles, '
          f'{len(packed[0][0])}+{len(packed[1][0])} palettes, {len(obj) // 8} OBJ tiles, {len(ripple)} ripple palettes')


if __name__ == '__main__':
    main(sys.argv[1])
