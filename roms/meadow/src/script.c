/* What people say and do. */
#include "game.h"

void heal_all(void)
{
    for (int i = 0; i < S.party_size; i++) mon_heal(&S.party[i]);
}

static int shown;

static void show_starter(void)          /* picture and element of the monster under the cursor */
{
    if (shown == S.cursor + 1) return;
    shown = S.cursor + 1;
    load_mon(shown, OBJ_FOE, PAL_FOE, 0);
    ui_text(4, 11, element_name[species[shown].element]);
    ui_text(4 + 5, 11, "  ");
}

static void elder(void)
{
    static const char *const names[] = { "MOSSIP", "CINDLE", "PUDDLO" };
    if (S.flags & FLAG_FIRST_MONSTER) {
        say(S.flags & FLAG_BADGE ? "The STONE BADGE! I knew it the day you woke so late."
                                 : "Go north, child. Two routes, then Craghaven. Win the badge in the hall!");
        return;
    }
    say("ELDER: There you are! Route 1 is no place to walk alone. Choose a friend!");
    S.mode = MODE_MENU;
    ui_box(2, 1, 12, 12);
    ui_box(16, 1, 12, 7);
    shown = 0;
    int pick = 0;
    do {
        S.submenu = SUB_STARTER;
        for (int i = 0; i < 3; i++) ui_text(19, 2 + 2 * i, names[i]);
        show_starter();
        spr_reset();
        spr(32, 20, 3, OBJ_FOE, PAL_FOE, 0, 0);
        for (int i = 0; i < 3; i++) ui_put(17, 2 + 2 * i, i == S.cursor ? T_ARROW : ' ');
        frame();
        if (key_new & KEY_DOWN) S.cursor = (S.cursor + 1) % 3;
        if (key_new & KEY_UP) S.cursor = (S.cursor + 2) % 3;
        if (key_new & KEY_A) pick = S.cursor + 1;
    } while (!pick);
    S.cursor = S.submenu = 0;
    ui_clear(2, 1, 26, 12);
    mon_make(&S.party[0], pick, 5);
    S.party_size = 1;
    S.seen_mask |= 1 << pick;
    S.caught_mask |= 1 << pick;
    S.orbs = 5;
    S.potions = 1;
    S.flags |= FLAG_FIRST_MONSTER;
    S.mode = MODE_WALK;
    world_draw();
    say(fmt("%s is yours! Here are 5 ORBS and a POTION too. Go north when you are ready.", species[pick].name, "", 0));
}

static void heal(void)
{
    say("Welcome! Let me look after your team.");
    heal_all();
    S.flags |= FLAG_HEALED;
    S.heal_map = S.map;
    BLDCNT = 0x00BF;                    /* a soft flash */
    for (int i = 0; i < 8; i++) {
        BLDY = i < 4 ? i * 2 : 14 - i * 2;
        frame();
    }
    BLDCNT = 0;
    BLDY = 0;
    say("All are fit again. Take care!");
}

static void trainer(int flag, const char *before, const char *after, int kind, int team)
{
    if (S.flags & flag) {
        say(after);
        return;
    }
    say(before);
    if (battle(kind, team) != 1) return;
    S.flags |= flag;
    say(after);
}

static void leader(void)
{
    int had = S.badges;
    trainer(FLAG_BADGE, "I am GRANNA. My stones have never been moved. Show me what you have!",
            "You moved the mountain. Wear the STONE BADGE with pride!", BATTLE_LEADER, 2);
    if (S.flags & FLAG_BADGE && !had) {
        S.badges = 1;
        ending();
    }
}

static void gift(void)
{
    if (S.flags & FLAG_GIFT) {
        say("Strong things are built one step at a time.");
        return;
    }
    S.flags |= FLAG_GIFT;
    S.potions = S.potions > 96 ? 99 : S.potions + 3;
    say("So far from home! Take these 3 POTIONS with you.");
}

static void run_script(int script, const char *text)
{
    switch (script) {
    case SC_TEXT: if (text) say(text); break;
    case SC_ELDER: elder(); break;
    case SC_HEAL: heal(); break;
    case SC_SHOP: shop(); break;
    case SC_TRAINER1:
        trainer(FLAG_TRAINER, "Stop! Nobody passes scout TARO without a match!",
                "You are good. Craghaven is just to the east.", BATTLE_TRAINER, 0);
        break;
    case SC_TRAINER2:
        trainer(FLAG_TRAINER2, "My name is PIA. My team loves the rain!",
                "The leader will like you.", BATTLE_TRAINER, 1);
        break;
    case SC_LEADER: leader(); break;
    case SC_GIFT: gift(); break;
    }
}

void script_npc(int index)
{
    const struct npc *n = &maps[S.map].npcs[index];
    run_script(n->script, n->text);
}

void script_counter(int script)
{
    run_script(script, 0);
}

void script_arrive(void)
{
    if (S.map == MAP_VILLAGE && !(S.flags & FLAG_FIRST_MONSTER)) {
        S.facing = LEFT;                /* the elder waits beside the door */
        world_draw();
        elder();
    }
}

/* A trainer who sees the hero within three cells in front calls for a match. */
int script_sight(void)
{
    const struct map *m = &maps[S.map];
    for (int i = 0; i < m->n_npcs; i++) {
        const struct npc *n = &m->npcs[i];
        u32 flag = n->script == SC_TRAINER1 ? FLAG_TRAINER : n->script == SC_TRAINER2 ? FLAG_TRAINER2 : 0;
        int reach = n->script == SC_TRAINER1 ? 3 : 2;
        if (!flag || S.flags & flag || n->x != S.x || S.y <= n->y || S.y > n->y + reach) continue;
        banner_off();
        S.facing = UP;
        world_draw();
        S.mode = MODE_TEXT;
        spr(n->x * 16 - cam_x, n->y * 16 - cam_y - 20, 1, TILE_BANG, PAL_FX, 1, 0);
        wait(24);
        S.mode = MODE_WALK;
        world_draw();
        script_npc(i);
        return 1;
    }
    return 0;
}

void ending(void)
{
    S.mode = MODE_VICTORY;
    ui_box(3, 1, 24, 11);
    ui_text(7, 2, "CONGRATULATIONS!");
    ui_text(5, 4, "You won the badge!");
    ui_text(5, 6, "Battles won");
    ui_num(20, 6, S.won, 5);
    ui_text(5, 8, "Monsters caught");
    ui_num(20, 8, S.caught, 5);
    ui_text(5, 10, "Steps");
    ui_num(18, 10, S.steps, 7);
    print("Thank you for playing! The meadow stays open for you.", 1);
    video_clear();
    S.mode = MODE_WALK;
    world_draw();
}
