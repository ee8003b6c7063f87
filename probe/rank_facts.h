#ifndef SEATRIAL_RANK_FACTS_H
#define SEATRIAL_RANK_FACTS_H

#include <stdint.h>

#include "affinity.h"
#include "clock_quality.h"

#define HOST_BYTES 256

/* What a rank says of itself; travels between ranks as bytes. */
struct rank_facts {
    char host[HOST_BYTES]; /* gethostname: the name the node has, not the one MPI gives it */
    int64_t pid;
    struct clock_quality clock;
    struct affinity affinity; /* after MPI_Init, which may change it */
};

struct rank_facts rank_facts_read(void);

#endif
