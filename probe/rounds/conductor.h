#ifndef SEATRIAL_ROUNDS_CONDUCTOR_H
#define SEATRIAL_ROUNDS_CONDUCTOR_H

#include <stdint.h>

#include "rounds/channels.h"

/* The loop of rank 0: carries out commands from standard input one by one, until stop or the end of input.
 * `cpus`: each rank's own processor. */
void conduct(const struct channels *channels, const int32_t *cpus, struct record *record);

#endif
