#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu */
#include <sched.h>
#endif

#include "affinity.h"

#include <stdio.h>
#include <string.h>

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
