/* Tiles, palettes, sprites, text layer. */
#include "game.h"

static u16 oam[128 * 4];
static u8 n_spr, n_shown, oam_dirty;

static void load_palettes(const u16 *bg)
{
    dma_copy(bg, BG_PAL, 512);
    dma_copy(obj_palette, OBJ_PAL, sizeof obj_palette);
}

static void scene(int block, const u16 *map)
{
    for (int y = 0; y < 20; y++) dma_copy(map + y * 30, SCREEN(block) + y * 32, 60);
}

void video_load(void)
{
    dma_copy(world_tiles, VRAM_WORLD, sizeof world_tiles);
    dma_copy(scene_tiles, VRAM_SCENE, sizeof scene_tiles);
    dma_copy(obj_tiles, VRAM_OBJ, sizeof obj_tiles);
    scene(SB_BATTLE, battle_map);
    scene(SB_TITLE, title_map);
    BGCNT(0) = 0 | 2 << 2 | SB_TEXT << 8;
    BGCNT(1) = 2 | 0 << 2 | SB_WORLD << 8 | 3 << 14;    /* 64x64 tiles hold the largest map */
}

void video_clear(void)
{
    dma_fill(0, SCREEN(SB_TEXT), 2048);
    spr_reset();
    BLDCNT = 0;
    BLDY = 0;
}

void video_layers(int which)
{
    load_palettes(which == LAYERS_TITLE ? title_palette : bg_palette);
    BGCNT(2) = 3 | 2 << 2 | (which == LAYERS_TITLE ? SB_TITLE : SB_BATTLE) << 8;
    DISPCNT = 0x1140 | (which == LAYERS_WORLD ? 0x0200 : 0x0400);   /* mode 0, BG0, OBJ, 1D */
}

void video_flush(void)
{
    if (!oam_dirty) return;
    oam_dirty = 0;
    /* Everything is hidden on the first flush, whatever OAM held before. */
    int n = n_shown > n_spr ? n_shown : n_spr;
    for (int i = n_spr; i < n; i++) oam[i * 4] = 0x0200;
    dma_copy(oam, OAM, n * 8);
    n_shown = n_spr;
}

void spr_reset(void)
{
    if (!n_shown) n_shown = 128;
    n_spr = 0;
    oam_dirty = 1;
}

void spr(int x, int y, int size, int tile, int pal, int prio, int flip)
{
    static const u16 shape[] = { 0, 0, 0, 0, 0x4000, 0x8000 }, dim[] = { 0, 0x4000, 0x8000, 0xC000, 0, 0x8000 };
    if (x <= -64 || x >= 240 || y <= -64 || y >= 160) return;
    u16 *o = oam + n_spr++ * 4;
    o[0] = (y & 255) | shape[size];
    o[1] = (x & 511) | dim[size] | (flip ? 0x1000 : 0);
    o[2] = tile | prio << 10 | pal << 12;
    oam_dirty = 1;
}

void load_mon(int sp, int tile, int pal, int view)
{
    static const u32 *const sheet[] = { mon_front, mon_back, mon_icon };
    int words = view == 2 ? 128 : 512;
    dma_copy(sheet[view] + (sp - 1) * words, VRAM_OBJ + tile * 16, words * 4);
    dma_copy(mon_palette + (sp - 1) * 16, OBJ_PAL + pal * 16, 32);
}

void ui_put(int x, int y, int tile)
{
    SCREEN(SB_TEXT)[y * 32 + x] = (u16)tile;
}

static void fill(int x, int y, int w, int h, int tile)
{
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) ui_put(i, j, tile);
}

void ui_clear(int x, int y, int w, int h)
{
    fill(x, y, w, h, 0);
}

void ui_box(int x, int y, int w, int h)
{
    fill(x + 1, y, w - 2, 1, 2);
    fill(x, y + 1, 1, h - 2, 4);
    fill(x + 1, y + 1, w - 2, h - 2, 5);
    fill(x + w - 1, y + 1, 1, h - 2, 6);
    fill(x + 1, y + h - 1, w - 2, 1, 8);
    ui_put(x, y, 1);
    ui_put(x + w - 1, y, 3);
    ui_put(x, y + h - 1, 7);
    ui_put(x + w - 1, y + h - 1, 9);
}

void ui_text(int x, int y, const char *s)
{
    while (*s) ui_put(x++, y, *s++);
}

void ui_num(int x, int y, u32 v, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        ui_put(x + i, y, v || i == width - 1 ? '0' + v % 10 : ' ');
        v /= 10;
    }
}

void ui_bar(int x, int y, int tiles, u32 v, u32 max, int exp)
{
    u32 px = max ? v * tiles * 8 / max : 0;
    if (v && !px) px = 1;               /* alive is never shown as empty */
    int base = exp ? T_BAR_EXP : v * 2 > max ? T_BAR_GREEN : v * 5 > max ? T_BAR_YELLOW : T_BAR_RED;
    ui_put(x, y, T_CAP_L);
    for (int i = 0; i < tiles; i++) {
        u32 part = px > 8 ? 8 : px;
        ui_put(x + 1 + i, y, base + part);
        px -= part;
    }
    ui_put(x + 1 + tiles, y, T_CAP_R);
}
