/* Who waits in a room. The same room always gets the same foes, less the dead ones. */
#include "lantern.h"
#include "private.h"

static const u8 from_col[10] = { 4, 3, 2, 1, 0, 0, 1, 2, 3, 4 };    /* cells to columns 4-5 */
static const u8 from_row[8] = { 3, 2, 1, 0, 0, 1, 2, 3 };           /* cells to rows 3-4 */
static const u8 crowd[6][4] = {     /* foes per room by floor, one of four */
    { 0, 1, 1, 2 }, { 1, 1, 2, 2 }, { 1, 2, 2, 3 }, { 2, 2, 3, 3 }, { 2, 3, 3, 4 }, { 3, 3, 4, 4 } };
static const u8 start_hp[4] = { 0, 1, 2, 2 };

/* Less than 3 cells (steps) from a door? */
static u8 by_door(u8 c, u8 r)
{
    u8 d = S.doors[S.room];
    if ((d & 1) && (u8)(r + from_col[c]) < 3) return 1;
    if ((d & 2) && (u8)(7 - r + from_col[c]) < 3) return 1;
    if ((d & 4) && (u8)(c + from_row[r]) < 3) return 1;
    return (d & 8) && (u8)(9 - c + from_row[r]) < 3;
}

/* 0 on floor 1, rising to top */
u8 level(u8 top)
{
    u8 l = S.floor - 1;
    return l > top ? top : l;
}

void spawn_foes(void)
{
    u8 keep_lo = S.rng_lo, keep_hi = S.rng_hi;      /* the play generator goes on undisturbed */
    u8 n, r, c, y, slot, dead = room_dead[S.room];
    struct foe *f;
    f = S.foes;
    for (slot = 0; slot < N_FOES; slot++, f++) f->kind = F_NONE;
    if (S.room == S.start_room) return;
    seed_rng((u8)(S.room << 4) + 0x1B);
    n = crowd[level(5)][rnd() & 3];
    f = S.foes;
    for (slot = 0; slot < n; slot++, f++) {
        do {
            r = rnd();
            c = 1 + (r & 7);
            y = 1 + (r >> 5);
        } while (y > 6 || S.cells[(u8)(rowbase[y + 1] + c)] || by_door(c, y));
        r = rnd();
        if (dead & 1 << slot) continue;
        f->kind = r < 104 ? F_CHASE : S.floor > 1 && r < 168 ? F_SPIT : F_WANDER;
        f->x = c << 4;
        f->y = (y + 1) << 4;
        f->dir = D_NONE;
        f->hp = start_hp[f->kind];
        f->timer = 24 + (slot << 3);                /* stands still at first */
        f->acc = f->stun = 0;
    }
    S.rng_lo = keep_lo;
    S.rng_hi = keep_hi;
}
