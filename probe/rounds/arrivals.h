#ifndef SEATRIAL_ROUNDS_ARRIVALS_H
#define SEATRIAL_ROUNDS_ARRIVALS_H

#include "host/arrival.h"
#include "kernels/group.h"

/* Compares this rank's clock with that of the group's first rank; all ranks of the group call it. */
struct clock_reading clock_compare(const struct group *group);

/* What the entries of this rank (own clock, `count` of them) show beside those of the others; changes the entries. All
 * ranks of the group call it. */
struct arrival arrival_settle(const struct group *group, const struct clock_reading *before,
                              const struct clock_reading *after, int64_t *entries_ns, int64_t count);

#endif
