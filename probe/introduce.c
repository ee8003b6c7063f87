#include "introduce.h"

#include <stdio.h>
#include <stdlib.h>

#include "output.h"
#include "rank_facts.h"
#include "records.h"

static void print_header(const struct links *links, struct record *record)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    struct header header = {.library = library, .ranks = links->ranks};
    MPI_Get_version(&header.standard_major, &header.standard_minor);
    MPI_Get_library_version(library, &length);
    compose_header(record, &header);
    output_print(record);
}

static void print_ranks(const struct links *links, const struct rank_facts *all, struct record *record)
{
    for (int rank = 0; rank < links->ranks; rank++) {
        compose_rank(record, rank, &all[rank]);
        output_print(record);
    }
}

void introduce(const struct links *links, struct record *record)
{
    const struct rank_facts own = rank_facts_read();
    struct rank_facts *all = NULL;
    if (links->rank == 0) {
        print_header(links, record);
        all = malloc((size_t)links->ranks * sizeof *all);
        if (all == NULL) {
            fprintf(stderr, "seatrial-probe: no memory on rank 0 for the facts of %d ranks\n", links->ranks);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, links->control);
    if (links->rank != 0)
        return;
    print_ranks(links, all, record);
    free(all);
    compose_ready(record, links->ranks);
    output_print(record);
}
