#define _POSIX_C_SOURCE 200809L

#include "rounds/conductor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/clock.h"
#include "protocol/command.h"
#include "protocol/lines.h"
#include "protocol/records.h"
#include "rounds/part.h"

struct round {
    const struct channels *channels;
    const struct measure *measure;
    const struct kernel *kernel;
    const struct seats *seats;
    struct record *record;
    struct job own_job;
    struct part own;        /* rank 0's own part, if it has one */
    struct result *arrived; /* the result being received */
};

/* A rank that could not get the memory that it needs. */
struct shortage {
    int rank;
    int64_t bytes; /* 0: there is none */
};

static struct place place_of(const struct round *round, int rank)
{
    return round->measure->sets.places[rank];
}

static bool plays(const struct round *round, int rank)
{
    return place_of(round, rank).set >= 0;
}

/* Whether the rank delivers a result. */
static bool leads(const struct round *round, int rank)
{
    return plays(round, rank) && place_of(round, rank).index == 0;
}

static const int *members_with(const struct round *round, int rank)
{
    return rank_sets_members(&round->measure->sets, place_of(round, rank).set);
}

/* Whether it is the first rank of its node that takes part. Kernels of pairs watch nothing. */
static bool watches(const struct round *round, int rank)
{
    if (round->kernel->needs == NEEDS_PAIR)
        return false;
    int other = round->seats->previous[rank];
    while (other >= 0 && !plays(round, other))
        other = round->seats->previous[other];
    return other < 0;
}

/* Where the memory of a set of ranks of one node is to lie: at the last rank's processor. */
static int32_t far_processor(const struct round *round, int rank)
{
    const int set = place_of(round, rank).set;
    const int last = members_with(round, rank)[rank_sets_size(&round->measure->sets, set) - 1];
    const bool together = round->seats->homes[last] == round->seats->homes[rank];
    return together ? round->seats->cpus[last] : -1;
}

static struct job job_for(const struct round *round, int rank)
{
    const struct measure *measure = round->measure;
    const struct place place = place_of(round, rank);
    struct job job = {
        .kernel = (int32_t)measure->kernel,
        .index = place.index,
        .size = (int32_t)rank_sets_size(&measure->sets, place.set),
        .sets = (int32_t)measure->sets.count,
        .partner = round->kernel->needs == NEEDS_PAIR ? members_with(round, rank)[1 - place.index] : -1,
        .cpu = round->seats->cpus[rank],
        .memory_cpu = round->kernel->group.far ? far_processor(round, rank) : round->seats->cpus[rank],
        .watch = watches(round, rank),
        .verify = measure->verify,
        .collect = plays(round, 0),
        .message_bytes = measure->message_bytes,
        .window = measure->window,
        .warmup = measure->warmup,
        .iterations = measure->iterations,
    };
    memcpy(job.folder, measure->folder, sizeof job.folder);
    return job;
}

static void send_jobs(const struct round *round)
{
    for (int rank = 1; rank < round->channels->ranks; rank++) {
        if (!plays(round, rank))
            continue;
        const struct job job = job_for(round, rank);
        MPI_Send(&job, sizeof job, MPI_BYTE, rank, CONTROL_JOB, round->channels->control);
    }
}

static void send_go(const struct round *round, int go)
{
    for (int rank = 1; rank < round->channels->ranks; rank++)
        if (plays(round, rank))
            MPI_Send(&go, sizeof go, MPI_BYTE, rank, CONTROL_GO, round->channels->control);
}

/* The ranks of a group must know each other to form a communicator. */
static void send_members(struct round *round)
{
    if (round->kernel->needs != NEEDS_GROUP)
        return;
    for (int rank = 0; rank < round->channels->ranks; rank++) {
        if (!plays(round, rank))
            continue;
        const int *members = members_with(round, rank);
        const size_t bytes = rank_sets_size(&round->measure->sets, place_of(round, rank).set) * sizeof *members;
        if (rank == 0)
            memcpy(round->own.members, members, bytes);
        else
            MPI_Send(members, (int)bytes, MPI_BYTE, rank, CONTROL_MEMBERS, round->channels->control);
    }
}

static void send_collect(const struct round *round)
{
    for (int rank = 1; rank < round->channels->ranks; rank++)
        if (leads(round, rank))
            MPI_Send(NULL, 0, MPI_BYTE, rank, CONTROL_COLLECT, round->channels->control);
}

/* How many ranks the largest set has. */
static size_t largest_set(const struct rank_sets *sets)
{
    size_t most = 0;
    for (size_t set = 0; set < sets->count; set++)
        if (rank_sets_size(sets, (int)set) > most)
            most = rank_sets_size(sets, (int)set);
    return most;
}

/* Also reserves the memory for every record of the round, so that none fails once it is measured. */
static int64_t prepare_self(struct round *round)
{
    const struct measure *measure = round->measure;
    const int64_t times = measure->warmup + measure->iterations;
    const size_t ranks = largest_set(&measure->sets), result = result_bytes(times, ranks);
    const size_t text = record_bytes((size_t)times + RANK_NUMBERS * ranks + CONDITION_NUMBERS);
    round->arrived = malloc(result);
    if (round->arrived == NULL || !record_reserve(round->record, text))
        return (int64_t)(result + text);
    if (!plays(round, 0))
        return 0;
    round->own_job = job_for(round, 0);
    return part_prepare(&round->own, &round->own_job);
}

