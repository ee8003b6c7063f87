#ifndef SEATRIAL_KERNELS_KERNEL_H
#define SEATRIAL_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair;

/* Runs `count` iterations of one side of a pair; a side that times writes one time an iteration. */
typedef void kernel_loop(const struct pair *pair, int64_t count, int64_t *times_ns);

/* What a kernel is: one declaration in one file. */
struct kernel {
    const char *name;
    const char *measures;
    const char *time_is;
    bool windowed; /* takes a window above 1 */
    bool answers;  /* the target sends messages of the same size back */
    kernel_loop *source;
    kernel_loop *target;
};

/* All kernels, in table.c; a kernel's place here is its number between ranks. */
extern const struct kernel *const kernels[];
extern const size_t kernel_count;

#endif
