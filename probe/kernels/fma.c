#define _POSIX_C_SOURCE 200809L

/* Arithmetic: multiplications and additions of doubles as the innermost loops of a matrix product have them, all data in
 * registers and the first-level cache. message_bytes is the width of the vectors: 16, 32 or 64. All numbers are whole
 * and small enough that sums are exact, so that the result of every block is known, and a wrong one is a wrong result of
 * the processor or of its memory. */

#include "kernels/fma.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 8)
#include <immintrin.h>
#define HAS_WIDE 1
#else
#define HAS_WIDE 0
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
#if defined(__aarch64__) && defined(__linux__) && (__GNUC__ >= 11 || __clang_major__ >= 17)
#include <sys/auxv.h>
#define HAS_SVE 1
#else
#define HAS_SVE 0
#endif

struct fma_tables fma_tables;

/* One block: writes rows * FMA_COLUMNS vectors of results. */
typedef void fma_block(double *results);

struct variant {
    int bytes, rows;
    fma_block *block; /* NULL: this compiler or this processor does not have it */
};

/* The number of a row of vectors and of a column is part of a name, so that compilers keep each sum in a register. */
#define ROWS_2(step) step(0) step(1)
#define ROWS_3(step) ROWS_2(step) step(2)
#define ROWS_6(step) ROWS_3(step) step(3) step(4) step(5)
#define ZERO(i) vector s##i##0 = zero, s##i##1 = zero, s##i##2 = zero, s##i##3 = zero;
#define STEP(i)                                                                                                        \
    do {                                                                                                               \
        const vector x = xs[k * rows + i];                                                                             \
        s##i##0 = MULTIPLY_ADD(x, y0, s##i##0), s##i##1 = MULTIPLY_ADD(x, y1, s##i##1);                                \
        s##i##2 = MULTIPLY_ADD(x, y2, s##i##2), s##i##3 = MULTIPLY_ADD(x, y3, s##i##3);                                \
    } while (0);