static struct shortage prepare_all(struct round *round)
{
    struct shortage shortage = {0, prepare_self(round)};
    for (int rank = 1; rank < round->channels->ranks; rank++) {
        int64_t missing = 0;
        if (!plays(round, rank))
            continue;
        channels_receive(round->channels, &missing, sizeof missing, rank, CONTROL_READY, WAIT_START_CAP_NS);
        if (missing > 0 && shortage.bytes == 0)
            shortage = (struct shortage){rank, missing};
    }
    return shortage;
}

static void print_sample(const struct round *round, int leader, struct result *result)
{
    const size_t ranks = rank_sets_size(&round->measure->sets, place_of(round, leader).set);
    const struct sample sample = {
        .kernel = round->kernel,
        .measure = round->measure,
        .set = place_of(round, leader).set,
        .times_ns = result->numbers,
        .verified = result->verified,
        .wrong = result_wrong(result),
        .arrivals = round->kernel->group.arrivals ? result_arrivals(result, ranks) : NULL,
        .conditions = round->kernel->needs == NEEDS_PAIR ? NULL : &result->conditions,
        .waited_ns = round->kernel->needs == NEEDS_PAIR ? result->waited_ns : NULL,
    };
    compose_sample(round->record, &sample);
    channels_print(round->record);
}

static void collect_one(const struct round *round)
{
    const MPI_Status status = channels_await(round->channels, MPI_ANY_SOURCE, CONTROL_RESULT, WAIT_IDLE_CAP_NS);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    MPI_Recv(round->arrived, bytes, MPI_BYTE, status.MPI_SOURCE, CONTROL_RESULT, round->channels->control,
             MPI_STATUS_IGNORE);
    print_sample(round, status.MPI_SOURCE, round->arrived);
}

static void measure_all(struct round *round)
{
    size_t awaited = round->measure->sets.count;
    compose_start(round->record, round->measure->id);
    channels_print(round->record);
    send_go(round, 1);
    send_members(round);
    if (plays(round, 0)) {
        part_run(&round->own, round->channels);
        send_collect(round);
    }
    if (leads(round, 0)) {
        print_sample(round, 0, round->own.result);
        awaited--;
    }
    for (; awaited > 0; awaited--)
        collect_one(round);
    compose_end(round->record, round->measure->id, (int64_t)round->measure->sets.count);
    channels_print(round->record);
}

/* Has all sets measure at once and prints start, one sample per set in the order in which they arrive, and end.
 * False, with nothing printed and all ranks idle again, when a rank has no memory for its part. */
static bool conduct_round(const struct channels *channels, const struct seats *seats, const struct measure *measure,
                          struct record *record, struct refusal *refusal)
{
    const struct kernel *kernel = kernels[measure->kernel];
    struct round round = {
        .channels = channels, .measure = measure, .kernel = kernel, .seats = seats, .record = record};
    send_jobs(&round);
    const struct shortage shortage = prepare_all(&round);
    if (shortage.bytes == 0) {
        measure_all(&round);
    } else {
        send_go(&round, 0);
        refusal->id = measure->id;
        refuse(refusal, "rank %d has no memory for its part: it takes %" PRId64 " bytes", shortage.rank,
               shortage.bytes);
    }
    part_release(&round.own);
    free(round.arrived);
    return shortage.bytes == 0;
}

static void print_refusal(struct record *record, const struct refusal *refusal)
{
    compose_error(record, refusal);
    channels_print(record);
}

/* False when there is nothing more to do. */
static bool obey(const struct channels *channels, const struct seats *seats, const char *line, size_t length,
                 struct record *record)
{
    const struct world world = {channels->ranks, kernels, kernel_count};
    struct command command;
    struct refusal refusal;
    if (!command_read(line, length, &world, &command, &refusal)) {
        print_refusal(record, &refusal);
        return true;
    }
    if (command.kind == COMMAND_STOP)
        return false;
    if (!conduct_round(channels, seats, &command.measure, record, &refusal))
        print_refusal(record, &refusal);
    command_free(&command);
    return true;
}

static bool obey_next(const struct channels *channels, const struct seats *seats, struct lines *lines,
                      struct record *record)
{
    const char *line = NULL;
    size_t length = 0;
    struct refusal refusal = {.id = 0};
    switch (lines_next(lines, &line, &length)) {
    case LINE_READ:
        return obey(channels, seats, line, length, record);
    case LINE_TOO_LONG:
        refuse(&refusal, "a line of more than %zu bytes", LINE_BYTES_MAX);
        print_refusal(record, &refusal);
        return true;
    case LINE_NO_MEMORY:
        refuse(&refusal, "no memory on rank 0 for a line this long");
        print_refusal(record, &refusal);
        return true;
    case LINE_END:
        break;
    }
    return false;
}

/* Rank 0 reads only between rounds, so it may sleep in the read: no message needs its help then. */
void conduct(const struct channels *channels, const struct seats *seats, struct record *record)
{
    const struct job stop = {.stop = 1};
    struct lines lines = lines_open(STDIN_FILENO);
    while (obey_next(channels, seats, &lines, record))
        continue;
    lines_free(&lines);
    for (int rank = 1; rank < channels->ranks; rank++)
        MPI_Send(&stop, sizeof stop, MPI_BYTE, rank, CONTROL_JOB, channels->control);
    compose_stopped(record);
    channels_print(record);
}
