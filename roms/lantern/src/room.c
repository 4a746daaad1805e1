/* The current room: cells, objects, what happens when it is entered or changed. */
#include "lantern.h"
#include "private.h"
#include "tiles.h"

/* index of the first cell of the row that holds screen line y, by y >> 4 (HUD first) */
const u8 rowbase[9] = { 0, 0, 10, 20, 30, 40, 50, 60, 70 };

/* Metatiles of the interior floor, read from a place that depends on the room */
static const u8 floor_pattern[64] = {
#define F MT_FLOOR
#define G MT_FLOOR2
#define H MT_FLOOR3
    F, F, F, F, G, F, F, F, F, F, F, F, F, F, F, F, H, F, F, F, F, F, F, F, F, F, F, G, F, F, F, F,
    F, F, F, F, F, F, H, F, F, F, F, F, F, F, F, F, F, G, F, F, F, F, F, F, F, F, F, F, F, F, F, F };
static const u8 blocks[4] = { MT_PILLAR, MT_BLOCK, MT_POT, MT_BLOCK };

static void set_cell(u8 cell, u8 kind, u8 look)
{
    S.cells[cell] = kind;
    looks[cell] = look;
}

/* locked pictures follow the open ones in the same order, 8 further on */
static void set_door(u8 a, u8 b, u8 locked, u8 look)
{
    u8 kind = C_DOOR;
    if (locked) { kind = C_LOCK; look += 8; }
    set_cell(a, kind, look);
    set_cell(b, kind, look + 1);
}

static void put_object(u8 slot, u8 kind, u8 cell, u8 look)
{
    struct obj *o = &S.objs[slot];
    u8 r = 0;
    looks[cell] = look;
    if (slot) S.cells[cell] = C_CHEST;              /* slot 0: key or lantern, slot 1: chest */
    while (cell >= 10) { cell -= 10; r++; }
    o->kind = kind;
    o->c = cell;
    o->r = r;
}

static void build_cells(void)
{
    u8 d = S.doors[S.room], t = room_tmpl[S.room];
    tmpl_ptr = templates[t];
    floor_ptr = floor_pattern + (S.room & 15);
    block_look = blocks[t & 3];
    build_interior();
    if (d & 1) set_door(4, 5, d & 16, MT_DOOR_N1);
    if (d & 2) set_door(74, 75, d & 32, MT_DOOR_S1);
    if (d & 4) set_door(30, 40, d & 64, MT_DOOR_W1);
    if (d & 8) set_door(39, 49, d & 128, MT_DOOR_E1);
}

static void light(u8 cell)
{
    looks[(u8)(cell - 1)] = looks[cell] = looks[(u8)(cell + 1)] = MT_FLOOR_LIT;
}

static void build_objects(void)
{
    u8 has = S.content[S.room];
    const u8 *spot = spots[room_tmpl[S.room]];
    u8 a = spot[0], b = spot[1];
    if ((S.room ^ (u8)S.seed) & 1) { a = b; b = spot[0]; }
    S.objs[0].kind = S.objs[1].kind = O_NONE;
    if (has & HAS_LANTERN) {
        a = spot[0];                                /* its light falls on the cells around it */
        light(a - 10);
        light(a);
        light(a + 10);
        put_object(0, O_LANTERN, a, MT_LANTERN);
    }
    if (has & HAS_KEY) put_object(0, O_KEY, a, MT_KEY);
    if (has & HAS_CHEST) put_object(1, O_CHEST, b, MT_CHEST);
    else if (room_dead[S.room] & CHEST_GONE) put_object(1, O_OPEN, b, MT_CHEST_OPEN);
}

static void see_room(void)
{
    if (S.seen[S.room]) return;
    S.seen[S.room] = 1;
    S.rooms_seen++;
    S.seen_total++;
}

/* Builds S.room with everything in it. The caller draws. */
void enter_room(void)
{
    build_cells();
    build_objects();
    spawn_foes();
    see_room();
}

/* There is one locked door on a floor and it belongs to the lantern room, so
 * clearing all lock bits clears exactly both its sides. */
void open_lock(void)
{
    u8 i;
    S.keys--;
    S.doors_opened++;
    for (i = 0; i < N_ROOMS; i++) S.doors[i] &= 15;
    for (i = 0; i < N_CELLS; i++)
        if (S.cells[i] == C_LOCK) {
            S.cells[i] = C_DOOR;
            set_look(i, looks[i] - 8);
        }
    hud_keys();
}

void open_chest(u8 cell)
{
    u8 r;
    if (S.objs[1].kind != O_CHEST) return;
    S.objs[1].kind = O_OPEN;
    S.content[S.room] &= ~HAS_CHEST;
    room_dead[S.room] |= CHEST_GONE;
    S.chests_opened++;
    r = rnd();
    if (S.hearts < S.max_hearts && (r & 1)) {
        S.hearts += 2;
        if (S.hearts > S.max_hearts) S.hearts = S.max_hearts;
        hud_hearts();
    } else {
        r = 1 + ((r >> 1) & 3);
        if (rnd() & 1) r++;
        S.coins += r;
        hud_coins();
    }
    set_look(cell, MT_CHEST_OPEN);
}
