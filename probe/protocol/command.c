#include "protocol/command.h"

#include <inttypes.h>
#include <string.h>

#include "protocol/json_reader.h"

static const char *const measure_keys[] = {"command", "id",     "kernel", "pairs",      "ranks",  "group_sizes",
                                           "message_bytes", "window", "warmup", "iterations", "verify",
                                           "folder",        NULL};
static const char *const stop_keys[] = {"command", NULL};

/* The keys that name the ranks of a round, and which of them each kind of kernel takes. */
static const char *const rank_keys[] = {"pairs", "ranks", "group_sizes"};
static const struct {
    bool takes[3];
    const char *described;
} rank_keys_of[] = {
    [NEEDS_PAIR] = {{true, false, false}, "takes 'pairs'"},
    [NEEDS_GROUP] = {{false, true, true}, "takes 'ranks' and 'group_sizes'"},
    [NEEDS_SINGLE] = {{false, true, false}, "takes 'ranks'"},
    [NEEDS_ALL] = {{false, false, false}, "runs on all ranks"},
};

static const char *const verifications[] = {[VERIFY_NONE] = "none", [VERIFY_ENDS] = "ends", [VERIFY_ALL] = "all"};

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
        refuse(refusal, "'%s' is %" PRId64 "; it must be between %" PRId64 " and %" PRId64, key,
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

static bool take_verification(const struct json_object *object, enum verification *verification,
                              struct refusal *refusal)
{
    const struct json_value *value = take(object, "verify", JSON_STRING, refusal);
    if (value == NULL)
        return false;
    for (size_t i = 0; i < sizeof verifications / sizeof verifications[0]; i++)
        if (json_equals(value->text, verifications[i])) {
            *verification = (enum verification)i;
            return true;
        }
    refuse(refusal, "'verify' is '%.*s'; it must be none, ends or all", shown(value->text), value->text.bytes);
    return false;
}

static bool check_rank_keys(const struct json_object *object, const struct kernel *kernel, struct refusal *refusal)
{
    for (size_t i = 0; i < sizeof rank_keys / sizeof rank_keys[0]; i++)
        if (!rank_keys_of[kernel->needs].takes[i] && json_find(object, rank_keys[i]) != NULL) {
            refuse(refusal, "'%s' is not a key for %s, which %s", rank_keys[i], kernel->name,
                   rank_keys_of[kernel->needs].described);
            return false;
        }
    return true;
}

/* Says in `refusal` what is wrong with the ranks under `key`. */
static bool check_sets(struct sets_check check, const char *key, int ranks, struct refusal *refusal)
{
    switch (check.fault) {
    case SETS_GOOD:
        return true;
    case SETS_EMPTY:
        refuse(refusal, "'%s' is empty; it must name the ranks that measure", key);
        break;
    case SETS_REMAINDER:
        refuse(refusal, "'%s' has %" PRId64 " ranks; it must have an even number", key, check.value);
        break;
    case SETS_SIZE:
        refuse(refusal, "'group_sizes' has a group of %" PRId64 " ranks; a group has at least one", check.value);
        break;
    case SETS_SUM:
        refuse(refusal, "'group_sizes' does not add up to the %" PRId64 " ranks in '%s'", check.value, key);
        break;
    case SETS_OUT_OF_RANGE:
        refuse(refusal, "'%s' names rank %" PRId64 "; there are ranks 0 to %d", key, check.value, ranks - 1);
        break;
    case SETS_TWICE:
        refuse(refusal, "'%s' names rank %" PRId64 " twice; a rank has one part in a round", key, check.value);
        break;
    case SETS_NO_MEMORY:
        refuse(refusal, "no memory on rank 0 for the parts of %" PRId64 " ranks", check.value);
        break;
    }
    return false;
}

static bool take_sets(const struct json_object *object, const struct kernel *kernel, int world,
                      struct rank_sets *sets, struct refusal *refusal)
{
    const char *key = kernel->needs == NEEDS_PAIR ? "pairs" : "ranks";
    struct set_sizes sizes = {.common = kernel->needs == NEEDS_PAIR ? 2 : 1};
    if (!check_rank_keys(object, kernel, refusal))
        return false;
    if (kernel->needs == NEEDS_ALL)
        return check_sets(rank_sets_all(sets, world), key, world, refusal);
    const struct json_value *ranks = take(object, key, JSON_INTEGERS, refusal);
    if (ranks == NULL)
        return false;
    if (kernel->needs == NEEDS_GROUP) {
        const struct json_value *each = take(object, "group_sizes", JSON_INTEGERS, refusal);
        if (each == NULL)
            return false;
        sizes = (struct set_sizes){.each = each->integers, .count = each->count};
    }
    const struct sets_check check = rank_sets_form(sets, world, ranks->integers, ranks->count, sizes);
    return check_sets(check, key, world, refusal);
}

/* A kernel that writes files needs the folder, and no other takes one. */
static bool take_folder(const struct json_object *object, const struct kernel *kernel, char *folder,
                        struct refusal *refusal)
{
    const bool stores = kernel->needs != NEEDS_PAIR && kernel->group.stores;
    if (!stores && json_find(object, "folder") != NULL)
        refuse(refusal, "'folder' is not a key for %s, which writes no files", kernel->name);
    if (!stores)
        return json_find(object, "folder") == NULL;
    const struct json_value *value = take(object, "folder", JSON_STRING, refusal);
    if (value == NULL)
        return false;
    if (value->text.length > FOLDER_BYTES_MAX || value->text.length == 0 || value->text.bytes[0] != '/') {
        refuse(refusal, "'folder' is '%.*s'; it must be an absolute path of at most %d bytes", shown(value->text),
               value->text.bytes, FOLDER_BYTES_MAX);
        return false;
    }
    memcpy(folder, value->text.bytes, value->text.length);
    folder[value->text.length] = '\0';
    return true;
}

/* Whether the kernel can do what is asked, whatever the ranks. */
static bool check_kernel(const struct kernel *kernel, const struct measure *measure, struct refusal *refusal)
{
    if (!kernel->windowed && measure->window != 1)
        refuse(refusal, "'window' is %" PRId64 "; %s has no window, it must be 1", measure->window, kernel->name);
    else if (!kernel->sized && measure->message_bytes != 0)
        refuse(refusal, "'message_bytes' is %" PRId64 "; %s sends no data, it must be 0", measure->message_bytes,
               kernel->name);
    else
        return true;
    return false;
}

/* Whether a kernel with memory for a message per rank gets by with what one message may have. */
static bool check_memory(const struct kernel *kernel, const struct measure *measure, struct refusal *refusal)
{
    const bool per_rank = kernel->needs != NEEDS_PAIR && (kernel->group.send == MEMORY_MESSAGE_PER_RANK ||
                                                          kernel->group.receive == MEMORY_MESSAGE_PER_RANK);
    for (size_t set = 0; per_rank && set < measure->sets.count; set++) {
        const int64_t ranks = (int64_t)rank_sets_size(&measure->sets, (int)set);
        if (measure->message_bytes > COMMAND_MESSAGE_BYTES_MAX / ranks) {
            refuse(refusal, "'message_bytes' is %" PRId64 "; %s holds one message for each of %" PRId64
                   " ranks, together at most %" PRId64 " bytes", measure->message_bytes, kernel->name, ranks,
                   COMMAND_MESSAGE_BYTES_MAX);
            return false;
        }
    }
    return true;
}

static bool read_measure(const struct json_object *object, const struct world *world, struct measure *measure,
                         struct refusal *refusal)
{
    if (!check_keys(object, measure_keys, refusal) ||
        !take_integer(object, "id", 0, COMMAND_ID_MAX, &measure->id, refusal) ||
        !take_kernel(object, world, &measure->kernel, refusal) ||
        !take_integer(object, "message_bytes", 0, COMMAND_MESSAGE_BYTES_MAX, &measure->message_bytes, refusal) ||
        !take_integer(object, "window", 1, COMMAND_WINDOW_MAX, &measure->window, refusal) ||
        !take_integer(object, "warmup", 0, COMMAND_ITERATIONS_MAX, &measure->warmup, refusal) ||
        !take_integer(object, "iterations", 1, COMMAND_ITERATIONS_MAX, &measure->iterations, refusal) ||
        !take_verification(object, &measure->verify, refusal))
        return false;
    const struct kernel *kernel = world->kernels[measure->kernel];
    return check_kernel(kernel, measure, refusal) &&
           take_folder(object, kernel, measure->folder, refusal) &&
           take_sets(object, kernel, world->ranks, &measure->sets, refusal) &&
           check_memory(kernel, measure, refusal);
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
    *command = (struct command){.kind = COMMAND_STOP};
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
    rank_sets_free(&command->measure.sets);
}
