#include "links.h"

#include "wait.h"

struct links links_open(void)
{
    struct links links;
    MPI_Comm_rank(MPI_COMM_WORLD, &links.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &links.ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &links.control);
    MPI_Comm_dup(MPI_COMM_WORLD, &links.pairs);
    return links;
}

void links_close(struct links *links)
{
    MPI_Comm_free(&links->control);
    MPI_Comm_free(&links->pairs);
}

MPI_Status links_await(const struct links *links, int source, int tag, long cap_ns)
{
    struct wait wait = wait_begin(cap_ns);
    MPI_Status status;
    for (;;) {
        int there = 0;
        MPI_Iprobe(source, tag, links->control, &there, &status);
        if (there)
            return status;
        wait_sleep(&wait);
    }
}

void links_receive(const struct links *links, void *data, int bytes, int source, int tag, long cap_ns)
{
    links_await(links, source, tag, cap_ns);
    MPI_Recv(data, bytes, MPI_BYTE, source, tag, links->control, MPI_STATUS_IGNORE);
}

void links_send(const struct links *links, const void *data, int bytes, int target, int tag)
{
    struct wait wait = wait_begin(WAIT_IDLE_CAP_NS);
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, target, tag, links->control, &request);
    for (;;) {
        int sent = 0;
        MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
        if (sent)
            return;
        wait_sleep(&wait);
    }
}
