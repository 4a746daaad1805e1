/* The rules of a battle. */
#include "game.h"
#include "battle.h"

struct team { const char *name; u16 prize; u8 n, mon[3][2]; };
static const struct team teams[] = {
    { "Scout TARO", 80, 2, { { DANDEL, 4 }, { PEBBIT, 5 } } },
    { "PIA", 100, 2, { { SHELLIP, 7 }, { SHELLIP, 7 } } },
    { "Leader GRANNA", 300, 2, { { PEBBIT, 9 }, { CRAGOR, 11 } } },
};

static struct mon *mine(void) { return &S.party[S.my_slot]; }
static struct mon *mon_of(int side) { return side == FOE ? &S.foe : mine(); }
static const char *name_of(int side) { return species[mon_of(side)->species].name; }

static void msg(const char *f, const char *s, const char *t, int n)
{
    S.phase = PHASE_ANIM;
    print(fmt(f, s, t, n), 0);
}

static int staged(int v, int stage)     /* each stage is worth a quarter */
{
    v = stage >= 0 ? v * (4 + stage) / 4 : v * 4 / (4 - stage);
    return v ? v : 1;
}

static int damage(int side, const struct move *m)
{
    struct mon *a = mon_of(side), *d = mon_of(!side);
    int att = staged(a->attack, side == FOE ? S.foe_attack : S.my_attack);
    int def = staged(d->defense, side == FOE ? S.my_defense : S.foe_defense);
    int n = m->power * att * (2 * a->level + 10) / (def * 150) + 1;
    if (m->element && m->element == a->element) n = n * 5 / 4;
    if (a->status) n = n * 3 / 4;
    S.last_effect = element_factor(m->element, d->element);
    n = n * S.last_effect / 2;
    n = n * (85 + rnd(16)) / 100;
    return n ? n : 1;
}

static void hurt(int side, int n)
{
    struct mon *m = mon_of(side);
    int old = m->hp;
    m->hp = n >= old ? 0 : old - n;
    bt_drain(side, old);
}

static void lower(s8 *stage, const char *what, int side)
{
    if (*stage <= -4) {
        msg("It has no effect.", "", "", 0);
        return;
    }
    --*stage;
    msg("%s loses %t!", name_of(side), what, 0);
}

static void effect(int side, const struct move *m, int dealt)
{
    struct mon *a = mon_of(side), *d = mon_of(!side);
    if (m->chance < 100 && (int)rnd(100) >= m->chance) return;
    switch (m->effect) {
    case FX_BURN:
        if (!d->hp || d->status || d->element == EL_EMBER) break;
        d->status = 1;
        bt_panels();
        msg("%s is burnt!", name_of(!side), "", 0);
        break;
    case FX_LOWER_ATTACK: lower(side == FOE ? &S.my_attack : &S.foe_attack, "attack", !side); break;
    case FX_LOWER_DEFENSE: lower(side == FOE ? &S.my_defense : &S.foe_defense, "defense", !side); break;
    case FX_HEAL: {
        int old = a->hp;
        a->hp = a->hp + a->max_hp / 3 > a->max_hp ? a->max_hp : a->hp + a->max_hp / 3;
        bt_drain(side, old);
        break;
    }
    case FX_RECOIL: hurt(side, dealt / 2 + 1); break;
    }
}

static void attack(int side, int slot)
{
    struct mon *a = mon_of(side);
    int id = slot == 4 ? MOVE_FLAIL : a->move[slot].id;
    const struct move *m = &moves[id];
    if (slot < 4 && a->move[slot].uses) a->move[slot].uses--;
    msg(side == FOE ? "Foe %s uses %t!" : "%s uses %t!", name_of(side), m->name, 0);
    if ((int)rnd(100) >= m->accuracy) {
        msg("It missed!", "", "", 0);
        return;
    }
    bt_lunge(side);
    int n = 0;
    if (m->power) {
        n = damage(side, m);
        S.last_damage = n > 255 ? 255 : n;
        bt_hit(!side);
        hurt(!side, n);
        if (S.last_effect == 4) msg("A strong hit!", "", "", 0);
        if (S.last_effect == 1) msg("It does little.", "", "", 0);
    }
    if (m->effect) effect(side, m, n);
}

