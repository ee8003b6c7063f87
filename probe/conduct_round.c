#include "conduct_round.h"

#include <inttypes.h>
#include <stdlib.h>

#include "kernels.h"
#include "output.h"
#include "player.h"
#include "records.h"
#include "wait.h"

struct round {
    const struct links *links;
    const struct measure *measure;
    struct record *record;
    struct job own_job;
    struct player own;      /* rank 0's own part, if it has one */
    struct result *arrived; /* the result being received */
};

/* A rank that could not get the memory it needs. */
struct shortage {
    int rank;
    int64_t bytes; /* 0: there is none */
};

static bool plays(const struct round *round, int rank)
{
    return round->measure->roles[rank].kind != ROLE_IDLE;
}

static struct job job_for(const struct round *round, int rank)
{
    const struct measure *measure = round->measure;
    return (struct job){
        .kernel = (int32_t)measure->kernel,
        .source = measure->roles[rank].kind == ROLE_SOURCE,
        .partner = measure->roles[rank].partner,
        .verify = measure->verify,
        .collect = plays(round, 0),
        .message_bytes = measure->message_bytes,
        .window = measure->window,
        .warmup = measure->warmup,
        .iterations = measure->iterations,
    };
}

static void send_jobs(const struct round *round)
{
    for (int rank = 1; rank < round->links->ranks; rank++) {
        const struct job job = job_for(round, rank);
        if (plays(round, rank))
            MPI_Send(&job, sizeof job, MPI_BYTE, rank, CONTROL_JOB, round->links->control);
    }
}

static void send_go(const struct round *round, int go)
{
    for (int rank = 1; rank < round->links->ranks; rank++)
        if (plays(round, rank))
            MPI_Send(&go, sizeof go, MPI_BYTE, rank, CONTROL_GO, round->links->control);
}

static void send_collect(const struct round *round)
{
    for (int rank = 1; rank < round->links->ranks; rank++)
        if (round->measure->roles[rank].kind == ROLE_SOURCE)
            MPI_Send(NULL, 0, MPI_BYTE, rank, CONTROL_COLLECT, round->links->control);
}

/* Also makes sure of the memory for every record of the round, so that none fails once measured. */
static int64_t prepare_self(struct round *round)
{
    const struct measure *measure = round->measure;
    const size_t result = result_bytes(measure->warmup, measure->iterations);
    const size_t text = record_bytes((size_t)(measure->warmup + measure->iterations));
    round->arrived = malloc(result);
    if (round->arrived == NULL || !record_reserve(round->record, text))
        return (int64_t)(result + text);
    if (!plays(round, 0))
        return 0;
    round->own_job = job_for(round, 0);
    return player_prepare(&round->own, &round->own_job);
}

static struct shortage prepare_all(struct round *round)
{
    struct shortage shortage = {0, prepare_self(round)};
    for (int rank = 1; rank < round->links->ranks; rank++) {
        int64_t missing = 0;
        if (!plays(round, rank))
            continue;
        links_receive(round->links, &missing, sizeof missing, rank, CONTROL_READY, WAIT_START_CAP_NS);
        if (missing > 0 && shortage.bytes == 0)
            shortage = (struct shortage){rank, missing};
    }
    return shortage;
}

static void print_sample(const struct round *round, int source, const struct result *result)
{
    const struct sample sample = {kernels[round->measure->kernel], round->measure, source, result};
    compose_sample(round->record, &sample);
    output_print(round->record);
}

static void collect_one(const struct round *round)
{
    const MPI_Status status = links_await(round->links, MPI_ANY_SOURCE, CONTROL_RESULT, WAIT_IDLE_CAP_NS);
    const int bytes = (int)result_bytes(round->measure->warmup, round->measure->iterations);
    MPI_Recv(round->arrived, bytes, MPI_BYTE, status.MPI_SOURCE, CONTROL_RESULT, round->links->control,
             MPI_STATUS_IGNORE);
    print_sample(round, status.MPI_SOURCE, round->arrived);
}

static void measure_all(struct round *round)
{
    size_t awaited = round->measure->pair_count;
    compose_start(round->record, round->measure->id);
    output_print(round->record);
    send_go(round, 1);
    if (plays(round, 0)) {
        player_run(&round->own, round->links);
        send_collect(round);
    }
    if (round->measure->roles[0].kind == ROLE_SOURCE) {
        print_sample(round, 0, round->own.result);
        awaited--;
    }
    for (; awaited > 0; awaited--)
        collect_one(round);
    compose_end(round->record, round->measure->id, (int64_t)round->measure->pair_count);
    output_print(round->record);
}

bool conduct_round(const struct links *links, const struct measure *measure, struct record *record,
                   struct refusal *refusal)
{
    struct round round = {.links = links, .measure = measure, .record = record};
    send_jobs(&round);
    const struct shortage shortage = prepare_all(&round);
    if (shortage.bytes == 0) {
        measure_all(&round);
    } else {
        send_go(&round, 0);
        refusal->id = measure->id;
        fault_set(&refusal->fault, "rank %d has no memory for its part: it takes %" PRId64 " bytes", shortage.rank,
                  shortage.bytes);
    }
    player_release(&round.own);
    free(round.arrived);
    return shortage.bytes == 0;
}