#define STORE(i) out[4 * i] = s##i##0, out[4 * i + 1] = s##i##1, out[4 * i + 2] = s##i##2, out[4 * i + 3] = s##i##3;
#define BLOCK(ROWS, row_count)                                                                                         \
    {                                                                                                                  \
        const int rows = row_count;                                                                                    \
        const vector zero = {0};                                                                                       \
        const vector *xs = (const vector *)(const void *)fma_tables.x;                                                 \
        const vector *ys = (const vector *)(const void *)fma_tables.y;                                                 \
        vector *out = (vector *)(void *)results;                                                                       \
        ROWS(ZERO)                                                                                                     \
        for (int pass = 0; pass < FMA_ROW_PASSES / rows; pass++) {                                                     \
            __asm__ volatile("" ::: "memory"); /* else a compiler might multiply by the number of passes */            \
            for (int k = 0; k < FMA_DEPTH; k++) {                                                                      \
                const vector y0 = ys[4 * k], y1 = ys[4 * k + 1], y2 = ys[4 * k + 2], y3 = ys[4 * k + 3];               \
                ROWS(STEP)                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        ROWS(STORE)                                                                                                    \
    }

#if defined(__aarch64__)
#define MULTIPLY_ADD(x, y, sum) vfmaq_f64(sum, x, y)
static void block_16(double *results)
{
    typedef float64x2_t vector;
    BLOCK(ROWS_6, 6)
}
#define ROWS_16 6
#else
#define MULTIPLY_ADD(x, y, sum) ((sum) + (x) * (y))
static void block_16(double *results)
{
    typedef double vector __attribute__((vector_size(16), may_alias));
    BLOCK(ROWS_2, 2)
}
#define ROWS_16 2
#endif
#undef MULTIPLY_ADD

#if HAS_WIDE
#define MULTIPLY_ADD(x, y, sum) _mm256_fmadd_pd(x, y, sum)
__attribute__((target("avx2,fma"))) static void block_32(double *results)
{
    typedef __m256d vector;
    BLOCK(ROWS_3, 3)
}
#undef MULTIPLY_ADD
#define MULTIPLY_ADD(x, y, sum) _mm512_fmadd_pd(x, y, sum)
__attribute__((target("avx512f"))) static void block_64(double *results)
{
    typedef __m512d vector;
    BLOCK(ROWS_6, 6)
}
#undef MULTIPLY_ADD
#endif

#if HAS_SVE
#include <arm_sve.h>
#define SVE __attribute__((target("+sve")))
#undef ZERO
#undef STEP
#undef STORE
#define ZERO(i) svfloat64_t s##i##0 = zero, s##i##1 = zero, s##i##2 = zero, s##i##3 = zero;
#define STEP(i)                                                                                                        \
    do {                                                                                                               \
        const svfloat64_t x = svld1_f64(all, fma_tables.x + (k * 6 + i) * lanes);                                      \
        s##i##0 = svmla_f64_x(all, s##i##0, x, y0), s##i##1 = svmla_f64_x(all, s##i##1, x, y1);                        \
        s##i##2 = svmla_f64_x(all, s##i##2, x, y2), s##i##3 = svmla_f64_x(all, s##i##3, x, y3);                        \
    } while (0);
#define STORE(i)                                                                                                       \
    svst1_f64(all, results + (4 * i) * lanes, s##i##0), svst1_f64(all, results + (4 * i + 1) * lanes, s##i##1);        \
    svst1_f64(all, results + (4 * i + 2) * lanes, s##i##2), svst1_f64(all, results + (4 * i + 3) * lanes, s##i##3);

/* Vectors as wide as this processor has them. */
SVE static void block_sve(double *results)
{
    const svbool_t all = svptrue_b64();
    const svfloat64_t zero = svdup_n_f64(0);
    const int64_t lanes = (int64_t)svcntd();
    ROWS_6(ZERO)
    for (int pass = 0; pass < FMA_ROW_PASSES / 6; pass++) {
        __asm__ volatile("" ::: "memory");
        for (int k = 0; k < FMA_DEPTH; k++) {
            const double *ys = fma_tables.y + 4 * k * lanes;
            const svfloat64_t y0 = svld1_f64(all, ys), y1 = svld1_f64(all, ys + lanes);
            const svfloat64_t y2 = svld1_f64(all, ys + 2 * lanes), y3 = svld1_f64(all, ys + 3 * lanes);
            ROWS_6(STEP)
        }
    }
    ROWS_6(STORE)
}

SVE static int sve_bytes(void)
{
    return (int)svcntb();
}
#endif

static struct variant variant_of(int bytes)
{
    struct variant variant = {bytes, ROWS_16, bytes == 16 ? block_16 : NULL};
#if HAS_WIDE
    __builtin_cpu_init();
    if (bytes == 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        variant = (struct variant){32, 3, block_32};
    if (bytes == 64 && __builtin_cpu_supports("avx512f"))
        variant = (struct variant){64, 6, block_64};
#endif
#if HAS_SVE
    const unsigned long sve = 1UL << 22; /* HWCAP_SVE */
    if (bytes > 16 && bytes <= 64 && (getauxval(AT_HWCAP) & sve) != 0 && sve_bytes() == bytes)
        variant = (struct variant){bytes, 6, block_sve};
#endif
    return variant;
}

/* Numbers of 20 bits: 6144 products of two of them add up to less than 2^53. */
static int64_t small_number(uint64_t place)
{
    uint64_t z = (place + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (int64_t)(z >> 45) - (INT64_C(1) << 18);
}

static int64_t x_at(int64_t k, int64_t place)
{
    return small_number((uint64_t)(k * FMA_MOST_RESULTS + place));
}

static int64_t y_at(int64_t k, int64_t column)
{
    return small_number((uint64_t)(FMA_DEPTH * FMA_MOST_RESULTS + k * FMA_COLUMNS + column));
}

static void prepare(const struct group *group)
{
    const struct variant variant = variant_of(group->message_bytes);
    const int64_t lanes = variant.bytes / (int64_t)sizeof(double), width = variant.rows * lanes;
    if (variant.block == NULL)
        return;
    for (int64_t k = 0; k < FMA_DEPTH; k++) {
        for (int64_t i = 0; i < width; i++)
            fma_tables.x[k * width + i] = (double)x_at(k, i);
        for (int64_t i = 0; i < FMA_COLUMNS * lanes; i++)
            fma_tables.y[k * FMA_COLUMNS * lanes + i] = (double)y_at(k, i / lanes);
    }
    for (int64_t i = 0; i < width * FMA_COLUMNS; i++) {
        const int64_t column = i / lanes % FMA_COLUMNS, place = i / (lanes * FMA_COLUMNS) * lanes + i % lanes;
        int64_t sum = 0;
        for (int64_t k = 0; k < FMA_DEPTH; k++)
            sum += x_at(k, place) * y_at(k, column);
        fma_tables.expected[i] = (double)(sum * (FMA_ROW_PASSES / variant.rows));
    }
}

static void compare(const double *results, int64_t count, struct wrong *wrong)
{
    if (memcmp(results, fma_tables.expected, (size_t)count * sizeof *results) == 0)
        return;
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(&results[i], &fma_tables.expected[i], sizeof *results) == 0)
            continue;
        wrong->first = wrong->first < 0 ? i * (int64_t)sizeof *results : wrong->first;
        wrong->bytes += (int64_t)sizeof *results;
    }
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    const struct variant variant = variant_of(group->message_bytes);
    const int64_t numbers = variant.rows * FMA_COLUMNS * (variant.bytes / (int64_t)sizeof(double));
    _Alignas(64) double results[FMA_MOST_RESULTS];
    for (int64_t i = 0; i < count; i++) {
        times_ns[i] = 0;
        if (variant.block == NULL)
            continue;
        const int64_t begin = clock_ns();
        for (int block = 0; block < group->window; block++) {
            variant.block(results);
            compare(results, numbers, group->wrong);
        }
        times_ns[i] = clock_ns() - begin;
    }
}

const struct kernel kernel_fma = {
    .name = "fma",
    .measures = "arithmetic of one rank's core: multiplications and additions of doubles in vectors of message_bytes",
    .time_is = "window blocks of 12288 * message_bytes operations, each compared with its known result; 0 where the "
               "processor or the compiler has no such vectors",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .windowed = true,
    .group = {.run = run, .prepare = prepare, .pinned = true, .compares = true},
};
