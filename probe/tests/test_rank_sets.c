#include <stdlib.h>

#include "protocol/rank_sets.h"
#include "tests/check.h"

static const struct set_sizes pairs = {.common = 2};
static const struct set_sizes singles = {.common = 1};

static void check_fault(const int64_t *ranks, size_t count, struct set_sizes sizes, enum sets_fault fault,
                        int64_t value)
{
    struct rank_sets sets;
    const struct sets_check check = rank_sets_form(&sets, 4, ranks, count, sizes);
    CHECK(check.fault == fault);
    CHECK(check.value == value);
    rank_sets_free(&sets);
}

static void test_faults(void)
{
    check_fault(NULL, 0, pairs, SETS_EMPTY, 0);
    check_fault((const int64_t[]){0}, 1, pairs, SETS_REMAINDER, 1);
    check_fault((const int64_t[]){0, 4}, 2, pairs, SETS_OUT_OF_RANGE, 4);
    check_fault((const int64_t[]){-1, 0}, 2, pairs, SETS_OUT_OF_RANGE, -1);
    check_fault((const int64_t[]){0, INT64_MAX}, 2, pairs, SETS_OUT_OF_RANGE, INT64_MAX);
    check_fault((const int64_t[]){INT64_MIN, 0}, 2, pairs, SETS_OUT_OF_RANGE, INT64_MIN);
    check_fault((const int64_t[]){2, 2}, 2, pairs, SETS_TWICE, 2);
    check_fault((const int64_t[]){0, 1, 1, 2}, 4, pairs, SETS_TWICE, 1);
    check_fault((const int64_t[]){0, 1, 2, 0}, 4, pairs, SETS_TWICE, 0);
    check_fault((const int64_t[]){0, 1, 0}, 3, singles, SETS_TWICE, 0);
}

static void test_sizes(void)
{
    static const int64_t ranks[] = {2, 0, 3, 1}, good[] = {3, 1}, none[] = {4, 0}, many[] = {1, 1, 1, 1, 1};
    check_fault(ranks, 4, (struct set_sizes){0, good, 2}, SETS_GOOD, 0);
    check_fault(ranks, 4, (struct set_sizes){0, good, 1}, SETS_SUM, 4);
    check_fault(ranks, 4, (struct set_sizes){0, none, 2}, SETS_SIZE, 0);
    check_fault(ranks, 4, (struct set_sizes){0, many, 5}, SETS_SUM, 4);
    check_fault(ranks, 4, (struct set_sizes){0, NULL, 0}, SETS_SUM, 4);
}

static void check_place(const struct rank_sets *sets, int rank, int set, int index)
{
    CHECK(sets->places[rank].set == set && sets->places[rank].index == index);
    CHECK(rank_sets_members(sets, set)[index] == rank);
}

static void test_places(void)
{
    static const int64_t ranks[] = {2, 0, 3}, sizes[] = {2, 1};
    struct rank_sets sets;
    CHECK(rank_sets_form(&sets, 4, ranks, 3, (struct set_sizes){0, sizes, 2}).fault == SETS_GOOD);
    CHECK(sets.count == 2 && rank_sets_size(&sets, 0) == 2 && rank_sets_size(&sets, 1) == 1);
    check_place(&sets, 2, 0, 0);
    check_place(&sets, 0, 0, 1);
    check_place(&sets, 3, 1, 0);
    CHECK(sets.places[1].set == -1);
    rank_sets_free(&sets);
    CHECK(rank_sets_all(&sets, 3).fault == SETS_GOOD);
    CHECK(sets.count == 1 && rank_sets_size(&sets, 0) == 3);
    check_place(&sets, 0, 0, 0);
    check_place(&sets, 2, 0, 2);
    rank_sets_free(&sets);
}

/* Every rank is in one pair, and the two of a pair are there once each. */
static void test_many(void)
{
    enum { RANKS = 10000 };
    int64_t *ranks = malloc(RANKS * sizeof *ranks);
    struct rank_sets sets;
    for (int i = 0; i < RANKS; i++)
        ranks[i] = (int64_t)i * 7919 % RANKS;
    CHECK(rank_sets_form(&sets, RANKS, ranks, RANKS, pairs).fault == SETS_GOOD);
    CHECK(sets.count == RANKS / 2);
    int good = 0;
    for (int i = 0; i < RANKS; i++)
        good += sets.places[ranks[i]].set == i / 2 && sets.places[ranks[i]].index == i % 2;
    CHECK(good == RANKS);
    rank_sets_free(&sets);
    free(ranks);
}

void test_rank_sets(void)
{
    test_faults();
    test_sizes();
    test_places();
    test_many();
}
