#define _DEFAULT_SOURCE /* getrusage */

#include "host/conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "host/clock.h"

#define PATH_BYTES 128
#define ZONES 64
#define PACKAGES 16

static int64_t number_in(const char *path)
{
    FILE *file = fopen(path, "r");
    int64_t value = UNKNOWN;
    if (file == NULL)
        return UNKNOWN;
    if (fscanf(file, "%" SCNd64, &value) != 1)
        value = UNKNOWN;
    fclose(file);
    return value;
}

static int64_t of_cpu(int cpu, const char *what)
{
    char path[PATH_BYTES];
    if (cpu < 0)
        return UNKNOWN;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, what);
    return number_in(path);
}

/* All interrupts since the node was started: the first number of the line intr. */
static int64_t interrupts(void)
{
    char line[256];
    int64_t value = UNKNOWN;
    FILE *file = fopen("/proc/stat", "r");
    bool begins = true;
    if (file == NULL)
        return UNKNOWN;
    while (value == UNKNOWN && fgets(line, sizeof line, file) != NULL) {
        if (begins && sscanf(line, "intr %" SCNd64, &value) != 1)
            value = UNKNOWN;
        begins = strchr(line, '\n') != NULL; /* a long line comes in pieces */
    }
    fclose(file);
    return value;
}

static int64_t microjoules(void)
{
    char path[PATH_BYTES];
    int64_t sum = UNKNOWN;
    for (int package = 0; package < PACKAGES; package++) {
        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/energy_uj", package);
        const int64_t value = number_in(path);
        if (value == UNKNOWN)
            break;
        sum = (sum == UNKNOWN ? 0 : sum) + value;
    }
    return sum;
}

/* Of the hottest thermal zone; 0 where there is none. */
static int64_t millicelsius(void)
{
    char path[PATH_BYTES];
    int64_t most = 0;
    for (int zone = 0; zone < ZONES; zone++) {
        snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", zone);
        const int64_t value = number_in(path);
        if (value == UNKNOWN)
            break;
        most = value > most ? value : most;
    }
    return most;
}

struct counters counters_read(int cpu, bool watch)
{
    struct rusage usage;
    struct counters counters = {.throttles = of_cpu(cpu, "thermal_throttle/core_throttle_count"),
                                .interrupts = watch ? interrupts() : UNKNOWN,
                                .joules = watch ? microjoules() : UNKNOWN};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        counters.switches = usage.ru_nivcsw;
        counters.faults = usage.ru_minflt + usage.ru_majflt;
    }
    counters.at_ns = clock_ns();
    return counters;
}

static int64_t since(int64_t before, int64_t now)
{
    return before == UNKNOWN || now < before ? 0 : now - before; /* energy starts again from 0 at times */
}

struct conditions conditions_since(const struct counters *before, int cpu, bool watch, int64_t others_ns)
{
    const int64_t khz = of_cpu(cpu, "cpufreq/scaling_cur_freq"), end_ns = clock_ns();
    const struct counters now = counters_read(cpu, watch);
    struct conditions found = {.sums = {.switches = since(before->switches, now.switches),
                                        .faults = since(before->faults, now.faults),
                                        .throttles = since(before->throttles, now.throttles),
                                        .counting = before->throttles != UNKNOWN},
                               .most = {.wall_ns = end_ns - before->at_ns, .minus_khz = khz == UNKNOWN ? 0 : -khz}};
    if (watch) {
        found.sums.watched = others_ns != UNKNOWN;
        found.sums.others_ns = others_ns == UNKNOWN ? 0 : others_ns;
        found.sums.interrupts = since(before->interrupts, now.interrupts);
        found.sums.microjoules = since(before->joules, now.joules);
        found.most.millicelsius = millicelsius();
    }
    return found;
}
