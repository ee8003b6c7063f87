#include "tests/fixtures.h"

#include <stdlib.h>
#include <string.h>

static void no_check(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    (void)group;
    (void)wrong;
    (void)(first + count);
}

#define NAMED(word) .name = word, .measures = "m", .time_is = "t"

static const struct kernel pingpong = {NAMED("pingpong"), .sized = true};
static const struct kernel oneway = {NAMED("oneway"), .sized = true, .windowed = true};
static const struct kernel meet = {NAMED("meet"), .needs = NEEDS_GROUP};
static const struct kernel gather = {NAMED("gather"), .needs = NEEDS_ALL, .sized = true,
                                     .group = {.receive = MEMORY_MESSAGE_PER_RANK, .verify = no_check}};
static const struct kernel copy = {NAMED("copy"), .needs = NEEDS_SINGLE, .sized = true};
static const struct kernel store = {NAMED("store"), .needs = NEEDS_GROUP, .group = {.stores = true}};
static const struct kernel *const table[] = {&pingpong, &oneway, &meet, &gather, &copy, &store};

const struct world fixture_world = {4, table, 6};

const char fixture_measure[] = "{\"command\":\"measure\",\"id\":7,\"kernel\":\"oneway\",\"pairs\":[0,1,3,2],"
                               "\"message_bytes\":8,\"window\":4,\"warmup\":20,\"iterations\":200,\"verify\":\"ends\"}";

const char fixture_store[] = "{\"command\":\"measure\",\"id\":9,\"kernel\":\"store\",\"ranks\":[3,0],"
                             "\"group_sizes\":[2],\"message_bytes\":0,\"window\":1,\"warmup\":0,"
                             "\"iterations\":2,\"verify\":\"none\",\"folder\":\"/a b\"}";

const char fixture_group[] = "{\"command\":\"measure\",\"id\":8,\"kernel\":\"meet\",\"ranks\":[3,0,2],"
                             "\"group_sizes\":[2,1],\"message_bytes\":0,\"window\":1,\"warmup\":20,"
                             "\"iterations\":200,\"verify\":\"none\"}";

char *fixture_exact(const char *bytes, size_t length)
{
    char *copy = malloc(length);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}
