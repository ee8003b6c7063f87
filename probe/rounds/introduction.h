#ifndef SEATRIAL_ROUNDS_INTRODUCTION_H
#define SEATRIAL_ROUNDS_INTRODUCTION_H

#include <stdint.h>

#include "rounds/channels.h"

/* Where each rank is; known to rank 0, NULL on the others. */
struct seats {
    int32_t *cpus;     /* its own processor */
    int32_t *homes;    /* the lowest rank on the same host */
    int32_t *previous; /* the next lower rank on the same host; -1: none */
};

/* Every rank calls it: rank 0 prints the header, rank and ready records, built in `record`. */
struct seats introduce(const struct channels *channels, struct record *record);
void seats_free(struct seats *seats);

#endif
