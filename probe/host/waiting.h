#ifndef SEATRIAL_HOST_WAITING_H
#define SEATRIAL_HOST_WAITING_H

#include <stdint.h>

/* How long the calling thread has been ready to run without a processor, since it was started, and how long the
 * hypervisor has kept the thread's processors to itself; nanoseconds, of which only the differences mean anything.
 * UNKNOWN where the kernel does not count it (Linux: the second number of /proc/thread-self/schedstat). */
int64_t waited_ns(void);

/* How long the hypervisor has run others on the processors on which this thread may run: the mean of these; 0 on a
 * machine that has none (Linux: "steal" of /proc/stat, in ticks of 10 ms as a rule). */
int64_t stolen_ns(void);

/* What was added between two readings; UNKNOWN if one of them is. */
int64_t waited_between(int64_t before, int64_t now);

#endif
