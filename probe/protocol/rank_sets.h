#ifndef SEATRIAL_PROTOCOL_RANK_SETS_H
#define SEATRIAL_PROTOCOL_RANK_SETS_H

#include <stddef.h>
#include <stdint.h>

/* The ranks of a round: disjoint sets that all measure at the same time. A pair is a set of two, source first. */

/* Where a rank of the world is. */
struct place {
    int set;   /* -1: in none, the rank stays idle */
    int index; /* within its set; 0 leads it */
};

struct rank_sets {
    int *members;         /* one set after the other */
    size_t *begins;       /* set i is members[begins[i]] up to, not including, members[begins[i + 1]] */
    size_t count;         /* sets */
    struct place *places; /* one per rank of the world */
};

/* How a list of ranks is cut into sets: all of one size, or each of its own. */
struct set_sizes {
    int64_t common; /* 0: each has its own */
    const int64_t *each;
    size_t count;
};

enum sets_fault {
    SETS_GOOD,
    SETS_EMPTY,
    SETS_REMAINDER,    /* value: how many ranks were given */
    SETS_SIZE,         /* value: the size */
    SETS_SUM,          /* value: how many ranks were given, which is not the sum of the sizes */
    SETS_OUT_OF_RANGE, /* value: the rank */
    SETS_TWICE,        /* value: the rank */
    SETS_NO_MEMORY     /* value: how many ranks the world has */
};

struct sets_check {
    enum sets_fault fault;
    int64_t value;
};

/* Cuts the list into sets, in one pass. Free the sets in any case; after a fault their content means nothing. */
struct sets_check rank_sets_form(struct rank_sets *sets, int world, const int64_t *ranks, size_t count,
                                 struct set_sizes sizes);

/* One set of all ranks. */
struct sets_check rank_sets_all(struct rank_sets *sets, int world);
void rank_sets_free(struct rank_sets *sets);

size_t rank_sets_size(const struct rank_sets *sets, int set);

/* The ranks of a set. */
const int *rank_sets_members(const struct rank_sets *sets, int set);

#endif
