#ifndef SEATRIAL_CLOCK_QUALITY_H
#define SEATRIAL_CLOCK_QUALITY_H

#define CLOCK_NAME "CLOCK_MONOTONIC"

struct clock_quality {
    double resolution_s; /* the larger of clock_getres and the smallest step seen between readings */
    double overhead_s;   /* one reading, by the median of several batches */
};

/* Measured where it is called; takes well under a millisecond with a clock that needs no system call. */
struct clock_quality clock_quality_read(void);

#endif
