#ifndef SEATRIAL_KERNELS_FMA_H
#define SEATRIAL_KERNELS_FMA_H

#include <stdint.h>

/* What the arithmetic kernel multiplies and adds: whole numbers, so that every result is exact. */

#define FMA_DEPTH 32    /* columns of the first matrix, rows of the second one */
#define FMA_COLUMNS 4   /* of the second matrix and of the result */
#define FMA_ROW_PASSES 384 /* rows of vectors times passes, whatever the vectors' width: the work is the same */
#define FMA_MOST_ROWS 6
#define FMA_MOST_LANES 8
#define FMA_MOST_RESULTS (FMA_MOST_ROWS * FMA_COLUMNS * FMA_MOST_LANES)

struct fma_tables {
    _Alignas(64) double x[FMA_DEPTH * FMA_MOST_ROWS * FMA_MOST_LANES];
    _Alignas(64) double y[FMA_DEPTH * FMA_COLUMNS * FMA_MOST_LANES]; /* each number once for each lane */
    _Alignas(64) double expected[FMA_MOST_RESULTS];                  /* computed with integers alone */
};

extern struct fma_tables fma_tables;

#endif
