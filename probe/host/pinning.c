#define _GNU_SOURCE /* sched_setaffinity */

#include "host/pinning.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <stddef.h>
#include <string.h>

#define WORDS (MOST_CPUS / 64)

static bool has(const uint64_t *mask, int cpu)
{
    return (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/* The processor that is number `place` of the mask, counted from its beginning again once all are passed; -1: none. */
static int32_t member(const uint64_t *mask, int place)
{
    int members = 0;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        members += has(mask, cpu);
    int left = members > 0 ? place % members : -1;
    for (int cpu = 0; left >= 0 && cpu < MOST_CPUS; cpu++)
        if (has(mask, cpu) && left-- == 0)
            return cpu;
    return -1;
}

static int32_t first_free(const uint64_t *mask, const uint64_t *taken)
{
    for (int word = 0; word < WORDS; word++)
        for (int bit = 0; (mask[word] & ~taken[word]) != 0 && bit < 64; bit++)
            if ((mask[word] & ~taken[word]) >> bit & 1)
                return word * 64 + bit;
    return -1;
}

void assign_processors(const struct rank_facts *facts, int ranks, const int32_t *previous, int32_t *cpus)
{
    for (int rank = 0; rank < ranks; rank++) {
        const uint64_t *mask = facts[rank].affinity.mask;
        uint64_t taken[WORDS] = {0};
        int before = 0;
        for (int other = previous[rank]; other >= 0; other = previous[other]) {
            before += memcmp(facts[other].affinity.mask, mask, sizeof taken) == 0;
            if (cpus[other] >= 0)
                taken[cpus[other] / 64] |= UINT64_C(1) << (cpus[other] % 64);
        }
        cpus[rank] = first_free(mask, taken);
        if (cpus[rank] < 0)
            cpus[rank] = member(mask, before);
    }
}

#ifdef __linux__
static bool allow(const uint64_t *mask)
{
    cpu_set_t sets[MOST_CPUS / CPU_SETSIZE];
    memset(sets, 0, sizeof sets);
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (has(mask, cpu))
            CPU_SET_S((size_t)cpu, sizeof sets, sets);
    return sched_setaffinity(0, sizeof sets, sets) == 0;
}
#else
static bool allow(const uint64_t *mask)
{
    (void)mask;
    return false;
}
#endif

struct pin pin_to(int32_t cpu)
{
    struct pin pin = {.before = affinity_read()};
    uint64_t mask[WORDS] = {0};
    if (cpu < 0 || cpu >= MOST_CPUS)
        return pin;
    mask[cpu / 64] = UINT64_C(1) << (cpu % 64);
    pin.active = allow(mask);
    return pin;
}

void pin_release(struct pin *pin)
{
    if (pin->active)
        allow(pin->before.mask);
    pin->active = false;
}
