#ifndef SEATRIAL_KERNELS_PATTERN_H
#define SEATRIAL_KERNELS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* What messages carry when they are verified: bytes that depend on sender, receiver, slot, iteration and
 * position, so that a message lost, swapped, shifted or repeated shows as well as a flipped bit. */

uint64_t pattern_seed(int sender, int receiver, int64_t slot, int64_t iteration);
void pattern_fill(char *bytes, size_t length, uint64_t seed);

/* Every byte differs from what pattern_fill would write. */
void pattern_spoil(char *bytes, size_t length, uint64_t seed);

/* Bytes that arrived other than they were sent. */
struct wrong {
    int64_t bytes;
    int64_t first; /* offset of the first of them in its message; -1: there is none */
};

#define NOTHING_WRONG {0, -1}

/* Adds the bytes that differ from what pattern_fill would write. */
void pattern_compare(const char *bytes, size_t length, uint64_t seed, struct wrong *wrong);

#endif
