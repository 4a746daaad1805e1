/* A cartridge whose CPU never halts; see ../README.md. */
#include "busy.h"

#define REG16(a) (*(volatile u16 *)(a))
#define REG32(a) (*(volatile u32 *)(a))
#define EWRAM    __attribute__((section(".ewram"), aligned(4)))

enum { OBJECTS = 64, GRID = 64, PACKED = 4096, UNPACKED = 1024, COLOURS = 256 };

struct state { u32 frames, searched, keys, check; };
struct object { s32 x, y, dx, dy; u16 tile, hits; u32 age; };

__attribute__((section(".state"))) volatile struct state S;
volatile u32 blank;                                     /* set by the interrupt */

static EWRAM u8 packed[PACKED], unpacked[UNPACKED];
static EWRAM u16 maps[4][1024];
static EWRAM u16 colours[COLOURS], shown[COLOURS];
static EWRAM struct object objects[OBJECTS];
static EWRAM u8 walls[GRID][GRID];
static EWRAM u16 distance[GRID][GRID], queue[GRID * GRID];
static EWRAM s8 waves[4][WAVE];
static u16 oam[512];                                    /* IWRAM from here on */
static u8 order[OBJECTS];                               /* of the sprites; hardly changes from frame to frame */
static u16 scroll[160];
static s8 sound[2][SAMPLES];
static struct channel channels[CHANNELS];
static u32 seed = 0x1234567, head, tail;

static u32 draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void dma3(const void *from, u32 to, u32 bytes)
{
    REG32(0x040000D4) = (u32)from;
    REG32(0x040000D8) = to;
    REG32(0x040000DC) = bytes / 4 | 0x84000000;         /* now, words */
}

/* A run-length and copy-back format made of whatever the packed bytes say. */
static void unpack(u32 turn)
{
    u32 at = turn % 64, out = 0, check = 0;
    while (out < UNPACKED) {
        u8 code = packed[at++ % PACKED];
        u32 n = (code & 15) + 1;
        if (code & 128 && out) {
            u32 back = packed[at++ % PACKED] + 1u;
            if (back > out) back = out;
            for (; n && out < UNPACKED; n--, out++) unpacked[out] = unpacked[out - back];
        } else {
            for (; n && out < UNPACKED; n--) unpacked[out++] = packed[at++ % PACKED] ^ (u8)turn;
        }
        check = check * 31 + unpacked[out - 1];
    }
    S.check = check;
}

static void move(u32 keys)
{
    struct object *hero = &objects[0];
    hero->dx = ((keys >> 4 & 1) - (s32)(keys >> 5 & 1)) * 256;
    hero->dy = ((keys >> 7 & 1) - (s32)(keys >> 6 & 1)) * 256;
    for (u32 i = 0; i < OBJECTS; i++) {
        struct object *o = &objects[i];
        o->x += o->dx;
        o->y += o->dy;
        if (o->x < 0 || o->x > 224 << 8) o->dx = -o->dx, o->x = o->x < 0 ? 0 : 224 << 8;
        if (o->y < 0 || o->y > 144 << 8) o->dy = -o->dy, o->y = o->y < 0 ? 0 : 144 << 8;
        o->age++;
    }
    for (u32 i = S.frames & 7; i < OBJECTS; i += 8)     /* an eighth of all pairs in each frame */
        for (u32 j = 0; j < OBJECTS; j++) {
            s32 x = (objects[i].x - objects[j].x) >> 8, y = (objects[i].y - objects[j].y) >> 8;
            if (x * x + y * y < 64 && i != j) objects[i].hits++;
        }
}

static void sprites(void)                               /* bottom ones in front */
{
    for (u32 i = 1; i < OBJECTS; i++) {
        u8 one = order[i];
        u32 at = i;
        for (; at && objects[order[at - 1]].y < objects[one].y; at--) order[at] = order[at - 1];
        order[at] = one;
    }
    for (u32 i = 0; i < OBJECTS; i++) {
        const struct object *o = &objects[order[i]];
        oam[4 * i] = (u16)((o->y >> 8 & 255));
        oam[4 * i + 1] = (u16)((o->x >> 8 & 511) | 0x4000);     /* 16x16 */
        oam[4 * i + 2] = (u16)((o->tile & 127) | (o->hits & 15) << 12);
    }
}

static void fade(void)
{
    u32 light = S.frames & 63;
    if (light > 31) light = 63 - light;
    for (u32 i = 0; i < COLOURS; i++) {
        u32 c = colours[i], r = (c & 31) * (light + 8) >> 6, g = (c >> 5 & 31) * (light + 8) >> 6, b = c >> 10 & 31;
        shown[i] = (u16)(r | g << 5 | b << 10);
    }
}

static void scenery(void)
{
    for (u32 layer = 0; layer < 4; layer++)
        for (u32 n = 0; n < 64; n++) {
            u32 at = (S.frames * 64 + n) & 1023;
            maps[layer][at] = (u16)((unpacked[(at * 3 + layer) % UNPACKED] & 127) | layer << 12);
        }
    for (u32 line = 0; line < 160; line++) scroll[line] = (u16)(unpacked[(line + S.frames) % UNPACKED] & 7);
}

