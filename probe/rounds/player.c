#define _POSIX_C_SOURCE 200809L

#include "rounds/player.h"

#include "host/clock.h"
#include "rounds/part.h"

/* Ranks of a group learn of each other only once all have their memory, so that no message is left if one has not. */
static void receive_members(const struct part *part, const struct channels *channels)
{
    const int bytes = part->job->size * (int)sizeof *part->members;
    if (part->kernel->needs == NEEDS_GROUP)
        channels_receive(channels, part->members, bytes, 0, CONTROL_MEMBERS, WAIT_START_CAP_NS);
}

static void deliver(const struct part *part, const struct channels *channels)
{
    const struct job *job = part->job;
    if (job->index != 0)
        return;
    if (job->collect)
        channels_receive(channels, NULL, 0, 0, CONTROL_COLLECT, WAIT_IDLE_CAP_NS);
    const size_t bytes = result_bytes(part->result->times, (size_t)job->size);
    channels_send(channels, part->result, (int)bytes, 0, CONTROL_RESULT);
}

static void take_part(const struct channels *channels, const struct job *job)
{
    struct part part;
    int go = 0;
    const int64_t missing = part_prepare(&part, job);
    MPI_Send(&missing, sizeof missing, MPI_BYTE, 0, CONTROL_READY, channels->control);
    channels_receive(channels, &go, sizeof go, 0, CONTROL_GO, WAIT_START_CAP_NS);
    if (go) {
        receive_members(&part, channels);
        part_run(&part, channels);
        deliver(&part, channels);
    }
    part_release(&part);
}

void play(const struct channels *channels)
{
    for (;;) {
        struct job job;
        channels_receive(channels, &job, sizeof job, 0, CONTROL_JOB, WAIT_IDLE_CAP_NS);
        if (job.stop)
            return;
        take_part(channels, &job);
    }
}
