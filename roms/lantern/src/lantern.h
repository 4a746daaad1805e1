/* Shared types and names. The state block S is the public contract (README.md). */
#ifndef LANTERN_H
#define LANTERN_H
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;

enum { M_BOOT, M_TITLE, M_PLAY, M_TRANS, M_CLEAR, M_OVER, M_PAUSE };
enum { D_DOWN, D_UP, D_LEFT, D_RIGHT, D_NONE };
enum { F_NONE, F_WANDER, F_CHASE, F_SPIT, F_SHOT };
enum { O_NONE, O_KEY, O_CHEST, O_OPEN, O_LANTERN };
enum { C_FLOOR, C_WALL, C_DOOR, C_LOCK, C_CHEST };
#define SOLID(v) ((v) & 5)          /* wall, locked door, chest */
enum { K_RIGHT = 1, K_LEFT = 2, K_UP = 4, K_DOWN = 8, K_A = 16, K_START = 128 };
enum { N_FOES = 6, N_WALKERS = 4, N_ROOMS = 16, N_CELLS = 80 };
enum { HAS_KEY = 1, HAS_CHEST = 2, HAS_LANTERN = 4, EXISTS = 0x80 };

struct foe { u8 kind, x, y, dir, hp, timer, acc, stun; };
struct obj { u8 kind, c, r, spare; };

struct state {
    u8 magic0, magic1, mode, floor;         /* 0 */
    u16 seed;                               /* 4 */
    u8 rng_lo, rng_hi;                      /* 6 */
    u16 frame;                              /* 8 */
    u8 x, y, facing, hearts, max_hearts;    /* 10 */
    u8 sword, inv, keys;                    /* 15 */
    u16 coins, kills;                       /* 18 */
    u8 room, grid_w, grid_h, rooms_seen;    /* 22 */
    u8 floors_cleared;                      /* 26 */
    u16 seen_total;                         /* 27 */
    u8 keys_taken, doors_opened, chests_opened;
    u8 start_room, key_room, lantern_room, hits;
    u8 version;                             /* 36 */
    u8 knock, knock_dir, sword_wait;        /* 37 */
    volatile u8 restart;                    /* 40 */
    volatile u8 restart_seed_lo, restart_seed_hi;
    volatile u8 restarts;                   /* 43 */
    u8 spare[4];
    u8 doors[N_ROOMS], seen[N_ROOMS], content[N_ROOMS];
    struct foe foes[N_FOES];                /* 96 */
    struct obj objs[4];                     /* 144 */
    u8 cells[N_CELLS];                      /* 160 */
};

extern struct state S;              /* 0xC100 */
extern u8 oam[160];                 /* 0xC000, copied to OAM in each VBlank */
extern u8 looks[80];                /* 0xC2A0, metatile of each cell */
extern u8 screen[360];              /* 0xD000, 20 x 18 tiles, always written in full before it is copied */
extern volatile u8 tick_flag;       /* set once per frame by the LYC interrupt */

/* high RAM bytes: outlive the RAM wipe of a restart, see crt0.s */
__sfr __at(0x91) FLIP;              /* LCDC value to take over in the next VBlank, 0 = none */
__sfr __at(0x92) HIDDEN;            /* high address byte of the tile map not shown */
__sfr __at(0x93) SHOWN;             /* same for the one shown */

/* crt0.s */
void clear_ram(void);
void load_tiles(void);

/* fast.s */
void copy_screen(void);
void build_interior(void);          /* template and floor pattern -> cells, looks */
void expand_room(void);             /* looks -> screen */
void clear_floor(void);
void blank_screen(void);
void blank_hud(void);
u8 next_foe(void);
void store_foe(void);
void figure(void);                  /* fig_* -> two entries of oam */
extern const u8 *tmpl_ptr, *floor_ptr;
extern u8 block_look;
extern u8 foe_at, f_kind, f_x, f_y, f_dir, f_hp, f_timer, f_acc, f_stun;
extern u8 fig_y, fig_x, fig_tile, fig_attr, fig_at;

/* dungeon.c */
u8 rnd(void);
void seed_rng(u8 salt);
void make_tree(void);
void furnish_floor(void);

/* room.c */
extern const u8 rowbase[9];
void enter_room(void);
void open_lock(void);
void open_chest(u8 cell);

/* hero.c */
extern u8 keys, pressed;
void hero_step(void);
void hurt(u8 amount, u8 from_x, u8 from_y);

/* spawn.c */
u8 level(u8 top);
void spawn_foes(void);

/* foes.c */
void foes_step(void);

/* sprites.c */
extern u8 poof_x, poof_y, poof_t;
void draw_sprites(void);
void hide_sprites(void);
void draw_foe(void);
void hide_foe(void);

/* draw.c */
void q_put(u8 col, u8 row, u8 tile);
void q_text(u8 col, u8 row, const char *s);
void text(u8 col, u8 row, const char *s);
void set_look(u8 cell, u8 look);
void show_screen(void);
void animate_room(void);

/* hud.c */
void hud_full(void);
void number(u8 col, u8 row, u16 v);
void hud_hearts(void);
void hud_keys(void);
void hud_coins(void);
void hud_label(void);

/* screens.c */
void screen_title(void);
void screen_over(void);
void banner_clear(void);
void title_step(u8 t);
#endif
