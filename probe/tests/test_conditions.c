#define _GNU_SOURCE /* sched_setaffinity */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "host/clock.h"
#include "host/conditions.h"
#include "host/others.h"
#include "host/waiting.h"

static void test_threads_are_matched(void)
{
    struct thread_time first[] = {{3, 100}, {7, 50}}, second[] = {{3, 160}, {7, 50}, {9, 5}};
    const struct others before = {first, 2, 2}, now = {second, 3, 3}, unread = {NULL, 0, 0};
    CHECK(others_since(&before, &now) == 65); /* 60 of a known thread, 5 of a new one */
    CHECK(others_since(&now, &before) == 0);  /* what has ended is not seen */
    CHECK(others_since(&unread, &now) == -1);
    CHECK(others_since(&before, &unread) == -1);
}

static void test_what_this_process_did_itself(void)
{
    const struct counters before = counters_read(-1, true);
    const struct timespec nap = {0, 20000000};
    nanosleep(&nap, NULL);
    const struct conditions found = conditions_since(&before, -1, true, UNKNOWN, true);
    CHECK(found.most.wall_ns >= 20000000);
    CHECK(found.sums.counting == 0); /* no processor, no throttles */
    CHECK(found.sums.watched == 0);
    CHECK(found.sums.switches >= 0 && found.sums.faults >= 0);
}

static void written(const char *root, const char *folder, const char *file, const char *text)
{
    char path[512];
    for (const char *end = strchr(folder + 1, '/');; end = strchr(end + 1, '/')) {
        snprintf(path, sizeof path, "%s%.*s", root, end == NULL ? (int)strlen(folder) : (int)(end - folder), folder);
        mkdir(path, 0700);
        if (end == NULL)
            break;
    }
    snprintf(path, sizeof path, "%s%s/%s", root, folder, file);
    FILE *stream = fopen(path, "w");
    CHECK(stream != NULL);
    fputs(text, stream);
    fclose(stream);
}

static void removed(const char *root)
{
    static const char *const inside[] = {
        "/sys/class/thermal/thermal_zone0/temp", "/sys/class/thermal/thermal_zone0", "/sys/class/thermal",
        "/sys/class/hwmon/hwmon3/name", "/sys/class/hwmon/hwmon3/temp1_input", "/sys/class/hwmon/hwmon3",
        "/sys/class/hwmon", "/sys/class", "/sys", ""};
    char path[512];
    for (size_t place = 0; place < sizeof inside / sizeof *inside; place++) {
        snprintf(path, sizeof path, "%s%s", root, inside[place]);
        CHECK(remove(path) == 0);
    }
}

static int64_t hottest(void)
{
    const struct counters before = counters_read(-1, true);
    return conditions_since(&before, -1, true, UNKNOWN, true).most.millicelsius;
}

static void test_the_hottest_zone_or_processor(void)
{
    char root[] = "/tmp/seatrial-heat-XXXXXX", roots[64];
    CHECK(mkdtemp(root) != NULL);
    snprintf(roots, sizeof roots, "/nowhere:%s", root);
    setenv("SEATRIAL_SYSROOT", roots, 1);
    written(root, "/sys/class/thermal/thermal_zone0", "temp", "200001\n");
    CHECK(hottest() == 200001);
    written(root, "/sys/class/hwmon/hwmon3", "name", "nvme\n");
    written(root, "/sys/class/hwmon/hwmon3", "temp1_input", "300003\n");
    CHECK(hottest() == 200001); /* a disk is not a processor */
    written(root, "/sys/class/hwmon/hwmon3", "name", "k10temp\n");
    CHECK(hottest() == 300003); /* chips have gaps in their numbers */
    unsetenv("SEATRIAL_SYSROOT");
    CHECK(hottest() < 200001);
    removed(root);
}

static void test_waits_only_grow(void)
{
    CHECK(waited_between(5, 9) == 4 && waited_between(9, 9) == 0);
    CHECK(waited_between(9, 5) == UNKNOWN);
    CHECK(waited_between(UNKNOWN, 5) == UNKNOWN && waited_between(5, UNKNOWN) == UNKNOWN);
    const int64_t before = waited_ns();
    CHECK(before == UNKNOWN || waited_between(before, waited_ns()) >= 0);
}

/* Of the processors that this thread may have, however many the machine has. */
static void test_what_the_hypervisor_took(void)
{
    char root[] = "/tmp/seatrial-steal-XXXXXX", path[512], text[] = "cpu  9 9 9 9 9 9 9 999999 0 0\n"
                  "cpu0 1 2 3 4 5 6 7 120 0 0\ncpu1 1 2 3 4 5 6 7 140 0 0\nintr 5 5\n";
    cpu_set_t before, first, both;
    CHECK(mkdtemp(root) != NULL && sched_getaffinity(0, sizeof before, &before) == 0);
    setenv("SEATRIAL_SYSROOT", root, 1);
    written(root, "/proc", "stat", text);
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    both = first;
    CPU_SET(1, &both);
    if (sched_setaffinity(0, sizeof first, &first) == 0)
        CHECK(stolen_ns() == 1200000000); /* 120 ticks of 10 ms */
    if (sched_setaffinity(0, sizeof both, &both) == 0 && CPU_ISSET(1, &before))
        CHECK(stolen_ns() == 1300000000);
    written(root, "/proc", "stat", "cpu  1 2 3\ncpu0 1 2 3\nfirst line of another system\n");
    CHECK(stolen_ns() == 0);
    written(root, "/proc", "stat", "");
    CHECK(stolen_ns() == 0);
    unsetenv("SEATRIAL_SYSROOT");
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
    snprintf(path, sizeof path, "%s/proc/stat", root);
    CHECK(remove(path) == 0);
    snprintf(path, sizeof path, "%s/proc", root);
    CHECK(remove(path) == 0 && remove(root) == 0);
}

void test_conditions(void)
{
    test_what_the_hypervisor_took();
    test_waits_only_grow();
    test_threads_are_matched();
    test_what_this_process_did_itself();
    test_the_hottest_zone_or_processor();
    struct others others = others_read(); /* none where nothing but this program runs */
    for (size_t i = 1; i < others.count; i++)
        CHECK(others.threads[i - 1].thread < others.threads[i].thread);
    others_free(&others);
}
