#ifndef SEATRIAL_HOST_RANK_FACTS_H
#define SEATRIAL_HOST_RANK_FACTS_H

/* What a rank reports about itself: host, process, processors and clock. */

#include <stdint.h>

#define CLOCK_NAME "CLOCK_MONOTONIC"
#define HOST_BYTES 256
/* Linux supports no more processors: NR_CPUS is at most 8192. */
#define MOST_CPUS 8192
/* The longest list has every other processor: four digits and a comma each. */
#define CPU_LIST_BYTES (MOST_CPUS / 2 * 5 + 1)

struct clock_quality {
    double resolution_s; /* the larger of clock_getres and the smallest step between two readings */
    double overhead_s;   /* of one reading: median of several batches */
};

/* Takes well under a millisecond where reading the clock needs no system call. */
struct clock_quality clock_quality_read(void);

/* Where a process may run, and where it ran when this was read. */
struct affinity {
    uint64_t mask[MOST_CPUS / 64]; /* bit i % 64 of word i / 64: processor i */
    int32_t cpu;                   /* -1: unknown */
};

/* The mask is empty where it is unknown, as on systems other than Linux. */
struct affinity affinity_read(void);

/* "0-3,8": the mask in the kernel's list format; "" for an empty mask. `text` has CPU_LIST_BYTES. */
void affinity_list(const struct affinity *affinity, char *text);

/* Ranks send it to rank 0 as bytes. */
struct rank_facts {
    char host[HOST_BYTES]; /* from gethostname: the node's name, not MPI's processor name */
    int64_t pid;
    struct clock_quality clock;
    struct affinity affinity; /* read after MPI_Init, which may change it */
};

struct rank_facts rank_facts_read(void);

#endif
