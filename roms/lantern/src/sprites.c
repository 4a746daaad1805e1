/* Builds the shadow OAM. Every figure has fixed entries (byte offsets below). An
 * entry is cleared when its figure goes, so that empty ones cost nothing. */
#include "lantern.h"
#include "tiles.h"

enum { AT_HERO = 0, AT_SWORD = 8, AT_FOES = 16, AT_POOF = 64 };

u8 poof_x, poof_y, poof_t;
static u8 sword_shown;

static void hide_figure(u8 at)
{
    oam[at] = 0;
    oam[(u8)(at + 4)] = 0;
}

/* one sprite, 8 x 16 */
static void single(u8 at, u8 tile, u8 attr)
{
    u8 *o = oam + at;
    o[0] = fig_y + 16;
    o[1] = fig_x + 12;
    o[2] = tile;
    o[3] = attr;
}

static void hero(void)
{
    u8 odd = (keys & (K_UP | K_DOWN | K_LEFT | K_RIGHT)) && ((u8)S.frame & 8);
    if (S.inv & 4) { hide_figure(AT_HERO); return; }
    fig_at = AT_HERO;
    fig_x = S.x;
    fig_y = S.y - 1;
    fig_attr = 0;
    if (S.facing < D_LEFT) {
        fig_tile = S.facing ? O_HERO_UP : O_HERO_DOWN;
        if (odd) fig_attr = 0x20;
    } else {
        fig_tile = odd ? O_HERO_SIDE2 : O_HERO_SIDE;
        if (S.facing == D_LEFT) fig_attr = 0x20;
    }
    figure();
}

static void sword(void)
{
    if (!S.sword) {
        if (sword_shown) { sword_shown = 0; hide_figure(AT_SWORD); }
        return;
    }
    sword_shown = 1;
    fig_x = S.x;
    fig_y = S.y;
    if (S.facing >= D_LEFT) {
        fig_y += 2;
        fig_at = AT_SWORD;
        fig_tile = O_SWORD_H;
        if (S.facing == D_RIGHT) { fig_x += 12; fig_attr = 0; } else { fig_x -= 12; fig_attr = 0x20; }
        figure();
    } else if (S.facing == D_DOWN) {
        fig_y += 12;
        single(AT_SWORD, O_SWORD_V, 0x40);
    } else {
        fig_y -= 12;
        single(AT_SWORD, O_SWORD_V, 0);
    }
}

static const u8 look[4] = { 0, O_SLIME, O_SKULL, O_EYE };

/* the foe loaded by next_foe() */
void draw_foe(void)
{
    fig_x = f_x;
    fig_y = f_y;
    fig_at = foe_at - (0x60 - AT_FOES);
    if (f_kind == F_SHOT) { single(fig_at, O_SHOT, 0); return; }
    fig_tile = look[f_kind];
    if ((u8)S.frame & 16) fig_tile += 4;
    fig_attr = f_stun & 2 ? 0x10 : 0;
    figure();
}

void hide_foe(void)
{
    hide_figure(foe_at - (0x60 - AT_FOES));
}

void draw_sprites(void)
{
    hero();
    sword();
    if (!poof_t) return;
    if (!--poof_t) { hide_figure(AT_POOF); return; }
    fig_at = AT_POOF;
    fig_x = poof_x;
    fig_y = poof_y;
    fig_tile = poof_t > 6 ? O_POOF : O_POOF2;
    fig_attr = 0;
    figure();
}

void hide_sprites(void)
{
    u8 i;
    for (i = 0; i < 72; i += 4) oam[i] = 0;
    poof_t = sword_shown = 0;
}
