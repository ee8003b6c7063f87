#ifndef SEATRIAL_ROUNDS_PLAYER_H
#define SEATRIAL_ROUNDS_PLAYER_H

#include <mpi.h>
#include <stdint.h>

#include "kernels/kernel.h"
#include "rounds/buffers.h"
#include "rounds/channels.h"
#include "rounds/job.h"

/* A rank's part in a round. */
struct player {
    const struct job *job;
    const struct kernel *kernel;
    struct buffers send, receive;
    MPI_Request *requests;
    struct result *result;
};

/* Gets and touches all memory the job needs; returns 0, or how many bytes it needs where they cannot be had.
 * To be released in either case. */
int64_t player_prepare(struct player *player, const struct job *job);

/* Measures; afterwards the source's result is whole. */
void player_run(struct player *player, const struct channels *channels);
void player_release(struct player *player);

/* The life of every rank but 0: jobs, until told to stop. */
void play(const struct channels *channels);

#endif
