#define _POSIX_C_SOURCE 200809L

#include "conductor.h"

#include <stdbool.h>
#include <unistd.h>

#include "command.h"
#include "conduct_round.h"
#include "kernels.h"
#include "lines.h"
#include "output.h"
#include "player.h"
#include "records.h"

static void refuse(struct record *record, const struct refusal *refusal)
{
    compose_error(record, refusal);
    output_print(record);
}

/* False when there is nothing more to do. */
static bool obey(const struct links *links, const char *line, size_t length, struct record *record)
{
    const struct world world = {links->ranks, kernels, kernel_count};
    struct command command;
    struct refusal refusal;
    if (!command_read(line, length, &world, &command, &refusal)) {
        refuse(record, &refusal);
        return true;
    }
    if (command.kind == COMMAND_STOP)
        return false;
    if (!conduct_round(links, &command.measure, record, &refusal))
        refuse(record, &refusal);
    command_free(&command);
    return true;
}

static bool obey_next(const struct links *links, struct lines *lines, struct record *record)
{
    const char *line = NULL;
    size_t length = 0;
    struct refusal refusal = {.id = 0};
    switch (lines_next(lines, &line, &length)) {
    case LINE_READ:
        return obey(links, line, length, record);
    case LINE_TOO_LONG:
        fault_set(&refusal.fault, "a line of more than %zu bytes", LINE_BYTES_MAX);
        refuse(record, &refusal);
        return true;
    case LINE_NO_MEMORY:
        fault_set(&refusal.fault, "no memory on rank 0 for a line this long");
        refuse(record, &refusal);
        return true;
    case LINE_END:
        break;
    }
    return false;
}

/* Rank 0 reads only while no round is under way, so it may sleep in the read: no message needs its help then. */
void conduct(const struct links *links, struct record *record)
{
    const struct job stop = {.stop = 1};
    struct lines lines = lines_open(STDIN_FILENO);
    while (obey_next(links, &lines, record))
        continue;
    lines_free(&lines);
    for (int rank = 1; rank < links->ranks; rank++)
        MPI_Send(&stop, sizeof stop, MPI_BYTE, rank, CONTROL_JOB, links->control);
    compose_stopped(record);
    output_print(record);
}
