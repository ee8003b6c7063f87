#ifndef SEATRIAL_PROTOCOL_RECORDS_H
#define SEATRIAL_PROTOCOL_RECORDS_H

#include "host/arrival.h"
#include "host/conditions.h"
#include "host/program.h"
#include "host/rank_facts.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"
#include "protocol/command.h"
#include "protocol/json_writer.h"

#define PROBE_VERSION "1"

/* History of the record format; a reader refuses a number that it does not know.
 * 1  first: version, kernel, header, rank, ready, start, sample, end, error, stopped;
 *    added later, and optional for a reader: cpus, cpu and own_cpu in rank, needs in kernel,
 *    samples of groups, with ranks in place of source and target, and what happened meanwhile;
 *    arrivals of the ranks of a group, waited_s of pairs, runs_programs in header, ran
 * 2  verified counts iterations where it was true or false; errors_by_rank and first_errors;
 *    the commands' verify is a word */
#define PROBE_FORMAT 2

/* Every record of format 2, one function each: values in, a finished line in `record` out.
 * docs/probe-protocol.md describes them. */

struct header {
    int standard_major, standard_minor;
    const char *library; /* its first line is shown */
    int ranks;
};

struct sample {
    const struct kernel *kernel;
    const struct measure *measure;
    int set; /* its index in measure->sets */
    const int64_t *times_ns; /* those of the warm-up, then those of the iterations */
    int64_t verified; /* iterations */
    const struct wrong *wrong; /* of each rank of the set */
    const struct arrival *arrivals; /* of each rank of the set; NULL: the kernel has none */
    const struct conditions *conditions; /* NULL: of a pair */
    const int64_t *waited_ns; /* of both sides of a pair; NULL: of a group */
};

/* Numbers in a sample for each rank of its set, at most: the rank itself, what it received wrong, its arrival, how
 * long it waited. */
#define RANK_NUMBERS (4 + ARRIVAL_NUMBERS)
#define CONDITION_NUMBERS 16

void compose_version(struct record *record);
void compose_kernel(struct record *record, const struct kernel *kernel);
void compose_header(struct record *record, const struct header *header);
void compose_rank(struct record *record, int rank, const struct rank_facts *facts, int32_t own_cpu);
void compose_ready(struct record *record, int ranks);
void compose_start(struct record *record, int64_t id);
void compose_sample(struct record *record, const struct sample *sample);
void compose_end(struct record *record, int64_t id, int64_t samples);
void compose_error(struct record *record, const struct refusal *refusal);
void compose_stopped(struct record *record);
void compose_ran(struct record *record, int rank, const struct program_end *end);

#endif
