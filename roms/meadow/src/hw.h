/* Hardware registers and the fixed use of video memory. */
#pragma once
#include "types.h"
#define REG16(a)   (*(volatile u16 *)(a))
#define REG32(a)   (*(volatile u32 *)(a))
#define DISPCNT    REG16(0x04000000)
#define DISPSTAT   REG16(0x04000004)
#define BGCNT(n)   REG16(0x04000008 + 2 * (n))
#define BGHOFS(n)  REG16(0x04000010 + 4 * (n))
#define BGVOFS(n)  REG16(0x04000012 + 4 * (n))
#define BLDCNT     REG16(0x04000050)
#define BLDY       REG16(0x04000054)
#define KEYINPUT   REG16(0x04000130)
#define IE_REG     REG16(0x04000200)
#define IF_REG     REG16(0x04000202)
#define WAITCNT    REG16(0x04000204)
#define IME_REG    REG16(0x04000208)
#define BG_PAL     ((volatile u16 *)0x05000000)
#define OBJ_PAL    ((volatile u16 *)0x05000200)

/* Character blocks 0-1: world tiles, 2: text layer and scenes.  Screen blocks 24-27: world map,
   28: text layer, 29: battle, 30: title.  Everything stays resident, so a battle changes no map. */
#define VRAM_WORLD ((volatile u16 *)0x06000000)
#define VRAM_SCENE ((volatile u16 *)0x06008000)
#define SCREEN(n)  ((volatile u16 *)(0x06000000 + 0x800 * (n)))
#define SB_WORLD 24
#define SB_TEXT 28
#define SB_BATTLE 29
#define SB_TITLE 30
#define VRAM_OBJ   ((volatile u16 *)0x06010000)
#define OAM        ((volatile u16 *)0x07000000)

#define KEY_A 1
#define KEY_B 2
#define KEY_SELECT 4
#define KEY_START 8
#define KEY_RIGHT 16
#define KEY_LEFT 32
#define KEY_UP 64
#define KEY_DOWN 128

static inline void dma_copy(const void *src, volatile void *dst, u32 bytes)
{
    REG32(0x040000D4) = (u32)src;
    REG32(0x040000D8) = (u32)dst;
    REG32(0x040000DC) = 0x84000000 | bytes / 4;
}

static inline void dma_fill(u32 value, volatile void *dst, u32 bytes)
{
    volatile u32 v = value;
    REG32(0x040000D4) = (u32)&v;
    REG32(0x040000D8) = (u32)dst;
    REG32(0x040000DC) = 0x85000000 | bytes / 4;     /* fixed source */
}
