/* Background drawing: the tile queue, text, rooms. */
#include "lantern.h"
#include "tiles.h"

u8 q_buf[96];                       /* map address (low, high), tile; written out in VBlank */
volatile u8 q_len;

static const u16 row20[18] = { 0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300, 320, 340 };

static u8 glyph(u8 c)
{
    if (c == ' ') return T_SPACE;
    return c >= 'A' ? T_A + (c - 'A') : T_0 + (c - '0');
}

void q_put(u8 col, u8 row, u8 tile)
{
    u8 *p = &q_buf[(u8)(q_len * 3)];
    *p++ = (u8)(row << 5) | col;
    *p++ = SHOWN + (row >> 3);
    *p = tile;
    q_len++;
}

void q_text(u8 col, u8 row, const char *s)
{
    for (; *s; s++) q_put(col++, row, glyph(*s));
}

void text(u8 col, u8 row, const char *s)
{
    u8 *p = screen + row20[row] + col;
    for (; *s; s++) *p++ = glyph(*s);
}

static void q_meta(u8 col, u8 row, u8 m)
{
    q_put(col, row, mt_tl[m]);
    q_put(col + 1, row, mt_tr[m]);
    q_put(col, row + 1, mt_bl[m]);
    q_put(col + 1, row + 1, mt_br[m]);
}

/* Changes the picture of one cell of the room shown now. */
void set_look(u8 cell, u8 look)
{
    u8 r = 2, c = cell;
    looks[cell] = look;
    while (c >= 10) { c -= 10; r += 2; }
    q_meta(c << 1, r, look);
}

/* Copies screen[] to the hidden map and shows that map from the next VBlank on. */
void show_screen(void)
{
    u8 h = HIDDEN;
    copy_screen();
    q_len = 0;
    HIDDEN = SHOWN;
    SHOWN = h;
    FLIP = h == 0x98 ? 0x87 : 0x8F;     /* LCD, 8x16 sprites, tiles 0x8800, map 0x9800 or 0x9C00 */
}

/* The flame of the lantern flickers. */
void animate_room(void)
{
    const struct obj *o = &S.objs[0];
    if (o->kind != O_LANTERN || ((u8)S.frame & 15)) return;
    q_meta(o->c << 1, 2 + (o->r << 1), (u8)S.frame & 16 ? MT_LANTERN2 : MT_LANTERN);
}
