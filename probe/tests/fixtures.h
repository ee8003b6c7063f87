#ifndef SEATRIAL_TESTS_FIXTURES_H
#define SEATRIAL_TESTS_FIXTURES_H

#include <stddef.h>

#include "protocol/command.h"

/* Four ranks, and kernels that cannot run: "pingpong" and "oneway" on pairs (only the latter with a window), "meet" on
 * groups, "gather" on all ranks, "copy" on single ranks. */
extern const struct world fixture_world;

/* A good measure of pairs, and one of groups. */
extern const char fixture_measure[], fixture_group[], fixture_store[];

/* The bytes in memory of exactly their size, so that the sanitizer sees any read beyond them. To be freed. */
char *fixture_exact(const char *bytes, size_t length);

#endif
