#ifndef SEATRIAL_HOST_PROGRAM_H
#define SEATRIAL_HOST_PROGRAM_H

#include <stdint.h>

/* How another program ended, and what its first thread had of a processor. */
struct program_end {
    int status;        /* as of waitpid */
    int error;         /* errno: it could not be started; 0: it was */
    int64_t ran_ns;    /* of its first thread; UNKNOWN: not counted by this kernel, or */
    int64_t waited_ns; /* most of the work was done by other threads or processes */
};

/* Runs a program, words[0] found as by a shell, and waits for its end. Signals that end a program reach it; it is
 * killed with the calling process. */
struct program_end program_run(char **words);

/* Ends the calling process as that program ended. */
_Noreturn void end_like(const struct program_end *end);

/* The rank that a launcher gave this process; 0 without a launcher, -1 if what it gave is no rank. */
int rank_given(void);

#endif
