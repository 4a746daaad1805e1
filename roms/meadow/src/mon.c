/* Species, moves, levels. */
#include "game.h"

const char *const element_name[] = { "PLAIN", "LEAF", "EMBER", "TIDE", "STONE" };

const struct move moves[] = {
    { "-", 0, 0, 0, 0, 0, 0 },
    { "BUMP",        EL_NONE,  35, 95, 30, FX_NONE, 0 },
    { "NIP",         EL_NONE,  40, 100, 30, FX_NONE, 0 },
    { "LEAF FLICK",  EL_LEAF,  40, 100, 20, FX_NONE, 0 },
    { "SPARK",       EL_EMBER, 40, 100, 20, FX_BURN, 10 },
    { "WATER JET",   EL_TIDE,  40, 100, 20, FX_NONE, 0 },
    { "PEBBLE TOSS", EL_STONE, 40, 95, 20, FX_NONE, 0 },
    { "HOWL",        EL_NONE,  0, 100, 20, FX_LOWER_ATTACK, 100 },
    { "GLARE",       EL_NONE,  0, 100, 20, FX_LOWER_DEFENSE, 100 },
    { "VINE GRIP",   EL_LEAF,  60, 90, 12, FX_NONE, 0 },
    { "FLAME BITE",  EL_EMBER, 60, 90, 12, FX_BURN, 20 },
    { "TIDE RUSH",   EL_TIDE,  60, 90, 12, FX_NONE, 0 },
    { "ROCK DROP",   EL_STONE, 60, 85, 12, FX_NONE, 0 },
    { "BASK",        EL_NONE,  0, 100, 5, FX_HEAL, 100 },
    { "FLAIL",       EL_NONE,  30, 100, 0, FX_RECOIL, 100 },
};

const struct species species[N_SPECIES + 1] = {     /* learn: level, move */
    { "-", 0, 0, 0, 0, 0, 0, { { 0 } } },
    { "MOSSIP",   EL_LEAF,  50, 48, 52, 44, 45, { { 1, 2 }, { 1, 3 }, { 7, 13 }, { 10, 9 } } },
    { "CINDLE",   EL_EMBER, 44, 54, 44, 56, 45, { { 1, 2 }, { 1, 4 }, { 7, 8 }, { 10, 10 } } },
    { "PUDDLO",   EL_TIDE,  54, 46, 50, 46, 45, { { 1, 1 }, { 1, 5 }, { 7, 7 }, { 10, 11 } } },
    { "DANDEL",   EL_LEAF,  42, 36, 40, 40, 190, { { 1, 1 }, { 4, 3 }, { 8, 13 }, { 12, 9 } } },
    { "PEBBIT",   EL_STONE, 38, 40, 52, 50, 170, { { 1, 1 }, { 4, 6 }, { 8, 8 }, { 12, 12 } } },
    { "LUMBUG",   EL_EMBER, 40, 44, 36, 52, 150, { { 1, 2 }, { 4, 4 }, { 8, 7 }, { 12, 10 } } },
    { "SHELLIP",  EL_TIDE,  44, 36, 54, 28, 160, { { 1, 1 }, { 4, 5 }, { 8, 13 }, { 12, 11 } } },
    { "BRAMBOAR", EL_LEAF,  60, 58, 50, 42, 80, { { 1, 2 }, { 5, 3 }, { 8, 8 }, { 11, 9 } } },
    { "CRAGOR",   EL_STONE, 62, 56, 66, 26, 30, { { 1, 1 }, { 5, 6 }, { 8, 7 }, { 11, 12 } } },
    { "ASHWING",  EL_EMBER, 46, 56, 42, 64, 60, { { 1, 2 }, { 5, 4 }, { 8, 8 }, { 11, 10 } } },
};

static void stats(struct mon *m)
{
    const struct species *s = &species[m->species];
    m->max_hp = 10 + m->level + s->hp * m->level / 25;
    m->attack = 5 + s->attack * m->level / 25;
    m->defense = 5 + s->defense * m->level / 25;
    m->speed = 5 + s->speed * m->level / 25;
    m->exp_next = 8 + m->level * (m->level + 2);
}

int mon_learn(struct mon *m)
{
    for (int i = 0; i < 4; i++) {
        const u8 *l = species[m->species].learn[i];
        if (l[0] != m->level || m->move[i].id == l[1]) continue;
        m->move[i].id = l[1];
        m->move[i].uses = moves[l[1]].uses;
        return l[1];
    }
    return 0;
}

void mon_make(struct mon *m, int sp, int level)
{
    *m = (struct mon){ 0 };
    m->species = sp;
    m->element = species[sp].element;
    m->level = level;
    stats(m);
    for (int i = 0; i < 4; i++) {
        const u8 *l = species[sp].learn[i];
        if (l[0] <= level) m->move[i].id = l[1];
    }
    mon_heal(m);
}

int mon_gain(struct mon *m, int exp)
{
    if (m->level >= 50) return 0;
    m->exp += exp;
    if (m->exp < m->exp_next) return 0;
    m->exp -= m->exp_next;
    m->level++;
    int old = m->max_hp;
    stats(m);
    m->hp += m->max_hp - old;
    S.flags |= FLAG_LEVEL_UP;
    return 1;
}

void mon_heal(struct mon *m)
{
    m->hp = m->max_hp;
    m->status = 0;
    for (int i = 0; i < 4; i++) m->move[i].uses = moves[m->move[i].id].uses;
}

int element_factor(int attack, int defend)
{
    static const u8 table[5][5] = {     /* attacker in rows: plain, leaf, ember, tide, stone */
        { 2, 2, 2, 2, 2 }, { 2, 1, 1, 4, 4 }, { 2, 4, 1, 1, 1 }, { 2, 1, 4, 1, 4 }, { 2, 2, 4, 2, 1 } };
    return table[attack][defend];
}

int party_alive(void)                   /* first slot that can fight, or -1 */
{
    for (int i = 0; i < S.party_size; i++)
        if (S.party[i].hp) return i;
    return -1;
}
