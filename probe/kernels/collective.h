#ifndef SEATRIAL_KERNELS_COLLECTIVE_H
#define SEATRIAL_KERNELS_COLLECTIVE_H

/* What kernels of collective operations share: ranks that work for a while, and then meet. The work is the same on each
 * rank, so that a slow processor, or another process on it, makes its rank come late. A file that includes this defines
 * _POSIX_C_SOURCE 200809L first. */

#include "host/clock.h"
#include "kernels/group.h"

#define STEPS_OF_WORK 4000 /* about 10 us; window - 1 times, so that a window of 1 is no work */

/* Works, then notes when this rank begins iteration i of its run. */
static inline int64_t collective_enter(const struct group *group, int64_t i)
{
    uint64_t state = UINT64_C(0x2545F4914F6CDD1D);
    for (int64_t step = 0; step < (int64_t)STEPS_OF_WORK * (group->window - 1); step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        __asm__ volatile("" : "+r"(state));
    }
    const int64_t begin = clock_ns();
    group->entries_ns[i] = begin;
    return begin;
}

#endif
