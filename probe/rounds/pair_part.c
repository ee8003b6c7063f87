#include "rounds/part.h"

#include <stddef.h>

#include "kernels/pair.h"
#include "kernels/pattern.h"

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

/* Runs `iterations` more through the timed loop, one at a time, each with a pattern of its own; returns how many bytes
 * reached this rank wrong. Both sides of the pair call it. */
static int64_t verify(const struct pair *pair, int rank, pair_loop *loop, int64_t iterations)
{
    int64_t wrong = 0, time_ns = 0;
    for (int64_t i = 0; i < iterations; i++) {
        lay_out(pair, rank, i);
        loop(pair, 1, &time_ns);
        wrong += count_wrong(pair, rank, i);
    }
    return wrong;
}

/* The target sends the source the number of bytes that it received wrong. */
static void settle_wrong_bytes(struct part *part, const struct pair *pair, int64_t wrong)
{
    if (part->job->index != 0) {
        MPI_Send(&wrong, sizeof wrong, MPI_BYTE, pair->partner, PAIR_WRONG_BYTES, pair->comm);
        return;
    }
    int64_t theirs = 0;
    MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, pair->partner, PAIR_WRONG_BYTES, pair->comm, MPI_STATUS_IGNORE);
    part->result->wrong_bytes = wrong + theirs;
}

void part_run_pair(struct part *part, const struct channels *channels)
{
    const struct job *job = part->job;
    pair_loop *loop = job->index == 0 ? part->kernel->pair.source : part->kernel->pair.target;
    const struct pair pair = {
        .comm = channels->work,
        .partner = job->partner,
        .message_bytes = (int)job->message_bytes,
        .window = (int)job->window,
        .slots = (int)(part->send.messages != NULL ? part->send.slots : part->receive.slots),
        .send = part->send.messages,
        .receive = part->receive.messages,
        .requests = part->requests,
        .no_statuses = MPI_STATUSES_IGNORE,
    };
    int64_t *times_ns = part->result->times_ns;
    pair_handshake(&pair);
    loop(&pair, job->warmup, times_ns);
    pair_handshake(&pair);
    loop(&pair, job->iterations, times_ns + job->warmup);
    const int64_t wrong = job->verify ? verify(&pair, channels->rank, loop, job->iterations) : 0;
    settle_wrong_bytes(part, &pair, wrong);
}
