/* seatrial-probe: an instrument. Rank 0 reads commands and writes records, one JSON object per line; all ranks measure.
 * docs/probe-protocol.md describes both. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "protocol/records.h"
#include "rounds/channels.h"
#include "rounds/conductor.h"
#include "rounds/introduction.h"
#include "rounds/player.h"

/* What the command line asks for. */
enum option { OPTION_SERVE, OPTION_LIST, OPTION_VERSION, OPTION_RUN, OPTION_UNKNOWN };

/* On OPTION_UNKNOWN, *unknown is the argument at fault. */
static enum option options_read(int count, char **arguments, const char **unknown)
{
    *unknown = NULL;
    if (count <= 1)
        return OPTION_SERVE;
    if (count > 2 && strcmp(arguments[1], "--run") == 0)
        return OPTION_RUN;
    if (count > 2)
        *unknown = arguments[2];
    else if (strcmp(arguments[1], "--list") == 0)
        return OPTION_LIST;
    else if (strcmp(arguments[1], "--version") == 0)
        return OPTION_VERSION;
    else
        *unknown = arguments[1];
    return OPTION_UNKNOWN;
}

/* The calls before MPI_Init must not end in MPI_Abort. */
static int print_alone(const struct record *record)
{
    if (record_print(record, stdout))
        return EXIT_SUCCESS;
    fputs("seatrial-probe: cannot write a record to standard output\n", stderr);
    return EXIT_OUTPUT;
}

static int list(struct record *record)
{
    int exit_code = EXIT_SUCCESS;
    for (size_t i = 0; i < kernel_count && exit_code == EXIT_SUCCESS; i++) {
        compose_kernel(record, kernels[i]);
        exit_code = print_alone(record);
    }
    return exit_code;
}

static int print_version(struct record *record)
{
    compose_version(record);
    return print_alone(record);
}

/* Runs a program in place of a rank and ends as it did. If it ended well, its waits follow on standard error, since
 * what else it prints there belongs to its failure. */
static int run(char **words, struct record *record)
{
    const struct program_end end = program_run(words);
    const int rank = rank_given();
    if (end.error == 0 && end.status == 0 && end.waited_ns != UNKNOWN && rank >= 0) {
        compose_ran(record, rank, &end);
        record_print(record, stderr);
    }
    end_like(&end);
}

static int serve(int *count, char ***arguments, struct record *record)
{
    MPI_Init(count, arguments);
    struct channels channels = channels_open();
    struct seats seats = introduce(&channels, record);
    if (channels.rank == 0)
        conduct(&channels, &seats, record);
    else
        play(&channels);
    seats_free(&seats);
    channels_close(&channels);
    MPI_Finalize();
    return EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    const char *unknown;
    struct record record = {0};
    int exit_code = EXIT_USAGE;
    switch (options_read(count, arguments, &unknown)) {
    case OPTION_SERVE:
        exit_code = serve(&count, &arguments, &record);
        break;
    case OPTION_LIST:
        exit_code = list(&record);
        break;
    case OPTION_VERSION:
        exit_code = print_version(&record);
        break;
    case OPTION_RUN:
        exit_code = run(arguments + 2, &record);
        break;
    case OPTION_UNKNOWN:
        fprintf(stderr,
                "seatrial-probe: unknown argument '%s'; it takes --list, --version, --run PROGRAM or nothing\n",
                unknown);
        break;
    }
    record_free(&record);
    return exit_code;
}
