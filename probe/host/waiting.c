#define _GNU_SOURCE /* sched_getaffinity */

#include "host/waiting.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/conditions.h"
#include "host/sysroot.h"

#define LINE_BYTES 256

int64_t stolen_ns(void)
{
    char line[LINE_BYTES];
    cpu_set_t own;
    int64_t ticks = 0, processors = 0;
    const bool bound = sched_getaffinity(0, sizeof own, &own) == 0;
    FILE *file = sysroot_opened("/proc/stat");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "cpu", 3) == 0) {
        unsigned cpu;
        int64_t stolen;
        if (line[3] == ' ') /* the sum of all */
            continue;
        if (sscanf(line, "cpu%u %*d %*d %*d %*d %*d %*d %*d %" SCNd64, &cpu, &stolen) != 2)
            continue;
        if (bound && (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &own)))
            continue;
        ticks += stolen;
        processors++;
    }
    fclose(file);
    const int64_t per_second = sysconf(_SC_CLK_TCK);
    return processors > 0 && per_second > 0 ? ticks / processors * (INT64_C(1000000000) / per_second) : 0;
}

/* A machine of its own is asked only once: with hundreds of processors /proc/stat takes a millisecond. */
static int64_t stolen_where_any(void)
{
    static bool shares_the_machine = true;
    const int64_t stolen = shares_the_machine ? stolen_ns() : 0;
    shares_the_machine = stolen > 0;
    return stolen;
}

int64_t waited_ns(void)
{
    int64_t ran = 0, waited = UNKNOWN;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL)
        return UNKNOWN;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, &ran, &waited) != 2)
        waited = UNKNOWN;
    fclose(file);
    return waited == UNKNOWN ? UNKNOWN : waited + stolen_where_any();
}

int64_t waited_between(int64_t before, int64_t now)
{
    return before == UNKNOWN || now == UNKNOWN || now < before ? UNKNOWN : now - before;
}
