#define _POSIX_C_SOURCE 200809L

/* Sharing a processor: a thread of this rank is kept on the same processor, sleeps most of the time, and then wants more
 * of the processor at once than the scheduler gives it without asking others. How long the rank is off its processor is
 * the scheduler's granularity: a threaded library beside each rank, or a daemon, costs a program that much each time. */

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"

#define PAUSE_NS 20000000
#define BURST_NS 12000000 /* of the thread's own processor time */

struct visitor {
    int64_t visits;
    atomic_llong done;
};

static int64_t own_processor_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Has the affinity of the rank, which is pinned. */
static void *visit(void *argument)
{
    struct visitor *visitor = argument;
    const struct timespec pause = {0, PAUSE_NS};
    for (int64_t i = 0; i < visitor->visits; i++) {
        nanosleep(&pause, NULL);
        const int64_t begin = own_processor_ns();
        while (own_processor_ns() - begin < BURST_NS)
            continue;
        atomic_store(&visitor->done, i + 1);
    }
    return NULL;
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    struct visitor visitor = {.visits = count};
    pthread_t thread;
    memset(times_ns, 0, (size_t)count * sizeof *times_ns);
    if (group->cpu < 0 || count == 0 || pthread_create(&thread, NULL, visit, &visitor) != 0)
        return;
    int64_t last = clock_ns();
    for (int64_t i = 0; i < count; i++) {
        int64_t longest = 0;
        while (atomic_load(&visitor.done) <= i) {
            const int64_t now = clock_ns();
            longest = now - last > longest ? now - last : longest;
            last = now;
        }
        times_ns[i] = longest;
    }
    pthread_join(thread, NULL);
}

const struct kernel kernel_time_slice = {
    .name = "time_slice",
    .measures = "the scheduler: how long a rank is off its processor while a thread that wakes up there works for 12 ms",
    .time_is = "the longest time between two readings of the clock from one of the thread's bursts to the next",
    .needs = NEEDS_SINGLE,
    .group = {.run = run, .pinned = true},
};
