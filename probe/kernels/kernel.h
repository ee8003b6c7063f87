#ifndef SEATRIAL_KERNELS_KERNEL_H
#define SEATRIAL_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the name of a folder in which a kernel writes. */
#define FOLDER_BYTES_MAX 511

struct pair;
struct group;
struct wrong;

/* The ranks that a kernel needs. A round runs it on one or more such sets of ranks at the same time. */
enum kernel_needs {
    NEEDS_PAIR,   /* two ranks: a source and a target */
    NEEDS_GROUP,  /* any number of ranks that work together */
    NEEDS_SINGLE, /* one rank, which exchanges nothing with others */
    NEEDS_ALL     /* every rank of MPI_COMM_WORLD as one group */
};

/* Memory for one direction of a kernel that is not a pair. */
enum kernel_memory { MEMORY_NONE, MEMORY_MESSAGE, MEMORY_MESSAGE_PER_RANK, MEMORY_THREE_MESSAGES };

/* Runs `count` iterations of one side of a pair; the side that times writes one time per iteration. */
typedef void pair_loop(const struct pair *pair, int64_t count, int64_t *times_ns);

/* Makes a rank's memory ready, once and before anything is timed. */
typedef void group_prepare(const struct group *group);

/* Runs `count` iterations on one rank of a group; every rank writes one time per iteration: 0 where this machine
 * cannot carry the kernel out. */
typedef void group_loop(const struct group *group, int64_t count, int64_t *times_ns);

/* Runs the iterations from `first` on, `count` of them, each with known data of its own; adds to `wrong` what this rank
 * got wrong. */
typedef void group_check(const struct group *group, int64_t first, int64_t count, struct wrong *wrong);

/* How much of a round's data is compared with what was sent, outside of the times. */
enum verification {
    VERIFY_NONE,
    VERIFY_ENDS, /* one iteration before the warm-up, if the set is alone in the round; what the last timed one left */
    VERIFY_ALL   /* these, and as many more iterations as are timed */
};

/* What a kernel is: one declaration in one file. */
struct kernel {
    const char *name;
    const char *measures;
    const char *time_is;
    enum kernel_needs needs;
    bool sized;    /* takes message_bytes above 0 */
    bool windowed; /* takes a window above 1 */
    struct {
        bool answers; /* the target sends messages of the same size back */
        pair_loop *source, *target;
    } pair; /* with NEEDS_PAIR */
    struct {
        enum kernel_memory send, receive;
        group_loop *run;
        group_check *verify;    /* NULL: there is nothing to verify */
        group_prepare *prepare; /* NULL: there is nothing to make ready */
        bool far;               /* memory lies near the processor of the set's last rank: touched there first */
        bool arrivals;          /* `run` writes when this rank began each iteration, and clocks are compared */
        bool pinned;            /* each rank stays on a processor of its own, memory included */
        bool watched;           /* what other processes of the node use is looked at, before and after */
        bool stores;            /* writes files in the folder that the command names */
        bool compares;          /* `run` itself compares the result of every iteration, whatever is asked for */
    } group; /* with all others */
};

/* All kernels, in table.c; the ranks refer to a kernel by its index here. */
extern const struct kernel *const kernels[];
extern const size_t kernel_count;

#endif
