#define _POSIX_C_SOURCE 200809L

#include "clock_quality.h"

#include <stdlib.h>

#include "clock.h"

#define READS 1000
#define BATCHES 11

static int64_t claimed_resolution_ns(void)
{
    struct timespec claim;
    if (clock_getres(CLOCK_MONOTONIC, &claim) != 0)
        return 0;
    return (int64_t)claim.tv_sec * 1000000000 + claim.tv_nsec;
}

static int64_t smallest_step_ns(void)
{
    int64_t smallest = INT64_MAX;
    for (int steps = 0; steps < READS; steps++) {
        const int64_t before = clock_ns();
        int64_t step = 0;
        while (step <= 0)
            step = clock_ns() - before;
        smallest = step < smallest ? step : smallest;
    }
    return smallest;
}

static int64_t batch_ns(void)
{
    const int64_t begin = clock_ns();
    int64_t end = begin;
    for (int i = 0; i < READS; i++)
        end = clock_ns();
    return end - begin;
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

struct clock_quality clock_quality_read(void)
{
    int64_t batches[BATCHES];
    for (int i = 0; i < BATCHES; i++)
        batches[i] = batch_ns();
    qsort(batches, BATCHES, sizeof batches[0], compare);
    const int64_t claim = claimed_resolution_ns(), step = smallest_step_ns();
    return (struct clock_quality){(double)(claim > step ? claim : step) / 1e9,
                                  (double)batches[BATCHES / 2] / READS / 1e9};
}
