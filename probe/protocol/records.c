#include "protocol/records.h"

#include <stdio.h>
#include <string.h>

#define LIBRARY_BYTES 512

void compose_version(struct record *record)
{
    record_begin(record, "version");
    record_string(record, "probe", PROBE_VERSION);
    record_integer(record, "format", PROBE_FORMAT);
    record_end(record);
}

static const char *const needs_names[] = {
    [NEEDS_PAIR] = "pair", [NEEDS_GROUP] = "group", [NEEDS_SINGLE] = "single", [NEEDS_ALL] = "all"};

void compose_kernel(struct record *record, const struct kernel *kernel)
{
    record_begin(record, "kernel");
    record_string(record, "name", kernel->name);
    record_string(record, "measures", kernel->measures);
    record_string(record, "time_is", kernel->time_is);
    record_string(record, "needs", needs_names[kernel->needs]);
    record_end(record);
}

void compose_header(struct record *record, const struct header *header)
{
    char standard[32], library[LIBRARY_BYTES];
    snprintf(standard, sizeof standard, "%d.%d", header->standard_major, header->standard_minor);
    snprintf(library, sizeof library, "%s", header->library);
    library[strcspn(library, "\r\n")] = '\0';
    record_begin(record, "header");
    record_integer(record, "format", PROBE_FORMAT);
    record_string(record, "probe", PROBE_VERSION);
    record_string(record, "mpi_standard", standard);
    record_string(record, "mpi_library", library);
    record_integer(record, "ranks", header->ranks);
    record_integer(record, "runs_programs", 1);
    record_end(record);
}

void compose_rank(struct record *record, int rank, const struct rank_facts *facts, int32_t own_cpu)
{
    char cpus[CPU_LIST_BYTES];
    affinity_list(&facts->affinity, cpus);
    record_begin(record, "rank");
    record_integer(record, "rank", rank);
    record_string(record, "host", facts->host);
    record_integer(record, "pid", facts->pid);
    record_string(record, "cpus", cpus);
    record_integer(record, "cpu", facts->affinity.cpu);
    record_integer(record, "own_cpu", own_cpu);
    record_string(record, "clock", CLOCK_NAME);
    record_seconds(record, "clock_resolution_s", facts->clock.resolution_s);
    record_seconds(record, "clock_overhead_s", facts->clock.overhead_s);
    record_end(record);
}

void compose_ready(struct record *record, int ranks)
{
    record_begin(record, "ready");
    record_integer(record, "ranks", ranks);
    record_end(record);
}

void compose_start(struct record *record, int64_t id)
{
    record_begin(record, "start");
    record_integer(record, "id", id);
    record_end(record);
}

static void compose_ranks(struct record *record, const struct sample *sample)
{
    const int *ranks = rank_sets_members(&sample->measure->sets, sample->set);
    if (sample->kernel->needs == NEEDS_PAIR) {
        record_integer(record, "source", ranks[0]);
        record_integer(record, "target", ranks[1]);
    } else {
        record_integers(record, "ranks", ranks, rank_sets_size(&sample->measure->sets, sample->set));
    }
}

/* Wrong bytes in all; which ranks received them and where the first one was only where there are any. */
static void compose_wrong(struct record *record, const struct sample *sample)
{
    const size_t ranks = rank_sets_size(&sample->measure->sets, sample->set);
    const size_t stride = sizeof *sample->wrong / sizeof sample->wrong->bytes;
    int64_t errors = 0;
    for (size_t i = 0; i < ranks; i++)
        errors += sample->wrong[i].bytes;
    record_integer(record, "errors", errors);
    if (errors > 0) {
        record_counts(record, "errors_by_rank", &sample->wrong->bytes, ranks, stride);
        record_counts(record, "first_errors", &sample->wrong->first, ranks, stride);
    }
}

static void compose_arrivals(struct record *record, const struct sample *sample)
{
    const struct arrival *arrivals = sample->arrivals;
    const size_t ranks = rank_sets_size(&sample->measure->sets, sample->set);
    const size_t stride = sizeof *arrivals / sizeof arrivals->offset_ns;
    record_counts(record, "offsets_ns", &arrivals->offset_ns, ranks, stride);
    record_counts(record, "offset_errors_ns", &arrivals->error_ns, ranks, stride);
    record_counts(record, "late_ns", &arrivals->late_ns, ranks, stride);
    record_counts(record, "last", &arrivals->last, ranks, stride);
}

/* What is not known is left out. */
static void compose_conditions(struct record *record, const struct conditions *found)
{
    record_seconds(record, "wall_s", (double)found->most.wall_ns / 1e9);
    record_integer(record, "switches", found->sums.switches);
    record_integer(record, "faults", found->sums.faults);
    if (found->sums.counting > 0)
        record_integer(record, "throttles", found->sums.throttles);
    if (found->most.minus_khz < 0)
        record_integer(record, "least_khz", -found->most.minus_khz);
    if (found->most.millicelsius > 0)
        record_integer(record, "millicelsius", found->most.millicelsius);
    if (found->sums.watched > 0) {
        record_seconds(record, "others_s", (double)found->sums.others_ns / 1e9);
        record_integer(record, "interrupts", found->sums.interrupts);
    }
    if (found->sums.microjoules > 0)
        record_integer(record, "microjoules", found->sums.microjoules);
    if (found->sums.cached > 0)
        record_integer(record, "cached", found->sums.cached);
    if (found->most.failed > 0)
        record_integer(record, "failed", found->most.failed);
    if (found->most.library > 0)
        record_integer(record, "library", found->most.library);
}

void compose_sample(struct record *record, const struct sample *sample)
{
    const struct measure *measure = sample->measure;
    const size_t warmup = (size_t)measure->warmup;
    record_begin(record, "sample");
    record_integer(record, "id", measure->id);
    record_string(record, "kernel", sample->kernel->name);
    compose_ranks(record, sample);
    record_integer(record, "message_bytes", measure->message_bytes);
    record_integer(record, "window", measure->window);
    record_integer(record, "warmup", measure->warmup);
    record_integer(record, "iterations", measure->iterations);
    record_seconds_list(record, "warmup_times_s", sample->times_ns, warmup);
    record_seconds_list(record, "times_s", sample->times_ns + warmup, (size_t)measure->iterations);
    record_integer(record, "verified", sample->verified);
    compose_wrong(record, sample);
    if (sample->arrivals != NULL)
        compose_arrivals(record, sample);
    if (sample->waited_ns != NULL && sample->waited_ns[0] != UNKNOWN && sample->waited_ns[1] != UNKNOWN)
        record_seconds_list(record, "waited_s", sample->waited_ns, 2);
    if (sample->conditions != NULL)
        compose_conditions(record, sample->conditions);
    record_end(record);
}

void compose_end(struct record *record, int64_t id, int64_t samples)
{
    record_begin(record, "end");
    record_integer(record, "id", id);
    record_integer(record, "samples", samples);
    record_end(record);
}

void compose_error(struct record *record, const struct refusal *refusal)
{
    record_begin(record, "error");
    record_integer(record, "id", refusal->id);
    record_string(record, "message", refusal->sentence);
    record_end(record);
}

void compose_stopped(struct record *record)
{
    record_begin(record, "stopped");
    record_end(record);
}

void compose_ran(struct record *record, int rank, const struct program_end *end)
{
    record_begin(record, "ran");
    record_integer(record, "rank", rank);
    record_seconds(record, "ran_s", (double)end->ran_ns * 1e-9);
    record_seconds(record, "waited_s", (double)end->waited_ns * 1e-9);
    record_end(record);
}
