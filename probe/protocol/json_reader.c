#include "protocol/json_reader.h"

#include <stdlib.h>
#include <string.h>

/* Where the reader is in a line. */
struct json_cursor {
    const char *text;
    size_t length;
    size_t at;
    struct refusal *refusal;
};

static int peek(const struct json_cursor *cursor)
{
    return cursor->at < cursor->length ? (unsigned char)cursor->text[cursor->at] : -1;
}

static void skip_space(struct json_cursor *cursor)
{
    for (;;) {
        const int next = peek(cursor);
        if (next != ' ' && next != '\t' && next != '\r' && next != '\n')
            return;
        cursor->at++;
    }
}

static bool accept(struct json_cursor *cursor, char wanted)
{
    if (peek(cursor) != (unsigned char)wanted)
        return false;
    cursor->at++;
    return true;
}

/* At most `room - 1` of the `length` bytes at `text`, NUL bytes shown as '?', ended by a NUL. */
static void excerpt_of(char *excerpt, size_t room, const char *text, size_t length)
{
    size_t n = 0;
    for (; n + 1 < room && n < length; n++)
        excerpt[n] = text[n] == '\0' ? '?' : text[n];
    excerpt[n] = '\0';
}

/* Reports column, `what` and the text found there; returns false. */
static bool fail(const struct json_cursor *cursor, const char *what)
{
    char near[32];
    if (cursor->at >= cursor->length) {
        refuse(cursor->refusal, "not a command: %s, but the line ends at column %zu", what, cursor->at + 1);
        return false;
    }
    excerpt_of(near, sizeof near, cursor->text + cursor->at, cursor->length - cursor->at);
    refuse(cursor->refusal, "not a command: %s at column %zu, near '%s'", what, cursor->at + 1, near);
    return false;
}

/* Neither kernels nor keys need more than printable ASCII, so there are no escapes to decode. */
static bool read_text(struct json_cursor *cursor, struct json_text *text)
{
    if (!accept(cursor, '"'))
        return fail(cursor, "expected a string");
    text->bytes = cursor->text + cursor->at;
    for (text->length = 0; !accept(cursor, '"'); text->length++, cursor->at++) {
        const int next = peek(cursor);
        if (next < 0)
            return fail(cursor, "a string must be closed");
        if (next < 0x20 || next > 0x7E || next == '\\')
            return fail(cursor, "a string may contain only printable ASCII, without backslashes,");
    }
    return true;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Gathers a negative number, because INT64_MIN has no positive twin. */
static bool read_digits(struct json_cursor *cursor, bool negative, int64_t *integer)
{
    int64_t sum = 0;
    for (; is_digit(peek(cursor)); cursor->at++) {
        const int digit = peek(cursor) - '0';
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
    const bool negative = accept(cursor, '-');
    const bool zero = peek(cursor) == '0';
    if (!is_digit(peek(cursor)))
        return fail(&begin, "expected an integer");
    if (!read_digits(cursor, negative, integer))
        return fail(&begin, "an integer beyond 64 bits");
    if (zero && cursor->at - begin.at > (negative ? 2u : 1u))
        return fail(&begin, "an integer with a leading zero");
    const int next = peek(cursor);
    if (next == '.' || next == 'e' || next == 'E')
        return fail(&begin, "a number that is not written as an integer");
    return true;
}

static bool append(struct json_cursor *cursor, struct json_value *value, size_t *capacity, int64_t integer)
{
    if (value->count == *capacity) {
        const size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
        int64_t *grown = realloc(value->integers, wanted * sizeof *grown);
        if (grown == NULL)
            return fail(cursor, "no memory for an array");
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
    skip_space(cursor);
    if (accept(cursor, ']'))
        return true;
    do {
        skip_space(cursor);
        if (!read_integer(cursor, &integer) || !append(cursor, value, &capacity, integer))
            return false;
        skip_space(cursor);
    } while (accept(cursor, ','));
    return accept(cursor, ']') || fail(cursor, "expected ',' or ']' in an array");
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
    const int next = peek(cursor);
    if (next == '"') {
        value->type = JSON_STRING;
        return read_text(cursor, &value->text);
    }
    if (accept(cursor, '['))
        return read_integers(cursor, value);
    if (next == '-' || is_digit(next)) {
        value->type = JSON_INTEGER;
        return read_integer(cursor, &value->integer);
    }
    value->type = JSON_BOOLEAN;
    value->boolean = next == 't';
    if (read_word(cursor, "true") || read_word(cursor, "false"))
        return true;
    return fail(cursor, "expected a string, an integer, true, false or an array of integers");
}

static const struct json_value *find(const struct json_object *object, const char *key, size_t length)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct json_member *member = &object->members[i];
        if (member->key.length == length && memcmp(member->key.bytes, key, length) == 0)
            return &member->value;
    }
    return NULL;
}

static bool read_pair(struct json_cursor *cursor, const struct json_object *object, struct json_member *member)
{
    const struct json_cursor begin = *cursor;
    if (!read_text(cursor, &member->key))
        return false;
    if (find(object, member->key.bytes, member->key.length) != NULL)
        return fail(&begin, "a key that was given before");
    skip_space(cursor);
    if (!accept(cursor, ':'))
        return fail(cursor, "expected ':' after a key");
    skip_space(cursor);
    return read_value(cursor, &member->value);
}

static bool read_member(struct json_cursor *cursor, struct json_object *object)
{
    struct json_member member = {0};
    if (object->count == JSON_MEMBERS_MAX)
        return fail(cursor, "more keys than any command has");
    if (!read_pair(cursor, object, &member)) {
        free(member.value.integers);
        return false;
    }
    object->members[object->count++] = member;
    return true;
}

static bool read_object(struct json_cursor *cursor, struct json_object *object)
{
    skip_space(cursor);
    if (!accept(cursor, '{'))
        return fail(cursor, "expected '{'");
    skip_space(cursor);
    if (accept(cursor, '}'))
        return true;
    do {
        skip_space(cursor);
        if (!read_member(cursor, object))
            return false;
        skip_space(cursor);
    } while (accept(cursor, ','));
    return accept(cursor, '}') || fail(cursor, "expected ',' or '}'");
}

bool json_read(const char *text, size_t length, struct json_object *object, struct refusal *refusal)
{
    struct json_cursor cursor = {text, length, 0, refusal};
    object->count = 0;
    if (!read_object(&cursor, object))
        return false;
    skip_space(&cursor);
    return cursor.at == length || fail(&cursor, "something after the object");
}

void json_free(struct json_object *object)
{
    while (object->count > 0)
        free(object->members[--object->count].value.integers);
}

const struct json_value *json_find(const struct json_object *object, const char *key)
{
    return find(object, key, strlen(key));
}

bool json_equals(struct json_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}
