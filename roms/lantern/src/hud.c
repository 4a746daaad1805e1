/* The two tile rows on top: hearts, keys, coins, floor, map. */
#include "lantern.h"
#include "tiles.h"

static u8 dig[3];

static void decimal(u16 v)
{
    u8 h = 0, t = 0, b;
    if (v > 999) v = 999;
    while (v >= 100) { v -= 100; h++; }
    b = (u8)v;
    while (b >= 10) { b -= 10; t++; }
    dig[0] = T_0 + h;
    dig[1] = T_0 + t;
    dig[2] = T_0 + b;
}

static u8 heart(u8 i)
{
    u8 full = (u8)(i << 1) + 2;
    return S.hearts >= full ? T_HEART2 : S.hearts + 1 == full ? T_HEART1 : T_HEART0;
}

void hud_hearts(void)
{
    u8 i;
    for (i = 0; i < 3; i++) q_put(i, 0, heart(i));
}

void hud_keys(void)
{
    q_put(11, 0, T_0 + S.keys);
}

void hud_coins(void)
{
    decimal(S.coins);
    q_put(11, 1, dig[0]);
    q_put(12, 1, dig[1]);
    q_put(13, 1, dig[2]);
}

/* FLOOR nn, or PAUSED while the game is paused */
void hud_label(void)
{
    if (S.mode == M_PAUSE) { q_text(0, 1, "PAUSED  "); return; }
    q_text(0, 1, "FLOOR ");
    decimal(S.floor);
    q_put(6, 1, dig[1]);
    q_put(7, 1, dig[2]);
}

static u8 i;                        /* static: sm83 code for locals is slow */

void number(u8 col, u8 row, u16 v)
{
    static u8 *p;
    decimal(v);
    p = screen + (row << 4) + (row << 2) + col;
    p[0] = dig[0];
    p[1] = dig[1];
    p[2] = dig[2];
}

static u8 map_state(u8 r)
{
    if (r == S.room) return 3;
    if (S.seen[r]) return 2;
    return S.content[r] >> 7;
}

/* Whole HUD into screen[]. One map tile holds two rooms, one above the other. */
void hud_full(void)
{
    blank_hud();
    for (i = 0; i < 3; i++) screen[i] = heart(i);
    screen[9] = T_KEY;
    screen[10] = T_TIMES;
    screen[11] = T_0 + S.keys;
    text(0, 1, "FLOOR");
    decimal(S.floor);
    screen[26] = dig[1];
    screen[27] = dig[2];
    decimal(S.coins);
    screen[29] = T_COIN;
    screen[30] = T_TIMES;
    screen[31] = dig[0];
    screen[32] = dig[1];
    screen[33] = dig[2];
    for (i = 0; i < 4; i++) {
        screen[(u8)(16 + i)] = T_MAP + (u8)(map_state(i) << 2) + map_state(i + 4);
        if (S.grid_h > 2)
            screen[(u8)(36 + i)] = T_MAP + (u8)(map_state(i + 8) << 2) + map_state(i + 12);
    }
}
