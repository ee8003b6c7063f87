#define _POSIX_C_SOURCE 200809L

/* Noise: what else runs on a processor. The same work again and again shows how much longer it takes at times, and
 * reading the clock without a pause shows the longest interruption in each millisecond: the fixed work quantum and the
 * selfish detour of Netgauge (Hoefler, Schneider, Lumsdaine, SC 2010). */

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#define WORK_STEPS 400000
#define WINDOW_NS 1000000
#define WORK_SEED UINT64_C(0x2545F4914F6CDD1D)

/* A chain of operations of which each needs the result of the one before. */
static uint64_t work(uint64_t state)
{
    for (int step = 0; step < WORK_STEPS; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void run_work(const struct group *group, int64_t count, int64_t *times_ns)
{
    static uint64_t result; /* of the first iteration of this process: all others must have the same */
    for (int64_t i = 0; i < count; i++) {
        uint64_t seed = WORK_SEED;
        __asm__ volatile("" : "+r"(seed)); /* else a compiler might compute it once */
        const int64_t begin = clock_ns();
        const uint64_t got = work(seed);
        times_ns[i] = clock_ns() - begin;
        result = result == 0 ? got : result;
        if (got != result) {
            group->wrong->bytes += (int64_t)sizeof got;
            group->wrong->first = 0;
        }
    }
}

const struct kernel kernel_noise_work = {
    .name = "noise_work",
    .measures = "noise on one rank's processor: 400000 steps of dependent integer operations, again and again",
    .time_is = "these steps once",
    .needs = NEEDS_SINGLE,
    .group = {.run = run_work, .pinned = true, .watched = true, .compares = true},
};

static int64_t longest_gap_ns(void)
{
    const int64_t begin = clock_ns();
    int64_t last = begin, longest = 0;
    while (last - begin < WINDOW_NS) {
        const int64_t now = clock_ns();
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    return longest;
}

static void run_detour(const struct group *group, int64_t count, int64_t *times_ns)
{
    (void)group;
    for (int64_t i = 0; i < count; i++)
        times_ns[i] = longest_gap_ns();
}

const struct kernel kernel_noise_detour = {
    .name = "noise_detour",
    .measures = "interruptions of one rank's processor: the clock is read without a pause for a millisecond",
    .time_is = "the longest time between two readings of the clock within a millisecond",
    .needs = NEEDS_SINGLE,
    .group = {.run = run_detour, .pinned = true, .watched = true},
};
