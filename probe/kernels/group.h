#ifndef SEATRIAL_KERNELS_GROUP_H
#define SEATRIAL_KERNELS_GROUP_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* One rank's view of the set of ranks on which a kernel runs that is not a pair: a group, one rank or all ranks. */
struct group {
    MPI_Comm comm; /* these ranks and no others, in the order of the command */
    int rank, ranks;
    int message_bytes, window;
    int cpu; /* the processor on which a pinned kernel keeps this rank; -1: none */
    bool placed; /* memory lies where the kernel wants it */
    int64_t *entries_ns; /* of a kernel with arrivals: when this rank began each iteration */
    struct wrong *wrong; /* for a kernel that compares its own results */
    char *send, *receive; /* as much as the kernel declares; NULL: none */
};

#endif
