#define _POSIX_C_SOURCE 200809L

/* MPI_Alltoall: every rank has a message for every other one, as transposes and Fourier transforms have. */

#include <mpi.h>

#include "kernels/collective.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

static size_t bytes_of(const struct group *group)
{
    return (size_t)group->message_bytes;
}

static void fill(const struct group *group, int64_t iteration)
{
    for (int rank = 0; rank < group->ranks; rank++)
        pattern_fill(group->send + (size_t)rank * bytes_of(group), bytes_of(group),
                     pattern_seed(group->rank, rank, 0, iteration));
}

static void prepare(const struct group *group)
{
    fill(group, 0);
}

static void exchange(const struct group *group)
{
    MPI_Alltoall(group->send, group->message_bytes, MPI_BYTE, group->receive, group->message_bytes, MPI_BYTE,
                 group->comm);
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = collective_enter(group, i);
        exchange(group);
        times_ns[i] = clock_ns() - begin;
    }
}

static void check(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    for (int64_t iteration = first; iteration < first + count; iteration++) {
        fill(group, iteration);
        exchange(group);
        for (int rank = 0; rank < group->ranks; rank++)
            pattern_compare(group->receive + (size_t)rank * bytes_of(group), bytes_of(group),
                            pattern_seed(rank, group->rank, 0, iteration), wrong);
    }
}

const struct kernel kernel_alltoall = {
    .name = "alltoall",
    .measures = "exchange of a group of ranks: MPI_Alltoall of message_bytes to each, after (window - 1) * 4000 steps",
    .time_is = "one MPI_Alltoall: the longest time that a rank of the group spent in it",
    .needs = NEEDS_GROUP,
    .sized = true,
    .windowed = true,
    .group = {.send = MEMORY_MESSAGE_PER_RANK,
              .receive = MEMORY_MESSAGE_PER_RANK,
              .run = run,
              .verify = check,
              .prepare = prepare,
              .arrivals = true,
              .pinned = true},
};
