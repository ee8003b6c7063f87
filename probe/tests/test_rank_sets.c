#include <stdlib.h>

#include "protocol/rank_sets.h"
#include "tests/check.h"

static void check_fault(const int64_t *pairs, size_t count, enum round_fault fault, int64_t value)
{
    struct role roles[4];
    const struct round_check check = round_assign(pairs, count, 4, roles);
    CHECK(check.fault == fault);
    CHECK(check.value == value);
}

static void test_faults(void)
{
    check_fault(NULL, 0, ROUND_EMPTY, 0);
    check_fault((const int64_t[]){0}, 1, ROUND_ODD, 1);
    check_fault((const int64_t[]){0, 4}, 2, ROUND_OUT_OF_RANGE, 4);
    check_fault((const int64_t[]){-1, 0}, 2, ROUND_OUT_OF_RANGE, -1);
    check_fault((const int64_t[]){0, INT64_MAX}, 2, ROUND_OUT_OF_RANGE, INT64_MAX);
    check_fault((const int64_t[]){INT64_MIN, 0}, 2, ROUND_OUT_OF_RANGE, INT64_MIN);
    check_fault((const int64_t[]){2, 2}, 2, ROUND_SELF, 2);
    check_fault((const int64_t[]){0, 1, 1, 2}, 4, ROUND_TWICE, 1);
    check_fault((const int64_t[]){0, 1, 2, 0}, 4, ROUND_TWICE, 0);
}

static void test_roles(void)
{
    static const int64_t pairs[] = {3, 0};
    struct role roles[4];
    CHECK(round_assign(pairs, 2, 4, roles).fault == ROUND_GOOD);
    CHECK(roles[3].kind == ROLE_SOURCE && roles[3].partner == 0);
    CHECK(roles[0].kind == ROLE_TARGET && roles[0].partner == 3);
    CHECK(roles[1].kind == ROLE_IDLE && roles[2].kind == ROLE_IDLE);
    CHECK(round_assign((const int64_t[]){0, 0}, 2, 1, roles).fault == ROUND_SELF);
}

/* Partners point at each other, one source and one target a pair, nobody left out. */
static void test_many(void)
{
    enum { RANKS = 10000 };
    int64_t *pairs = malloc(RANKS * sizeof *pairs);
    struct role *roles = malloc(RANKS * sizeof *roles);
    int good = 0;
    for (int i = 0; i < RANKS; i++)
        pairs[i] = (int64_t)i * 7919 % RANKS;
    CHECK(round_assign(pairs, RANKS, RANKS, roles).fault == ROUND_GOOD);
    for (int rank = 0; rank < RANKS; rank++)
        good += roles[roles[rank].partner].partner == rank && roles[rank].kind != roles[roles[rank].partner].kind;
    CHECK(good == RANKS);
    free(pairs);
    free(roles);
}

void test_rank_sets(void)
{
    test_faults();
    test_roles();
    test_many();
}
