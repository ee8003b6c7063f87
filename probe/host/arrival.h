#ifndef SEATRIAL_HOST_ARRIVAL_H
#define SEATRIAL_HOST_ARRIVAL_H

#include <stdint.h>

/* When one rank of a group came to the collective operations of a round, beside the others; all of it in nanoseconds.
 * Ranks on different nodes have different clocks: what is known of their differences is part of the result. */
struct arrival {
    int64_t offset_ns; /* what must be added to the rank's clock to get that of the first rank, at the end */
    int64_t error_ns;  /* the offset is wrong by at most this much: half of the shortest round trip */
    int64_t late_ns;   /* after the first one to arrive: median of the timed iterations */
    int64_t last;      /* timed iterations in which no other rank came later */
};

/* Numbers of a record of it. */
#define ARRIVAL_NUMBERS ((int)(sizeof(struct arrival) / sizeof(int64_t)))

/* What one comparison of clocks showed, and when by the rank's own clock. */
struct clock_reading {
    int64_t at_ns, offset_ns, error_ns;
};

/* The offset at one moment, on the straight line between two readings: clocks drift by parts of a million. */
static inline int64_t offset_at(const struct clock_reading *before, const struct clock_reading *after, int64_t at_ns)
{
    const int64_t lasted = after->at_ns - before->at_ns;
    if (at_ns <= before->at_ns || lasted <= 0)
        return before->offset_ns;
    if (at_ns >= after->at_ns)
        return after->offset_ns;
    const double share = (double)(at_ns - before->at_ns) / (double)lasted;
    return before->offset_ns + (int64_t)(share * (double)(after->offset_ns - before->offset_ns));
}

#endif
