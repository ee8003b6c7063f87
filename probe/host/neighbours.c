#include "host/neighbours.h"

#include <stdlib.h>
#include <string.h>

/* A rank and its host. */
struct guest {
    const char *host;
    int32_t rank;
};

static int by_host_and_rank(const void *left, const void *right)
{
    const struct guest *one = left, *other = right;
    const int hosts = strcmp(one->host, other->host);
    return hosts != 0 ? hosts : (one->rank > other->rank) - (one->rank < other->rank);
}

bool neighbours_find(const struct rank_facts *facts, int ranks, int32_t *previous)
{
    struct guest *guests = malloc((size_t)ranks * sizeof *guests);
    if (guests == NULL)
        return false;
    for (int32_t rank = 0; rank < ranks; rank++)
        guests[rank] = (struct guest){facts[rank].host, rank};
    qsort(guests, (size_t)ranks, sizeof *guests, by_host_and_rank);
    for (int place = 0; place < ranks; place++) {
        const bool first = place == 0 || strcmp(guests[place - 1].host, guests[place].host) != 0;
        previous[guests[place].rank] = first ? -1 : guests[place - 1].rank;
    }
    free(guests);
    return true;
}
