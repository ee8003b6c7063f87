#ifndef SEATRIAL_RESULT_H
#define SEATRIAL_RESULT_H

#include <stddef.h>
#include <stdint.h>

/* What a source hands back; travels between ranks as bytes. */
struct result {
    int64_t wrong_bytes;
    int64_t times_ns[]; /* those of the warm-up, then those of the iterations */
};

static inline size_t result_bytes(int64_t warmup, int64_t iterations)
{
    return sizeof(struct result) + (size_t)(warmup + iterations) * sizeof(int64_t);
}

#endif
