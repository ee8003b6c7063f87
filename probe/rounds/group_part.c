#include "rounds/part.h"

#include <stddef.h>

#include "host/conditions.h"
#include "host/others.h"
#include "kernels/group.h"
#include "kernels/pattern.h"
#include "rounds/arrivals.h"

#define CREATE_TAG 1

/* A communicator of the group's ranks alone. Only they take part in creating it, so that idle ranks sleep on. */
static MPI_Comm open_comm(const struct part *part, const struct channels *channels)
{
    MPI_Group world, own;
    MPI_Comm comm;
    if (part->kernel->needs == NEEDS_ALL)
        return channels->work;
    if (part->kernel->needs == NEEDS_SINGLE)
        return MPI_COMM_SELF;
    MPI_Comm_group(channels->work, &world);
    MPI_Group_incl(world, part->job->size, part->members, &own);
    MPI_Comm_create_group(channels->work, own, CREATE_TAG, &comm);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    return comm;
}

static void close_comm(const struct part *part, MPI_Comm *comm)
{
    if (part->kernel->needs == NEEDS_GROUP)
        MPI_Comm_free(comm);
}

/* Leaves with the leader what happened on all ranks of the set. */
static void settle_conditions(struct part *part, const struct group *group, struct conditions own)
{
    struct conditions *all = &part->result->conditions;
    MPI_Reduce(&own.sums, &all->sums, CONDITION_SUMS, MPI_INT64_T, MPI_SUM, 0, group->comm);
    MPI_Reduce(&own.most, &all->most, CONDITION_MOST, MPI_INT64_T, MPI_MAX, 0, group->comm);
}

/* Runs the timed iterations and returns what happened meanwhile. */
static struct conditions run_watched(const struct kernel *kernel, const struct job *job, const struct group *group,
                                     int64_t *times_ns)
{
    const bool watch = job->watch && kernel->group.watched;
    struct others before = {0}, after = {0};
    if (watch)
        before = others_read();
    MPI_Barrier(group->comm);
    const struct counters begin = counters_read(job->cpu, watch);
    kernel->group.run(group, job->iterations, times_ns);
    if (watch)
        after = others_read();
    const struct conditions found =
        conditions_since(&begin, job->cpu, watch, watch ? others_since(&before, &after) : UNKNOWN, job->watch);
    others_free(&before);
    others_free(&after);
    return found;
}

/* Leaves with the leader when each rank began its timed iterations beside the others. */
static void settle_arrivals(struct part *part, const struct group *group, const struct clock_reading *before)
{
    struct arrival *all = result_arrivals(part->result, (size_t)group->ranks);
    const int bytes = (int)sizeof *all;
    const struct clock_reading after = clock_compare(group);
    const struct arrival own =
        arrival_settle(group, before, &after, group->entries_ns, part->job->iterations);
    MPI_Gather(&own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, group->comm);
}

/* Leaves each iteration's longest time, and what each rank received wrong, with the leader. */
static void settle(struct part *part, const struct group *group, struct wrong wrong)
{
    int64_t *times_ns = part->result->numbers;
    const int count = (int)part->result->times, bytes = (int)sizeof wrong;
    if (group->rank == 0)
        MPI_Reduce(MPI_IN_PLACE, times_ns, count, MPI_INT64_T, MPI_MAX, 0, group->comm);
    else
        MPI_Reduce(times_ns, NULL, count, MPI_INT64_T, MPI_MAX, 0, group->comm);
    MPI_Gather(&wrong, bytes, MPI_BYTE, result_wrong(part->result), bytes, MPI_BYTE, 0, group->comm);
}

void part_run_group(struct part *part, const struct channels *channels)
{
    const struct job *job = part->job;
    const struct kernel *kernel = part->kernel;
    struct wrong wrong = NOTHING_WRONG;
    struct storage storage = {.folder = job->folder};
    int64_t library = 0;
    struct group group = {
        .comm = open_comm(part, channels),
        .rank = job->index,
        .ranks = job->size,
        .message_bytes = (int)job->message_bytes,
        .window = (int)job->window,
        .cpu = job->cpu,
        .placed = part->placed,
        .entries_ns = part->entries_ns,
        .storage = &storage,
        .library = &library,
        .wrong = &wrong,
        .send = part->send.block,
        .receive = part->receive.block,
    };
    group_check *verify = job->verify == VERIFY_NONE ? NULL : kernel->group.verify;
    int64_t *times_ns = part->result->numbers;
    if (kernel->group.prepare != NULL)
        kernel->group.prepare(&group);
    if (verify != NULL && compares_first(job))
        verify(&group, 0, 1, &wrong);
    const struct clock_reading before = kernel->group.arrivals ? clock_compare(&group) : (struct clock_reading){0};
    MPI_Barrier(group.comm);
    kernel->group.run(&group, job->warmup, times_ns);
    struct conditions found = run_watched(kernel, job, &group, times_ns + job->warmup);
    if (kernel->group.arrivals)
        settle_arrivals(part, &group, &before);
    if (verify != NULL)
        verify(&group, 1, job->verify == VERIFY_ALL ? 1 + job->iterations : 1, &wrong);
    found.sums.cached = storage.cached;
    found.most.failed = storage.failed;
    found.most.library = library;
    settle(part, &group, wrong);
    settle_conditions(part, &group, found);
    close_comm(part, &group.comm);
}
