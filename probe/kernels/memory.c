#define _POSIX_C_SOURCE 200809L

/* The four kernels that STREAM's documentation defines (McCalpin, www.cs.virginia.edu/stream), and one that only reads.
 * Each rank of the group has arrays of its own, a, b and c, which lie one behind the other and which it was the first to
 * touch. A time covers all of one array's whole lines. */

#include <mpi.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#define LINE_BYTES 64
#define SCALAR 3.0

/* What every machine has in one register; wider ones are no faster on what is not in a cache. */
typedef double pair_of_doubles __attribute__((vector_size(16), may_alias));

struct arrays {
    double *a, *b, *c;
    int64_t doubles;
};

static struct arrays arrays_of(const struct group *group)
{
    const int64_t doubles = group->message_bytes / LINE_BYTES * (LINE_BYTES / (int64_t)sizeof(double));
    double *block = (double *)(void *)group->receive;
    return (struct arrays){block, block + doubles, block + 2 * doubles, doubles};
}

typedef void array_loop(const struct arrays *arrays);

/* Keeps a compiler from making a call of a loop: what memcpy does differs between libraries. */
#define KEEP_LOOP __asm__ volatile("")

/* One line after the other, each in four steps that are written out. */
#define EACH_LINE(step)                                                                                                \
    do {                                                                                                               \
        pair_of_doubles *restrict a = (pair_of_doubles *)(void *)arrays->a;                                            \
        pair_of_doubles *restrict b = (pair_of_doubles *)(void *)arrays->b;                                            \
        pair_of_doubles *restrict c = (pair_of_doubles *)(void *)arrays->c;                                            \
        const int64_t pairs = arrays->doubles / 2;                                                                     \
        (void)a, (void)b, (void)c;                                                                                     \
        for (int64_t i = 0; i < pairs; i += 4) {                                                                       \
            KEEP_LOOP;                                                                                                 \
            step(i, 0);                                                                                                \
            step(i + 1, 1);                                                                                            \
            step(i + 2, 2);                                                                                            \
            step(i + 3, 3);                                                                                            \
        }                                                                                                              \
    } while (0)

#define COPY(i, part) c[i] = a[i]
#define SCALE(i, part) b[i] = SCALAR * c[i]
#define ADD(i, part) c[i] = a[i] + b[i]
#define TRIAD(i, part) a[i] = b[i] + SCALAR * c[i]
#define READ(i, part) sum##part += a[i]

static void copy(const struct arrays *arrays)
{
    EACH_LINE(COPY);
}

static void scale(const struct arrays *arrays)
{
    EACH_LINE(SCALE);
}

static void add(const struct arrays *arrays)
{
    EACH_LINE(ADD);
}

static void triad(const struct arrays *arrays)
{
    EACH_LINE(TRIAD);
}

/* Leaves the sum of `a` in the first number of `c`. Four sums, so that no addition waits for the one before. */
static void read(const struct arrays *arrays)
{
    pair_of_doubles sum0 = {0, 0}, sum1 = sum0, sum2 = sum0, sum3 = sum0;
    EACH_LINE(READ);
    sum0 = sum0 + sum1 + sum2 + sum3;
    if (arrays->doubles > 0)
        arrays->c[0] = sum0[0] + sum0[1];
}

static void timed(const struct group *group, int64_t count, int64_t *times_ns, array_loop *loop)
{
    const struct arrays arrays = arrays_of(group);
    for (int64_t i = 0; i < count; i++) {
        MPI_Barrier(group->comm);
        const int64_t begin = clock_ns();
        loop(&arrays);
        times_ns[i] = clock_ns() - begin;
    }
}

/* Whole numbers that all results represent exactly, other ones for each array and iteration. */
static double number(int64_t place, int64_t array, int64_t iteration)
{
    return (double)((place * INT64_C(2654435761) + array * 40503 + iteration * 9176) & 0xFFFF);
}

static void fill(const struct arrays *arrays, int64_t iteration)
{
    for (int64_t i = 0; i < arrays->doubles; i++) {
        arrays->a[i] = number(i, 0, iteration);
        arrays->b[i] = number(i, 1, iteration);
        arrays->c[i] = number(i, 2, iteration);
    }
}

