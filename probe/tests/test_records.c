#include <string.h>

#include "protocol/records.h"
#include "tests/check.h"
#include "tests/fixtures.h"

static void check_record(struct record *record, const char *wanted)
{
    record_reserve(record, record->length + 1);
    record->text[record->length] = '\0';
    CHECK_TEXT(record->text, wanted);
}

static void test_sample(struct record *record)
{
    struct role roles[] = {{ROLE_TARGET, 2}, {ROLE_IDLE, -1}, {ROLE_SOURCE, 0}};
    const struct measure measure = {.id = 7, .roles = roles, .pair_count = 1, .message_bytes = 8, .window = 4,
                                    .warmup = 1, .iterations = 2, .verify = true};
    const int64_t times_ns[] = {9000, 1100, 1200};
    compose_sample(record, &(struct sample){fixture_world.kernels[1], &measure, 2, times_ns, 3});
    check_record(record, "{\"record\":\"sample\",\"id\":7,\"kernel\":\"oneway\",\"source\":2,\"target\":0,"
                         "\"message_bytes\":8,\"window\":4,\"warmup\":1,\"iterations\":2,\"warmup_times_s\":[9e-06],"
                         "\"times_s\":[1.1e-06,1.2e-06],\"verified\":true,\"errors\":3}\n");
}

void test_records(void)
{
    struct record record = {0};
    struct rank_facts facts = {.host = "n1", .pid = 123, .clock = {1e-9, 2.1e-8},
                               .affinity = {{0x10f}, 2}};
    compose_version(&record);
    check_record(&record, "{\"record\":\"version\",\"probe\":\"1\",\"format\":1}\n");
    compose_kernel(&record, fixture_world.kernels[0]);
    check_record(&record, "{\"record\":\"kernel\",\"name\":\"pingpong\",\"measures\":\"m\",\"time_is\":\"t\"}\n");
    compose_header(&record, &(struct header){3, 1, "Some \"MPI\"\nsecond line", 4});
    check_record(&record, "{\"record\":\"header\",\"format\":1,\"probe\":\"1\",\"mpi_standard\":\"3.1\","
                          "\"mpi_library\":\"Some \\\"MPI\\\"\",\"ranks\":4}\n");
    compose_rank(&record, 3, &facts);
    check_record(&record, "{\"record\":\"rank\",\"rank\":3,\"host\":\"n1\",\"pid\":123,\"cpus\":\"0-3,8\",\"cpu\":2,"
                          "\"clock\":\"CLOCK_MONOTONIC\","
                          "\"clock_resolution_s\":1e-09,\"clock_overhead_s\":2.1e-08}\n");
    compose_ready(&record, 4);
    check_record(&record, "{\"record\":\"ready\",\"ranks\":4}\n");
    compose_start(&record, 7);
    check_record(&record, "{\"record\":\"start\",\"id\":7}\n");
    test_sample(&record);
    compose_end(&record, 7, 2);
    check_record(&record, "{\"record\":\"end\",\"id\":7,\"samples\":2}\n");
    compose_error(&record, &(struct refusal){7, "no"});
    check_record(&record, "{\"record\":\"error\",\"id\":7,\"message\":\"no\"}\n");
    compose_stopped(&record);
    check_record(&record, "{\"record\":\"stopped\"}\n");
    record_free(&record);
}
