#define _POSIX_C_SOURCE 200809L

#include <mpi.h>

#include "host/clock.h"
#include "kernels/kernel.h"
#include "kernels/pair.h"

static void exchange_tokens(const struct pair *pair)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN, NULL, 0, MPI_BYTE, pair->partner, PAIR_TOKEN,
                 pair->comm, MPI_STATUS_IGNORE);
}

/* Both sides do the same. The first exchange of tokens says that receives are posted and is not timed; the second
 * says that the window has arrived and is. */
static void side(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    MPI_Request *sends = pair->requests + pair->window;
    for (int64_t i = 0; i < count; i++) {
        for (int m = 0; m < pair->window; m++)
            MPI_Irecv(pair->receive[m], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                      &pair->requests[m]);
        exchange_tokens(pair);
        const int64_t begin = clock_ns();
        for (int m = 0; m < pair->window; m++)
            MPI_Isend(pair->send[m], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm, &sends[m]);
        MPI_Waitall(2 * pair->window, pair->requests, pair->no_statuses);
        exchange_tokens(pair);
        times_ns[i] = clock_ns() - begin;
    }
}

const struct kernel kernel_bothway = {
    .name = "bothway",
    .measures = "bandwidth both ways at once: a window of non-blocking messages each way",
    .time_is = "one window each way: 2 * window messages of message_bytes, then a zero-byte message each way",
    .needs = NEEDS_PAIR,
    .sized = true,
    .windowed = true,
    .pair = {.answers = true, .source = side, .target = side},
};
