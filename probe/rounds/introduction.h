#ifndef SEATRIAL_ROUNDS_INTRODUCTION_H
#define SEATRIAL_ROUNDS_INTRODUCTION_H

#include "rounds/channels.h"

/* Every rank calls it: rank 0 prints the header, rank and ready records, built in `record`. */
void introduce(const struct channels *channels, struct record *record);

#endif