static int foe_choice(void)
{
    int n = 0;
    while (n < 4 && S.foe.move[n].id && S.foe.move[n].uses) n++;
    return n ? (int)rnd(n) : 4;
}

static void burn(int side)
{
    struct mon *m = mon_of(side);
    if (!m->hp || !m->status) return;
    msg("%s suffers from its burn.", name_of(side), "", 0);
    hurt(side, m->max_hp / 10 + 1);
}

static void send_foe(const struct team *t)
{
    int i = t->n - S.foe_left;
    mon_make(&S.foe, t->mon[i][0], t->mon[i][1]);
    S.seen_mask |= 1 << S.foe.species;
    S.foe_attack = S.foe_defense = 0;
}

static void use_slot(int slot)
{
    S.my_slot = slot;
    S.my_attack = S.my_defense = 0;
    bt_load(MINE);
    bt_show(MINE, 1);
    bt_panels();
    msg("Go, %s!", name_of(MINE), "", 0);
}

static void reward(void)
{
    int exp = S.foe.level * 7 + 8;
    if (S.kind != BATTLE_WILD) exp = exp * 3 / 2;
    msg("You gained %n EXP.", "", "", exp);
    struct mon *m = mine();
    while (mon_gain(m, exp)) {
        exp = 0;
        bt_panels();
        msg("%s is now level %n!", name_of(MINE), "", m->level);
        int learnt = mon_learn(m);
        if (learnt) msg("It learnt %s!", moves[learnt].name, "", 0);
    }
    bt_panels();
}

static int throw_orb(void)              /* 1: caught */
{
    S.orbs--;
    int rate = species[S.foe.species].catch_rate;
    int chance = rate * (3 * S.foe.max_hp - 2 * S.foe.hp) / (3 * S.foe.max_hp);
    if (S.foe.status) chance = chance * 3 / 2;
    int roll = rnd(256), caught = roll < chance;
    msg("You throw an ORB!", "", "", 0);
    bt_throw(caught ? 3 : roll < chance * 2 ? 2 : 1, caught);
    if (!caught) {
        msg("It broke free!", "", "", 0);
        return 0;
    }
    S.caught++;
    S.flags |= FLAG_CAUGHT;
    S.caught_mask |= 1 << S.foe.species;
    msg("%s was caught!", name_of(FOE), "", 0);
    if (S.party_size < 6) S.party[S.party_size++] = S.foe;
    else msg("Your party is full. It stays with the Elder.", "", "", 0);
    return 1;
}

/* Ask until a command is possible.  Returns 0..4 for a move, 5 turn used up, 6 fled, 7 caught. */
static int command(void)
{
    for (;;) {
        int c = bt_command();
        if (c == 0) {
            int m = bt_move();
            if (m >= 0) return m;
        } else if (c == 1) {
            if (S.kind != BATTLE_WILD) msg("You cannot catch a trainer's monster!", "", "", 0);
            else if (!S.orbs) msg("You have no ORBS.", "", "", 0);
            else return throw_orb() ? 7 : 5;
        } else if (c == 2) {
            int slot = party_screen(1);
            bt_show(FOE, 1);
            bt_show(MINE, 1);
            bt_load(MINE);              /* the icons used its palette */
            bt_panels();
            if (slot < 0 || slot == S.my_slot) continue;
            if (!S.party[slot].hp) {
                msg("It cannot fight.", "", "", 0);
                continue;
            }
            use_slot(slot);
            return 5;
        } else {
            if (S.kind != BATTLE_WILD) {
                msg("You cannot run from a trainer!", "", "", 0);
                continue;
            }
            int ok = mine()->speed >= S.foe.speed || rnd(100) < 60;
            msg(ok ? "You got away." : "No way out!", "", "", 0);
            return ok ? 6 : 5;
        }
    }
}

