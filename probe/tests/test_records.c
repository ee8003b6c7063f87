#include <stdio.h>
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

static struct rank_sets sets_of(const int64_t *ranks, size_t count, struct set_sizes sizes)
{
    struct rank_sets sets;
    CHECK(rank_sets_form(&sets, 4, ranks, count, sizes).fault == SETS_GOOD);
    return sets;
}

static void test_sample(struct record *record)
{
    const struct wrong wrong[] = {NOTHING_WRONG, {3, 17}};
    const int64_t times_ns[] = {9000, 1100, 1200};
    const int64_t waited_ns[] = {400, 0}, unknown_ns[] = {400, UNKNOWN};
    struct measure measure = {.id = 7,
                              .sets = sets_of((const int64_t[]){1, 3, 2, 0}, 4, (struct set_sizes){.common = 2}),
                              .message_bytes = 8, .window = 4, .warmup = 1, .iterations = 2, .verify = VERIFY_ENDS};
    compose_sample(record, &(struct sample){fixture_world.kernels[1], &measure, 1, times_ns, 2, wrong, NULL, NULL,
                                       waited_ns});
    check_record(record, "{\"record\":\"sample\",\"id\":7,\"kernel\":\"oneway\",\"source\":2,\"target\":0,"
                         "\"message_bytes\":8,\"window\":4,\"warmup\":1,\"iterations\":2,\"warmup_times_s\":[9e-06],"
                         "\"times_s\":[1.1e-06,1.2e-06],\"verified\":2,\"errors\":3,\"errors_by_rank\":[0,3],"
                         "\"first_errors\":[-1,17],\"waited_s\":[4e-07,0]}\n");
    compose_sample(record, &(struct sample){fixture_world.kernels[1], &measure, 1, times_ns, 2, wrong, NULL, NULL,
                                       unknown_ns});
    check_record(record, "{\"record\":\"sample\",\"id\":7,\"kernel\":\"oneway\",\"source\":2,\"target\":0,"
                         "\"message_bytes\":8,\"window\":4,\"warmup\":1,\"iterations\":2,\"warmup_times_s\":[9e-06],"
                         "\"times_s\":[1.1e-06,1.2e-06],\"verified\":2,\"errors\":3,\"errors_by_rank\":[0,3],"
                         "\"first_errors\":[-1,17]}\n");
    rank_sets_free(&measure.sets);
}

static void test_group_sample(struct record *record)
{
    const struct wrong wrong[] = {NOTHING_WRONG, NOTHING_WRONG, NOTHING_WRONG};
    const int64_t times_ns[] = {1100}, sizes[] = {1, 3};
    const struct conditions quiet = {{.switches = 3}, {.wall_ns = 500000000}};
    const struct conditions busy = {
        {.faults = 2, .throttles = 4, .counting = 3, .watched = 1, .others_ns = 5000000, .interrupts = 70,
         .microjoules = 9},
        {.wall_ns = 500000000, .millicelsius = 61000, .minus_khz = -2600000}};
    struct measure measure = {.id = 8, .window = 1, .iterations = 1,
                              .sets = sets_of((const int64_t[]){1, 3, 2, 0}, 4, (struct set_sizes){0, sizes, 2})};
    compose_sample(record, &(struct sample){fixture_world.kernels[2], &measure, 1, times_ns, 0, wrong, NULL, &quiet,
                                       NULL});
    check_record(record, "{\"record\":\"sample\",\"id\":8,\"kernel\":\"meet\",\"ranks\":[3,2,0],"
                         "\"message_bytes\":0,\"window\":1,\"warmup\":0,\"iterations\":1,\"warmup_times_s\":[],"
                         "\"times_s\":[1.1e-06],\"verified\":0,\"errors\":0,"
                         "\"wall_s\":0.5,\"switches\":3,\"faults\":0}\n");
    compose_sample(record, &(struct sample){fixture_world.kernels[2], &measure, 1, times_ns, 0, wrong, NULL, &busy,
                                       NULL});
    check_record(record, "{\"record\":\"sample\",\"id\":8,\"kernel\":\"meet\",\"ranks\":[3,2,0],"
                         "\"message_bytes\":0,\"window\":1,\"warmup\":0,\"iterations\":1,\"warmup_times_s\":[],"
                         "\"times_s\":[1.1e-06],\"verified\":0,\"errors\":0,\"wall_s\":0.5,\"switches\":0,\"faults\":2,"
                         "\"throttles\":4,\"least_khz\":2600000,\"millicelsius\":61000,\"others_s\":0.005,"
                         "\"interrupts\":70,\"microjoules\":9}\n");
    rank_sets_free(&measure.sets);
}

