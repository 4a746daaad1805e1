/* The look of a battle: panels, sprites, menus, small animations. */
#include "game.h"
#include "battle.h"

static s8 foe_dx, foe_dy, my_dx, my_dy;
static u8 foe_shown, my_shown;
static int orb_x, orb_y;                /* orb_y 0: no orb */

static void sprites(void)
{
    spr_reset();
    if (orb_y) spr(orb_x, orb_y, 1, TILE_ORB, PAL_FX, 1, 0);
    if (my_shown) spr(28 + my_dx, 48 + my_dy, 3, OBJ_MINE, PAL_PARTY, 1, 0);
    if (foe_shown) spr(152 + foe_dx, 8 + foe_dy, 3, OBJ_FOE, PAL_FOE, 1, 0);
}

static void panel(int x, int y, const struct mon *m, u16 hp, int mine)
{
    ui_box(x, y, 14, mine ? 5 : 4);
    ui_text(x + 1, y + 1, species[m->species].name);
    ui_put(x + 10, y + 1, T_LV);
    ui_num(x + 11, y + 1, m->level, 2);
    ui_put(x + 1, y + 2, m->status ? 'B' : ' ');
    ui_put(x + 2, y + 2, T_HP);
    ui_bar(x + 3, y + 2, 7, hp, m->max_hp, 0);
    if (!mine) return;
    ui_bar(x + 1, y + 3, 3, m->exp, m->exp_next, 1);
    ui_num(x + 6, y + 3, hp, 3);
    ui_put(x + 9, y + 3, '/');
    ui_num(x + 10, y + 3, m->max_hp, 3);
}

void bt_panels(void)
{
    panel(1, 1, &S.foe, S.foe.hp, 0);
    panel(15, 9, &S.party[S.my_slot], S.party[S.my_slot].hp, 1);
}

void bt_load(int side)
{
    if (side == FOE) load_mon(S.foe.species, OBJ_FOE, PAL_FOE, 0);
    else load_mon(S.party[S.my_slot].species, OBJ_MINE, PAL_PARTY, 1);
}

void bt_show(int side, int on)
{
    if (side == FOE) {
        foe_shown = on;
        foe_dx = foe_dy = 0;
    } else {
        my_shown = on;
        my_dx = my_dy = 0;
    }
    sprites();
}

void bt_begin(void)                     /* flash, then slide both monsters in */
{
    S.mode = MODE_TRANSITION;
    BLDCNT = 0x00BF;
    for (int i = 0; i < 12; i++) {
        BLDY = i & 4 ? 0 : 10;
        frame();
    }
    BLDY = 16;
    spr_reset();
    frame();
    video_layers(LAYERS_BATTLE);
    BGHOFS(2) = 0;
    S.mode = MODE_BATTLE;
    ui_box(0, 14, 30, 6);
    bt_load(FOE);
    bt_load(MINE);
    orb_y = 0;
    foe_shown = 1;
    my_shown = 1;
    for (int d = 96; d >= 0; d -= 8) {
        foe_dx = -d;
        my_dx = d;
        sprites();
        BLDY = d / 6;
        frame();
    }
    BLDCNT = 0;
    bt_panels();
}

void bt_end(void)
{
    S.mode = MODE_TRANSITION;
    BLDCNT = 0x00FF;
    for (int i = 4; i <= 16; i += 4) {
        BLDY = i;
        frame();
    }
    video_clear();
    video_layers(LAYERS_WORLD);
    world_draw();
}

void bt_lunge(int side)
{
    for (int i = 0; i < 10; i++) {
        int d = (i < 5 ? i : 9 - i) * 3;
        if (side == FOE) foe_dx = -d;
        else my_dx = d;
        sprites();
        frame();
    }
}

void bt_hit(int side)                   /* blink */
{
    u8 *shown = side == FOE ? &foe_shown : &my_shown;
    for (int i = 0; i < 12; i++) {
        *shown = i & 2 ? 1 : 0;
        sprites();
        frame();
    }
    *shown = 1;
    sprites();
}

void bt_faint(int side)
{
    s8 *dy = side == FOE ? &foe_dy : &my_dy;
    for (int i = 0; i < 8; i++) {
        *dy += 8;
        if (side == FOE && i == 5) foe_shown = 0;
        sprites();
        frame();
    }
    bt_show(side, 0);
}

