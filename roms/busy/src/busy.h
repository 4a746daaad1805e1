#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;

enum { SAMPLES = 224, CHANNELS = 8, WAVE = 256 };      /* 13,379 Hz / 59.7 frames, in words of four samples */

struct channel { u32 at, pitch; s32 volume; const s8 *wave; };

__attribute__((long_call)) void mix(struct channel *channels, s8 *out);