static void test_arrivals(struct record *record)
{
    const struct wrong wrong[] = {NOTHING_WRONG, NOTHING_WRONG};
    const struct arrival arrivals[] = {{0, 0, 0, 1}, {-4000000000, 250, 1500, 7}};
    const int64_t times_ns[] = {1100}, sizes[] = {2};
    struct measure measure = {.id = 9, .window = 1, .iterations = 1,
                              .sets = sets_of((const int64_t[]){1, 3}, 2, (struct set_sizes){0, sizes, 1})};
    compose_sample(record, &(struct sample){fixture_world.kernels[2], &measure, 0, times_ns, 0, wrong, arrivals, NULL,
                                       NULL});
    check_record(record, "{\"record\":\"sample\",\"id\":9,\"kernel\":\"meet\",\"ranks\":[1,3],"
                         "\"message_bytes\":0,\"window\":1,\"warmup\":0,\"iterations\":1,\"warmup_times_s\":[],"
                         "\"times_s\":[1.1e-06],\"verified\":0,\"errors\":0,\"offsets_ns\":[0,-4000000000],"
                         "\"offset_errors_ns\":[0,250],\"late_ns\":[0,1500],\"last\":[1,7]}\n");
    rank_sets_free(&measure.sets);
}

/* A clock that gains a part of a thousand. */
static void test_offsets(void)
{
    const struct clock_reading before = {1000000, 500, 10}, after = {2000000, 1500, 10};
    CHECK(offset_at(&before, &after, 1000000) == 500);
    CHECK(offset_at(&before, &after, 1500000) == 1000);
    CHECK(offset_at(&before, &after, 9000000) == 1500);
    CHECK(offset_at(&before, &before, 7) == 500);
}

static void check_kernel(struct record *record, size_t kernel, const char *name, const char *needs)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "{\"record\":\"kernel\",\"name\":\"%s\",\"measures\":\"m\",\"time_is\":\"t\","
             "\"needs\":\"%s\"}\n", name, needs);
    compose_kernel(record, fixture_world.kernels[kernel]);
    check_record(record, wanted);
}

void test_records(void)
{
    struct record record = {0};
    struct rank_facts facts = {.host = "n1", .pid = 123, .clock = {1e-9, 2.1e-8},
                               .affinity = {{0x10f}, 2}};
    compose_version(&record);
    check_record(&record, "{\"record\":\"version\",\"probe\":\"1\",\"format\":2}\n");
    check_kernel(&record, 0, "pingpong", "pair");
    check_kernel(&record, 2, "meet", "group");
    check_kernel(&record, 3, "gather", "all");
    check_kernel(&record, 4, "copy", "single");
    compose_header(&record, &(struct header){3, 1, "Some \"MPI\"\nsecond line", 4});
    check_record(&record, "{\"record\":\"header\",\"format\":2,\"probe\":\"1\",\"mpi_standard\":\"3.1\","
                          "\"mpi_library\":\"Some \\\"MPI\\\"\",\"ranks\":4,\"runs_programs\":1}\n");
    compose_rank(&record, 3, &facts, 8);
    check_record(&record, "{\"record\":\"rank\",\"rank\":3,\"host\":\"n1\",\"pid\":123,\"cpus\":\"0-3,8\",\"cpu\":2,"
                          "\"own_cpu\":8,\"clock\":\"CLOCK_MONOTONIC\","
                          "\"clock_resolution_s\":1e-09,\"clock_overhead_s\":2.1e-08}\n");
    compose_ready(&record, 4);
    check_record(&record, "{\"record\":\"ready\",\"ranks\":4}\n");
    compose_start(&record, 7);
    check_record(&record, "{\"record\":\"start\",\"id\":7}\n");
    compose_ran(&record, 1, &(struct program_end){0, 0, 1500000000, 250});
    check_record(&record, "{\"record\":\"ran\",\"rank\":1,\"ran_s\":1.5,\"waited_s\":2.5e-07}\n");
    test_sample(&record);
    test_group_sample(&record);
    test_arrivals(&record);
    test_offsets();
    compose_end(&record, 7, 2);
    check_record(&record, "{\"record\":\"end\",\"id\":7,\"samples\":2}\n");
    compose_error(&record, &(struct refusal){7, "no"});
    check_record(&record, "{\"record\":\"error\",\"id\":7,\"message\":\"no\"}\n");
    compose_stopped(&record);
    check_record(&record, "{\"record\":\"stopped\"}\n");
    record_free(&record);
}
