#ifndef SEATRIAL_CLOCK_H
#define SEATRIAL_CLOCK_H

/* Whoever includes this defines _POSIX_C_SOURCE 200809L first. */

#include <stdint.h>
#include <time.h>

/* Nanoseconds as an integer: a double of seconds since boot no longer holds them after some weeks. */
static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
