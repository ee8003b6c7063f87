/* seatrial-probe: an instrument. Rank 0 reads commands and writes records, one JSON object a line; all ranks measure.
 * docs/probe-protocol.md describes both. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "conductor.h"
#include "introduce.h"
#include "kernels.h"
#include "links.h"
#include "options.h"
#include "output.h"
#include "player.h"
#include "records.h"

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

static int serve(int *count, char ***arguments, struct record *record)
{
    MPI_Init(count, arguments);
    struct links links = links_open();
    introduce(&links, record);
    if (links.rank == 0)
        conduct(&links, record);
    else
        play(&links);
    links_close(&links);
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
    case OPTION_UNKNOWN:
        fprintf(stderr, "seatrial-probe: unknown argument '%s'; it takes --list, --version or nothing\n", unknown);
        break;
    }
    record_free(&record);
    return exit_code;
}
