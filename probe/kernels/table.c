#include "kernels/kernel.h"

extern const struct kernel kernel_pingpong, kernel_oneway, kernel_barrier;
extern const struct kernel kernel_memory_copy, kernel_memory_scale, kernel_memory_add, kernel_memory_triad;
extern const struct kernel kernel_memory_read, kernel_chase, kernel_fma, kernel_noise_work, kernel_noise_detour;
extern const struct kernel kernel_pipe_switch, kernel_pipe_wake, kernel_timer_wake, kernel_time_slice, kernel_chase_far;
extern const struct kernel kernel_allreduce, kernel_alltoall, kernel_dgemm;
extern const struct kernel kernel_storage_write, kernel_storage_read, kernel_storage_files;

const struct kernel *const kernels[] = {
    &kernel_pingpong,
    &kernel_oneway,
    &kernel_barrier,
    &kernel_memory_copy,
    &kernel_memory_scale,
    &kernel_memory_add,
    &kernel_memory_triad,
    &kernel_memory_read,
    &kernel_chase,
    &kernel_fma,
    &kernel_noise_work,
    &kernel_noise_detour,
    &kernel_pipe_switch,
    &kernel_pipe_wake,
    &kernel_timer_wake,
    &kernel_time_slice,
    &kernel_chase_far,
    &kernel_allreduce,
    &kernel_alltoall,
    &kernel_storage_write,
    &kernel_storage_read,
    &kernel_storage_files,
    &kernel_dgemm,
};

const size_t kernel_count = sizeof kernels / sizeof kernels[0];
