#define _POSIX_C_SOURCE 200809L

/* MPI_Allreduce: sums of doubles, as iterative solvers have in each step. Numbers are whole and small, so that sums are
 * exact in whatever order a library adds. */

#include <mpi.h>

#include "kernels/collective.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

static int numbers_of(const struct group *group)
{
    return group->message_bytes / (int)sizeof(double);
}

static double number(int rank, int place, int64_t iteration)
{
    return (double)(((int64_t)place * 7919 + (int64_t)rank * 104729 + iteration * 31) & 0xFFFFF);
}

static void fill(const struct group *group, int64_t iteration)
{
    double *own = (double *)(void *)group->send;
    for (int i = 0; i < numbers_of(group); i++)
        own[i] = number(group->rank, i, iteration);
}

static void prepare(const struct group *group)
{
    fill(group, 0);
}

static void reduce(const struct group *group)
{
    MPI_Allreduce(group->send, group->receive, numbers_of(group), MPI_DOUBLE, MPI_SUM, group->comm);
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = collective_enter(group, i);
        reduce(group);
        times_ns[i] = clock_ns() - begin;
    }
}

static void check(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    const double *sums = (const double *)(const void *)group->receive;
    for (int64_t iteration = first; iteration < first + count; iteration++) {
        fill(group, iteration);
        reduce(group);
        for (int i = 0; i < numbers_of(group); i++) {
            double wanted = 0;
            for (int rank = 0; rank < group->ranks; rank++)
                wanted += number(rank, i, iteration);
            if (sums[i] == wanted)
                continue;
            wrong->first = wrong->first < 0 ? i * (int64_t)sizeof *sums : wrong->first;
            wrong->bytes += (int64_t)sizeof *sums;
        }
    }
}

const struct kernel kernel_allreduce = {
    .name = "allreduce",
    .measures = "sum over a group of ranks: MPI_Allreduce of message_bytes, after (window - 1) * 4000 steps of work",
    .time_is = "one MPI_Allreduce of doubles: the longest time that a rank of the group spent in it",
    .needs = NEEDS_GROUP,
    .sized = true,
    .windowed = true,
    .group = {.send = MEMORY_MESSAGE,
              .receive = MEMORY_MESSAGE,
              .run = run,
              .verify = check,
              .prepare = prepare,
              .arrivals = true,
              .pinned = true},
};
