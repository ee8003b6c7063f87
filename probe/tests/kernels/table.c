/* Kernels whose times are not measured but say who took part: a probe that is linked with this table instead of
 * kernels/table.c shows how rounds form sets of ranks. Times count microseconds. */

#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <string.h>

#include "host/clock.h"
#include "kernels/fma.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pair.h"
#include "kernels/pattern.h"

#define US 1000

static int world_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* On the leader the digits of the time are the world ranks of the group, its first rank last; elsewhere it is 0. */
static void roll_call(const struct group *group, int64_t count, int64_t *times_ns)
{
    int64_t digit = world_rank();
    for (int i = 0; i < group->rank; i++)
        digit *= 10;
    for (int64_t i = 0; i < count; i++) {
        int64_t digits = 0;
        MPI_Reduce(&digit, &digits, 1, MPI_INT64_T, MPI_SUM, 0, group->comm);
        times_ns[i] = digits * US;
    }
}

static const struct kernel kernel_roll_call = {
    .name = "roll_call", .measures = "", .time_is = "", .needs = NEEDS_GROUP, .group = {.run = roll_call}};

/* Each rank claims a time that grows with its place, so the longest is the last one's. */
static void last_is_slow(const struct group *group, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++)
        times_ns[i] = (group->rank + 1) * (i + 1) * US;
}

static void gather(const struct group *group)
{
    memset(group->send, group->rank + 1, (size_t)group->message_bytes);
    MPI_Allgather(group->send, group->message_bytes, MPI_BYTE, group->receive, group->message_bytes, MPI_BYTE,
                  group->comm);
}

/* The second byte of every message is taken for wrong on rank 1, and those that are. */
static void check_gathered(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    for (int64_t i = first; i < first + count; i++) {
        gather(group);
        for (int rank = 0; rank < group->ranks; rank++)
            for (int byte = 0; byte < group->message_bytes; byte++)
                if (group->receive[rank * group->message_bytes + byte] != rank + 1 || (group->rank == 1 && byte == 1))
                    *wrong = (struct wrong){wrong->bytes + 1, 1};
    }
}

static const struct kernel kernel_everyone = {
    .name = "everyone",
    .measures = "",
    .time_is = "",
    .needs = NEEDS_ALL,
    .sized = true,
    .group = {.send = MEMORY_MESSAGE,
              .receive = MEMORY_MESSAGE_PER_RANK,
              .run = last_is_slow,
              .verify = check_gathered},
};

/* The time is the world rank, plus 100 where this is no set of one rank. */
static void alone(const struct group *group, int64_t count, int64_t *times_ns)
{
    int ranks;
    MPI_Comm_size(group->comm, &ranks);
    memcpy(group->receive, group->send, (size_t)group->message_bytes);
    for (int64_t i = 0; i < count; i++)
        times_ns[i] = (world_rank() + (ranks == 1 && group->ranks == 1 ? 0 : 100)) * US;
}

static const struct kernel kernel_alone = {
    .name = "alone",
    .measures = "",
    .time_is = "",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .group = {.send = MEMORY_MESSAGE, .receive = MEMORY_THREE_MESSAGES, .run = alone},
};

/* The last message reaches the target with a wrong byte, and nothing at all reaches the source. */
static void garbled_source(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    for (int64_t i = 0; i < count; i++) {
        MPI_Send(pair->send[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm);
        times_ns[i] = US;
    }
}

static void garbled_target(const struct pair *pair, int64_t count, int64_t *times_ns)
{
    (void)times_ns;
    for (int64_t i = 0; i < count; i++)
        MPI_Recv(pair->receive[0], pair->message_bytes, MPI_BYTE, pair->partner, PAIR_DATA, pair->comm,
                 MPI_STATUS_IGNORE);
    if (count > 0)
        pair->receive[0][pair->message_bytes - 1] ^= 1;
}

static const struct kernel kernel_garbled = {
    .name = "garbled",
    .measures = "",
    .time_is = "",
    .needs = NEEDS_PAIR,
    .sized = true,
    .pair = {.answers = true, .source = garbled_source, .target = garbled_target},
};

/* The second rank says that it began 5 ms later than the first one, by whose clock both go. */
static void dawdle(const struct group *group, int64_t count, int64_t *times_ns)
{
    int64_t now = clock_ns();
    MPI_Bcast(&now, 1, MPI_INT64_T, 0, group->comm);
    for (int64_t i = 0; i < count; i++) {
        group->entries_ns[i] = now + group->rank * 5000 * US;
        times_ns[i] = US;
    }
}

static const struct kernel kernel_dawdle = {.name = "dawdle",
                                            .measures = "",
                                            .time_is = "",
                                            .needs = NEEDS_GROUP,
                                            .group = {.run = dawdle, .arrivals = true}};

extern const struct kernel kernel_pingpong, kernel_oneway;
extern const struct kernel kernel_memory_copy, kernel_memory_scale, kernel_memory_add, kernel_memory_triad;
extern const struct kernel kernel_memory_read, kernel_chase, kernel_fma, kernel_noise_work, kernel_noise_detour;
extern const struct kernel kernel_pipe_switch, kernel_pipe_wake, kernel_timer_wake, kernel_time_slice, kernel_chase_far;
extern const struct kernel kernel_barrier, kernel_allreduce, kernel_alltoall, kernel_dgemm;
extern const struct kernel kernel_storage_write, kernel_storage_read, kernel_storage_files;

/* One number of each block comes out other than is expected. */
static void expect_another_number(const struct group *group)
{
    kernel_fma.group.prepare(group);
    fma_tables.expected[3] += 1;
}

static void run_fma(const struct group *group, int64_t count, int64_t *times_ns)
{
    kernel_fma.group.run(group, count, times_ns);
}

static const struct kernel kernel_miscalculated = {
    .name = "miscalculated",
    .measures = "",
    .time_is = "",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .windowed = true,
    .group = {.run = run_fma, .prepare = expect_another_number, .compares = true},
};

/* The first number of the first matrix changes after the expected product is known. */
static void change_a_number(const struct group *group)
{
    kernel_dgemm.group.prepare(group);
    ((double *)(void *)group->receive)[0] += 1;
}

static void run_dgemm(const struct group *group, int64_t count, int64_t *times_ns)
{
    kernel_dgemm.group.run(group, count, times_ns);
}

static const struct kernel kernel_misread = {
    .name = "misread",
    .measures = "",
    .time_is = "",
    .needs = NEEDS_SINGLE,
    .sized = true,
    .group = {.receive = MEMORY_THREE_MESSAGES, .run = run_dgemm, .prepare = change_a_number, .compares = true},
};

const struct kernel *const kernels[] = {
    &kernel_roll_call,    &kernel_everyone,    &kernel_alone,        &kernel_garbled,    &kernel_pingpong,
    &kernel_oneway,       &kernel_memory_copy, &kernel_memory_scale, &kernel_memory_add,
    &kernel_memory_triad, &kernel_memory_read, &kernel_chase,        &kernel_fma,        &kernel_noise_work,
    &kernel_noise_detour, &kernel_pipe_switch, &kernel_pipe_wake,    &kernel_miscalculated,
    &kernel_timer_wake,   &kernel_time_slice,  &kernel_chase_far,    &kernel_barrier,    &kernel_allreduce,
    &kernel_alltoall,     &kernel_dawdle,
    &kernel_storage_write, &kernel_storage_read, &kernel_storage_files, &kernel_dgemm, &kernel_misread,
};
const size_t kernel_count = sizeof kernels / sizeof kernels[0];
