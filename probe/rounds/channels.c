#define _POSIX_C_SOURCE 200809L

#include "rounds/channels.h"

#include "host/clock.h"

struct channels channels_open(void)
{
    struct channels channels;
    MPI_Comm_rank(MPI_COMM_WORLD, &channels.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &channels.ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &channels.control);
    MPI_Comm_dup(MPI_COMM_WORLD, &channels.work);
    return channels;
}

void channels_close(struct channels *channels)
{
    MPI_Comm_free(&channels->control);
    MPI_Comm_free(&channels->work);
}

MPI_Status channels_await(const struct channels *channels, int source, int tag, long cap_ns)
{
    struct wait wait = wait_begin(cap_ns);
    MPI_Status status;
    for (;;) {
        int there = 0;
        MPI_Iprobe(source, tag, channels->control, &there, &status);
        if (there)
            return status;
        wait_sleep(&wait);
    }
}

void channels_receive(const struct channels *channels, void *data, int bytes, int source, int tag, long cap_ns)
{
    channels_await(channels, source, tag, cap_ns);
    MPI_Recv(data, bytes, MPI_BYTE, source, tag, channels->control, MPI_STATUS_IGNORE);
}

void channels_send(const struct channels *channels, const void *data, int bytes, int target, int tag)
{
    struct wait wait = wait_begin(WAIT_IDLE_CAP_NS);
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, target, tag, channels->control, &request);
    for (;;) {
        int sent = 0;
        MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
        if (sent)
            return;
        wait_sleep(&wait);
    }
}

void channels_print(const struct record *record)
{
    if (record_print(record, stdout))
        return;
    fputs("seatrial-probe: cannot write a record to standard output\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_OUTPUT);
}