void bt_drain(int side, int from)       /* let the bar follow the new hp */
{
    const struct mon *m = side == FOE ? &S.foe : &S.party[S.my_slot];
    int to = m->hp, step = from > to ? from - to : to - from;
    step = (step + 11) / 12;
    while (from != to) {
        if (from > to) from = from - step < to ? to : from - step;
        else from = from + step > to ? to : from + step;
        if (side == FOE) {
            ui_bar(4, 3, 7, from, m->max_hp, 0);
        } else {
            ui_bar(18, 11, 7, from, m->max_hp, 0);
            ui_num(21, 12, from, 3);
        }
        frame();
    }
}

void bt_throw(int wiggles, int caught)
{
    for (int i = 0; i <= 20; i++) {
        orb_x = 60 + i * 116 / 20;
        orb_y = 80 - i * 44 / 20 - i * (20 - i) / 3;
        sprites();
        frame();
    }
    foe_shown = 0;
    for (int i = 0; i < 5; i++) {       /* drop to the ground */
        orb_y += 4;
        sprites();
        frame();
    }
    for (int w = 0; w < wiggles; w++)
        for (int i = 0; i < 20; i++) {
            orb_x = 176 + (i < 4 ? -2 : i < 8 ? 2 : 0);
            sprites();
            frame();
        }
    if (!caught) {
        orb_y = 0;
        foe_shown = 1;
    }
    sprites();
}

int bt_command(void)                    /* 0 fight, 1 catch, 2 swap, 3 run */
{
    static const char *const names[] = { "FIGHT", "CATCH", "SWAP", "RUN" };
    S.phase = PHASE_MENU;
    ui_box(0, 14, 30, 6);
    ui_box(14, 14, 16, 6);
    ui_text(2, 15, "What will");
    ui_text(2, 16, fmt("%s do?", species[S.party[S.my_slot].species].name, "", 0));
    for (int i = 0; i < 4; i++) ui_text(17 + (i & 1) * 7, 15 + (i >> 1) * 2, names[i]);
    ui_text(2, 18, "ORBS");
    ui_num(7, 18, S.orbs, 2);
    for (S.battle_cursor = 0;;) {
        for (int i = 0; i < 4; i++)
            ui_put(16 + (i & 1) * 7, 15 + (i >> 1) * 2, i == S.battle_cursor ? T_ARROW : ' ');
        frame();
        if (key_new & (KEY_LEFT | KEY_RIGHT)) S.battle_cursor ^= 1;
        if (key_new & (KEY_UP | KEY_DOWN)) S.battle_cursor ^= 2;
        if (key_new & KEY_A) return S.battle_cursor;
    }
}

int bt_move(void)                       /* 0..3, -1 back, 4 when nothing is left */
{
    const struct mon *m = &S.party[S.my_slot];
    int n = 0, left = 0;
    for (int i = 0; i < 4 && m->move[i].id; i++) {
        n++;
        left += m->move[i].uses;
    }
    if (!left) return 4;
    S.phase = PHASE_MOVE;
    ui_box(0, 14, 20, 6);
    ui_box(20, 14, 10, 6);
    for (int i = 0; i < n; i++) ui_text(3, 15 + i, moves[m->move[i].id].name);
    for (S.battle_cursor = 0;;) {
        for (int i = 0; i < n; i++) ui_put(1, 15 + i, i == S.battle_cursor ? T_ARROW : ' ');
        const struct move *v = &moves[m->move[S.battle_cursor].id];
        ui_text(22, 15, "      ");
        ui_text(22, 15, element_name[v->element]);
        ui_num(22, 17, m->move[S.battle_cursor].uses, 2);
        ui_put(24, 17, '/');
        ui_num(25, 17, v->uses, 2);
        frame();
        if (key_new & KEY_DOWN) S.battle_cursor = S.battle_cursor + 1 < n ? S.battle_cursor + 1 : 0;
        if (key_new & KEY_UP) S.battle_cursor = S.battle_cursor ? S.battle_cursor - 1 : n - 1;
        if (key_new & KEY_B) return -1;
        if (key_new & KEY_A && m->move[S.battle_cursor].uses) return S.battle_cursor;
    }
}
