#define _DEFAULT_SOURCE /* prctl.h */
#define _POSIX_C_SOURCE 200809L

/* Wake-up latency: a rank sleeps until a moment and reads the clock when it runs again. What passed since then is the
 * time that the timer, the processor's idle state and the scheduler took. */

#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <stdbool.h>
#include <stddef.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"

#define SLEEP_NS 1000000
#define SECOND_NS INT64_C(1000000000)

/* The kernel may delay timers of ordinary processes, by 50 us unless they ask for less, to join wake-ups. Returns what it
 * was; -1: unknown. */
static int slack_set(int slack_ns)
{
#ifdef __linux__
    const int before = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    if (slack_ns > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0UL, 0UL, 0UL);
    return before;
#else
    (void)slack_ns;
    return -1;
#endif
}

static bool sleep_until(int64_t due_ns)
{
    const struct timespec due = {(time_t)(due_ns / SECOND_NS), (long)(due_ns % SECOND_NS)};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == 0;
}

static void run(const struct group *group, int64_t count, int64_t *times_ns)
{
    (void)group;
    const int before = slack_set(1);
    for (int64_t i = 0; i < count; i++) {
        const int64_t due = clock_ns() + SLEEP_NS;
        times_ns[i] = sleep_until(due) ? clock_ns() - due : 0;
    }
    slack_set(before);
}

const struct kernel kernel_timer_wake = {
    .name = "timer_wake",
    .measures = "the scheduler: how late a rank wakes up that sleeps until a moment, on its own processor",
    .time_is = "from the moment at which a sleep of a millisecond should end to the next reading of the clock",
    .needs = NEEDS_SINGLE,
    .group = {.run = run, .pinned = true},
};
