#include "protocol/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/json_writer.h"

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

/* Bytes up to the closing quote; decoding never makes a string longer. */
static size_t raw_length(const struct json_cursor *cursor)
{
    size_t at = cursor->at;
    while (at < cursor->length && cursor->text[at] != '"')
        at += cursor->text[at] == '\\' ? 2 : 1;
    return (at < cursor->length ? at : cursor->length) - cursor->at;
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool read_hex4(struct json_cursor *cursor, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, cursor->at++) {
        const int digit = hex_digit(peek(cursor));
        if (digit < 0)
            return fail(cursor, "four hexadecimal digits must follow \\u");
        *unit = *unit * 16 + (uint32_t)digit;
    }
    return true;
}

static bool read_code_point(struct json_cursor *cursor, uint32_t *point)
{
    uint32_t low;
    if (!read_hex4(cursor, point))
        return false;
    if (*point == 0)
        return fail(cursor, "a string must not hold a NUL");
    if (*point < 0xD800 || *point > 0xDFFF)
        return true;
    if (*point > 0xDBFF || !accept(cursor, '\\') || !accept(cursor, 'u'))
        return fail(cursor, "a surrogate needs its other half");
    if (!read_hex4(cursor, &low))
        return false;
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(cursor, "a surrogate needs its other half");
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static bool read_escape(struct json_cursor *cursor, char *out, size_t *used)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const int letter = peek(cursor);
    const char *found = letter > 0 ? strchr(letters, letter) : NULL;
    uint32_t point;
    if (found != NULL) {
        out[(*used)++] = meanings[found - letters];
        cursor->at++;
        return true;
    }
    if (!accept(cursor, 'u'))
        return fail(cursor, "unknown escape in a string");
    if (!read_code_point(cursor, &point))
        return false;
    *used += utf8_encode(point, out + *used);
    return true;
}

static bool read_plain(struct json_cursor *cursor, char *out, size_t *used)
{
    const size_t bytes = utf8_sequence(cursor->text + cursor->at, cursor->length - cursor->at);
    if (bytes == 0)
        return fail(cursor, "bytes that are not UTF-8");
    if (peek(cursor) < 0x20)
        return fail(cursor, "a control character in a string");
    memcpy(out + *used, cursor->text + cursor->at, bytes);
    *used += bytes;
    cursor->at += bytes;
    return true;
}

static bool decode(struct json_cursor *cursor, char *out)
{
    size_t used = 0;
    while (!accept(cursor, '"')) {
        if (peek(cursor) < 0)
            return fail(cursor, "a string must be closed");
        if (accept(cursor, '\\') ? !read_escape(cursor, out, &used) : !read_plain(cursor, out, &used))
            return false;
    }
    out[used] = '\0';
    return true;
}

/* Reads a string into fresh memory at *string, which the caller frees. */
static bool read_string(struct json_cursor *cursor, char **string)
{
    if (!accept(cursor, '"'))
        return fail(cursor, "expected a string");
    *string = malloc(raw_length(cursor) + 1);
    if (*string == NULL)
        return fail(cursor, "no memory for a string");
    if (decode(cursor, *string))
        return true;
    free(*string);
    *string = NULL;
    return false;
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
        return read_string(cursor, &value->string);
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

static void free_member(struct json_member *member)
{
    free(member->key);
    free(member->value.string);
    free(member->value.integers);
}

static bool read_pair(struct json_cursor *cursor, const struct json_object *object, struct json_member *member)
{
    const struct json_cursor begin = *cursor;
    if (!read_string(cursor, &member->key))
        return false;
    if (json_find(object, member->key) != NULL)
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
        free_member(&member);
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
        free_member(&object->members[--object->count]);
}

const struct json_value *json_find(const struct json_object *object, const char *key)
{
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->members[i].key, key) == 0)
            return &object->members[i].value;
    return NULL;
}
