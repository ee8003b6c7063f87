#define _POSIX_C_SOURCE 200809L

#include <mpi.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = clock_ns();
        MPI_Barrier(group->comm);
        times_ns[i] = clock_ns() - begin;
    }
}

const struct kernel kernel_barrier = {
    .name = "barrier",
    .measures = "synchronization of a group of ranks: one MPI_Barrier after the other",
    .time_is = "one MPI_Barrier: the longest time that a rank of the group spent in it",
    .needs = NEEDS_GROUP,
    .group = {.run = run},
};
