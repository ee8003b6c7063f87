#include "protocol/rank_sets.h"

#include <stdlib.h>

#define GOOD ((struct sets_check){SETS_GOOD, 0})

/* There are at most as many sets as ranks. */
static struct sets_check allocate(struct rank_sets *sets, int world, size_t count)
{
    sets->members = malloc(count * sizeof *sets->members);
    sets->begins = malloc((count + 1) * sizeof *sets->begins);
    sets->places = malloc((size_t)world * sizeof *sets->places);
    if (sets->members == NULL || sets->begins == NULL || sets->places == NULL)
        return (struct sets_check){SETS_NO_MEMORY, world};
    for (int rank = 0; rank < world; rank++)
        sets->places[rank] = (struct place){-1, 0};
    sets->begins[0] = 0;
    return GOOD;
}

static struct sets_check cut_alike(struct rank_sets *sets, size_t count, size_t common)
{
    if (count % common != 0)
        return (struct sets_check){SETS_REMAINDER, (int64_t)count};
    for (sets->count = 0; sets->count < count / common; sets->count++)
        sets->begins[sets->count + 1] = sets->begins[sets->count] + common;
    return GOOD;
}

static struct sets_check cut_each(struct rank_sets *sets, size_t count, struct set_sizes sizes)
{
    for (sets->count = 0; sets->count < sizes.count; sets->count++) {
        const size_t begin = sets->begins[sets->count];
        const int64_t size = sizes.each[sets->count];
        if (size < 1)
            return (struct sets_check){SETS_SIZE, size};
        if (size > (int64_t)(count - begin))
            return (struct sets_check){SETS_SUM, (int64_t)count};
        sets->begins[sets->count + 1] = begin + (size_t)size;
    }
    return sets->begins[sets->count] == count ? GOOD : (struct sets_check){SETS_SUM, (int64_t)count};
}

static struct sets_check place_one(struct rank_sets *sets, int world, int64_t rank, struct place place)
{
    if (rank < 0 || rank >= world)
        return (struct sets_check){SETS_OUT_OF_RANGE, rank};
    if (sets->places[rank].set >= 0)
        return (struct sets_check){SETS_TWICE, rank};
    sets->places[rank] = place;
    sets->members[sets->begins[place.set] + (size_t)place.index] = (int)rank;
    return GOOD;
}

static struct sets_check place_all(struct rank_sets *sets, int world, const int64_t *ranks)
{
    for (size_t set = 0; set < sets->count; set++)
        for (size_t i = sets->begins[set]; i < sets->begins[set + 1]; i++) {
            const struct place place = {(int)set, (int)(i - sets->begins[set])};
            const struct sets_check check = place_one(sets, world, ranks[i], place);
            if (check.fault != SETS_GOOD)
                return check;
        }
    return GOOD;
}

struct sets_check rank_sets_form(struct rank_sets *sets, int world, const int64_t *ranks, size_t count,
                                 struct set_sizes sizes)
{
    *sets = (struct rank_sets){0};
    if (count == 0)
        return (struct sets_check){SETS_EMPTY, 0};
    struct sets_check check = allocate(sets, world, count);
    if (check.fault == SETS_GOOD)
        check = sizes.common > 0 ? cut_alike(sets, count, (size_t)sizes.common) : cut_each(sets, count, sizes);
    return check.fault == SETS_GOOD ? place_all(sets, world, ranks) : check;
}

struct sets_check rank_sets_all(struct rank_sets *sets, int world)
{
    *sets = (struct rank_sets){0};
    const struct sets_check check = allocate(sets, world, (size_t)world);
    if (check.fault != SETS_GOOD)
        return check;
    for (int rank = 0; rank < world; rank++) {
        sets->members[rank] = rank;
        sets->places[rank] = (struct place){0, rank};
    }
    sets->begins[1] = (size_t)world;
    sets->count = 1;
    return GOOD;
}

void rank_sets_free(struct rank_sets *sets)
{
    free(sets->members);
    free(sets->begins);
    free(sets->places);
    *sets = (struct rank_sets){0};
}

size_t rank_sets_size(const struct rank_sets *sets, int set)
{
    return sets->begins[set + 1] - sets->begins[set];
}

const int *rank_sets_members(const struct rank_sets *sets, int set)
{
    return sets->members + sets->begins[set];
}