static void prepare(const struct group *group)
{
    const struct arrays arrays = arrays_of(group);
    fill(&arrays, 0);
}

static void compare(double got, double wanted, int64_t place, struct wrong *wrong)
{
    if (got == wanted)
        return;
    if (wrong->first < 0)
        wrong->first = place * (int64_t)sizeof got;
    wrong->bytes += (int64_t)sizeof got;
}

typedef double result_at(int64_t place, int64_t iteration);

/* Runs `count` iterations through the loop that is timed, each with numbers of its own, and compares all of `target`. */
static void checked(const struct group *group, int64_t first, int64_t count, struct wrong *wrong, array_loop *loop,
                    char target, result_at *wanted)
{
    const struct arrays arrays = arrays_of(group);
    const double *got = target == 'a' ? arrays.a : target == 'b' ? arrays.b : arrays.c;
    for (int64_t iteration = first; iteration < first + count; iteration++) {
        fill(&arrays, iteration);
        loop(&arrays);
        for (int64_t i = 0; i < arrays.doubles; i++)
            compare(got[i], wanted(i, iteration), i, wrong);
    }
}

static double copied(int64_t i, int64_t iteration)
{
    return number(i, 0, iteration);
}

static double scaled(int64_t i, int64_t iteration)
{
    return SCALAR * number(i, 2, iteration);
}

static double added(int64_t i, int64_t iteration)
{
    return number(i, 0, iteration) + number(i, 1, iteration);
}

static double triad_of(int64_t i, int64_t iteration)
{
    return number(i, 1, iteration) + SCALAR * number(i, 2, iteration);
}

static void check_read(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    const struct arrays arrays = arrays_of(group);
    for (int64_t iteration = first; iteration < first + count && arrays.doubles > 0; iteration++) {
        fill(&arrays, iteration);
        read(&arrays);
        double sum = 0;
        for (int64_t i = 0; i < arrays.doubles; i++)
            sum += number(i, 0, iteration);
        compare(arrays.c[0], sum, 0, wrong);
    }
}

#define MEMORY_KERNEL(word, loop, target, wanted, what)                                                                \
    static void run_##loop(const struct group *group, int64_t count, int64_t *times_ns)                                \
    {                                                                                                                  \
        timed(group, count, times_ns, loop);                                                                           \
    }                                                                                                                  \
    static void check_##loop(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)             \
    {                                                                                                                  \
        checked(group, first, count, wrong, loop, target, wanted);                                                     \
    }                                                                                                                  \
    const struct kernel kernel_memory_##loop = {                                                                       \
        .name = word,                                                                                                  \
        .measures = "memory bandwidth: STREAM's " what " on arrays of message_bytes on each rank of the group",        \
        .time_is = "one pass over the arrays: the longest time of a rank of the group",                                \
        .needs = NEEDS_GROUP,                                                                                          \
        .sized = true,                                                                                                 \
        .group = {.receive = MEMORY_THREE_MESSAGES,                                                                    \
                  .run = run_##loop,                                                                                   \
                  .verify = check_##loop,                                                                              \
                  .prepare = prepare,                                                                                  \
                  .pinned = true},                                                                                     \
    }

MEMORY_KERNEL("memory_copy", copy, 'c', copied, "c = a");
MEMORY_KERNEL("memory_scale", scale, 'b', scaled, "b = 3 c");
MEMORY_KERNEL("memory_add", add, 'c', added, "c = a + b");
MEMORY_KERNEL("memory_triad", triad, 'a', triad_of, "a = b + 3 c");

static void run_read(const struct group *group, int64_t count, int64_t *times_ns)
{
    timed(group, count, times_ns, read);
}

const struct kernel kernel_memory_read = {
    .name = "memory_read",
    .measures = "memory bandwidth: the sum of an array of message_bytes on each rank of the group",
    .time_is = "one pass over the array: the longest time of a rank of the group",
    .needs = NEEDS_GROUP,
    .sized = true,
    .group = {.receive = MEMORY_THREE_MESSAGES,
              .run = run_read,
              .verify = check_read,
              .prepare = prepare,
              .pinned = true},
};
