#define _POSIX_C_SOURCE 200809L

#include <mpi.h>

#include "host/clock.h"
#include "kernels/kernel.h"
#include "kernels/pair.h"

/* The target's token says that its receives are posted; it arrives before the clock is read, so that neither posting
 * nor unexpected messages are timed. Its second token, the acknowledgement, is part of the time. */
static void source(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        MPI_Recv(NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN, pair->comm, MPI_STATUS_IGNORE);
        const int64_t begin = clock_ns();
        for (int m = 0; m < pair->window; m++)
            MPI_Isend(pair->send[m], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                      &pair->requests[m]);
        MPI_Waitall(pair->window, pair->requests, pair->no_statuses);
        MPI_Recv(NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN, pair->comm, MPI_STATUS_IGNORE);
        times_ns[i] = clock_ns() - begin;
    }
}

static void target(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    (void)times_ns;
    for (int64_t i = 0; i < count; i++) {
        for (int m = 0; m < pair->window; m++)
            MPI_Irecv(pair->receive[m], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                      &pair->requests[m]);
        MPI_Send(NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN, pair->comm);
        MPI_Waitall(pair->window, pair->requests, pair->no_statuses);
        MPI_Send(NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN, pair->comm);
    }
}

const struct kernel kernel_oneway = {
    .name = "oneway",
    .measures = "bandwidth one way: a window of non-blocking messages from source to target",
    .time_is = "one window: window messages of message_bytes to the target, then its zero-byte acknowledgement",
    .needs = NEEDS_PAIR,
    .sized = true,
    .windowed = true,
    .pair = {.answers = false, .source = source, .target = target},
};
