#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/command.h"
#include "protocol/records.h"
#include "protocol/json_writer.h"
#include "tests/check.h"
#include "tests/fixtures.h"

#define ROUNDS 100000
#define ROOM 512

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. The seed is fixed, so a failure comes back. */
static uint64_t state = UINT64_C(0x5EA7121A1);

static size_t draw(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % below);
}

static size_t remove_at(char *line, size_t length, size_t at)
{
    memmove(line + at, line + at + 1, length - at - 1);
    return length - 1;
}

static size_t insert_at(char *line, size_t length, size_t at, char byte)
{
    memmove(line + at + 1, line + at, length - at);
    line[at] = byte;
    return length + 1;
}

static size_t mutate(char *line, size_t length)
{
    static const char telling[] = "{}[]\",:\\u0-9e.tf \0\xFF\xC3";
    const char byte = draw(2) ? telling[draw(sizeof telling)] : (char)draw(256);
    const size_t at = length == 0 ? 0 : draw(length);
    switch (length == 0 || length + 1 >= ROOM ? 0 : 1 + draw(4)) {
    case 1:
        return remove_at(line, length, at);
    case 2:
        line[at] = byte;
        return length;
    case 3:
        return insert_at(line, length, at, byte);
    case 4:
        return draw(8) == 0 ? at : length;
    default:
        return length;
    }
}

/* Every rank that has a place is there among the members of its set, and no other rank is. */
static bool is_whole(const struct rank_sets *sets)
{
    size_t placed = 0;
    for (int rank = 0; rank < fixture_world.ranks; rank++) {
        const struct place place = sets->places[rank];
        if (place.set < 0)
            continue;
        placed++;
        if (place.set >= (int)sets->count || place.index >= (int)rank_sets_size(sets, place.set) ||
            rank_sets_members(sets, place.set)[place.index] != rank)
            return false;
    }
    return sets->count > 0 && placed == sets->begins[sets->count];
}

static bool is_sound(const struct command *command)
{
    const struct measure *m = &command->measure;
    if (command->kind == COMMAND_STOP)
        return m->sets.members == NULL;
    return is_whole(&m->sets) && m->kernel < fixture_world.kernel_count && m->id >= 0 &&
           m->message_bytes >= 0 && m->message_bytes <= COMMAND_MESSAGE_BYTES_MAX && m->window >= 1 &&
           m->window <= COMMAND_WINDOW_MAX && m->warmup >= 0 && m->iterations >= 1;
}

static bool is_clean_line(const struct record *record)
{
    size_t at = 0;
    while (at < record->length) {
        const size_t step = utf8_sequence(record->text + at, record->length - at);
        if (step == 0 || (record->text[at] >= 0 && record->text[at] < 0x20 && at != record->length - 1))
            return false;
        at += step;
    }
    return record->text[record->length - 1] == '\n';
}

/* Whatever comes in: a command that can be carried out, or an error record on one clean line. */
static bool survives(const char *bytes, size_t length, struct record *record)
{
    struct command command;
    struct refusal refusal = {.id = 0};
    char *line = fixture_exact(bytes, length);
    bool good;
    if (command_read(line, length, &fixture_world, &command, &refusal)) {
        good = is_sound(&command);
        command_free(&command);
    } else {
        compose_error(record, &refusal);
        good = refusal.sentence[0] != '\0' && is_clean_line(record);
    }
    free(line);
    return good;
}

void test_fuzz(void)
{
    static const char stop[] = "{\"command\":\"stop\",\"\\ud83d\\ude00\\n\":\"\xC3\xA9\"}";
    const char *const seeds[] = {fixture_measure, fixture_measure, fixture_group, fixture_group, fixture_store, stop};
    struct record record = {0};
    size_t survived = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char line[ROOM];
        const char *seed = seeds[draw(sizeof seeds / sizeof seeds[0])];
        size_t length = strlen(seed);
        memcpy(line, seed, length);
        for (size_t edits = 1 + draw(6); edits > 0; edits--)
            length = mutate(line, length);
        survived += survives(line, length, &record);
    }
    CHECK(survived == ROUNDS);
    record_free(&record);
}
