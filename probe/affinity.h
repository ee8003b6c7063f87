#ifndef SEATRIAL_AFFINITY_H
#define SEATRIAL_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No kernel counts more processors (NR_CPUS of Linux is 8192 at most). */
#define MOST_CPUS 8192
/* A list of every other processor is the longest: four digits and a comma each. */
#define CPU_LIST_BYTES (MOST_CPUS / 2 * 5 + 1)

/* Where a process may run, and where it ran when it was asked; travels between ranks as bytes. */
struct affinity {
    uint64_t mask[MOST_CPUS / 64]; /* bit i % 64 of word i / 64: processor i */
    int32_t cpu;                   /* -1: not known */
};

/* An empty mask: not known, as on systems other than Linux. */
struct affinity affinity_read(void);

/* "0-3,8": the mask's processors as the kernel writes them; "" for an empty mask. `text` has CPU_LIST_BYTES. */
void affinity_list(const struct affinity *affinity, char *text);

#endif
