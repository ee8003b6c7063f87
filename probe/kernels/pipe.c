#define _POSIX_C_SOURCE 200809L

/* A byte through a pipe from one process to another and one back: what the scheduler adds to each step of a program that
 * waits for another process. The second rank opens the pipes of the first through /proc, as only ranks of one node can. */

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/pinning.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

/* One side of the two pipes; -1: not open. */
struct ends {
    int in, out;
};

/* What the first rank tells the other one. */
struct offer {
    int64_t pid;
    int32_t in, out, cpu, ranks;
};

static int open_of(int64_t pid, int descriptor, int how)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)pid, descriptor);
    return open(path, how);
}

static void close_both(struct ends *ends)
{
    if (ends->in >= 0)
        close(ends->in);
    if (ends->out >= 0)
        close(ends->out);
    *ends = (struct ends){-1, -1};
}

static bool both_say(const struct group *group, bool mine)
{
    int all = 0, own = mine;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, group->comm);
    return all == 1;
}

/* Opens this rank's ends; both must be open on both ranks. `offer`: filled in by the first rank. */
static bool connect(const struct group *group, struct ends *ends, struct offer *offer)
{
    int there[2] = {-1, -1}, back[2] = {-1, -1};
    bool good = group->rank != 0 || (pipe(there) == 0 && pipe(back) == 0);
    *offer = (struct offer){getpid(), there[0], back[1], group->cpu, group->ranks};
    MPI_Bcast(offer, sizeof *offer, MPI_BYTE, 0, group->comm);
    good = both_say(group, good && group->ranks == 2);
    if (group->rank == 0)
        *ends = (struct ends){back[0], there[1]};
    else if (good)
        *ends = (struct ends){open_of(offer->pid, offer->in, O_RDONLY), open_of(offer->pid, offer->out, O_WRONLY)};
    good = both_say(group, good && ends->in >= 0 && ends->out >= 0);
    if (there[0] >= 0)
        close(there[0]);
    if (back[1] >= 0)
        close(back[1]);
    return good;
}

/* False where the other side is gone. */
static bool take(int descriptor, unsigned char wanted, struct wrong *wrong)
{
    unsigned char got = 0;
    ssize_t bytes;
    do
        bytes = read(descriptor, &got, 1);
    while (bytes < 0 && errno == EINTR);
    if (bytes == 1 && got == wanted)
        return true;
    wrong->first = 0;
    wrong->bytes++;
    return bytes == 1;
}

static bool give(int descriptor, unsigned char byte)
{
    ssize_t bytes;
    do
        bytes = write(descriptor, &byte, 1);
    while (bytes < 0 && errno == EINTR);
    return bytes == 1;
}

static void exchange(const struct group *group, const struct ends *ends, int64_t count, int64_t *times_ns)
{
    bool good = true;
    for (int64_t i = 0; i < count && good; i++) {
        const unsigned char there = (unsigned char)i, back = (unsigned char)~i;
        if (group->rank == 0) {
            const int64_t begin = clock_ns();
            good = give(ends->out, there) && take(ends->in, back, group->wrong);
            times_ns[i] = clock_ns() - begin;
        } else {
            good = take(ends->in, there, group->wrong) && give(ends->out, back);
        }
    }
}

/* `shared`: the second rank is kept on the first one's processor. Where that is refused, all times are 0. */
static void run(const struct group *group, int64_t count, int64_t *times_ns, bool shared)
{
    struct ends ends = {-1, -1};
    struct offer offer;
    struct pin pin = {.active = false};
    memset(times_ns, 0, (size_t)count * sizeof *times_ns);
    bool good = connect(group, &ends, &offer);
    if (shared && group->rank != 0)
        pin = pin_to(offer.cpu);
    good = both_say(group, good && (!shared || group->rank == 0 || pin.active));
    if (good)
        exchange(group, &ends, count, times_ns);
    pin_release(&pin);
    close_both(&ends);
}

static void run_switch(const struct group *group, int64_t count, int64_t *times_ns)
{
    run(group, count, times_ns, true);
}

static void run_wake(const struct group *group, int64_t count, int64_t *times_ns)
{
    run(group, count, times_ns, false);
}

const struct kernel kernel_pipe_switch = {
    .name = "pipe_switch",
    .measures = "the scheduler: a byte through a pipe and one back, between two ranks of a node on one processor",
    .time_is = "one round trip: two switches between processes",
    .needs = NEEDS_GROUP,
    .group = {.run = run_switch, .pinned = true, .compares = true},
};

const struct kernel kernel_pipe_wake = {
    .name = "pipe_wake",
    .measures = "the scheduler: a byte through a pipe and one back, between two ranks of a node on two processors",
    .time_is = "one round trip: each rank wakes the other one",
    .needs = NEEDS_GROUP,
    .group = {.run = run_wake, .pinned = true, .compares = true},
};
