#define _POSIX_C_SOURCE 200809L

#include "rank_facts.h"

#include <unistd.h>

struct rank_facts rank_facts_read(void)
{
    struct rank_facts facts = {.pid = getpid(), .affinity = affinity_read(), .clock = clock_quality_read()};
    if (gethostname(facts.host, HOST_BYTES - 1) != 0)
        facts.host[0] = '\0';
    return facts;
}
