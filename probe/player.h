#ifndef SEATRIAL_PLAYER_H
#define SEATRIAL_PLAYER_H

#include <mpi.h>
#include <stdint.h>

#include "buffers.h"
#include "kernel.h"
#include "links.h"
#include "result.h"

/* What rank 0 asks of one rank; travels as bytes, so all ranks must be of one kind of machine. */
struct job {
    int32_t stop;    /* 1: there is nothing more to do; the rest means nothing */
    int32_t kernel;  /* its place in `kernels` */
    int32_t source;  /* 1: this side is the source */
    int32_t partner;
    int32_t verify;
    int32_t collect; /* 1: keep the result until asked, because rank 0 is measuring too */
    int64_t message_bytes, window, warmup, iterations;
};

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
void player_run(struct player *player, const struct links *links);
void player_release(struct player *player);

/* The life of every rank but 0: jobs, until told to stop. */
void play(const struct links *links);

#endif
