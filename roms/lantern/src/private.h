/* 0xC200: data of all rooms of the floor that is not part of the public state block. */
#include "rooms.h"
extern u8 room_dist[N_ROOMS];       /* steps from the start room + 1 */
extern u8 room_dead[N_ROOMS];       /* bit i: walker i was killed */
#define CHEST_GONE 0x80             /* and here: the chest was opened */
extern u8 room_tmpl[N_ROOMS];       /* obstacle template */
