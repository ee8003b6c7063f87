#ifndef SEATRIAL_ROUNDS_PLAYER_H
#define SEATRIAL_ROUNDS_PLAYER_H

#include "rounds/channels.h"

/* The loop of every rank but 0: carries out jobs until rank 0 says stop. */
void play(const struct channels *channels);

#endif
