#ifndef SEATRIAL_ROUNDS_CHANNELS_H
#define SEATRIAL_ROUNDS_CHANNELS_H

#include <mpi.h>

#include "protocol/json_writer.h"

#define EXIT_USAGE 64
#define EXIT_OUTPUT 74

/* How ranks reach each other: rank 0 controls the others over `control`; kernels measure over `work`. */
struct channels {
    MPI_Comm control, work;
    int rank, ranks;
};

/* Messages on channels.control. */
enum control_tag {
    CONTROL_JOB = 1, /* 0 -> rank: a struct job */
    CONTROL_READY,   /* rank -> 0: int64_t, bytes that could not be allocated, 0 when ready */
    CONTROL_GO,      /* 0 -> rank: int, 1 to run the job, 0 to drop it */
    CONTROL_MEMBERS, /* 0 -> rank: int per rank of its group, after go */
    CONTROL_COLLECT, /* 0 -> leader: empty; send the result now */
    CONTROL_RESULT   /* leader -> 0: a struct result */
};

struct channels channels_open(void);
void channels_close(struct channels *channels);

/* Waits politely (see host/clock.h) until a message with this tag is there. */
MPI_Status channels_await(const struct channels *channels, int source, int tag, long cap_ns);

/* Waits politely, then receives exactly `bytes`. */
void channels_receive(const struct channels *channels, void *data, int bytes, int source, int tag, long cap_ns);

/* Sends, waiting politely while the receiver is busy. */
void channels_send(const struct channels *channels, const void *data, int bytes, int target, int tag);

/* Prints a record on standard output. Ends all ranks where that fails, because nobody reads it any more. */
void channels_print(const struct record *record);

#endif
