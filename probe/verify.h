#ifndef SEATRIAL_VERIFY_H
#define SEATRIAL_VERIFY_H

#include <stdint.h>

#include "kernel.h"

/* After the timed loop: runs `iterations` more through the same loop, one at a time, each with a pattern of its
 * own, and returns how many bytes reached this rank wrong. Both sides of the pair must call it. */
int64_t verify(const struct pair *pair, int rank, kernel_loop *loop, int64_t iterations);

#endif
