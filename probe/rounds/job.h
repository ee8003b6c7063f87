#ifndef SEATRIAL_ROUNDS_JOB_H
#define SEATRIAL_ROUNDS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/conditions.h"
#include "host/arrival.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

/* What rank 0 asks of one rank; travels as bytes, so all ranks must be of one kind of machine. */
struct job {
    int32_t stop;    /* 1: there is nothing more to do; the rest means nothing */
    int32_t kernel;  /* its index in `kernels` */
    int32_t index;   /* within its set: 0 leads and delivers the result; in a pair 0 is the source */
    int32_t size;    /* ranks in its set */
    int32_t sets;    /* in the whole round */
    int32_t partner; /* in a pair: the other rank */
    int32_t cpu;     /* the rank's own processor, for kernels that are pinned; -1: none */
    int32_t memory_cpu; /* where its memory is touched first; -1: nowhere in particular */
    enum verification verify;
    int32_t watch;   /* 1: of its node the rank that looks at the other processes */
    int32_t collect; /* 1: keep the result until asked, because rank 0 is measuring too */
    int64_t message_bytes, window, warmup, iterations;
    char folder[FOLDER_BYTES_MAX + 1]; /* empty: the kernel writes no files */
};

/* Whether one iteration is compared before the warm-up. Not where other sets are measured at the same time: each would
 * then begin at a time of its own and have the network for itself for a while, and the sum of all would be too high. */
static inline bool compares_first(const struct job *job)
{
    return job->verify != VERIFY_NONE && job->sets == 1;
}

/* How many iterations are compared with what was sent. */
static inline int64_t compared_iterations(const struct job *job)
{
    return compares_first(job) + (job->verify != VERIFY_NONE) + (job->verify == VERIFY_ALL ? job->iterations : 0);
}

/* What the leader of a set delivers; travels as bytes. */
struct result {
    struct conditions conditions; /* of the timed iterations; nothing of a pair */
    int64_t waited_ns[2]; /* of a pair: how long each side was ready to run without a processor meanwhile */
    int64_t verified;   /* iterations whose data were compared */
    int64_t times;      /* of the warm-up and of the iterations */
    int64_t numbers[];  /* these times in nanoseconds, then a struct wrong and a struct arrival for each rank of the set */
};

static inline size_t result_bytes(int64_t times, size_t ranks)
{
    return sizeof(struct result) + (size_t)times * sizeof(int64_t) + ranks * (sizeof(struct wrong) + sizeof(struct arrival));
}

/* What each rank of the set received wrong, in the order of the set. */
static inline struct wrong *result_wrong(struct result *result)
{
    return (struct wrong *)(result->numbers + result->times);
}

/* When each of them began its iterations; zeros where the kernel has no arrivals. */
static inline struct arrival *result_arrivals(struct result *result, size_t ranks)
{
    return (struct arrival *)(result_wrong(result) + ranks);
}

#endif
