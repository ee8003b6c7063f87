#include "rounds/part.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Memory that a part needs besides its result. */
struct demand {
    bool sends, receives;
    int64_t send_bytes, receive_bytes; /* per message */
    int64_t window, budget_bytes;      /* per direction */
    size_t requests, members, entries;
    bool fresh; /* pages that nobody has touched yet */
};

static struct demand pair_demand(const struct kernel *kernel, const struct job *job)
{
    const bool source = job->index == 0;
    const bool sends = source || kernel->pair.answers, receives = !source || kernel->pair.answers;
    return (struct demand){
        .sends = sends,
        .receives = receives,
        .send_bytes = job->message_bytes,
        .receive_bytes = job->message_bytes,
        .window = job->window,
        .budget_bytes = BUFFERS_BUDGET_BYTES / (sends + receives),
        .requests = (size_t)job->window,
    };
}

static int64_t block_bytes(enum kernel_memory memory, const struct job *job)
{
    switch (memory) {
    case MEMORY_MESSAGE_PER_RANK:
        return job->message_bytes * job->size;
    case MEMORY_THREE_MESSAGES:
        return 3 * job->message_bytes;
    case MEMORY_MESSAGE:
    case MEMORY_NONE:
        break;
    }
    return job->message_bytes;
}

static struct demand group_demand(const struct kernel *kernel, const struct job *job)
{
    return (struct demand){
        .sends = kernel->group.send != MEMORY_NONE,
        .receives = kernel->group.receive != MEMORY_NONE,
        .send_bytes = block_bytes(kernel->group.send, job),
        .receive_bytes = block_bytes(kernel->group.receive, job),
        .window = 1,
        .budget_bytes = BUFFERS_BUDGET_BYTES,
        .members = kernel->needs == NEEDS_GROUP ? (size_t)job->size : 0,
        .entries = kernel->group.arrivals ? (size_t)(job->warmup + job->iterations) : 0,
        .fresh = kernel->group.far,
    };
}

static int64_t needed_bytes(struct part *part, const struct demand *demand)
{
    int64_t bytes = (int64_t)(demand->requests * sizeof *part->requests + demand->members * sizeof *part->members +
                              demand->entries * sizeof *part->entries_ns);
    if (demand->sends)
        bytes += buffers_plan(&part->send, demand->send_bytes, demand->window, demand->budget_bytes);
    if (demand->receives)
        bytes += buffers_plan(&part->receive, demand->receive_bytes, demand->window, demand->budget_bytes);
    return bytes;
}

static bool allocate(struct part *part, const struct demand *demand, size_t result)
{
    part->requests = malloc((demand->requests + 1) * sizeof *part->requests);
    part->members = malloc((demand->members + 1) * sizeof *part->members);
    part->entries_ns = calloc(demand->entries + 1, sizeof *part->entries_ns);
    part->result = malloc(result);
    if (part->requests == NULL || part->members == NULL || part->entries_ns == NULL || part->result == NULL)
        return false;
    memset(part->result, 0, result);
    part->send.fresh = part->receive.fresh = demand->fresh;
    if (demand->sends && !buffers_open(&part->send, demand->send_bytes, demand->window, demand->budget_bytes))
        return false;
    return !demand->receives ||
           buffers_open(&part->receive, demand->receive_bytes, demand->window, demand->budget_bytes);
}

/* How many iterations the kernel compares: none where it moves no data that can be compared. */
static int64_t verified(const struct part *part)
{
    const struct job *job = part->job;
    if (part->kernel->needs == NEEDS_PAIR)
        return job->message_bytes > 0 ? compared_iterations(job) : 0;
    if (part->kernel->group.compares)
        return job->warmup + job->iterations;
    return part->kernel->group.verify != NULL ? compared_iterations(job) : 0;
}

int64_t part_prepare(struct part *part, const struct job *job)
{
    *part = (struct part){.job = job, .kernel = kernels[job->kernel]};
    const struct demand demand =
        part->kernel->needs == NEEDS_PAIR ? pair_demand(part->kernel, job) : group_demand(part->kernel, job);
    const int64_t times = job->warmup + job->iterations;
    const size_t result = result_bytes(times, (size_t)job->size);
    const int64_t needed = needed_bytes(part, &demand) + (int64_t)result;
    const bool pinned = part->kernel->needs != NEEDS_PAIR && part->kernel->group.pinned;
    if (pinned)
        part->pin = pin_to(job->memory_cpu); /* before memory is touched, which decides where it lies */
    part->placed = part->pin.active;
    if (!allocate(part, &demand, result))
        return needed;
    if (pinned && job->memory_cpu != job->cpu) {
        pin_release(&part->pin);
        part->pin = pin_to(job->cpu);
        part->placed = part->placed && part->pin.active;
    }
    part->result->times = times;
    part->result->verified = verified(part);
    return 0;
}

void part_release(struct part *part)
{
    buffers_close(&part->send);
    buffers_close(&part->receive);
    free(part->requests);
    free(part->members);
    free(part->entries_ns);
    free(part->result);
    pin_release(&part->pin);
    *part = (struct part){0};
}

void part_run(struct part *part, const struct channels *channels)
{
    if (part->kernel->needs == NEEDS_PAIR)
        part_run_pair(part, channels);
    else
        part_run_group(part, channels);
}
