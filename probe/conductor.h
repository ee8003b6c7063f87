#ifndef SEATRIAL_CONDUCTOR_H
#define SEATRIAL_CONDUCTOR_H

#include "json_out.h"
#include "links.h"

/* The life of rank 0: commands from standard input, carried out one by one, until stop or the end of input. */
void conduct(const struct links *links, struct record *record);

#endif
