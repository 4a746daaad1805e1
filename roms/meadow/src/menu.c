/* START menu, party screen, bag, shop. */
#include "game.h"

static void party_slot(int i)
{
    const struct mon *m = &S.party[i];
    int x = (i & 1) * 15, y = (i >> 1) * 5;
    ui_box(x, y, 15, 5);
    if (i >= S.party_size) return;
    load_mon(m->species, OBJ_ICON + i * 16, PAL_PARTY + i, 2);
    spr(x * 8 + 6, y * 8 + 2, 2, OBJ_ICON + i * 16, PAL_PARTY + i, 0, 0);
    ui_text(x + 5, y + 1, species[m->species].name);
    ui_put(x + 5, y + 3, m->status ? 'B' : ' ');
    ui_put(x + 5, y + 2, T_LV);
    ui_num(x + 6, y + 2, m->level, 2);
    ui_bar(x + 8, y + 2, 4, m->hp, m->max_hp, 0);
    ui_num(x + 7, y + 3, m->hp, 3);
    ui_put(x + 10, y + 3, '/');
    ui_num(x + 11, y + 3, m->max_hp, 3);
}

int party_screen(int choose)
{
    spr_reset();
    for (int i = 0; i < 6; i++) party_slot(i);
    ui_box(0, 15, 30, 5);
    ui_text(2, 16, choose ? "Choose a monster." : "Your party.");
    S.submenu = SUB_PARTY;
    S.cursor = 0;
    int pick = -1, shown = -1;
    for (;;) {
        if (shown != S.cursor) {
            const struct mon *m = &S.party[S.cursor];
            for (int i = 0; i < S.party_size; i++)
                ui_put((i & 1) * 15 + 13, (i >> 1) * 5 + 1, i == S.cursor ? T_MORE : ' ');
            ui_text(2, 18, "           EXP     /");
            ui_text(2, 18, element_name[m->element]);
            ui_num(17, 18, m->exp, 4);
            ui_num(22, 18, m->exp_next, 4);
            shown = S.cursor;
        }
        frame();
        int c = S.cursor;
        if (key_new & KEY_RIGHT) c++;
        if (key_new & KEY_LEFT) c--;
        if (key_new & KEY_DOWN) c += 2;
        if (key_new & KEY_UP) c -= 2;
        if (c >= 0 && c < S.party_size) S.cursor = c;
        if (key_new & KEY_B) break;
        if (key_new & KEY_A) {
            pick = S.cursor;
            break;
        }
    }
    S.cursor = S.submenu = 0;
    video_clear();
    return pick;
}

static void use_potion(void)
{
    int i = party_screen(1);
    world_draw();
    if (i < 0) return;
    struct mon *m = &S.party[i];
    if (!m->hp || m->hp == m->max_hp) {
        say("It would have no effect.");
        return;
    }
    m->hp = m->hp + 20 > m->max_hp ? m->max_hp : m->hp + 20;
    m->status = 0;
    S.potions--;
    say(fmt("%s feels better.", species[m->species].name, "", 0));
}

static void count_line(int y, int n)
{
    ui_put(26, y, '*');
    ui_num(27, y, n, 2);
}

static void bag(void)
{
    static const char *const items[] = { "POTION", "ORB", "EXIT" };
    for (;;) {
        ui_box(15, 1, 15, 7);
        count_line(2, S.potions);
        count_line(4, S.orbs);
        /* the menu box is narrower than the count box, so it keeps the numbers */
        int pick = menu(15, 1, 11, 3, items, 0, SUB_BAG);
        ui_clear(15, 1, 15, 7);
        if (pick < 0 || pick == 2) return;
        if (pick == 1) say("Throw ORBS at weak wild monsters.");
        else if (!S.potions) say("You have no POTIONS.");
        else use_potion();
    }
}

static void save_game(void)
{
    S.submenu = SUB_SAVE;
    print("Save the game?", 2);
    int ok = yes_no();
    ui_clear(0, 14, 30, 6);
    if (!ok) return;
    S.flags |= FLAG_SAVED;
    say(save_write() ? "The game was saved." : "Saving failed.");
}

void start_menu(void)
{
    static const char *const items[] = { "PARTY", "BAG", "SAVE", "EXIT" };
    int at = 0;
    banner_off();
    S.mode = MODE_MENU;
    for (;;) {
        at = menu(19, 1, 10, 4, items, at, SUB_START);
        ui_clear(19, 1, 10, 9);
        if (at < 0 || at == 3) break;
        if (at == 0 && S.party_size) party_screen(0);
        else if (at == 0) say("You have no monsters yet.");
        else if (at == 1) bag();
        else save_game();
        world_draw();
    }
    S.mode = MODE_WALK;
}

void shop(void)
{
    static const char *const items[] = { "ORB     $20", "POTION  $30", "EXIT" };
    static const u8 price[] = { 20, 30 };
    S.mode = MODE_SHOP;
    print("Welcome! What do you need?", 2);
    int at = 0;
    for (;;) {
        ui_box(18, 1, 11, 3);
        ui_put(19, 2, '$');
        ui_num(20, 2, S.money, 8);
        ui_box(18, 4, 11, 5);
        ui_text(20, 5, "ORB");
        ui_num(25, 5, S.orbs, 2);
        ui_text(20, 7, "POTION");
        ui_num(26, 7, S.potions, 2);
        at = menu(1, 1, 16, 3, items, at, SUB_SHOP);
        if (at < 0 || at == 2) break;
        u8 *stock = at ? &S.potions : &S.orbs;
        if (S.money < price[at]) {
            print("You need more money.", 2);
        } else if (*stock >= 99) {
            print("Your bag is full.", 2);
        } else {
            S.money -= price[at];
            ++*stock;
            S.flags |= FLAG_BOUGHT;
            print("Thank you! Anything else?", 2);
        }
    }
    ui_clear(0, 1, 30, 19);
    S.mode = MODE_WALK;
    say("Come again!");
}
