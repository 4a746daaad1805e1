/* Title, game over, banner. */
#include "lantern.h"
#include "tiles.h"

static void fill(u16 from, u8 tile)
{
    u16 i;
    for (i = from; i < 360; i++) screen[i] = tile;
}

void screen_title(void)
{
    fill(0, T_SPACE);
    text(6, 8, "LANTERN");
    text(4, 15, "PRESS START");
    hide_sprites();
}

void title_sprites(u8 t)
{
    t;
}

void screen_over(void)
{
    hud_full();
    fill(40, T_SPACE);
    text(5, 8, "GAME OVER");
    text(4, 13, "PRESS START");
    hide_sprites();
}

void banner_clear(void)
{
    q_text(3, 9, "FLOOR CLEARED ");
}