static void turn(int m)                 /* both sides act, the faster one first */
{
    int first = mine()->speed > S.foe.speed || (mine()->speed == S.foe.speed && rnd(2)) ? MINE : FOE;
    int theirs = foe_choice();
    for (int i = 0; i < 2; i++) {
        int side = i ? !first : first;
        if (side == MINE && m > 4) continue;
        if (mine()->hp && S.foe.hp) attack(side, side == MINE ? m : theirs);
    }
    burn(MINE);
    burn(FOE);
    if (S.turn < 255) S.turn++;
}

/* 1 all foes down, 0 all own down, 2 left otherwise */
static int fight(const struct team *t)
{
    for (;;) {
        int m = command();
        if (m > 5) return 2;
        turn(m);
        if (!S.foe.hp) {
            bt_faint(FOE);
            msg("Foe %s is out!", name_of(FOE), "", 0);
            if (mine()->hp) reward();
            S.foe_left--;
        }
        if (!mine()->hp) {
            bt_faint(MINE);
            msg("%s is out!", name_of(MINE), "", 0);
            if (party_alive() < 0) return 0;
        }
        if (!S.foe.hp) {
            if (!S.foe_left) return 1;
            send_foe(t);
            bt_load(FOE);
            bt_show(FOE, 1);
            bt_panels();
            msg("%s sends %t!", t->name, name_of(FOE), 0);
        }
        if (!mine()->hp) use_slot(party_alive());
    }
}

static void blackout(void)
{
    S.mode = MODE_BLACKOUT;
    S.lost++;
    int lost = S.money / 2;
    S.money -= lost;
    heal_all();
    map_enter(S.heal_map, 7, 5, UP);
    world_draw();
    BLDY = 0;
    print(fmt("All your monsters are out. You hurry to the nurse and lose $%n.", "", "", lost), 1);
    ui_clear(0, 14, 30, 6);
}

int battle(int kind, int team)
{
    const struct team *t = &teams[team];
    banner_off();
    S.in_battle = 1;
    S.kind = kind;
    S.turn = 0;
    S.phase = PHASE_ANIM;
    S.my_slot = party_alive();
    S.my_attack = S.my_defense = S.foe_attack = S.foe_defense = 0;
    if (kind != BATTLE_WILD) {
        S.foe_left = t->n;
        S.foe_team = team;
        send_foe(t);
    }
    bt_begin();
    if (kind == BATTLE_WILD) msg("A wild %s appeared!", name_of(FOE), "", 0);
    else msg("%s wants to fight!", t->name, "", 0);
    int result = fight(t);
    S.phase = PHASE_OVER;
    if (result == 1) {
        S.won++;
        S.flags |= FLAG_FIRST_VICTORY;
        int coins = kind == BATTLE_WILD ? S.foe.level * 2 : t->prize;
        S.money = S.money + coins > 99999 ? 99999 : S.money + coins;
        msg("You found $%n.", "", "", coins);
    }
    bt_end();
    S.in_battle = S.kind = S.foe_left = 0;
    S.foe = (struct mon){ 0 };
    if (result == 0) blackout();
    else fade_in();
    BLDCNT = 0;
    S.mode = MODE_WALK;
    return result;
}

void wild_encounter(void)
{
    static const u8 near[] = { DANDEL, DANDEL, PEBBIT, PEBBIT, LUMBUG, SHELLIP };
    static const u8 far[] = { LUMBUG, SHELLIP, PEBBIT, BRAMBOAR, BRAMBOAR, ASHWING };
    int far_away = S.map == MAP_ROUTE2;
    int sp = far_away ? far[rnd(6)] : near[rnd(6)];
    if (rnd(16) == 0) sp = MOSSIP + rnd(3);
    int level = far_away ? 4 + rnd(4) : 2 + rnd(3);
    if (party_alive() < 0) return;
    mon_make(&S.foe, sp, level);
    S.seen_mask |= 1 << sp;
    S.encounters++;
    S.foe_left = 1;
    battle(BATTLE_WILD, 0);
}
