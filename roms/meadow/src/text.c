/* Text box, number formatting, menus. */
#include "game.h"

enum { BOX_Y = 14, COLS = 26 };

const char *fmt(const char *f, const char *s, const char *t, int v)
{
    static char out[96];
    char *p = out, *end = out + sizeof out - 1;
    for (; *f && p < end; f++) {
        if (*f != '%') {
            *p++ = *f;
            continue;
        }
        f++;
        if (*f != 'n') {
            for (const char *q = *f == 's' ? s : t; *q && p < end; ) *p++ = *q++;
            continue;
        }
        char digits[6];
        int n = 0;
        do digits[n++] = '0' + v % 10; while (v /= 10);
        while (n && p < end) *p++ = digits[--n];
    }
    *p = 0;
    return out;
}

static void wait_key(int frames)        /* 0: for ever */
{
    for (int n = 0; ; n++) {
        if (!frames) ui_put(28, 18, n & 16 ? ' ' : T_MORE);
        frame();
        if (key_new & (KEY_A | KEY_B) || (frames && n >= frames)) break;
    }
    ui_put(28, 18, ' ');
}

void print(const char *s, int key)
{
    int x = 0, line = 0, quick = 0, tick = 0;
    ui_box(0, BOX_Y, 30, 6);
    while (*s) {
        int len = 0;
        while (s[len] && s[len] != ' ') len++;
        if (x + len > COLS) {
            x = 0;
            if (++line == 2) {
                wait_key(key ? 0 : 24);
                ui_box(0, BOX_Y, 30, 6);
                line = quick = 0;
            }
        }
        for (; len >= 0 && *s; len--, s++) {
            if (x < COLS) ui_put(2 + x++, BOX_Y + 1 + 2 * line, *s);
            if (quick || (++tick & 1)) continue;
            frame();
            if (key_new & (KEY_A | KEY_B)) quick = 1;
        }
    }
    if (key < 2) wait_key(key ? 0 : 24);
}

void say(const char *s)
{
    u8 old = S.mode;
    banner_off();
    S.mode = old == MODE_WALK ? MODE_TEXT : old;
    print(s, 1);
    ui_clear(0, BOX_Y, 30, 6);
    S.mode = old;
}

int menu(int x, int y, int w, int n, const char *const *items, int first, int sub)
{
    ui_box(x, y, w, 2 * n + 1);
    for (int i = 0; i < n; i++) ui_text(x + 3, y + 1 + 2 * i, items[i]);
    S.cursor = first;
    S.submenu = sub;
    for (;;) {
        for (int i = 0; i < n; i++) ui_put(x + 1, y + 1 + 2 * i, i == S.cursor ? T_ARROW : ' ');
        frame();
        if (key_new & KEY_DOWN) S.cursor = S.cursor + 1 < n ? S.cursor + 1 : 0;
        if (key_new & KEY_UP) S.cursor = S.cursor ? S.cursor - 1 : n - 1;
        int start = key_new & KEY_START;    /* begins on the title, closes elsewhere */
        int pick = key_new & KEY_A || (start && S.mode == MODE_TITLE) ? S.cursor
                 : key_new & KEY_B || start ? -1 : -2;
        if (pick > -2) {
            S.cursor = S.submenu = 0;
            return pick;
        }
    }
}

int yes_no(void)
{
    static const char *const items[] = { "YES", "NO" };
    int pick = menu(22, 9, 8, 2, items, 0, SUB_YESNO);
    ui_clear(22, 9, 8, 5);
    return pick == 0;
}
