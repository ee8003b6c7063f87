#ifndef SEATRIAL_HOST_OTHERS_H
#define SEATRIAL_HOST_OTHERS_H

/* Processor time that other processes of this node use. */

#include <stddef.h>
#include <stdint.h>

struct thread_time {
    int64_t thread, used_ns;
};

struct others {
    struct thread_time *threads;
    size_t count, room;
};

/* All threads of all processes of the node that are not of this program. On a virtual node, which has a network
 * namespace of its own, only those in the same one. Empty where it cannot be read. */
struct others others_read(void);

/* What they have used since `before`; threads that have ended are not seen. -1: not known. */
int64_t others_since(const struct others *before, const struct others *now);
void others_free(struct others *others);

#endif
