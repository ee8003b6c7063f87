#define _POSIX_C_SOURCE 200809L

/* Which rank comes last to a collective operation, and how late: entries are read on each rank's own clock, and clocks
 * are compared before and after the iterations by the shortest of some round trips (Cristian, "Probabilistic clock
 * synchronization", 1989). */

#include "rounds/arrivals.h"

#include <mpi.h>
#include <stdlib.h>

#include "host/clock.h"

#define CLOCK_TAG 2
#define ROUND_TRIPS 40

/* The first rank answers the others one after the other, each of them as often as it asks. */
static void answer_all(const struct group *group)
{
    for (int rank = 1; rank < group->ranks; rank++)
        for (int i = 0; i < ROUND_TRIPS; i++) {
            MPI_Recv(NULL, 0, MPI_BYTE, rank, CLOCK_TAG, group->comm, MPI_STATUS_IGNORE);
            const int64_t now = clock_ns();
            MPI_Send(&now, sizeof now, MPI_BYTE, rank, CLOCK_TAG, group->comm);
        }
}

struct clock_reading clock_compare(const struct group *group)
{
    struct clock_reading best = {clock_ns(), 0, 0};
    if (group->rank == 0) {
        answer_all(group);
        return best;
    }
    for (int i = 0; i < ROUND_TRIPS; i++) {
        int64_t there = 0;
        const int64_t begin = clock_ns();
        MPI_Send(NULL, 0, MPI_BYTE, 0, CLOCK_TAG, group->comm);
        MPI_Recv(&there, sizeof there, MPI_BYTE, 0, CLOCK_TAG, group->comm, MPI_STATUS_IGNORE);
        const int64_t half = (clock_ns() - begin) / 2;
        if (i == 0 || half < best.error_ns)
            best = (struct clock_reading){begin + half, there - (begin + half), half};
    }
    return best;
}

static int rising(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Turns entries into how much later than the first one they were; how often they were the last. */
static int64_t compare_entries(const struct group *group, int64_t *entries_ns, int64_t count)
{
    int64_t last = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t ends[2] = {-entries_ns[i], entries_ns[i]}; /* the largest of both: minus the first one, and the last */
        MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT64_T, MPI_MAX, group->comm);
        last += entries_ns[i] == ends[1];
        entries_ns[i] += ends[0];
    }
    return last;
}

struct arrival arrival_settle(const struct group *group, const struct clock_reading *before,
                              const struct clock_reading *after, int64_t *entries_ns, int64_t count)
{
    struct arrival arrival = {.offset_ns = after->offset_ns, .error_ns = before->error_ns};
    if (after->error_ns > arrival.error_ns)
        arrival.error_ns = after->error_ns;
    for (int64_t i = 0; i < count; i++)
        entries_ns[i] += offset_at(before, after, entries_ns[i]);
    arrival.last = compare_entries(group, entries_ns, count);
    if (count > 0) {
        qsort(entries_ns, (size_t)count, sizeof *entries_ns, rising);
        arrival.late_ns = entries_ns[count / 2];
    }
    return arrival;
}