static void search_anew(void)
{
    for (u32 y = 0; y < GRID; y++)
        for (u32 x = 0; x < GRID; x++) distance[y][x] = 0xFFFF;
    head = tail = 0;
    queue[tail++] = (u16)((1 + draw() % 62) * GRID + 1 + draw() % 62);
    distance[queue[0] / GRID][queue[0] % GRID] = 0;
}

static void search(void)                                /* one node of a breadth-first search */
{
    static const s8 steps[4] = { 1, -1, GRID, -GRID };
    if (head == tail) {
        search_anew();
        return;
    }
    u32 at = queue[head++];
    u16 far = (u16)(distance[at / GRID][at % GRID] + 1);
    for (u32 i = 0; i < 4; i++) {
        u32 next = (u32)((s32)at + steps[i]);
        if (walls[next / GRID][next % GRID] || distance[next / GRID][next % GRID] <= far) continue;
        distance[next / GRID][next % GRID] = far;
        queue[tail++] = (u16)next;
    }
    S.searched++;
}

static void prepare(void)
{
    for (u32 i = 0; i < PACKED; i++) packed[i] = (u8)draw();
    for (u32 i = 0; i < COLOURS; i++) colours[i] = (u16)draw() & 0x7FFF;
    for (u32 i = 0; i < OBJECTS; i++)
        objects[i] = (struct object){ (s32)(draw() % (224 << 8)), (s32)(draw() % (144 << 8)), (s32)(draw() % 512) - 256,
                                      (s32)(draw() % 512) - 256, (u16)draw(), 0, 0 }, order[i] = (u8)i;
    for (u32 y = 0; y < GRID; y++)
        for (u32 x = 0; x < GRID; x++) walls[y][x] = !x || !y || x == GRID - 1 || y == GRID - 1 || draw() % 4 == 0;
    for (u32 w = 0; w < 4; w++)
        for (u32 i = 0; i < WAVE; i++) waves[w][i] = (s8)draw();
    for (u32 i = 0; i < CHANNELS; i++)
        channels[i] = (struct channel){ 0, 1000 + draw() % 4000, 20 + (s32)(draw() % 40), waves[i & 3] };
    for (u32 i = 0; i < 0x18000; i += 4) REG32(0x06000000 + i) = draw() & 0x0F0F0F0F;
    for (u32 layer = 0; layer < 4; layer++)
        for (u32 i = 0; i < 1024; i++) maps[layer][i] = (u16)((draw() & 127) | layer << 12);
    search_anew();
}

static void machine(void)
{
    REG16(0x04000204) = 0x4317;                         /* quick ROM with prefetch, as games set it */
    REG16(0x04000000) = 0x1F40;                         /* mode 0, four layers, sprites in a row */
    for (u32 layer = 0; layer < 4; layer++) REG16(0x04000008 + 2 * layer) = (u16)(layer | (28 + layer) << 8);
    REG16(0x04000050) = 0x0E41;                         /* layer 0 half transparent */
    REG16(0x04000052) = 0x0808;
    REG16(0x04000080) = 0;
    REG16(0x04000082) = 0x0B04;                         /* sound A on both sides, timer 0 */
    REG16(0x04000084) = 0x0080;
    REG16(0x04000100) = (u16)(65536 - 16777216 / 13379);
    REG16(0x04000102) = 0x0080;
    REG16(0x04000004) = 0x0008;                         /* interrupt at the vertical blank */
    REG16(0x04000200) = 0x0001;
    REG16(0x04000208) = 1;
}

static void show(void)                                  /* in the blank */
{
    REG32(0x040000B8) = 0;                              /* bend layer 1: one word of scroll for each line */
    REG32(0x040000B0) = (u32)scroll;
    REG32(0x040000B4) = 0x04000014;
    REG32(0x040000B8) = 0xA2400001;                     /* halfword at each horizontal blank, repeated */
    REG32(0x040000C4) = 0;                              /* the sound of this frame */
    REG32(0x040000BC) = (u32)sound[S.frames & 1];
    REG32(0x040000C0) = 0x040000A0;
    REG32(0x040000C4) = 0xB6400000;
    dma3(oam, 0x07000000, sizeof oam);
    dma3(shown, 0x05000000, 512);
    dma3(shown, 0x05000200, 512);
    for (u32 layer = 0; layer < 4; layer++) dma3(maps[layer], 0x0600E000 + 0x800 * layer, 2048);
    dma3(unpacked, 0x06010000 + (S.frames & 15) * UNPACKED, UNPACKED);
    REG16(0x04000010) = (u16)S.frames;
    REG16(0x0400001A) = (u16)(S.frames / 2);
}

int main(void)
{
    prepare();
    machine();
    for (;;) {
        S.keys = ~REG16(0x04000130) & 0x3FF;
        unpack(S.frames);
        move(S.keys);
        sprites();
        fade();
        scenery();
        mix(channels, sound[~S.frames & 1]);
        while (!blank) search();                        /* a game would wait here; this one works on */
        blank = 0;
        show();
        S.frames++;
    }
}
