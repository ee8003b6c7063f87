#ifndef SEATRIAL_HOST_WAITING_H
#define SEATRIAL_HOST_WAITING_H

#include <stdint.h>

/* How long the calling thread has been ready to run without a processor, since it was started; nanoseconds.
 * UNKNOWN where the kernel does not count it (Linux: the second number of /proc/thread-self/schedstat). */
int64_t waited_ns(void);

/* What was added between two readings; UNKNOWN if one of them is. */
int64_t waited_between(int64_t before, int64_t now);

#endif
