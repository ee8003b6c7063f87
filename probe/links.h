#ifndef SEATRIAL_LINKS_H
#define SEATRIAL_LINKS_H

#include <mpi.h>

/* How ranks reach each other: control between rank 0 and the others, pairs among the pairs. */
struct links {
    MPI_Comm control, pairs;
    int rank, ranks;
};

/* Messages on links.control. */
enum control_tag {
    CONTROL_JOB = 1, /* 0 -> rank: a struct job */
    CONTROL_READY,   /* rank -> 0: int64_t, bytes that could not be had, 0 when ready */
    CONTROL_GO,      /* 0 -> rank: int, 1 to run the job, 0 to drop it */
    CONTROL_COLLECT, /* 0 -> source: empty; send the result now */
    CONTROL_RESULT   /* source -> 0: a struct result */
};

struct links links_open(void);
void links_close(struct links *links);

/* Waits politely (see wait.h) until a message with this tag is there. */
MPI_Status links_await(const struct links *links, int source, int tag, long cap_ns);

/* Waits politely, then receives exactly `bytes`. */
void links_receive(const struct links *links, void *data, int bytes, int source, int tag, long cap_ns);

/* Sends, waiting politely for as long as the receiver is busy. */
void links_send(const struct links *links, const void *data, int bytes, int target, int tag);

#endif
