#include "rounds/introduction.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/neighbours.h"
#include "host/pinning.h"
#include "protocol/records.h"

static void print_header(const struct channels *channels, struct record *record)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    struct header header = {.library = library, .ranks = channels->ranks};
    MPI_Get_version(&header.standard_major, &header.standard_minor);
    MPI_Get_library_version(library, &length);
    compose_header(record, &header);
    channels_print(record);
}

static void print_ranks(const struct channels *channels, const struct rank_facts *all, const int32_t *cpus,
                        struct record *record)
{
    for (int rank = 0; rank < channels->ranks; rank++) {
        compose_rank(record, rank, &all[rank], cpus[rank]);
        channels_print(record);
    }
}

/* False without memory. */
static bool take_seats(const struct rank_facts *all, int ranks, const struct seats *seats)
{
    if (!neighbours_find(all, ranks, seats->previous))
        return false;
    assign_processors(all, ranks, seats->previous, seats->cpus);
    for (int rank = 0; rank < ranks; rank++)
        seats->homes[rank] = seats->previous[rank] < 0 ? rank : seats->homes[seats->previous[rank]];
    return true;
}

static void fail_without_memory(int ranks)
{
    fprintf(stderr, "seatrial-probe: no memory on rank 0 for the facts of %d ranks\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void seats_free(struct seats *seats)
{
    free(seats->cpus);
    free(seats->homes);
    free(seats->previous);
    *seats = (struct seats){NULL, NULL, NULL};
}

struct seats introduce(const struct channels *channels, struct record *record)
{
    const struct rank_facts own = rank_facts_read();
    struct rank_facts *all = NULL;
    struct seats seats = {NULL, NULL, NULL};
    if (channels->rank == 0) {
        print_header(channels, record);
        all = malloc((size_t)channels->ranks * sizeof *all);
        seats.cpus = malloc((size_t)channels->ranks * sizeof *seats.cpus);
        seats.homes = malloc((size_t)channels->ranks * sizeof *seats.homes);
        seats.previous = malloc((size_t)channels->ranks * sizeof *seats.previous);
        if (all == NULL || seats.cpus == NULL || seats.homes == NULL || seats.previous == NULL)
            fail_without_memory(channels->ranks);
    }
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, channels->control);
    if (channels->rank != 0)
        return seats;
    if (!take_seats(all, channels->ranks, &seats))
        fail_without_memory(channels->ranks);
    print_ranks(channels, all, seats.cpus, record);
    free(all);
    compose_ready(record, channels->ranks);
    channels_print(record);
    return seats;
}
