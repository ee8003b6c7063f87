#ifndef SEATRIAL_TESTS_FIXTURES_H
#define SEATRIAL_TESTS_FIXTURES_H

#include <stddef.h>

#include "protocol/command.h"

/* Four ranks; kernels "pingpong" (no window) and "oneway" that cannot run. */
extern const struct world fixture_world;

extern const char fixture_measure[];

/* The bytes in memory of exactly their size, so that the sanitizer sees any read beyond them. To be freed. */
char *fixture_exact(const char *bytes, size_t length);

#endif
