#ifndef SEATRIAL_KERNELS_H
#define SEATRIAL_KERNELS_H

#include <stddef.h>

#include "kernel.h"

extern const struct kernel kernel_pingpong, kernel_oneway, kernel_bothway;

/* All kernels; a kernel's place here is its number between ranks. */
extern const struct kernel *const kernels[];
extern const size_t kernel_count;

#endif
