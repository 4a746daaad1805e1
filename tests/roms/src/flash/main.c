/* Flash test cartridge: writes its save memory every 24 frames and reads the cartridge clock every 8.
 * mGBA tells of a write to the save memory once 15 frames have passed without another.
 *
 * 0x03000000  u32 frame     frames since power on
 * 0x03000004  u32 writes    records written to flash so far
 * 0x03000008  u32 tag       poked by the test; copied into every record, so that two consoles can be told apart
 * 0x0300000C  u32 keys      buttons held in this frame, KEYINPUT order
 * 0x03000010  u8[7] clock   year month day weekday hour minute second, BCD (only where the emulator has a clock)
 * flash +0    u32 writes, u32 tag
 */
#include <stdint.h>

#define REG16(a) (*(volatile uint16_t *)(a))
#define FLASH    ((volatile uint8_t *)0x0E000000)
#define PIN_DATA REG16(0x080000C4)
#define PIN_DIR  REG16(0x080000C6)
#define PIN_CTRL REG16(0x080000C8)

struct state { uint32_t frame, writes, tag, keys; uint8_t clock[8]; };
__attribute__((section(".iwstate"))) volatile struct state S;

static void flash_byte(unsigned at, uint8_t value)
{
    FLASH[0x5555] = 0xAA;
    FLASH[0x2AAA] = 0x55;
    FLASH[0x5555] = 0xA0;                   /* program one byte */
    FLASH[at] = value;
}

static void flash_word(unsigned at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) flash_byte(at + i, (uint8_t)(value >> (8 * i)));
}

static void read_clock(void)                /* pins: 0 clock, 1 data, 2 select */
{
    PIN_CTRL = 1;
    PIN_DATA = 1;
    PIN_DIR = 7;
    PIN_DATA = 5;
    for (unsigned i = 0; i < 8; i++) {      /* command 0xA6: read date and time */
        unsigned bit = (0xA6 >> i & 1) << 1;
        PIN_DATA = (uint16_t)(4 | bit);
        PIN_DATA = (uint16_t)(5 | bit);
    }
    PIN_DIR = 5;
    for (unsigned n = 0; n < 7; n++) {
        unsigned value = 0;
        for (unsigned i = 0; i < 8; i++) {
            PIN_DATA = 4;
            PIN_DATA = 5;
            value |= (PIN_DATA >> 1 & 1u) << i;
        }
        S.clock[n] = (uint8_t)value;
    }
    PIN_DATA = 1;
    PIN_DATA = 0;
}

int main(void)
{
    REG16(0x04000000) = 0x0403;             /* mode 3, one bitmap */
    for (;;) {
        while (REG16(0x04000006) >= 160) ;
        while (REG16(0x04000006) < 160) ;
        S.frame++;
        S.keys = ~REG16(0x04000130) & 0x3FF;
        REG16(0x06000000 + 2 * (S.frame % (240 * 160))) = (uint16_t)(S.frame * 31 + S.keys + S.tag);
        if (S.frame % 24 == 0) {
            S.writes++;
            flash_word(0, S.writes);
            flash_word(4, S.tag);
        }
        if (S.frame % 8 == 0) read_clock();
    }
}
