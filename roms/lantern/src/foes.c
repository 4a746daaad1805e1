/* Foes of the current room. Walkers move on a grid of 8 pixels and only choose a
 * direction on grid points, so most frames cost one addition per foe. */
#include "lantern.h"
#include "private.h"

static u8 sx, sy;                   /* corner of the box in which the sword hits */
static u8 near_x, near_y;           /* the same for touching the hero */
static const u8 *pace;              /* speeds on this floor */

/* ---- walking ---- */
/* May the foe, standing on a grid point, go 8 pixels in direction d? Foes keep to floor cells. */
static u8 open_way(u8 d)
{
    u8 i;
    if (d >= D_LEFT) {
        if (f_x & 15) return 1;
        i = rowbase[f_y >> 4] + (f_x >> 4);
        if (d == D_LEFT) i--; else i++;
        if (S.cells[i]) return 0;
        return !(f_y & 15) || !S.cells[i + 10];
    }
    if (f_y & 15) return 1;
    i = rowbase[f_y >> 4] + (f_x >> 4);
    if (d == D_UP) i -= 10; else i += 10;
    if (S.cells[i]) return 0;
    return !(f_x & 15) || !S.cells[i + 1];
}

static u8 any_way(u8 d)
{
    u8 i;
    for (i = 4; i; i--) {
        if (open_way(d)) return d;
        d = (d + 1) & 3;
    }
    return D_NONE;
}

static u8 far_x, far_y, to_x, to_y; /* distance and direction to the hero on both axes */

static void look(void)
{
    if (S.x < f_x) { far_x = f_x - S.x; to_x = D_LEFT; } else { far_x = S.x - f_x; to_x = D_RIGHT; }
    if (S.y < f_y) { far_y = f_y - S.y; to_y = D_UP; } else { far_y = S.y - f_y; to_y = D_DOWN; }
}

static u8 chase(void)
{
    u8 a, b;
    look();
    if (far_x > far_y) { a = to_x; b = far_y < 4 ? a : to_y; }
    else { a = to_y; b = far_x < 4 ? a : to_x; }
    if (open_way(a)) return a;
    if (open_way(b)) return b;
    return any_way(rnd() & 3);
}

static void choose(void)
{
    u8 r = rnd();
    if (f_kind == F_CHASE && (r & 0xC0)) { f_dir = chase(); return; }
    if (!(r & 12) || f_dir == D_NONE || !open_way(f_dir)) f_dir = any_way(r & 3);
}

static const u8 speeds[6][4] = {    /* by floor and kind, 1/256 pixels per frame */
    { 0, 90, 128, 50 }, { 0, 105, 144, 60 }, { 0, 120, 160, 70 },
    { 0, 135, 172, 80 }, { 0, 150, 184, 90 }, { 0, 165, 196, 100 } };

static void shoot(void)
{
    struct foe *p = &S.foes[N_WALKERS];
    if (p->kind) p++;
    if (p->kind) return;
    look();
    p->kind = F_SHOT;
    p->x = f_x;
    p->y = f_y;
    p->dir = far_x > far_y ? to_x : to_y;
    p->hp = 1;
    p->acc = p->stun = p->timer = 0;
}

static void step_on(void)
{
    if (f_dir == D_DOWN) f_y++;
    else if (f_dir == D_UP) f_y--;
    else if (f_dir == D_LEFT) f_x--;
    else if (f_dir == D_RIGHT) f_x++;
}

/* 0 when the shot ends at a wall or a door */
static u8 fly(void)
{
    step_on();
    return !S.cells[(u8)(rowbase[(u8)(f_y + 8) >> 4] + ((u8)(f_x + 8) >> 4))];
}

static void walk(void)
{
    u8 a;
    if (f_stun) { f_stun--; return; }
    if (f_timer) {
        f_timer--;
        if (f_kind != F_SPIT) return;
    } else if (f_kind == F_SPIT) {
        shoot();
        f_timer = 110;
    }
    a = f_acc;
    f_acc += pace[f_kind];
    if (f_acc >= a) return;
    if (!((f_x | f_y) & 7)) choose();
    step_on();
}

/* ---- contact ---- */
static void vanish(void)
{
    f_kind = F_NONE;
    hide_foe();
}

static void struck(void)
{
    if (--f_hp) {
        f_stun = 20;
        return;
    }
    poof_x = f_x; poof_y = f_y; poof_t = 12;
    if (f_kind != F_SHOT) {
        room_dead[S.room] |= 1 << ((u8)(foe_at - 0x60) >> 3);
        S.kills++;
        if (!(rnd() & 3)) { S.coins++; hud_coins(); }
    }
    vanish();
}

static void aim_sword(void)
{
    sx = S.x - 13; sy = S.y - 13;
    if (S.facing == D_DOWN) sy += 14;
    else if (S.facing == D_UP) sy -= 14;
    else if (S.facing == D_LEFT) sx -= 14;
    else sx += 14;
}

static void contact(void)
{
    if (f_stun) return;
    if (S.sword && (u8)(f_x - sx) < 27 && (u8)(f_y - sy) < 27) {
        struck();
        return;
    }
    if (S.inv || (u8)(f_x - near_x) > 20 || (u8)(f_y - near_y) > 20) return;
    hurt(f_kind == F_CHASE && S.floor > 1 ? 2 : 1, f_x, f_y);
    if (f_kind == F_SHOT) vanish();
}

void foes_step(void)
{
    if (S.sword) aim_sword();
    near_x = S.x - 10;
    near_y = S.y - 10;
    pace = speeds[level(5)];
    foe_at = 0x60 - 8;
    while (next_foe()) {
        if (f_kind != F_SHOT) walk();
        else if (!fly()) vanish();
        if (f_kind) contact();
        if (f_kind) draw_foe();
        store_foe();
    }
}
