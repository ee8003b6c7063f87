#ifndef SEATRIAL_HOST_SYSROOT_H
#define SEATRIAL_HOST_SYSROOT_H

#include <stdio.h>

/* The file below the first root that has it. SEATRIAL_SYSROOT has the roots, as for the facts; unset: the machine. */
FILE *sysroot_opened(const char *path);

#endif
