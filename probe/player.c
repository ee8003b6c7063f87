#include "player.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pair.h"
#include "verify.h"
#include "wait.h"

static bool sends(const struct player *player)
{
    return player->job->source || player->kernel->answers;
}

static bool receives(const struct player *player)
{
    return !player->job->source || player->kernel->answers;
}

int64_t player_prepare(struct player *player, const struct job *job)
{
    *player = (struct player){.job = job, .kernel = kernels[job->kernel]};
    const int directions = sends(player) + receives(player);
    const int64_t budget = BUFFERS_BUDGET_BYTES / directions;
    const size_t times = result_bytes(job->warmup, job->iterations);
    const int64_t needed =
        buffers_plan(&player->send, job->message_bytes, job->window, budget) * directions + (int64_t)times;
    player->requests = malloc(2 * (size_t)job->window * sizeof *player->requests);
    player->result = malloc(times);
    if (player->requests == NULL || player->result == NULL)
        return needed;
    memset(player->result, 0, times);
    if (sends(player) && !buffers_open(&player->send, job->message_bytes, job->window, budget))
        return needed;
    if (receives(player) && !buffers_open(&player->receive, job->message_bytes, job->window, budget))
        return needed;
    return 0;
}

void player_release(struct player *player)
{
    buffers_close(&player->send);
    buffers_close(&player->receive);
    free(player->requests);
    free(player->result);
    *player = (struct player){0};
}

/* The target tells the source how many bytes arrived wrong. */
static void settle_wrong_bytes(struct player *player, const struct pair *pair, int64_t wrong)
{
    if (!player->job->source) {
        MPI_Send(&wrong, sizeof wrong, MPI_BYTE, pair->partner, PAIR_WRONG_BYTES, pair->comm);
        return;
    }
    int64_t theirs = 0;
    MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, pair->partner, PAIR_WRONG_BYTES, pair->comm, MPI_STATUS_IGNORE);
    player->result->wrong_bytes = wrong + theirs;
}

void player_run(struct player *player, const struct links *links)
{
    const struct job *job = player->job;
    kernel_loop *loop = job->source ? player->kernel->source : player->kernel->target;
    const struct pair pair = {
        .comm = links->pairs,
        .partner = job->partner,
        .message_bytes = (int)job->message_bytes,
        .window = (int)job->window,
        .slots = (int)(sends(player) ? player->send.slots : player->receive.slots),
        .send = player->send.messages,
        .receive = player->receive.messages,
        .requests = player->requests,
        .no_statuses = MPI_STATUSES_IGNORE,
    };
    int64_t *times_ns = player->result->times_ns;
    pair_handshake(&pair);
    loop(&pair, job->warmup, times_ns);
    pair_handshake(&pair);
    loop(&pair, job->iterations, times_ns + job->warmup);
    const int64_t wrong = job->verify ? verify(&pair, links->rank, loop, job->iterations) : 0;
    settle_wrong_bytes(player, &pair, wrong);
}

static void deliver(const struct player *player, const struct links *links)
{
    const struct job *job = player->job;
    if (!job->source)
        return;
    if (job->collect)
        links_receive(links, NULL, 0, 0, CONTROL_COLLECT, WAIT_IDLE_CAP_NS);
    links_send(links, player->result, (int)result_bytes(job->warmup, job->iterations), 0, CONTROL_RESULT);
}

static void take_part(const struct links *links, const struct job *job)
{
    struct player player;
    int go = 0;
    const int64_t missing = player_prepare(&player, job);
    MPI_Send(&missing, sizeof missing, MPI_BYTE, 0, CONTROL_READY, links->control);
    links_receive(links, &go, sizeof go, 0, CONTROL_GO, WAIT_START_CAP_NS);
    if (go) {
        player_run(&player, links);
        deliver(&player, links);
    }
    player_release(&player);
}

void play(const struct links *links)
{
    for (;;) {
        struct job job;
        links_receive(links, &job, sizeof job, 0, CONTROL_JOB, WAIT_IDLE_CAP_NS);
        if (job.stop)
            return;
        take_part(links, &job);
    }
}
