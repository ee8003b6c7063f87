#include "protocol/command.h"

#include <inttypes.h>
#include <stdlib.h>

#include "protocol/json_reader.h"

static const char *const measure_keys[] = {"command", "id",     "kernel",     "pairs",  "message_bytes",
                                           "window",  "warmup", "iterations", "verify", NULL};
static const char *const stop_keys[] = {"command", NULL};

/* How many bytes of a text a refusal shows. */
static int shown(struct json_text text)
{
    return text.length < 40 ? (int)text.length : 40;
}

static bool check_keys(const struct json_object *object, const char *const *known, struct refusal *refusal)
{
    for (size_t i = 0; i < object->count; i++) {
        size_t k = 0;
        while (known[k] != NULL && !json_equals(object->members[i].key, known[k]))
            k++;
        if (known[k] == NULL) {
            refuse(refusal, "unknown key '%.*s'", shown(object->members[i].key), object->members[i].key.bytes);
            return false;
        }
    }
    return true;
}

static const struct json_value *take(const struct json_object *object, const char *key, enum json_type type,
                                     struct refusal *refusal)
{
    static const char *const types[] = {[JSON_STRING] = "a string",
                                        [JSON_INTEGER] = "an integer",
                                        [JSON_BOOLEAN] = "true or false",
                                        [JSON_INTEGERS] = "an array of integers"};
    const struct json_value *value = json_find(object, key);
    if (value == NULL) {
        refuse(refusal, "the key '%s' is missing", key);
        return NULL;
    }
    if (value->type != type) {
        refuse(refusal, "'%s' is %s; it must be %s", key, types[value->type], types[type]);
        return NULL;
    }
    return value;
}

static bool take_integer(const struct json_object *object, const char *key, int64_t low, int64_t high,
                         int64_t *integer, struct refusal *refusal)
{
    const struct json_value *value = take(object, key, JSON_INTEGER, refusal);
    if (value == NULL)
        return false;
    if (value->integer < low || value->integer > high) {
        refuse(refusal, "'%s' is %" PRId64 "; it must lie between %" PRId64 " and %" PRId64, key,
                  value->integer, low, high);
        return false;
    }
    *integer = value->integer;
    return true;
}

static bool take_kernel(const struct json_object *object, const struct world *world, size_t *kernel,
                        struct refusal *refusal)
{
    const struct json_value *value = take(object, "kernel", JSON_STRING, refusal);
    if (value == NULL)
        return false;
    for (*kernel = 0; *kernel < world->kernel_count; ++*kernel)
        if (json_equals(value->text, world->kernels[*kernel]->name))
            return true;
    refuse(refusal, "unknown kernel '%.*s'; --list shows all kernels", shown(value->text), value->text.bytes);
    return false;
}

static void explain_round(struct round_check check, int ranks, struct refusal *refusal)
{
    switch (check.fault) {
    case ROUND_GOOD:
        break;
    case ROUND_EMPTY:
        refuse(refusal, "'pairs' is empty; it must name at least a source and a target");
        break;
    case ROUND_ODD:
        refuse(refusal, "'pairs' holds %" PRId64 " ranks; it must hold an even number", check.value);
        break;
    case ROUND_OUT_OF_RANGE:
        refuse(refusal, "'pairs' names rank %" PRId64 "; there are ranks 0 to %d", check.value, ranks - 1);
        break;
    case ROUND_SELF:
        refuse(refusal, "'pairs' pairs rank %" PRId64 " with itself", check.value);
        break;
    case ROUND_TWICE:
        refuse(refusal, "'pairs' names rank %" PRId64 " twice; a rank may be in one pair only", check.value);
        break;
    }
}

static bool take_pairs(const struct json_object *object, int ranks, struct measure *measure, struct refusal *refusal)
{
    const struct json_value *value = take(object, "pairs", JSON_INTEGERS, refusal);
    if (value == NULL)
        return false;
    measure->roles = malloc((size_t)ranks * sizeof *measure->roles);
    if (measure->roles == NULL) {
        refuse(refusal, "no memory on rank 0 for the roles of %d ranks", ranks);
        return false;
    }
    measure->pair_count = value->count / 2;
    const struct round_check check = round_assign(value->integers, value->count, ranks, measure->roles);
    explain_round(check, ranks, refusal);
    return check.fault == ROUND_GOOD;
}

static bool check_window(const struct kernel *kernel, int64_t window, struct refusal *refusal)
{
    if (kernel->windowed || window == 1)
        return true;
    refuse(refusal, "'window' is %" PRId64 "; %s sends one message at a time, it must be 1", window, kernel->name);
    return false;
}

static bool read_measure(const struct json_object *object, const struct world *world, struct measure *measure,
                         struct refusal *refusal)
{
    const struct json_value *verify;
    if (!check_keys(object, measure_keys, refusal) ||
        !take_integer(object, "id", 0, COMMAND_ID_MAX, &measure->id, refusal) ||
        !take_kernel(object, world, &measure->kernel, refusal) ||
        !take_integer(object, "message_bytes", 0, COMMAND_MESSAGE_BYTES_MAX, &measure->message_bytes, refusal) ||
        !take_integer(object, "window", 1, COMMAND_WINDOW_MAX, &measure->window, refusal) ||
        !check_window(world->kernels[measure->kernel], measure->window, refusal) ||
        !take_integer(object, "warmup", 0, COMMAND_ITERATIONS_MAX, &measure->warmup, refusal) ||
        !take_integer(object, "iterations", 1, COMMAND_ITERATIONS_MAX, &measure->iterations, refusal) ||
        (verify = take(object, "verify", JSON_BOOLEAN, refusal)) == NULL)
        return false;
    measure->verify = verify->boolean;
    return take_pairs(object, world->ranks, measure, refusal);
}

static bool read_object(const struct json_object *object, const struct world *world, struct command *command,
                        struct refusal *refusal)
{
    const struct json_value *name = take(object, "command", JSON_STRING, refusal);
    if (name == NULL)
        return false;
    if (json_equals(name->text, "stop")) {
        command->kind = COMMAND_STOP;
        return check_keys(object, stop_keys, refusal);
    }
    if (json_equals(name->text, "measure")) {
        command->kind = COMMAND_MEASURE;
        return read_measure(object, world, &command->measure, refusal);
    }
    refuse(refusal, "unknown command '%.*s'; there are measure and stop", shown(name->text), name->text.bytes);
    return false;
}

static int64_t id_of(const struct json_object *object)
{
    const struct json_value *id = json_find(object, "id");
    const bool good = id != NULL && id->type == JSON_INTEGER && id->integer >= 0 && id->integer <= COMMAND_ID_MAX;
    return good ? id->integer : 0;
}

bool command_read(const char *line, size_t length, const struct world *world, struct command *command,
                  struct refusal *refusal)
{
    struct json_object object;
    *command = (struct command){COMMAND_STOP, {0}};
    const bool good = json_read(line, length, &object, refusal) &&
                      read_object(&object, world, command, refusal);
    refusal->id = id_of(&object);
    json_free(&object);
    if (!good)
        command_free(command);
    return good;
}

void command_free(struct command *command)
{
    free(command->measure.roles);
    command->measure.roles = NULL;
}
