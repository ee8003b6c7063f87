#include "verify.h"

#include <stddef.h>

#include "pair.h"
#include "pattern.h"

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

int64_t verify(const struct pair *pair, int rank, kernel_loop *loop, int64_t iterations)
{
    int64_t wrong = 0, time_ns = 0;
    for (int64_t i = 0; i < iterations; i++) {
        lay_out(pair, rank, i);
        loop(pair, 1, &time_ns);
        wrong += count_wrong(pair, rank, i);
    }
    return wrong;
}
