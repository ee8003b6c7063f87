#ifndef SEATRIAL_CONDUCT_ROUND_H
#define SEATRIAL_CONDUCT_ROUND_H

#include <stdbool.h>

#include "command.h"
#include "json_out.h"
#include "links.h"

/* Has all pairs measure at once and prints start, one sample a pair in the order they reach rank 0, end.
 * False, with nothing printed and all ranks free again, when a rank has no memory for its part. */
bool conduct_round(const struct links *links, const struct measure *measure, struct record *record,
                   struct refusal *refusal);

#endif
