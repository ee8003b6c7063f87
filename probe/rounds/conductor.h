#ifndef SEATRIAL_ROUNDS_CONDUCTOR_H
#define SEATRIAL_ROUNDS_CONDUCTOR_H

#include "rounds/channels.h"
#include "rounds/introduction.h"

/* The loop of rank 0: carries out commands from standard input one by one, until stop or the end of input.
 * `seats`: where each rank is. */
void conduct(const struct channels *channels, const struct seats *seats, struct record *record);

#endif
