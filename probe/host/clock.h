#ifndef SEATRIAL_HOST_CLOCK_H
#define SEATRIAL_HOST_CLOCK_H

/* Reading the clock, and waiting without keeping a core busy.
 * A file that includes this defines _POSIX_C_SOURCE 200809L (or _GNU_SOURCE) first. */

#include <stdint.h>
#include <time.h>

/* Nanoseconds as an integer: a double cannot represent nanoseconds once the machine has been up for some weeks. */
static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A polite wait: test, then sleep; each sleep is twice as long as the one before, up to a cap. */

#define WAIT_FIRST_NS 50000L
#define WAIT_IDLE_CAP_NS 1000000L /* nothing depends on the delay */
#define WAIT_START_CAP_NS 50000L  /* all ranks of a round must start together */

struct wait {
    long sleep_ns, cap_ns;
};

static inline struct wait wait_begin(long cap_ns)
{
    return (struct wait){WAIT_FIRST_NS, cap_ns};
}

static inline void wait_sleep(struct wait *wait)
{
    const struct timespec nap = {0, wait->sleep_ns};
    nanosleep(&nap, NULL);
    const long longer = wait->sleep_ns * 2;
    wait->sleep_ns = longer < wait->cap_ns ? longer : wait->cap_ns;
}

#endif
