#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu */

#include "host/rank_facts.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/clock.h"

#define READS 1000
#define BATCHES 11

static int64_t claimed_resolution_ns(void)
{
    struct timespec claim;
    if (clock_getres(CLOCK_MONOTONIC, &claim) != 0)
        return 0;
    return (int64_t)claim.tv_sec * 1000000000 + claim.tv_nsec;
}

static int64_t smallest_step_ns(void)
{
    int64_t smallest = INT64_MAX;
    for (int steps = 0; steps < READS; steps++) {
        const int64_t before = clock_ns();
        int64_t step = 0;
        while (step <= 0)
            step = clock_ns() - before;
        smallest = step < smallest ? step : smallest;
    }
    return smallest;
}

static int64_t batch_ns(void)
{
    const int64_t begin = clock_ns();
    int64_t end = begin;
    for (int i = 0; i < READS; i++)
        end = clock_ns();
    return end - begin;
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

struct clock_quality clock_quality_read(void)
{
    int64_t batches[BATCHES];
    for (int i = 0; i < BATCHES; i++)
        batches[i] = batch_ns();
    qsort(batches, BATCHES, sizeof batches[0], compare);
    const int64_t claim = claimed_resolution_ns(), step = smallest_step_ns();
    return (struct clock_quality){(double)(claim > step ? claim : step) / 1e9,
                                  (double)batches[BATCHES / 2] / READS / 1e9};
}

static bool has(const struct affinity *affinity, int cpu)
{
    return cpu < MOST_CPUS && (affinity->mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

struct affinity affinity_read(void)
{
    struct affinity affinity = {.cpu = -1};
#ifdef __linux__
    cpu_set_t sets[MOST_CPUS / CPU_SETSIZE];
    memset(sets, 0, sizeof sets);
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        for (int cpu = 0; cpu < MOST_CPUS; cpu++)
            if (CPU_ISSET_S((size_t)cpu, sizeof sets, sets))
                affinity.mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
    affinity.cpu = sched_getcpu();
#endif
    return affinity;
}

void affinity_list(const struct affinity *affinity, char *text)
{
    size_t length = 0;
    text[0] = '\0';
    for (int first = 0; first < MOST_CPUS; first++) {
        if (!has(affinity, first))
            continue;
        int last = first;
        while (has(affinity, last + 1))
            last++;
        const char *comma = length > 0 ? "," : "";
        const size_t room = CPU_LIST_BYTES - length;
        const int wrote = last > first ? snprintf(text + length, room, "%s%d-%d", comma, first, last)
                                       : snprintf(text + length, room, "%s%d", comma, first);
        length += (size_t)wrote;
        first = last;
    }
}

struct rank_facts rank_facts_read(void)
{
    struct rank_facts facts = {.pid = getpid(), .affinity = affinity_read(), .clock = clock_quality_read()};
    if (gethostname(facts.host, HOST_BYTES - 1) != 0)
        facts.host[0] = '\0';
    return facts;
}
