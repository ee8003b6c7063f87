#define _POSIX_C_SOURCE 200809L

#include <mpi.h>

#include "host/clock.h"
#include "kernels/kernel.h"
#include "kernels/pair.h"

static void source(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = clock_ns();
        MPI_Send(pair->send[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm);
        MPI_Recv(pair->receive[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                 MPI_STATUS_IGNORE);
        times_ns[i] = clock_ns() - begin;
    }
}

static void target(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    (void)times_ns;
    for (int64_t i = 0; i < count; i++) {
        MPI_Recv(pair->receive[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                 MPI_STATUS_IGNORE);
        MPI_Send(pair->send[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm);
    }
}

const struct kernel kernel_pingpong = {
    .name = "pingpong",
    .measures = "latency: a message there and a message of the same size back, with blocking calls",
    .time_is = "one round trip: two messages of message_bytes, one each way, one after the other",
    .needs = NEEDS_PAIR,
    .sized = true,
    .windowed = false,
    .pair = {.answers = true, .source = source, .target = target},
};
