#include "json_in.h"

#include <stdlib.h>
#include <string.h>

#include "json_cursor.h"

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Gathers a negative number, because INT64_MIN has no positive twin. */
static bool read_digits(struct json_cursor *cursor, bool negative, int64_t *integer)
{
    int64_t sum = 0;
    for (; is_digit(json_peek(cursor)); cursor->at++) {
        const int digit = json_peek(cursor) - '0';
        if (sum < (INT64_MIN + digit) / 10)
            return false;
        sum = sum * 10 - digit;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *integer = negative ? sum : -sum;
    return true;
}

static bool read_integer(struct json_cursor *cursor, int64_t *integer)
{
    const struct json_cursor begin = *cursor;
    const bool negative = json_accept(cursor, '-');
    const bool zero = json_peek(cursor) == '0';
    if (!is_digit(json_peek(cursor)))
        return json_fail(&begin, "expected an integer");
    if (!read_digits(cursor, negative, integer))
        return json_fail(&begin, "an integer beyond 64 bits");
    if (zero && cursor->at - begin.at > (negative ? 2u : 1u))
        return json_fail(&begin, "an integer with a leading zero");
    const int next = json_peek(cursor);
    if (next == '.' || next == 'e' || next == 'E')
        return json_fail(&begin, "a number that is not written as an integer");
    return true;
}

static bool append(struct json_cursor *cursor, struct json_value *value, size_t *capacity, int64_t integer)
{
    if (value->count == *capacity) {
        const size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
        int64_t *grown = realloc(value->integers, wanted * sizeof *grown);
        if (grown == NULL)
            return json_fail(cursor, "no memory for an array");
        value->integers = grown;
        *capacity = wanted;
    }
    value->integers[value->count++] = integer;
    return true;
}

/* `value` owns what has been read even when the array turns out bad. */
static bool read_integers(struct json_cursor *cursor, struct json_value *value)
{
    size_t capacity = 0;
    int64_t integer;
    value->type = JSON_INTEGERS;
    json_skip_space(cursor);
    if (json_accept(cursor, ']'))
        return true;
    do {
        json_skip_space(cursor);
        if (!read_integer(cursor, &integer) || !append(cursor, value, &capacity, integer))
            return false;
        json_skip_space(cursor);
    } while (json_accept(cursor, ','));
    return json_accept(cursor, ']') || json_fail(cursor, "expected ',' or ']' in an array");
}

static bool read_word(struct json_cursor *cursor, const char *word)
{
    const size_t length = strlen(word);
    if (cursor->length - cursor->at < length || memcmp(cursor->text + cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool read_value(struct json_cursor *cursor, struct json_value *value)
{
    const int next = json_peek(cursor);
    if (next == '"') {
        value->type = JSON_STRING;
        return json_read_string(cursor, &value->string);
    }
    if (json_accept(cursor, '['))
        return read_integers(cursor, value);
    if (next == '-' || is_digit(next)) {
        value->type = JSON_INTEGER;
        return read_integer(cursor, &value->integer);
    }
    value->type = JSON_BOOLEAN;
    value->boolean = next == 't';
    if (read_word(cursor, "true") || read_word(cursor, "false"))
        return true;
    return json_fail(cursor, "expected a string, an integer, true, false or an array of integers");
}

static void free_member(struct json_member *member)
{
    free(member->key);
    free(member->value.string);
    free(member->value.integers);
}

static bool read_pair(struct json_cursor *cursor, const struct json_object *object, struct json_member *member)
{
    const struct json_cursor begin = *cursor;
    if (!json_read_string(cursor, &member->key))
        return false;
    if (json_find(object, member->key) != NULL)
        return json_fail(&begin, "a key that was given before");
    json_skip_space(cursor);
    if (!json_accept(cursor, ':'))
        return json_fail(cursor, "expected ':' after a key");
    json_skip_space(cursor);
    return read_value(cursor, &member->value);
}

static bool read_member(struct json_cursor *cursor, struct json_object *object)
{
    struct json_member member = {0};
    if (object->count == JSON_MEMBERS_MAX)
        return json_fail(cursor, "more keys than any command has");
    if (!read_pair(cursor, object, &member)) {
        free_member(&member);
        return false;
    }
    object->members[object->count++] = member;
    return true;
}

static bool read_object(struct json_cursor *cursor, struct json_object *object)
{
    json_skip_space(cursor);
    if (!json_accept(cursor, '{'))
        return json_fail(cursor, "expected '{'");
    json_skip_space(cursor);
    if (json_accept(cursor, '}'))
        return true;
    do {
        json_skip_space(cursor);
        if (!read_member(cursor, object))
            return false;
        json_skip_space(cursor);
    } while (json_accept(cursor, ','));
    return json_accept(cursor, '}') || json_fail(cursor, "expected ',' or '}'");
}

bool json_read(const char *text, size_t length, struct json_object *object, struct fault *fault)
{
    struct json_cursor cursor = {text, length, 0, fault};
    object->count = 0;
    if (!read_object(&cursor, object))
        return false;
    json_skip_space(&cursor);
    return cursor.at == length || json_fail(&cursor, "something after the object");
}

void json_free(struct json_object *object)
{
    while (object->count > 0)
        free_member(&object->members[--object->count]);
}

const struct json_value *json_find(const struct json_object *object, const char *key)
{
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->members[i].key, key) == 0)
            return &object->members[i].value;
    return NULL;
}
