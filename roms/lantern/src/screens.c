/* Title, game over, banner. */
#include "lantern.h"
#include "tiles.h"

static void picture(const u8 *pic, u16 at, u8 w, u8 h)
{
    u8 *p = screen + at;
    u8 c;
    for (; h; h--) {
        for (c = w; c; c--) *p++ = *pic++;
        p += 20 - w;
    }
}

void screen_title(void)
{
    blank_screen();
    picture(pic_logo, 2 * 20 + 3, LOGO_W, LOGO_H);
    picture(pic_lamp, 6 * 20 + 7, LAMP_W, LAMP_H);
    text(4, 15, "PRESS START");
}

/* The flame moves, the prompt blinks. */
void title_step(u8 t)
{
    fig_x = 72 - 4;
    fig_y = 48 + 28;
    fig_attr = 0;
    fig_at = 0;
    fig_tile = t & 8 ? O_FLAME : O_FLAME2;
    figure();
    if (!(t & 31)) q_text(4, 15, t & 32 ? "           " : "PRESS START");
}

void screen_over(void)
{
    blank_screen();
    hud_full();
    text(5, 8, "GAME  OVER");
    text(5, 11, "ROOMS");
    number(12, 11, S.seen_total);
    text(5, 12, "KILLS");
    number(12, 12, S.kills);
    text(4, 15, "PRESS START");
    hide_sprites();
    fig_x = 72;
    fig_y = 42;
    fig_tile = O_SKULL;
    fig_attr = fig_at = 0;
    figure();
}

void banner_clear(void)
{
    hide_sprites();
    q_text(2, 8, "                ");
    q_text(2, 9, " FLOOR  CLEARED ");
}
