#ifndef SEATRIAL_ROUNDS_JOB_H
#define SEATRIAL_ROUNDS_JOB_H

#include <stddef.h>
#include <stdint.h>

/* What rank 0 asks of one rank; travels as bytes, so all ranks must be of one kind of machine. */
struct job {
    int32_t stop;    /* 1: there is nothing more to do; the rest means nothing */
    int32_t kernel;  /* its index in `kernels` */
    int32_t index;   /* within its set: 0 leads and delivers the result; in a pair 0 is the source */
    int32_t size;    /* ranks in its set */
    int32_t partner; /* in a pair: the other rank */
    int32_t verify;
    int32_t collect; /* 1: keep the result until asked, because rank 0 is measuring too */
    int64_t message_bytes, window, warmup, iterations;
};

/* What the leader of a set delivers; travels as bytes. */
struct result {
    int64_t wrong_bytes;
    int64_t times_ns[]; /* those of the warm-up, then those of the iterations */
};

static inline size_t result_bytes(int64_t warmup, int64_t iterations)
{
    return sizeof(struct result) + (size_t)(warmup + iterations) * sizeof(int64_t);
}

#endif
