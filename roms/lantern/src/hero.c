/* The hero: keys, walking, sword, damage. Collision box: 10 x 10 at the feet. */
#include "lantern.h"
#include "tiles.h"

u8 keys, pressed;

static u8 i1, i2, v1, v2;           /* the two cells at the leading edge and their values */
static u8 step, over;

/* Looks at the two corners of the box when the hero moves n pixels in direction d. */
static void probe(u8 d, u8 n)
{
    u8 e;
    if (d >= D_LEFT) {
        e = (d == D_LEFT ? (u8)(S.x + 3 - n) : (u8)(S.x + 12 + n)) >> 4;
        i1 = rowbase[(u8)(S.y + 6) >> 4] + e;
        i2 = rowbase[(u8)(S.y + 15) >> 4] + e;
    } else {
        e = rowbase[(d == D_UP ? (u8)(S.y + 6 - n) : (u8)(S.y + 15 + n)) >> 4];
        i1 = e + ((u8)(S.x + 3) >> 4);
        i2 = e + ((u8)(S.x + 12) >> 4);
    }
    v1 = S.cells[i1];
    v2 = S.cells[i2];
}

static void advance(u8 d, u8 n)
{
    if (d == D_DOWN) S.y += n;
    else if (d == D_UP) S.y -= n;
    else if (d == D_LEFT) S.x -= n;
    else S.x += n;
}

static void bump(u8 cell, u8 v)
{
    if (v == C_CHEST) open_chest(cell);
    else if (v == C_LOCK && S.keys) open_lock();
}

/* Only one corner of the box is caught: go round it if at most 7 pixels overlap. */
static void corner(u8 d)
{
    u8 low = d >= D_LEFT ? (u8)(S.y + 6) & 15 : (u8)(S.x + 3) & 15;
    if (SOLID(v1)) {
        if (SOLID(v2)) return;
        over = 16 - low;                            /* distance to the free cell further on */
        if (over > 7) return;
        advance(d >= D_LEFT ? D_DOWN : D_RIGHT, over < step ? over : step);
    } else {
        over = low - 6;                             /* box of 10: the far end sticks out low - 6 */
        if (over > 7) return;
        advance(d >= D_LEFT ? D_UP : D_LEFT, over < step ? over : step);
    }
}

static void leave(u8 room_delta)
{
    S.room += room_delta;
    S.mode = M_TRANS;
}

static void walk(u8 d)
{
    probe(d, step);
    if (SOLID(v1) || SOLID(v2)) {
        bump(i1, v1);
        if (i2 != i1) bump(i2, v2);
        if (step == 2) {
            probe(d, 1);
            if (!SOLID(v1) && !SOLID(v2)) { advance(d, 1); return; }
        }
        if (i1 != i2) corner(d);
        return;
    }
    advance(d, step);
    if (d == D_LEFT) { if (S.x <= 6) { S.x = 136; leave(0xFF); } }
    else if (d == D_RIGHT) { if (S.x >= 138) { S.x = 8; leave(1); } }
    else if (d == D_UP) { if (S.y <= 18) { S.y = 124; leave(0xFC); } }
    else if (S.y >= 126) { S.y = 20; leave(4); }
}

/* Thrown back after damage; open doors count as walls, so that nobody leaves a room this way. */
static void knocked(void)
{
    S.knock--;
    probe(S.knock_dir, 2);
    if (v1 | v2) return;
    advance(S.knock_dir, 2);
}

static u8 near(const struct obj *o)
{
    u8 dx = (u8)(o->c << 4) - S.x + 11, dy = (u8)(o->r << 4) + 16 - S.y + 11;
    return dx < 23 && dy < 23;
}

static void touch_object(void)
{
    struct obj *o = &S.objs[0];
    if (!near(o)) return;
    if (o->kind == O_KEY) {
        o->kind = O_NONE;
        S.content[S.room] &= ~HAS_KEY;
        S.keys++;
        S.keys_taken++;
        set_look((u8)(rowbase[o->r + 1] + o->c), MT_FLOOR);
        hud_keys();
    } else {
        S.content[S.room] &= ~HAS_LANTERN;
        S.floors_cleared++;
        S.mode = M_CLEAR;
    }
}

void hero_step(void)
{
    if (S.inv) S.inv--;
    if (S.sword_wait) S.sword_wait--;
    if (S.knock) {
        knocked();
    } else if (S.sword) {
        S.sword--;
    } else if ((keys & K_A) && !S.sword_wait) {
        S.sword = 10;
        S.sword_wait = 16;
    } else if (keys & (K_UP | K_DOWN | K_LEFT | K_RIGHT)) {
        step = 1 + ((u8)S.frame & 1);               /* 1.5 pixels per frame */
        S.facing = keys & K_UP ? D_UP : keys & K_DOWN ? D_DOWN : keys & K_LEFT ? D_LEFT : D_RIGHT;
        walk(S.facing);
    }
    if (S.objs[0].kind && S.mode == M_PLAY) touch_object();
}

void hurt(u8 amount, u8 from_x, u8 from_y)
{
    u8 dx, dy, d;
    if (S.inv) return;
    S.hearts = S.hearts > amount ? S.hearts - amount : 0;
    if (S.hits != 255) S.hits++;
    S.inv = 45;
    S.sword = 0;
    hud_hearts();
    dx = S.x > from_x ? S.x - from_x : from_x - S.x;
    dy = S.y > from_y ? S.y - from_y : from_y - S.y;
    if (dx > dy) d = S.x > from_x ? D_RIGHT : D_LEFT;
    else d = S.y > from_y ? D_DOWN : D_UP;
    S.knock = 7;
    S.knock_dir = d;
    if (!S.hearts) S.mode = M_OVER;
}
