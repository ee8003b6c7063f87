#ifndef SEATRIAL_KERNELS_PAIR_H
#define SEATRIAL_KERNELS_PAIR_H

#include <mpi.h>
#include <stddef.h>

/* One side of a pair as a kernel sees it. Each message of a window has its place in `send` and `receive`;
 * the array of a direction in which this side moves nothing is NULL. Message m lies where m - slots lies. */
struct pair {
    MPI_Comm comm;
    int partner;
    int message_bytes;
    int window;
    int slots; /* at most window */
    char **send;
    char **receive;
    MPI_Request *requests; /* window */
    /* MPI_STATUSES_IGNORE, out of the compiler's sight: gcc takes MPICH's, which is the address 1, for an array
     * too short and warns. */
    MPI_Status *no_statuses;
};

enum pair_tag { PAIR_DATA = 1, PAIR_TOKEN, PAIR_HANDSHAKE, PAIR_SIDE };

/* Both sides have reached this point. */
static inline void pair_handshake(const struct pair *pair)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->partner, PAIR_HANDSHAKE, NULL, 0, MPI_BYTE, pair->partner,
                 PAIR_HANDSHAKE, pair->comm, MPI_STATUS_IGNORE);
}

#endif
