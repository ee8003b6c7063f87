#include "kernels/kernel.h"

extern const struct kernel kernel_pingpong, kernel_oneway, kernel_bothway, kernel_barrier;

const struct kernel *const kernels[] = {
    &kernel_pingpong,
    &kernel_oneway,
    &kernel_bothway,
    &kernel_barrier,
};

const size_t kernel_count = sizeof kernels / sizeof kernels[0];
