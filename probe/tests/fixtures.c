#include "tests/fixtures.h"

#include <stdlib.h>
#include <string.h>

static const struct kernel pingpong = {"pingpong", "m", "t", false, true, NULL, NULL};
static const struct kernel oneway = {"oneway", "m", "t", true, false, NULL, NULL};
static const struct kernel *const table[] = {&pingpong, &oneway};

const struct world fixture_world = {4, table, 2};

const char fixture_measure[] = "{\"command\":\"measure\",\"id\":7,\"kernel\":\"oneway\",\"pairs\":[0,1,3,2],"
                               "\"message_bytes\":8,\"window\":4,\"warmup\":20,\"iterations\":200,\"verify\":true}";

char *fixture_exact(const char *bytes, size_t length)
{
    char *copy = malloc(length);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}
