#ifndef SEATRIAL_PROTOCOL_COMMAND_H
#define SEATRIAL_PROTOCOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"
#include "protocol/rank_sets.h"
#include "protocol/refusal.h"

#define COMMAND_ID_MAX 9007199254740991 /* 2^53 - 1: exact in every JSON reader */
#define COMMAND_MESSAGE_BYTES_MAX ((int64_t)1 << 30)
#define COMMAND_WINDOW_MAX 1024
#define COMMAND_ITERATIONS_MAX 1000000

/* What a command may ask for here. */
struct world {
    int ranks;
    const struct kernel *const *kernels;
    size_t kernel_count;
};

struct measure {
    int64_t id;
    size_t kernel;         /* its index in world.kernels */
    struct rank_sets sets; /* which ranks run it together */
    int64_t message_bytes, window, warmup, iterations;
    enum verification verify;
    char folder[FOLDER_BYTES_MAX + 1]; /* for a kernel that stores; else empty */
};

enum command_kind { COMMAND_STOP, COMMAND_MEASURE };

struct command {
    enum command_kind kind;
    struct measure measure;
};

/* True and a command that can be carried out, which must be freed; or false and the refusal. */
bool command_read(const char *line, size_t length, const struct world *world, struct command *command,
                  struct refusal *refusal);
void command_free(struct command *command);

#endif
