#ifndef SEATRIAL_HOST_PINNING_H
#define SEATRIAL_HOST_PINNING_H

/* Keeping a rank on one processor, and which processor that is. */

#include <stdbool.h>
#include <stdint.h>

#include "host/rank_facts.h"

/* Gives each rank a processor of its own: the first of its mask that no rank before it on the same host has. Where all
 * are taken, ranks share them in turn; -1 where the mask is unknown. `previous`: from neighbours_find. */
void assign_processors(const struct rank_facts *facts, int ranks, const int32_t *previous, int32_t *cpus);

/* What a process is kept on, and where it might run before. */
struct pin {
    bool active;
    struct affinity before;
};

/* Keeps this process on that processor; not active where the system refuses, or `cpu` is -1. */
struct pin pin_to(int32_t cpu);

/* Lets it run again where it might before; nothing for a pin that is not active. */
void pin_release(struct pin *pin);

#endif
