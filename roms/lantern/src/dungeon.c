/* Random numbers and the layout of a floor. */
#include "lantern.h"
#include "private.h"

/* xorshift 7,9,8 on the 16-bit state, written on bytes because sm83 has no 16-bit shifts */
u8 rnd(void)
{
    u8 lo = S.rng_lo, hi = S.rng_hi, t = lo >> 1;
    if (hi & 1) t |= 0x80;
    if (lo & 1) lo ^= 0x80;
    hi ^= t;
    lo ^= hi >> 1;
    hi ^= lo;
    S.rng_lo = lo;
    S.rng_hi = hi;
    return hi;
}

/* Restarts the generator from (seed, floor, salt), so that a floor and the foes of
 * a room do not depend on how the hero played before. */
void seed_rng(u8 salt)
{
    u8 i;
    S.rng_lo = (u8)S.seed ^ salt;
    S.rng_hi = (u8)(S.seed >> 8) ^ (u8)(S.floor << 5 ^ S.floor) ^ 0x5A;
    if (!(S.rng_lo | S.rng_hi)) S.rng_lo = 0xA7;
    for (i = 0; i < 6; i++) rnd();
}

static const u8 door_bit[4] = { 2, 1, 4, 8 };       /* by direction: down up left right */
static const u8 back_bit[4] = { 1, 2, 8, 4 };

static u8 list[N_ROOMS], list_n, left;   /* rooms that may still branch; rooms to place */
static u8 cur, next;
static u8 i, r, d, k;               /* static: sm83 code for locals is slow */

/* Sets next to the neighbour of cur in direction d; 0 if outside the grid. */
static u8 neighbour(u8 way)
{
    if (way == D_DOWN) next = cur + 4;
    else if (way == D_UP) next = cur - 4;
    else if (way == D_LEFT) { if (!(cur & 3)) return 0; next = cur - 1; }
    else { next = cur + 1; if (!(next & 3)) return 0; }
    return next < N_ROOMS && S.content[next];
}

static void join(u8 way)
{
    S.doors[cur] |= door_bit[way];
    S.doors[next] |= back_bit[way];
}

static u8 random_room(void)
{
    u8 n;
    do n = rnd() >> 4; while (!S.content[n]);
    return n;
}

/* Growing tree: mostly goes on from the newest room, sometimes branches from an older one. */
static void grow_tree(void)
{
    list[0] = S.start_room;
    list_n = 1;
    room_dist[S.start_room] = 1;                    /* 0 = not in the tree yet */
    while (left) {
        k = list_n - 1;
        d = rnd();
        if (!(d & 0x30) && (i = (d >> 2) & 3) <= k) k -= i;
        cur = list[k];
        d &= 3;
        for (i = 4; i; i--, d = (d + 1) & 3)
            if (neighbour(d) && !room_dist[next]) break;
        if (!i) {
            list[k] = list[--list_n];
            continue;
        }
        join(d);
        room_dist[next] = room_dist[cur] + 1;
        list[list_n++] = next;
        left--;
    }
}

/* One more door makes a loop. Only rooms one step apart in depth qualify: that leaves
 * all distances from the start as they are. The lantern room keeps its single door. */
static void extra_door(void)
{
    for (i = 8; i; i--) {
        cur = random_room();
        d = rnd() & 3;
        if (cur == S.lantern_room || !neighbour(d) || next == S.lantern_room) continue;
        if (S.doors[cur] & door_bit[d]) continue;
        r = room_dist[cur] - room_dist[next];
        if (r != 1 && r != 255) continue;
        join(d);
        return;
    }
}

static const u8 shuffle[16] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 3, 6, 7, 8, 9, 4 };

/* Two parts, because a big floor takes longer than one frame. */
void make_tree(void)
{
    seed_rng(0);
    S.grid_w = S.floor < 3 ? 3 : 4;
    S.grid_h = S.floor == 1 ? 2 : S.floor < 4 ? 3 : 4;
    clear_floor();
    left = 0xFF;                                    /* the start room is placed at once */
    for (i = 0, r = S.grid_h; r; r--, i += 4) {
        left += S.grid_w;
        S.content[i] = S.content[i + 1] = S.content[i + 2] = EXISTS;
        if (S.grid_w == 4) S.content[i + 3] = EXISTS;
    }
    S.start_room = random_room();
    grow_tree();
}

void furnish_floor(void)
{
    r = 0;                                          /* the deepest room of a tree is a leaf */
    for (i = 0; i < N_ROOMS; i++)
        if (room_dist[i] > r) { r = room_dist[i]; S.lantern_room = i; }
    if (S.floor > 2 && (rnd() & 1)) extra_door();

    cur = S.lantern_room;                           /* lock its only door on both sides */
    for (d = 0; d < 4; d++)
        if (S.doors[cur] & door_bit[d]) {
            neighbour(d);
            S.doors[cur] |= (u8)(door_bit[d] << 4);
            S.doors[next] |= (u8)(back_bit[d] << 4);
        }

    do r = random_room(); while (r == S.start_room || r == S.lantern_room);
    S.key_room = r;
    for (i = 0; i < N_ROOMS; i++) {
        if (!S.content[i]) continue;
        room_tmpl[i] = shuffle[rnd() & 15];
        if (i != S.start_room && i != S.lantern_room && rnd() < 112) S.content[i] |= HAS_CHEST;
    }
    room_tmpl[S.start_room] = 0;
    room_tmpl[S.lantern_room] = 1;
    S.content[S.key_room] |= HAS_KEY;
    S.content[S.lantern_room] |= HAS_LANTERN;

    S.room = S.start_room;
    S.rooms_seen = 0;
    S.keys = 0;
    S.x = 72; S.y = 72;
    S.facing = D_DOWN;
    S.sword = S.sword_wait = S.inv = S.knock = 0;
}
