#include "rounds/part.h"

#include <stddef.h>

#include "host/waiting.h"
#include "kernels/pair.h"
#include "kernels/pattern.h"

/* Which pattern the iterations carry: one before the warm-up, those that are timed, and all that follow these. */
enum { FIRST, TIMED, MORE };

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

static void compare(const struct pair *pair, int rank, int64_t iteration, struct wrong *wrong)
{
    for (int slot = 0; pair->receive != NULL && slot < pair->slots; slot++)
        pattern_compare(pair->receive[slot], (size_t)pair->message_bytes,
                        pattern_seed(pair->partner, rank, slot, iteration), wrong);
}

/* Runs `count` more iterations through the timed loop, one at a time, each with a pattern of its own. Both sides of the
 * pair call it. */
static void verify(const struct pair *pair, int rank, pair_loop *loop, int64_t first, int64_t count,
                   struct wrong *wrong)
{
    int64_t time_ns = 0;
    for (int64_t i = 0; i < count; i++) {
        lay_out(pair, rank, first + i);
        loop(pair, 1, &time_ns);
        compare(pair, rank, first + i, wrong);
    }
}

/* What one side knows besides the times. */
struct side {
    struct wrong wrong;
    int64_t waited_ns; /* while the iterations ran */
};

/* Leaves with the source what both sides know. */
static void settle(struct part *part, const struct pair *pair, struct side own)
{
    struct side other;
    if (part->job->index != 0) {
        MPI_Send(&own, sizeof own, MPI_BYTE, pair->partner, PAIR_SIDE, pair->comm);
        return;
    }
    MPI_Recv(&other, sizeof other, MPI_BYTE, pair->partner, PAIR_SIDE, pair->comm, MPI_STATUS_IGNORE);
    result_wrong(part->result)[0] = own.wrong;
    result_wrong(part->result)[1] = other.wrong;
    part->result->waited_ns[0] = own.waited_ns;
    part->result->waited_ns[1] = other.waited_ns;
}

/* Everything that is verified lies outside of the two loops that are timed. The pattern that the timed messages carry is
 * laid out before the warm-up, where the buffers were written to anyway, and what the last of them left is compared
 * when all times are known. */
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
    const enum verification verification = job->verify;
    struct side own = {.wrong = NOTHING_WRONG};
    int64_t *times_ns = part->result->numbers;
    if (compares_first(job))
        verify(&pair, channels->rank, loop, FIRST, 1, &own.wrong);
    if (verification != VERIFY_NONE)
        lay_out(&pair, channels->rank, TIMED);
    pair_handshake(&pair);
    loop(&pair, job->warmup, times_ns);
    const int64_t waited_before_ns = waited_ns();
    pair_handshake(&pair);
    loop(&pair, job->iterations, times_ns + job->warmup);
    own.waited_ns = waited_between(waited_before_ns, waited_ns());
    if (verification != VERIFY_NONE)
        compare(&pair, channels->rank, TIMED, &own.wrong);
    if (verification == VERIFY_ALL)
        verify(&pair, channels->rank, loop, MORE, job->iterations, &own.wrong);
    settle(part, &pair, own);
}
