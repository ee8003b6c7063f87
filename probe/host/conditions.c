#define _DEFAULT_SOURCE /* getrusage */

#include "host/conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "host/clock.h"
#include "host/sysroot.h"

#define PATH_BYTES 128
#define SENSORS 64
#define PACKAGES 16

/* The number that an open file begins with; the file is closed. */
static int64_t first_number(FILE *file)
{
    int64_t value = UNKNOWN;
    if (file == NULL)
        return UNKNOWN;
    if (fscanf(file, "%" SCNd64, &value) != 1)
        value = UNKNOWN;
    fclose(file);
    return value;
}

static int64_t number_in(const char *path)
{
    return first_number(fopen(path, "r"));
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

/* Whether a chip of hwmon measures a processor. Its first sensor is that of the whole package. */
static bool of_processor(int chip)
{
    static const char *const names[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
    char path[PATH_BYTES], name[32] = "";
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/name", chip);
    FILE *file = sysroot_opened(path);
    if (file == NULL)
        return false;
    const bool known = fscanf(file, "%31s", name) == 1;
    fclose(file);
    for (size_t place = 0; known && place < sizeof names / sizeof *names; place++)
        if (strcmp(name, names[place]) == 0)
            return true;
    return false;
}

/* Of the hottest thermal zone or processor; 0 where there is no reading. */
static int64_t millicelsius(void)
{
    char path[PATH_BYTES];
    int64_t most = 0;
    for (int number = 0; number < SENSORS; number++) {
        snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", number);
        const int64_t zone = first_number(sysroot_opened(path));
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/temp1_input", number);
        const int64_t package = of_processor(number) ? first_number(sysroot_opened(path)) : UNKNOWN;
        most = zone > most ? zone : most;
        most = package > most ? package : most;
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

struct conditions conditions_since(const struct counters *before, int cpu, bool watch, int64_t others_ns, bool heat)
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
    }
    if (heat)
        found.most.millicelsius = millicelsius();
    return found;
}
