#ifndef SEATRIAL_INTRODUCE_H
#define SEATRIAL_INTRODUCE_H

#include "json_out.h"
#include "links.h"

/* Every rank calls it: rank 0 prints header, rank and ready records, built in `record`. */
void introduce(const struct links *links, struct record *record);

#endif
