#define _POSIX_C_SOURCE 200809L

#include <mpi.h>

#include "kernels/collective.h"
#include "kernels/kernel.h"

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = collective_enter(group, i);
        MPI_Barrier(group->comm);
        times_ns[i] = clock_ns() - begin;
    }
}

const struct kernel kernel_barrier = {
    .name = "barrier",
    .measures = "synchronization of a group of ranks: MPI_Barrier, after (window - 1) * 4000 steps of work",
    .time_is = "one MPI_Barrier: the longest time that a rank of the group spent in it",
    .needs = NEEDS_GROUP,
    .windowed = true,
    .group = {.run = run, .arrivals = true, .pinned = true},
};
