#ifndef SEATRIAL_ROUNDS_CONDUCTOR_H
#define SEATRIAL_ROUNDS_CONDUCTOR_H

#include "rounds/channels.h"

/* The loop of rank 0: carries out commands from standard input one by one, until stop or the end of input. */
void conduct(const struct channels *channels, struct record *record);

#endif
