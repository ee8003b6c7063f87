#ifndef SEATRIAL_PROTOCOL_RANK_SETS_H
#define SEATRIAL_PROTOCOL_RANK_SETS_H

#include <stddef.h>
#include <stdint.h>

/* A round: pairs of ranks that all measure at once, no rank in two of them. */

enum role_kind { ROLE_IDLE, ROLE_SOURCE, ROLE_TARGET };

struct role {
    enum role_kind kind;
    int partner; /* meaningless when idle */
};

enum round_fault {
    ROUND_GOOD,
    ROUND_EMPTY,
    ROUND_ODD,          /* value: how many ranks were given */
    ROUND_OUT_OF_RANGE, /* value: the rank */
    ROUND_SELF,         /* value: the rank paired with itself */
    ROUND_TWICE         /* value: the rank */
};

struct round_check {
    enum round_fault fault;
    int64_t value;
};

/* Gives each of the `ranks` ranks its role from the flat list source, target, source, target, ...
 * `roles` has room for all ranks; what it holds after a fault means nothing. One pass over the list. */
struct round_check round_assign(const int64_t *pairs, size_t count, int ranks, struct role *roles);

#endif
