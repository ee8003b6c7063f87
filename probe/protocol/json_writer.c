#include "protocol/json_writer.h"

#include <stdlib.h>
#include <string.h>

/* Allowed range of the second byte for each class of first byte: RFC 3629, section 4. */
static const struct {
    unsigned char first_low, first_high, second_low, second_high;
    size_t bytes;
} forms[] = {
    {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

static size_t check_rest(const unsigned char *s, size_t length, size_t form)
{
    const size_t bytes = forms[form].bytes;
    if (bytes > length)
        return 0;
    if (bytes > 1 && (s[1] < forms[form].second_low || s[1] > forms[form].second_high))
        return 0;
    for (size_t i = 2; i < bytes; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return bytes;
}

size_t utf8_sequence(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0)
        return 0;
    for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++)
        if (s[0] >= forms[form].first_low && s[0] <= forms[form].first_high)
            return check_rest(s, length, form);
    return 0;
}

#define SECONDS_FORMAT "%.9g"
#define NUMBER_BYTES 32

bool record_reserve(struct record *record, size_t bytes)
{
    if (bytes <= record->capacity)
        return true;
    const size_t doubled = record->capacity * 2;
    const size_t wanted = bytes > doubled ? bytes : doubled;
    char *grown = realloc(record->text, wanted);
    if (grown == NULL)
        return false;
    record->text = grown;
    record->capacity = wanted;
    return true;
}

static void append(struct record *record, const char *text, size_t length)
{
    if (!record_reserve(record, record->length + length))
        record->failed = true;
    if (record->failed)
        return;
    memcpy(record->text + record->length, text, length);
    record->length += length;
}

static void append_text(struct record *record, const char *text)
{
    append(record, text, strlen(text));
}

static void append_seconds(struct record *record, double value_s)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, SECONDS_FORMAT, value_s);
    append_text(record, number);
}

static void append_ascii(struct record *record, char c)
{
    char escape[8];
    if (c == '"' || c == '\\')
        snprintf(escape, sizeof escape, "\\%c", c);
    else if ((unsigned char)c < 0x20 || c == 0x7F)
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
    else
        snprintf(escape, sizeof escape, "%c", c);
    append_text(record, escape);
}

static void append_quoted(struct record *record, const char *value)
{
    size_t left = strlen(value);
    append_text(record, "\"");
    while (left > 0) {
        const size_t bytes = utf8_sequence(value, left);
        if (bytes == 1)
            append_ascii(record, *value);
        else if (bytes == 0)
            append_text(record, "\\ufffd");
        else
            append(record, value, bytes);
        const size_t step = bytes == 0 ? 1 : bytes;
        value += step;
        left -= step;
    }
    append_text(record, "\"");
}

static void append_key(struct record *record, const char *key)
{
    append_text(record, ",");
    append_quoted(record, key);
    append_text(record, ":");
}

void record_begin(struct record *record, const char *kind)
{
    record->length = 0;
    record->failed = false;
    append_text(record, "{\"record\":");
    append_quoted(record, kind);
}

void record_string(struct record *record, const char *key, const char *value)
{
    append_key(record, key);
    append_quoted(record, value);
}

static void append_integer(struct record *record, int64_t value)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%lld", (long long)value);
    append_text(record, number);
}

void record_integer(struct record *record, const char *key, int64_t value)
{
    append_key(record, key);
    append_integer(record, value);
}

void record_integers(struct record *record, const char *key, const int *values, size_t count)
{
    append_key(record, key);
    append_text(record, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            append_text(record, ",");
        append_integer(record, values[i]);
    }
    append_text(record, "]");
}

void record_counts(struct record *record, const char *key, const int64_t *values, size_t count, size_t stride)
{
    append_key(record, key);
    append_text(record, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            append_text(record, ",");
        append_integer(record, values[i * stride]);
    }
    append_text(record, "]");
}

void record_seconds(struct record *record, const char *key, double value_s)
{
    append_key(record, key);
    append_seconds(record, value_s);
}

void record_seconds_list(struct record *record, const char *key, const int64_t *values_ns, size_t count)
{
    append_key(record, key);
    append_text(record, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            append_text(record, ",");
        append_seconds(record, (double)values_ns[i] / 1e9);
    }
    append_text(record, "]");
}

void record_end(struct record *record)
{
    append_text(record, "}\n");
}

bool record_print(const struct record *record, FILE *out)
{
    if (record->failed)
        return false;
    return fwrite(record->text, 1, record->length, out) == record->length && fflush(out) == 0;
}

void record_free(struct record *record)
{
    free(record->text);
    *record = (struct record){0};
}

size_t record_bytes(size_t numbers)
{
    return 4096 + numbers * NUMBER_BYTES;
}
