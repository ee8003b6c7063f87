#include "rounds/introduction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void find_homes(const struct rank_facts *all, int ranks, int32_t *homes)
{
    for (int rank = 0; rank < ranks; rank++) {
        homes[rank] = rank;
        for (int other = 0; other < rank && homes[rank] == rank; other++)
            if (homes[other] == other && strcmp(all[other].host, all[rank].host) == 0)
                homes[rank] = other;
    }
}

void seats_free(struct seats *seats)
{
    free(seats->cpus);
    free(seats->homes);
    *seats = (struct seats){NULL, NULL};
}

struct seats introduce(const struct channels *channels, struct record *record)
{
    const struct rank_facts own = rank_facts_read();
    struct rank_facts *all = NULL;
    struct seats seats = {NULL, NULL};
    if (channels->rank == 0) {
        print_header(channels, record);
        all = malloc((size_t)channels->ranks * sizeof *all);
        seats.cpus = malloc((size_t)channels->ranks * sizeof *seats.cpus);
        seats.homes = malloc((size_t)channels->ranks * sizeof *seats.homes);
        if (all == NULL || seats.cpus == NULL || seats.homes == NULL) {
            fprintf(stderr, "seatrial-probe: no memory on rank 0 for the facts of %d ranks\n", channels->ranks);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, channels->control);
    if (channels->rank != 0)
        return seats;
    assign_processors(all, channels->ranks, seats.cpus);
    find_homes(all, channels->ranks, seats.homes);
    print_ranks(channels, all, seats.cpus, record);
    free(all);
    compose_ready(record, channels->ranks);
    channels_print(record);
    return seats;
}
