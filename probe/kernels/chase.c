#define _POSIX_C_SOURCE 200809L

/* Memory latency: each line of the memory holds the address of another one, in one cycle through all of them in random
 * order, so that no load can begin before the one before it is done, and no prefetcher knows where it goes. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#define LINE_BYTES 64
#define STEPS 4096

static void **line_at(const struct group *group, int64_t place)
{
    return (void **)(void *)(group->receive + place * LINE_BYTES);
}

static int64_t lines_of(const struct group *group)
{
    return group->message_bytes / LINE_BYTES;
}

/* The next number of xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void **here; /* the timed iterations go on where the warm-up ended: what it read may be in the cache */

/* Sattolo's algorithm: a random permutation that is one cycle. */
static void prepare(const struct group *group)
{
    here = line_at(group, 0);
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    const int64_t lines = lines_of(group);
    for (int64_t i = 0; i < lines; i++)
        *line_at(group, i) = line_at(group, i);
    for (int64_t i = lines - 1; i > 0; i--) {
        const int64_t other = (int64_t)(draw(&state) % (uint64_t)i);
        void *const held = *line_at(group, i);
        *line_at(group, i) = *line_at(group, other);
        *line_at(group, other) = held;
    }
}

static void **follow(void **from, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++)
        from = (void **)*from;
    __asm__ volatile("" : "+r"(from));
    return from;
}

/* One rank follows the lines, another one only lends its place. */
static bool follows(const struct group *group)
{
    return group->rank == 0 && group->placed && lines_of(group) > 0;
}

static void prepare_far(const struct group *group)
{
    if (follows(group))
        prepare(group);
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count && lines_of(group) > 0; i++) {
        const int64_t begin = clock_ns();
        here = follow(here, STEPS);
        times_ns[i] = clock_ns() - begin;
    }
}

static void run_far(const struct group *group, int64_t count, int64_t *times_ns)
{
    memset(times_ns, 0, (size_t)count * sizeof *times_ns);
    if (follows(group))
        run(group, count, times_ns);
}

/* The cycle has all lines and ends where it began. */
static void check(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    (void)first;
    const int64_t lines = lines_of(group);
    for (int64_t i = 0; i < count && lines > 0; i++) {
        void **begin = line_at(group, 0), **line = begin;
        int64_t steps = 0;
        do {
            line = (void **)*line;
            steps++;
        } while (line != begin && steps < lines);
        if (line == begin && steps == lines)
            continue;
        wrong->first = wrong->first < 0 ? 0 : wrong->first;
        wrong->bytes += (int64_t)sizeof line;
    }
}

static void check_far(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    if (follows(group))
        check(group, first, count, wrong);
}

const struct kernel kernel_chase = {
    .name = "chase",
    .measures = "memory latency of one rank: loads that each depend on the one before, in message_bytes of memory",
    .time_is = "4096 loads, each of another line of 64 bytes",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .group = {.receive = MEMORY_MESSAGE, .run = run, .verify = check, .prepare = prepare, .pinned = true},
};

const struct kernel kernel_chase_far = {
    .name = "chase_far",
    .measures = "memory latency between NUMA nodes: the first rank's loads from memory near the last rank's processor",
    .time_is = "4096 loads, each of another line of 64 bytes; 0 where the ranks are not on one node, or memory cannot be "
               "placed",
    .needs = NEEDS_GROUP,
    .sized = true,
    .group = {.receive = MEMORY_MESSAGE,
              .run = run_far,
              .verify = check_far,
              .prepare = prepare_far,
              .pinned = true,
              .far = true},
};
