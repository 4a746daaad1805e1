/* Between the rules of a battle (battle.c) and its look (battle_ui.c). */
#pragma once
enum { MINE, FOE };
void bt_panels(void);
void bt_load(int side);
void bt_show(int side, int on);
void bt_begin(void);
void bt_end(void);
void bt_lunge(int side);
void bt_hit(int side);
void bt_faint(int side);
void bt_drain(int side, int from);
void bt_throw(int wiggles, int caught);
int bt_command(void);
int bt_move(void);
