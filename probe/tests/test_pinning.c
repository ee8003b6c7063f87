#include <string.h>

#include "host/neighbours.h"
#include "host/pinning.h"
#include "tests/check.h"

#define RANKS 8

/* Ranks with these masks, all on one host but those with a host of their own. */
static void check_processors(const uint64_t *masks, const char *const *hosts, const int32_t *wanted)
{
    static struct rank_facts facts[RANKS];
    int32_t cpus[RANKS], previous[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        facts[rank] = (struct rank_facts){.affinity = {.mask = {masks[rank]}, .cpu = 0}};
        strcpy(facts[rank].host, hosts[rank]);
    }
    CHECK(neighbours_find(facts, RANKS, previous));
    assign_processors(facts, RANKS, previous, cpus);
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(cpus[rank] == wanted[rank]);
}

static void test_assignment(void)
{
    const char *const one[RANKS] = {"a", "a", "a", "a", "a", "a", "a", "a"};
    const char *const two[RANKS] = {"a", "b", "a", "b", "a", "b", "a", "b"};
    const uint64_t unbound[RANKS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const uint64_t bound[RANKS] = {1, 4, 16, 64, 2, 8, 32, 128};
    const uint64_t mixed[RANKS] = {0xf0, 0xf0, 0xff, 0xff, 0xf0, 0xf0, 0, 0xf0};
    const uint64_t few[RANKS] = {6, 6, 6, 6, 6, 6, 6, 6};
    check_processors(unbound, one, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    check_processors(unbound, two, (const int32_t[]){0, 0, 1, 1, 2, 2, 3, 3});
    check_processors(bound, one, (const int32_t[]){0, 2, 4, 6, 1, 3, 5, 7});
    check_processors(mixed, one, (const int32_t[]){4, 5, 0, 1, 6, 7, -1, 4});
    check_processors(few, one, (const int32_t[]){1, 2, 1, 2, 1, 2, 1, 2});
}

static void test_neighbours_are_in_the_order_of_ranks(void)
{
    static const char *const hosts[RANKS] = {"n2", "n10", "n1", "n2", "n1", "n2", "n", "n10"};
    static const int32_t wanted[RANKS] = {-1, -1, -1, 0, 2, 3, -1, 1};
    static struct rank_facts facts[RANKS];
    int32_t previous[RANKS];
    for (int rank = 0; rank < RANKS; rank++)
        strcpy(facts[rank].host, hosts[rank]);
    CHECK(neighbours_find(facts, RANKS, previous));
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(previous[rank] == wanted[rank]);
}

static void test_pin(void)
{
    const struct affinity before = affinity_read();
    struct pin nowhere = pin_to(-1), beyond = pin_to(MOST_CPUS);
    CHECK(!nowhere.active && !beyond.active);
    struct pin pin = pin_to(before.cpu);
    if (pin.active) { /* not on systems other than Linux */
        const struct affinity kept = affinity_read();
        struct affinity wanted = {.cpu = before.cpu};
        wanted.mask[before.cpu / 64] = UINT64_C(1) << (before.cpu % 64);
        CHECK(memcmp(kept.mask, wanted.mask, sizeof kept.mask) == 0);
    }
    pin_release(&pin);
    pin_release(&nowhere);
    const struct affinity after = affinity_read();
    CHECK(!pin.active && memcmp(after.mask, before.mask, sizeof after.mask) == 0);
}

void test_pinning(void)
{
    test_assignment();
    test_neighbours_are_in_the_order_of_ranks();
    test_pin();
}
