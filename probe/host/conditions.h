#ifndef SEATRIAL_HOST_CONDITIONS_H
#define SEATRIAL_HOST_CONDITIONS_H

/* What else happened on a processor and on its node while a kernel ran: read before and after, never in between. */

#include <stdbool.h>
#include <stdint.h>

#define UNKNOWN INT64_C(-1)

/* Counters that only rise, at one moment. */
struct counters {
    int64_t at_ns;
    int64_t switches;   /* of this rank, against its will */
    int64_t faults;     /* pages of this rank */
    int64_t throttles;  /* of its core; UNKNOWN: this machine does not count them */
    int64_t interrupts; /* of the node; these two only where it is watched */
    int64_t joules;     /* millionths, of all packages of the node */
};

/* What is added up over the ranks of a set, then what is the largest of any rank; all of them integers. */
struct conditions {
    struct {
        int64_t switches, faults, throttles, counting; /* `counting`: ranks that know their throttles */
        int64_t watched;                               /* ranks that watched their node; what follows is theirs */
        int64_t others_ns, interrupts, microjoules;
        int64_t cached; /* ranks whose data went through the page cache, of a kernel that writes files */
    } sums;
    struct {
        int64_t wall_ns, millicelsius, minus_khz; /* 0: not known */
        int64_t failed;                           /* errno of a call on a file; 0: none failed */
        int64_t library;                          /* that a kernel called, by its number; 0: none */
    } most;
};

#define CONDITION_SUMS ((int)(sizeof((struct conditions *)0)->sums / sizeof(int64_t)))
#define CONDITION_MOST ((int)(sizeof((struct conditions *)0)->most / sizeof(int64_t)))

/* `cpu`: the rank's own processor, or -1. `watch`: whether the rank also reads what concerns the whole node. */
struct counters counters_read(int cpu, bool watch);

/* What happened since `before`, with what `before` and now had of the node's other processes (others.h). `heat`:
   whether the rank also reads the node's temperature. */
struct conditions conditions_since(const struct counters *before, int cpu, bool watch, int64_t others_ns, bool heat);

#endif
