#include "host/waiting.h"

#include <inttypes.h>
#include <stdio.h>

#include "host/conditions.h"

int64_t waited_ns(void)
{
    int64_t ran = 0, waited = UNKNOWN;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL)
        return UNKNOWN;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, &ran, &waited) != 2)
        waited = UNKNOWN;
    fclose(file);
    return waited;
}

int64_t waited_between(int64_t before, int64_t now)
{
    return before == UNKNOWN || now == UNKNOWN || now < before ? UNKNOWN : now - before;
}
