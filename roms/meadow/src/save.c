/* Saving to 64 KiB flash memory.  Sector 0: magic, length, checksum, then the state block. */
#include "game.h"

/* Emulators look for this text to choose the save type. */
__attribute__((section(".saveid"), used, aligned(4))) const char save_id[12] = "FLASH_V126";

#define FLASH ((volatile u8 *)0x0E000000)
struct header { char magic[4]; u32 length, sum; };

/* The flash chip cannot be read while it works, so this code runs from RAM. */
#define RAMCODE __attribute__((section(".ramcode"), noinline, long_call))

static RAMCODE void command(u8 c)
{
    FLASH[0x5555] = 0xAA;
    FLASH[0x2AAA] = 0x55;
    FLASH[0x5555] = c;
}

static RAMCODE int settled(u32 at, u8 value, u32 tries)
{
    while (tries--)
        if (FLASH[at] == value) return 1;
    return 0;
}

/* Entering and leaving the ID mode also tells an emulator, before the first read, that this is flash. */
static RAMCODE void wake(void)
{
    command(0x90);
    for (volatile int i = 0; i < 200; i++) { }
    command(0xF0);
    for (volatile int i = 0; i < 200; i++) { }
}

static RAMCODE int erase(void)
{
    command(0x80);
    FLASH[0x5555] = 0xAA;
    FLASH[0x2AAA] = 0x55;
    FLASH[0] = 0x30;                    /* sector 0, 4 KiB */
    return settled(0, 0xFF, 200000);
}

static RAMCODE int program(u32 at, const u8 *src, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        command(0xA0);
        FLASH[at + i] = src[i];
        if (!settled(at + i, src[i], 3000)) return 0;
    }
    return 1;
}

static RAMCODE void fetch(u32 at, u8 *dst, u32 n)
{
    for (u32 i = 0; i < n; i++) dst[i] = FLASH[at + i];
}

static u32 checksum(const u8 *p, u32 n)     /* FNV-1a */
{
    u32 h = 0x811C9DC5u;
    while (n--) h = (h ^ *p++) * 0x01000193u;
    return h;
}

static struct state copy;

int save_write(void)
{
    struct header h = { { 'M', 'D', 'W', 'S' }, sizeof S, 0 };
    copy = S;
    copy.mode = MODE_WALK;
    copy.cursor = copy.submenu = copy.restart = copy.restarts = 0;
    h.sum = checksum((const u8 *)&copy, sizeof copy);
    wake();
    /* The header goes last: a write that was cut off leaves no valid save. */
    return erase() && program(sizeof h, (const u8 *)&copy, sizeof copy) && program(0, (const u8 *)&h, sizeof h);
}

int save_valid(void)
{
    struct header h;
    wake();
    fetch(0, (u8 *)&h, sizeof h);
    if (h.magic[0] != 'M' || h.magic[1] != 'D' || h.magic[2] != 'W' || h.magic[3] != 'S' || h.length != sizeof copy)
        return 0;
    fetch(sizeof h, (u8 *)&copy, sizeof copy);
    return checksum((const u8 *)&copy, sizeof copy) == h.sum && copy.version == 1 && copy.map < N_MAPS
        && copy.party_size <= 6;
}

void save_load(void)                    /* after save_valid() and new_game() */
{
    u8 restarts = S.restarts;
    u32 frame_now = S.frame, restart_seed = S.restart_seed;
    if (!save_valid()) return;
    S = copy;
    S.restarts = restarts;
    S.frame = frame_now;
    S.restart_seed = restart_seed;
    map_enter(S.map, S.x, S.y, S.facing);
    world_draw();
}
