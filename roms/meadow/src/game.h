/* What the parts of the game know of each other. */
#pragma once
#include "state.h"
#include "hw.h"
#include "data.h"

/* main.c */
extern u16 key_new, key_held;
void frame(void);                       /* show the work done so far, wait for the next frame */
void wait(int frames);
u32 rnd(u32 n);                         /* 0 .. n-1 */
void fade_out(void);
void fade_in(void);
void new_game(u32 seed);                /* state and picture of a fresh game; does not wait */

/* video.c */
enum { T_ARROW = 10, T_MORE, T_LV, T_HP, T_CAP_L, T_CAP_R, T_BAR_GREEN, T_BAR_YELLOW = 128, T_BAR_RED = 137,
       T_BAR_EXP = 146 };
enum { LAYERS_WORLD, LAYERS_BATTLE, LAYERS_TITLE };
enum { OBJ_FOE = TILE_FREE, OBJ_MINE = OBJ_FOE + 64, OBJ_ICON = OBJ_MINE + 64 };
#define PAL_FOE (PAL_FX + 1)
#define PAL_PARTY (PAL_FX + 2)
void video_load(void);
void video_clear(void);                 /* no text, no sprites, normal brightness */
void video_layers(int which);
void video_flush(void);
void ui_put(int x, int y, int tile);
void ui_clear(int x, int y, int w, int h);
void ui_box(int x, int y, int w, int h);
void ui_text(int x, int y, const char *s);
void ui_num(int x, int y, u32 v, int width);        /* right aligned */
void ui_bar(int x, int y, int tiles, u32 v, u32 max, int exp);
/* sizes: 0 = 8x8, 1 = 16x16, 2 = 32x32, 3 = 64x64, 4 = 16x8, 5 = 16x32 */
void spr(int x, int y, int size, int tile, int pal, int prio, int flip);
void spr_reset(void);
void load_mon(int species, int tile, int pal, int view);   /* view 0 front, 1 back, 2 icon */

/* text.c */
void print(const char *s, int wait_key);            /* type into the text box; wait_key 0: go on by itself */
void say(const char *s);                            /* box, text, A, close */
const char *fmt(const char *f, const char *s, const char *t, int v);    /* %s %t strings, %n number */
int menu(int x, int y, int w, int n, const char *const *items, int first, int sub);    /* -1: B */
int yes_no(void);

/* world.c */
void map_enter(int map, int x, int y, int facing);  /* place the hero and draw the map */
void world_draw(void);
void world_around(void);
void banner_off(void);                  /* take the name of the place away */
void world_loop(void) __attribute__((noreturn));
int kind_at(int x, int y);
extern u8 npc_face[8];
extern int cam_x, cam_y;                /* top left corner of the picture */

/* script.c */
void script_npc(int index);
void script_counter(int script);
void script_arrive(void);
int script_sight(void);
void heal_all(void);
void ending(void);

/* menu.c */
void start_menu(void);
int party_screen(int choose);           /* returns a slot or -1 */
void shop(void);

/* mon.c */
struct move { const char *name; u8 element, power, accuracy, uses, effect, chance; };
enum { EL_NONE, EL_LEAF, EL_EMBER, EL_TIDE, EL_STONE };
enum { FX_NONE, FX_BURN, FX_LOWER_ATTACK, FX_LOWER_DEFENSE, FX_HEAL, FX_RECOIL };
struct species { const char *name; u8 element, hp, attack, defense, speed, catch_rate, learn[4][2]; };
enum { MOSSIP = 1, CINDLE, PUDDLO, DANDEL, PEBBIT, LUMBUG, SHELLIP, BRAMBOAR, CRAGOR, ASHWING, N_SPECIES = 10 };
#define MOVE_FLAIL 14
extern const struct move moves[];
extern const struct species species[];
extern const char *const element_name[];
void mon_make(struct mon *m, int sp, int level);
int mon_gain(struct mon *m, int exp);   /* 1: reached a new level */
int mon_learn(struct mon *m);           /* move learnt at the present level, or 0 */
void mon_heal(struct mon *m);
int element_factor(int attack, int defend);     /* 1 half, 2 normal, 4 double */
int party_alive(void);

/* battle.c */
int battle(int kind, int team);         /* 1 won, 2 caught or fled, 0 lost */
void wild_encounter(void);

/* save.c */
int save_write(void);
int save_valid(void);
void save_load(void);
