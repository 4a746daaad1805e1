/* Start, frame loop, restart protocol, title. */
#include "game.h"

__attribute__((section(".state"))) struct state S;      /* 0x02000000 */
u16 key_new, key_held;
static u8 key_age;

void restart_jump(void) __attribute__((noreturn));      /* crt0.s */

static void read_keys(void)
{
    u16 k = ~KEYINPUT & 0x3FF;
    key_new = k & ~key_held;
    key_age = k == key_held ? key_age + 1 : 0;
    /* Held keys repeat, so an agent that never lets go still gets through texts and menus. */
    if (key_age == 36) {
        key_age = 24;
        key_new = k & ~KEY_START;
    }
    key_held = k;
}

static void ripple(void)
{
    for (int i = 0; i < N_RIPPLES * 2; i += 2) {
        u16 a = BG_PAL[ripples[i]];
        BG_PAL[ripples[i]] = BG_PAL[ripples[i + 1]];
        BG_PAL[ripples[i + 1]] = a;
    }
}

void frame(void)
{
    video_flush();
    __asm__ volatile("swi 5" ::: "r0", "r1", "r2", "r3", "r12", "lr", "memory");   /* VBlankIntrWait */
    if (S.restart) {
        S.restart = 0;
        S.restarts++;
        restart_jump();
    }
    S.frame++;
    if ((S.frame & 31) == 0 && S.mode != MODE_TITLE) ripple();
    read_keys();
}

void wait(int frames)
{
    while (frames-- > 0) frame();
}

u32 rnd(u32 n)
{
    u32 r = S.rng;
    r ^= r << 13;
    r ^= r >> 17;
    r ^= r << 5;
    S.rng = r;
    return (r >> 8) % n;
}

void fade_out(void)
{
    S.mode = MODE_TRANSITION;
    BLDCNT = 0x00FF;                    /* darken everything */
    for (int i = 4; i <= 16; i += 4) {
        BLDY = i;
        frame();
    }
}

void fade_in(void)
{
    for (int i = 12; i >= 0; i -= 4) {
        BLDY = i;
        frame();
    }
    BLDCNT = 0;
}

static void clear_state(void)
{
    for (u32 *p = (u32 *)&S; p < (u32 *)(&S + 1); p++) *p = 0;
    S.magic[0] = 'M';
    S.magic[1] = 'D';
    S.magic[2] = 'W';
    S.magic[3] = '1';
    S.version = 1;
}

void new_game(u32 seed)
{
    u8 restarts = S.restarts;
    u32 restart_seed = S.restart_seed;
    clear_state();
    S.restarts = restarts;
    S.restart_seed = restart_seed;
    S.seed = seed;
    u32 h = seed + 0x9E3779B9u;         /* neighbouring seeds must not give similar games */
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    S.rng = h ? h : 1;
    S.money = 100;
    S.heal_map = MAP_HEAL1;
    video_clear();
    map_enter(MAP_HOME, 10, 3, DOWN);
    S.mode = MODE_WALK;
    video_layers(LAYERS_WORLD);
    world_draw();
}

void restart_main(void)                 /* called by crt0.s with a fresh stack */
{
    new_game(S.restart_seed);
    world_loop();
}

static int title(void)                  /* 1: continue the saved game */
{
    static const char *const start[] = { "PRESS START" };
    static const char *const both[] = { "CONTINUE", "NEW GAME" };
    S.mode = MODE_TITLE;
    video_clear();
    video_layers(LAYERS_TITLE);
    spr_reset();
    load_mon(MOSSIP, OBJ_FOE, PAL_FOE, 0);
    load_mon(PUDDLO, OBJ_MINE, PAL_PARTY, 0);
    load_mon(ASHWING, OBJ_ICON, PAL_PARTY + 1, 0);
    spr(48, 84, 3, OBJ_FOE, PAL_FOE, 1, 1);
    spr(128, 86, 3, OBJ_MINE, PAL_PARTY, 1, 0);
    spr(88, 62, 3, OBJ_ICON, PAL_PARTY + 1, 1, 0);
    int saved = save_valid();
    int pick;
    do {
        pick = saved ? menu(9, 14, 12, 2, both, 0, SUB_NONE) : menu(8, 16, 15, 1, start, 0, SUB_NONE);
    } while (pick < 0);
    return saved && pick == 0;
}

int main(void)
{
    clear_state();
    DISPCNT = 0x0080;                   /* forced blank while loading */
    WAITCNT = 0x4317;                   /* fast cartridge reads with prefetch */
    video_load();
    DISPSTAT = 0x0008;                  /* VBlank interrupt */
    IE_REG = 0x0001;
    IF_REG = 0xFFFF;
    IME_REG = 1;
    int saved = title();
    u32 seed = S.frame;                 /* how long the player looked at the title */
    fade_out();
    new_game(seed);
    if (saved) save_load();
    BLDCNT = 0x00FF;
    fade_in();
    world_loop();
}
