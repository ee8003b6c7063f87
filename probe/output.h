#ifndef SEATRIAL_OUTPUT_H
#define SEATRIAL_OUTPUT_H

#include "json_out.h"

#define EXIT_USAGE 64
#define EXIT_OUTPUT 74

/* Prints a record on standard output; where that fails nobody listens any more, and all ranks are ended. */
void output_print(const struct record *record);

#endif
