#ifndef SEATRIAL_ROUNDS_PART_H
#define SEATRIAL_ROUNDS_PART_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"
#include "host/pinning.h"
#include "rounds/buffers.h"
#include "rounds/channels.h"
#include "rounds/job.h"

/* One rank's part in a round, with all memory that it takes. */
struct part {
    const struct job *job;
    const struct kernel *kernel;
    struct buffers send, receive;
    MPI_Request *requests; /* of a pair: 2 * window */
    int *members;          /* of a group: its ranks, filled in before part_run */
    struct result *result; /* complete on the leader of the set after part_run */
    int64_t *entries_ns;   /* of a kernel with arrivals: one for each time */
    bool placed;           /* memory was touched first where the job says */
    struct pin pin;        /* until the part is released */
};

/* Gets and touches all memory that the job needs; returns 0, or how many bytes it needs where they cannot be had.
 * Release the part in both cases. */
int64_t part_prepare(struct part *part, const struct job *job);
void part_release(struct part *part);

/* Measures; all ranks of the set call it. */
void part_run(struct part *part, const struct channels *channels);

/* What part_run does for each kind of set. */
void part_run_pair(struct part *part, const struct channels *channels);
void part_run_group(struct part *part, const struct channels *channels);

#endif
