/* The state block at 0x02000000.  Others read it: the layout is documented in README.md. */
#pragma once
#include "types.h"

enum { MODE_BOOT, MODE_TITLE, MODE_WALK, MODE_TEXT, MODE_BATTLE, MODE_MENU, MODE_SHOP, MODE_TRANSITION,
       MODE_BLACKOUT, MODE_VICTORY };
enum { DOWN, UP, LEFT, RIGHT };
enum { KIND_FREE, KIND_SOLID, KIND_GRASS, KIND_WARP, KIND_WATER, KIND_PERSON, KIND_SIGN };
enum { PHASE_MENU, PHASE_MOVE, PHASE_ANIM, PHASE_OVER };
enum { BATTLE_WILD = 1, BATTLE_TRAINER, BATTLE_LEADER };
enum { SUB_NONE, SUB_START, SUB_PARTY, SUB_BAG, SUB_SAVE, SUB_SHOP, SUB_STARTER, SUB_YESNO };

#define FLAG_LEFT_HOUSE    (1u << 0)
#define FLAG_FIRST_MONSTER (1u << 1)
#define FLAG_FIRST_VICTORY (1u << 2)
#define FLAG_ROUTE1        (1u << 3)
#define FLAG_ROUTE2        (1u << 4)
#define FLAG_TOWN          (1u << 5)
#define FLAG_TRAINER       (1u << 6)
#define FLAG_BADGE         (1u << 7)
#define FLAG_SAVED         (1u << 8)
#define FLAG_HEALED        (1u << 9)
#define FLAG_BOUGHT        (1u << 10)
#define FLAG_TRAINER2      (1u << 11)
#define FLAG_GIFT          (1u << 12)
#define FLAG_CAUGHT        (1u << 13)
#define FLAG_LEVEL_UP      (1u << 14)
#define FLAG_HALL          (1u << 15)

struct mon {                    /* 32 bytes */
    u8 species, level;
    u16 hp, max_hp, exp, exp_next;
    u8 attack, defense, speed, element, status, pad;
    struct { u8 id, uses; } move[4];
    u8 rest[8];
};

struct state {
    char magic[4];
    u8 mode, map, x, y, facing, moving, map_w, map_h;
    u32 frame, rng, seed, money;
    u16 won, lost, caught, encounters;
    u32 flags;
    u8 badges, party_size, orbs, potions;
    u16 seen_mask, caught_mask;
    u8 grass_steps, cursor, submenu, version;
    volatile u8 restart;
    u8 restarts;
    u16 pad0;
    u32 restart_seed, steps;
    struct mon party[6];
    /* +256 */
    u8 in_battle, kind, turn, phase, my_slot, battle_cursor, pad1[2];
    struct mon foe;
    u8 foe_left;
    s8 my_attack, my_defense, foe_attack, foe_defense;
    u8 pad2[19];
    /* +320 */
    u8 under, around[25], pad3[6];
    /* +352 */
    u16 visited;
    u8 heal_map, last_damage, last_effect, foe_team, pad4[154];
};
_Static_assert(sizeof(struct mon) == 32, "documented layout");
_Static_assert(sizeof(struct state) == 512, "documented layout");
_Static_assert(__builtin_offsetof(struct state, restart) == 52, "documented layout");
_Static_assert(__builtin_offsetof(struct state, party) == 64, "documented layout");
_Static_assert(__builtin_offsetof(struct state, foe) == 264, "documented layout");
_Static_assert(__builtin_offsetof(struct state, under) == 320, "documented layout");
_Static_assert(__builtin_offsetof(struct state, visited) == 352, "documented layout");

extern struct state S;
