#ifndef SEATRIAL_KERNELS_GROUP_H
#define SEATRIAL_KERNELS_GROUP_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* The folder in which a kernel writes files, and how that went on this rank. */
struct storage {
    const char *folder;
    int64_t failed; /* errno of the first call that failed; 0: none did */
    int64_t cached; /* 1: the file system refuses O_DIRECT, so that data go through the page cache */
};

/* One rank's view of the set of ranks on which a kernel runs that is not a pair: a group, one rank or all ranks. */
struct group {
    MPI_Comm comm; /* these ranks and no others, in the order of the command */
    int rank, ranks;
    int message_bytes, window;
    int cpu; /* the processor on which a pinned kernel keeps this rank; -1: none */
    bool placed; /* memory lies where the kernel wants it */
    int64_t *entries_ns; /* of a kernel with arrivals: when this rank began each iteration */
    struct storage *storage; /* for a kernel that declares `stores` */
    int64_t *library; /* for a kernel that calls one: which it found; 0: none */
    struct wrong *wrong; /* for a kernel that compares its own results */
    char *send, *receive; /* as much as the kernel declares; NULL: none */
};

#endif
