/* Maps, walking, drawing of the field. */
#include "game.h"

u8 npc_face[8];
static u8 banner;                       /* frames left of the name of the place */
int cam_x, cam_y;
static const s8 dir_x[] = { 0, 0, -1, 1 }, dir_y[] = { 1, -1, 0, 0 };

static int npc_at(int x, int y)
{
    const struct map *m = &maps[S.map];
    for (int i = 0; i < m->n_npcs; i++)
        if (m->npcs[i].x == x && m->npcs[i].y == y) return i;
    return -1;
}

int kind_at(int x, int y)
{
    const struct map *m = &maps[S.map];
    if (x < 0 || y < 0 || x >= m->w || y >= m->h) return KIND_SOLID;
    if (npc_at(x, y) >= 0) return KIND_PERSON;
    return m->kinds[y * m->w + x];
}

void world_around(void)
{
    int i = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) S.around[i++] = kind_at(S.x + dx, S.y + dy);
    S.under = S.around[12];
}

void map_enter(int map, int x, int y, int facing)
{
    const struct map *m = &maps[map];
    S.map = map;
    S.x = x;
    S.y = y;
    S.facing = facing;
    S.moving = 0;
    S.map_w = m->w;
    S.map_h = m->h;
    S.visited |= 1 << map;
    static const u32 seen[N_MAPS] = { [MAP_VILLAGE] = FLAG_LEFT_HOUSE, [MAP_ROUTE1] = FLAG_ROUTE1,
                                      [MAP_ROUTE2] = FLAG_ROUTE2, [MAP_TOWN] = FLAG_TOWN, [MAP_HALL] = FLAG_HALL };
    S.flags |= seen[map];
    for (int i = 0; i < m->n_npcs; i++) npc_face[i] = m->npcs[i].face;
    int w = m->w * 2;                   /* in tiles; the 64x64 map is four blocks of 32x32 */
    for (int ty = 0; ty < m->h * 2; ty++) {
        volatile u16 *row = SCREEN(SB_WORLD + (ty >> 5) * 2) + (ty & 31) * 32;
        const u16 *src = m->tiles + ty * w;
        dma_copy(src, row, w > 32 ? 64 : w * 2);
        if (w > 32) dma_copy(src + 32, row + 1024, (w - 32) * 2);
    }
    world_around();
}

static int clamp(int v, int max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

static void draw_person(int x, int y, int sprite, int face, int step)
{
    int view = face == RIGHT ? LEFT : face;
    int flip = face == RIGHT || (step == 2 && face < LEFT);
    spr(x, y - 17, 5, people[sprite].tile + (view + (step ? 3 : 0)) * 8, people[sprite].pal, 1, flip);
}

void world_draw(void)
{
    const struct map *m = &maps[S.map];
    int px = S.x * 16 - dir_x[S.facing] * S.moving * 2;
    int py = S.y * 16 - dir_y[S.facing] * S.moving * 2;
    int cx = clamp(px + 8 - 120, m->w * 16 - 240), cy = clamp(py + 8 - 80, m->h * 16 - 160);
    BGHOFS(1) = cam_x = cx;
    BGVOFS(1) = cam_y = cy;
    spr_reset();
    int step = S.moving > 1 && S.moving < 6 ? 1 + (S.steps & 1) : 0;
    if (S.under == KIND_GRASS)          /* blades in front of the legs */
        spr(px - cx, py - cy + 8, 4, TILE_TUFT, PAL_FX, 1, 0);
    /* Sprites nearer to the viewer come first: people below the hero, hero, people above. */
    for (int below = 1; below >= 0; below--) {
        for (int i = 0; i < m->n_npcs; i++) {
            const struct npc *n = &m->npcs[i];
            int x = n->x * 16 - cx, y = n->y * 16 - cy;
            if ((n->y > S.y) == below && x > -16 && x < 240 && y > -16 && y < 176)
                draw_person(x, y, n->sprite, npc_face[i], 0);
        }
        if (below) draw_person(px - cx, py - cy, SPR_HERO, S.facing, step);
    }
}

void banner_off(void)
{
    if (banner) ui_clear(0, 0, 20, 3);
    banner = 0;
}

static void banner_on(void)
{
    const char *name = maps[S.map].name;
    int n = 0;
    while (name[n]) n++;
    ui_box(0, 0, n + 4, 3);
    ui_text(2, 1, name);
    banner = 60;
}

static void use_warp(void)
{
    const struct map *m = &maps[S.map];
    for (int i = 0; i < m->n_warps; i++) {
        const struct warp *w = &m->warps[i];
        if (w->x != S.x || w->y != S.y) continue;
        banner_off();
        fade_out();
        map_enter(w->map, w->tx, w->ty, w->face);
        world_draw();
        banner_on();
        fade_in();
        S.mode = MODE_WALK;
        return;
    }
}

static void arrived(void)
{
    if (S.under == KIND_WARP) use_warp();
    script_arrive();
    if (script_sight()) return;
    if (S.under == KIND_GRASS) {
        S.grass_steps++;
        if (rnd(8) == 0) wild_encounter();
    }
}

static void interact(void)
{
    const struct map *m = &maps[S.map];
    int x = S.x + dir_x[S.facing], y = S.y + dir_y[S.facing];
    int n = npc_at(x, y);
    banner_off();
    if (n >= 0) {
        npc_face[n] = S.facing ^ 1;     /* turn to the hero */
        world_draw();
        script_npc(n);
        npc_face[n] = m->npcs[n].face;
        world_draw();
        return;
    }
    for (int i = 0; i < m->n_looks; i++)
        if (m->looks[i].x == x && m->looks[i].y == y) {
            say(m->looks[i].text);
            return;
        }
    if (kind_at(x, y) == KIND_SIGN) script_counter(m->counter);
}

static void try_step(int dir)
{
    int turned = S.facing != dir;
    S.facing = dir;
    int k = kind_at(S.x + dir_x[dir], S.y + dir_y[dir]);
    if (k == KIND_FREE || k == KIND_GRASS || k == KIND_WARP) {
        S.x += dir_x[dir];
        S.y += dir_y[dir];
        S.moving = 8;
        S.steps++;
        world_around();
    } else if (turned) {
        world_draw();
    }
}

void world_loop(void)
{
    for (;;) {
        frame();
        if (banner == 1) banner_off();
        else if (banner) banner--;
        if (!S.moving) {
            if (key_new & KEY_A) interact();
            else if (key_new & KEY_START) start_menu();
            else if (key_held & KEY_DOWN) try_step(DOWN);
            else if (key_held & KEY_UP) try_step(UP);
            else if (key_held & KEY_LEFT) try_step(LEFT);
            else if (key_held & KEY_RIGHT) try_step(RIGHT);
        }
        if (S.moving) {
            S.moving--;
            world_draw();
            if (!S.moving) arrived();
        }
    }
}
