/* Main loop: one game step per frame, begun at screen line 1. A step that starts
 * there is over long before VBlank, so memory read between frames is never half updated. */
#include "lantern.h"

__sfr __at(0x00) P1;
__sfr __at(0x0F) IF_REG;
__sfr __at(0x40) LCDC;
__sfr __at(0x41) STAT;
__sfr __at(0x42) SCY;
__sfr __at(0x43) SCX;
__sfr __at(0x44) LY;
__sfr __at(0x45) LYC;
__sfr __at(0x47) BGP;
__sfr __at(0x48) OBP0;
__sfr __at(0x49) OBP1;
__sfr __at(0xFF) IE_REG;

enum { BANNER_FRAMES = 24 };
static u8 prev_keys, banner;
static u8 clock_lo, clock_hi;       /* title: counts frames, seed of the next game */

static void read_keys(void)
{
    u8 v, b;
    P1 = 0x20;
    v = P1; v = P1;
    P1 = 0x10;
    b = P1; b = P1; b = P1; b = P1;
    P1 = 0x30;
    keys = (~v & 15) | (u8)(~b << 4);
    pressed = keys & ~prev_keys;
    prev_keys = keys;
}

static void set_magic(void)
{
    S.magic0 = 'L';
    S.magic1 = 'N';
    S.version = 1;
}

static void show_room(void)
{
    hud_full();
    expand_room();
    hide_sprites();
    draw_sprites();
    foe_at = 0x60 - 8;
    while (next_foe()) draw_foe();
    show_screen();
}

/* A new game depends on the seed alone: all RAM is wiped, and keys held now count
 * as old until they are released. The work takes more than one frame; the frame
 * between the old and the new picture is white, so that it is pure as well. */
static void new_game(u8 lo, u8 hi)
{
    u8 acks = S.restarts;
    FLIP = 0x84;                        /* LCD on, background and sprites off */
    clear_ram();
    set_magic();
    S.restarts = acks;
    S.seed = (u16)hi << 8 | lo;
    S.floor = 1;
    S.hearts = S.max_hearts = 6;
    prev_keys = 0xFF;
    make_tree();
    furnish_floor();
    enter_room();
    show_room();
    S.mode = M_PLAY;
}

static void to_title(void)
{
    u8 acks = S.restarts;
    clear_ram();
    set_magic();
    S.restarts = acks;
    prev_keys = 0xFF;
    screen_title();
}

static void step_play(void)
{
    if (pressed & K_START) {
        S.mode = M_PAUSE;
        hud_label();
        return;
    }
    S.frame++;
    hero_step();
    if (S.mode == M_TRANS) {            /* the picture follows in the next frame */
        S.sword = S.knock = 0;
        enter_room();
        return;
    }
    if (S.mode == M_PLAY) {
        foes_step();
        animate_room();
    }
    draw_sprites();
    if (S.mode == M_CLEAR) {
        banner = BANNER_FRAMES;
        banner_clear();
    }
}

/* The work for the next floor is spread over the last frames of the banner. */
static void step_clear(void)
{
    S.frame++;
    banner--;
    if (banner == 3) {
        S.floor++;
        S.hearts += 2;
        if (S.hearts > S.max_hearts) S.hearts = S.max_hearts;
        make_tree();
    } else if (banner == 2) {
        furnish_floor();
    } else if (banner == 1) {
        enter_room();
    } else if (!banner) {
        show_room();
        S.mode = M_PLAY;
    }
}

static void step_over(void)
{
    S.frame++;
    if (banner < 2) {                   /* banner 0: just died */
        banner++;
        if (banner == 2) { screen_over(); show_screen(); }
    } else if (pressed & K_START) {
        u8 t = (u8)S.frame;
        to_title();
        clock_lo = t;                   /* or a fast player would get the same seed again */
        show_screen();
        S.mode = M_TITLE;
    }
}

static void step(void)
{
    read_keys();
    switch (S.mode) {
    case M_TITLE:
        if (!++clock_lo) clock_hi++;
        if (pressed & K_START) { new_game(clock_lo, clock_hi); break; }
        title_step(clock_lo);
        break;
    case M_PLAY:
        step_play();
        break;
    case M_TRANS:
        S.frame++;
        show_room();
        S.mode = M_PLAY;
        break;
    case M_CLEAR:
        step_clear();
        break;
    case M_OVER:
        step_over();
        break;
    default:
        if (pressed & K_START) { S.mode = M_PLAY; hud_label(); }
    }
}

static void wait_tick(void)
{
    tick_flag = 0;
    while (!tick_flag) {
        __asm__("halt");
        __asm__("nop");
    }
}

void main(void)
{
    while (LY < 144) ;                  /* the LCD may only be switched off in VBlank */
    LCDC = 0;
    load_tiles();
    SCX = SCY = 0;
    BGP = 0xE4; OBP0 = 0xE0; OBP1 = 0x1C;
    to_title();
    copy_screen();
    FLIP = 0;
    LCDC = 0x8F;
    HIDDEN = 0x98;
    SHOWN = 0x9C;
    LYC = 1;
    STAT = 0x40;
    IF_REG = 0;
    IE_REG = 3;
    __asm__("ei");
    wait_tick();
    S.mode = M_TITLE;
    for (;;) {
        wait_tick();
        if (S.restart) {
            new_game(S.restart_seed_lo, S.restart_seed_hi);
            S.restarts++;
        } else {
            step();
        }
    }
}
