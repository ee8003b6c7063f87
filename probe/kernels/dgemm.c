#define _POSIX_C_SOURCE 200809L

/* The product of two square matrices by the site's BLAS, which is looked for when it is first wanted. Each matrix has
 * message_bytes. All numbers are whole and small enough that every result is exact, in whatever order a library adds.
 * The product C of A and B is compared by its rows: C r and A (B r) are equal for every vector r (Freivalds, 1977), and
 * a single wrong number of a row is always seen, since no number of r is 0. */

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#define MOST_ROWS 2048 /* sums stay far below 2^53 */

/* Fortran's DGEMM. Integers of 64 bits are read correctly by a library with 32 bits, too, on a little-endian machine;
 * the lengths of the two words come last. */
typedef void dgemm_call(const char *transa, const char *transb, const int64_t *m, const int64_t *n, const int64_t *k,
                        const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
                        const double *beta, double *c, const int64_t *ldc, size_t transa_length, size_t transb_length);

/* `family` is what the conditions of a sample say. Those of vendors are first: a site loads them on purpose. */
static const struct {
    int family;
    const char *file;
} libraries[] = {
    {1, "libmkl_rt.so.2"},    {1, "libmkl_rt.so.1"},    {1, "libmkl_rt.so"},  {2, "libarmpl_lp64.so"}, {2, "libarmpl.so"},
    {3, "libsci_gnu.so"},     {4, "libopenblas.so.0"},  {4, "libopenblas.so"}, {5, "libblis.so.4"},     {5, "libblis.so"},
    {6, "libflexiblas.so.3"}, {7, "libblas.so.3"},      {7, "libblas.so"},
};

static struct {
    bool looked_for;
    int family; /* 0: there is none */
    dgemm_call *call;
    double right[MOST_ROWS], expected[MOST_ROWS]; /* r and A (B r) */
} blas;

/* A rank keeps its own core busy, and no other. */
static void stay_alone(void)
{
    static const char *const counts[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                         "BLIS_NUM_THREADS"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        setenv(counts[i], "1", 1);
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
}

static void look_for_blas(void)
{
    if (blas.looked_for)
        return;
    blas.looked_for = true;
    stay_alone();
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && blas.call == NULL; i++) {
        void *library = dlopen(libraries[i].file, RTLD_NOW | RTLD_LOCAL);
        void *symbol = library == NULL ? NULL : dlsym(library, "dgemm_");
        memcpy(&blas.call, &symbol, sizeof symbol); /* C does not convert one into the other */
        if (symbol != NULL)
            blas.family = libraries[i].family;
        else if (library != NULL)
            dlclose(library);
    }
}

static int64_t rows_of(const struct group *group)
{
    int64_t rows = 0;
    while (rows < MOST_ROWS && (rows + 1) * (rows + 1) * (int64_t)sizeof(double) <= group->message_bytes)
        rows++;
    return rows;
}

struct matrices {
    double *a, *b, *c; /* by columns, as Fortran has them */
    int64_t rows;
};

static struct matrices matrices_of(const struct group *group)
{
    const int64_t rows = rows_of(group);
    double *block = (double *)(void *)group->receive;
    return (struct matrices){block, block + rows * rows, block + 2 * rows * rows, rows};
}

/* Whole numbers from -512 to 511. */
static double small_number(int64_t place)
{
    uint64_t z = ((uint64_t)place + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (double)(z >> 54) - 512.0;
}

/* product = matrix * vector, column by column. */
static void times_vector(const double *matrix, const double *vector, double *product, int64_t rows)
{
    memset(product, 0, (size_t)rows * sizeof *product);
    for (int64_t column = 0; column < rows; column++) {
        for (int64_t row = 0; row < rows; row++)
            product[row] += matrix[column * rows + row] * vector[column];
    }
}

static void prepare(const struct group *group)
{
    const struct matrices matrices = matrices_of(group);
    static double product[MOST_ROWS];
    look_for_blas();
    for (int64_t i = 0; i < matrices.rows * matrices.rows; i++) {
        matrices.a[i] = small_number(2 * i);
        matrices.b[i] = small_number(2 * i + 1);
    }
    for (int64_t i = 0; i < matrices.rows; i++)
        blas.right[i] = (double)(1 + i * 7 % 16);
    times_vector(matrices.b, blas.right, product, matrices.rows);
    times_vector(matrices.a, product, blas.expected, matrices.rows);
}

static void compare(const struct matrices *matrices, struct wrong *wrong)
{
    static double product[MOST_ROWS];
    times_vector(matrices->c, blas.right, product, matrices->rows);
    for (int64_t row = 0; row < matrices->rows; row++) {
        if (product[row] == blas.expected[row])
            continue;
        wrong->first = wrong->first < 0 ? row * (int64_t)sizeof *product : wrong->first;
        wrong->bytes += (int64_t)sizeof *product;
    }
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    const struct matrices all = matrices_of(group);
    const int64_t n = all.rows;
    const double one = 1.0, zero = 0.0;
    *group->library = blas.family;
    for (int64_t i = 0; i < count; i++) {
        times_ns[i] = 0;
        if (blas.call == NULL || n == 0)
            continue;
        memset(all.c, 0xFF, (size_t)(n * n) * sizeof *all.c); /* not a number: what is not computed is seen */
        const int64_t begin = clock_ns();
        blas.call("N", "N", &n, &n, &n, &one, all.a, &n, all.b, &n, &zero, all.c, &n, 1, 1);
        times_ns[i] = clock_ns() - begin;
        compare(&all, group->wrong);
    }
}

const struct kernel kernel_dgemm = {
    .name = "dgemm",
    .measures = "arithmetic of one rank's core through the site's BLAS: the product of two square matrices of "
                "message_bytes each",
    .time_is = "one call of DGEMM with a single thread, whose result is compared outside of it; 0 where no BLAS is found",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .group = {.receive = MEMORY_THREE_MESSAGES, .run = run, .prepare = prepare, .pinned = true, .compares = true},
};
