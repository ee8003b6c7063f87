#include <stdlib.h>
#include <string.h>

#include "host/rank_facts.h"
#include "tests/check.h"

static void set(struct affinity *affinity, int cpu)
{
    affinity->mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static void check_list(const struct affinity *affinity, const char *wanted)
{
    char text[CPU_LIST_BYTES];
    affinity_list(affinity, text);
    CHECK_TEXT(text, wanted);
}

static void test_longest(void)
{
    struct affinity every_other = {.cpu = -1};
    char text[CPU_LIST_BYTES];
    for (int cpu = 1; cpu < MOST_CPUS; cpu += 2)
        set(&every_other, cpu);
    affinity_list(&every_other, text);
    CHECK(strlen(text) < CPU_LIST_BYTES);
    CHECK_TEXT(strrchr(text, ','), ",8191");
}

static void test_affinity(void)
{
    struct affinity some = {.cpu = -1};
    check_list(&some, "");
    set(&some, 0);
    check_list(&some, "0");
    set(&some, 1);
    set(&some, 3);
    check_list(&some, "0-1,3");
    set(&some, 63);
    set(&some, 64);
    set(&some, MOST_CPUS - 1);
    check_list(&some, "0-1,3,63-64,8191");
    memset(some.mask, 0xff, sizeof some.mask);
    check_list(&some, "0-8191");
    test_longest();
#ifdef __linux__
    const struct affinity own = affinity_read();
    CHECK(own.cpu >= 0);
    CHECK((own.mask[own.cpu / 64] >> (own.cpu % 64) & 1) != 0);
#endif
}

static void test_clock_quality(void)
{
    const struct clock_quality quality = clock_quality_read();
    CHECK(quality.resolution_s > 0 && quality.resolution_s < 1);
    CHECK(quality.overhead_s > 0 && quality.overhead_s < 1);
}


void test_rank_facts(void)
{
    test_affinity();
    test_clock_quality();
}
