#define _POSIX_C_SOURCE 200809L

#include "rounds/player.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/pair.h"
#include "kernels/pattern.h"

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

/* Messages that share a slot carry the same bytes, so that their order of arrival does not matter. */
static void lay_out(const struct pair *pair, int rank, int64_t iteration)
{
    const size_t length = (size_t)pair->message_bytes;
    for (int slot = 0; slot < pair->slots; slot++) {
        if (pair->send != NULL)
            pattern_fill(pair->send[slot], length, pattern_seed(rank, pair->partner, slot, iteration));
        if (pair->receive != NULL)
            pattern_spoil(pair->receive[slot], length, pattern_seed(pair->partner, rank, slot, iteration));
    }
}

static int64_t count_wrong(const struct pair *pair, int rank, int64_t iteration)
{
    size_t wrong = 0;
    if (pair->receive == NULL)
        return 0;
    for (int slot = 0; slot < pair->slots; slot++)
        wrong += pattern_wrong_bytes(pair->receive[slot], (size_t)pair->message_bytes,
                                     pattern_seed(pair->partner, rank, slot, iteration));
    return (int64_t)wrong;
}

/* Runs `iterations` more through the same loop after the timed ones, one at a time, each with a pattern of its own;
 * returns how many bytes reached this rank wrong. Both sides of the pair call it. */
static int64_t verify(const struct pair *pair, int rank, kernel_loop *loop, int64_t iterations)
{
    int64_t wrong = 0, time_ns = 0;
    for (int64_t i = 0; i < iterations; i++) {
        lay_out(pair, rank, i);
        loop(pair, 1, &time_ns);
        wrong += count_wrong(pair, rank, i);
    }
    return wrong;
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

void player_run(struct player *player, const struct channels *channels)
{
    const struct job *job = player->job;
    kernel_loop *loop = job->source ? player->kernel->source : player->kernel->target;
    const struct pair pair = {
        .comm = channels->work,
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
    const int64_t wrong = job->verify ? verify(&pair, channels->rank, loop, job->iterations) : 0;
    settle_wrong_bytes(player, &pair, wrong);
}

static void deliver(const struct player *player, const struct channels *channels)
{
    const struct job *job = player->job;
    if (!job->source)
        return;
    if (job->collect)
        channels_receive(channels, NULL, 0, 0, CONTROL_COLLECT, WAIT_IDLE_CAP_NS);
    channels_send(channels, player->result, (int)result_bytes(job->warmup, job->iterations), 0, CONTROL_RESULT);
}

static void take_part(const struct channels *channels, const struct job *job)
{
    struct player player;
    int go = 0;
    const int64_t missing = player_prepare(&player, job);
    MPI_Send(&missing, sizeof missing, MPI_BYTE, 0, CONTROL_READY, channels->control);
    channels_receive(channels, &go, sizeof go, 0, CONTROL_GO, WAIT_START_CAP_NS);
    if (go) {
        player_run(&player, channels);
        deliver(&player, channels);
    }
    player_release(&player);
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
