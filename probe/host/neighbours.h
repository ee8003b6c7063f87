#ifndef SEATRIAL_HOST_NEIGHBOURS_H
#define SEATRIAL_HOST_NEIGHBOURS_H

/* Which ranks are on the same host. */

#include <stdbool.h>
#include <stdint.h>

#include "host/rank_facts.h"

/* Of each rank the next lower one on the same host; -1: none. It sorts: a comparison of each with each grows with the
 * square of the ranks. False without memory. */
bool neighbours_find(const struct rank_facts *facts, int ranks, int32_t *previous);

#endif
