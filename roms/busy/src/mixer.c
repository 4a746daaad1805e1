/* Mixes all channels into one frame of 8-bit sound.  ARM code in IWRAM, as sound drivers have it. */
#include "busy.h"

__attribute__((section(".ramcode"), noinline)) void mix(struct channel *channels, s8 *out)
{
    for (u32 n = 0; n < SAMPLES; n++) {
        s32 sum = 0;
        for (u32 c = 0; c < CHANNELS; c++) {
            struct channel *ch = &channels[c];
            sum += ch->wave[ch->at >> 12 & (WAVE - 1)] * ch->volume;
            ch->at += ch->pitch;
        }
        sum >>= 8;
        out[n] = (s8)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
    }
}
