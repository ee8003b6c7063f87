#ifndef SEATRIAL_ROUNDS_INTRODUCTION_H
#define SEATRIAL_ROUNDS_INTRODUCTION_H

#include <stdint.h>

#include "rounds/channels.h"

/* Every rank calls it: rank 0 prints the header, rank and ready records, built in `record`.
 * Rank 0 gets each rank's own processor, which must be freed; the others get NULL. */
int32_t *introduce(const struct channels *channels, struct record *record);

#endif
