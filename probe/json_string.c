#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json_cursor.h"
#include "utf8.h"

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
        const int digit = hex_digit(json_peek(cursor));
        if (digit < 0)
            return json_fail(cursor, "four hexadecimal digits must follow \\u");
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
        return json_fail(cursor, "a string must not hold a NUL");
    if (*point < 0xD800 || *point > 0xDFFF)
        return true;
    if (*point > 0xDBFF || !json_accept(cursor, '\\') || !json_accept(cursor, 'u'))
        return json_fail(cursor, "a surrogate needs its other half");
    if (!read_hex4(cursor, &low))
        return false;
    if (low < 0xDC00 || low > 0xDFFF)
        return json_fail(cursor, "a surrogate needs its other half");
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static bool read_escape(struct json_cursor *cursor, char *out, size_t *used)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const int letter = json_peek(cursor);
    const char *found = letter > 0 ? strchr(letters, letter) : NULL;
    uint32_t point;
    if (found != NULL) {
        out[(*used)++] = meanings[found - letters];
        cursor->at++;
        return true;
    }
    if (!json_accept(cursor, 'u'))
        return json_fail(cursor, "unknown escape in a string");
    if (!read_code_point(cursor, &point))
        return false;
    *used += utf8_encode(point, out + *used);
    return true;
}

static bool read_plain(struct json_cursor *cursor, char *out, size_t *used)
{
    const size_t bytes = utf8_sequence(cursor->text + cursor->at, cursor->length - cursor->at);
    if (bytes == 0)
        return json_fail(cursor, "bytes that are not UTF-8");
    if (json_peek(cursor) < 0x20)
        return json_fail(cursor, "a control character in a string");
    memcpy(out + *used, cursor->text + cursor->at, bytes);
    *used += bytes;
    cursor->at += bytes;
    return true;
}

static bool decode(struct json_cursor *cursor, char *out)
{
    size_t used = 0;
    while (!json_accept(cursor, '"')) {
        if (json_peek(cursor) < 0)
            return json_fail(cursor, "a string must be closed");
        if (json_accept(cursor, '\\') ? !read_escape(cursor, out, &used) : !read_plain(cursor, out, &used))
            return false;
    }
    out[used] = '\0';
    return true;
}

bool json_read_string(struct json_cursor *cursor, char **string)
{
    if (!json_accept(cursor, '"'))
        return json_fail(cursor, "expected a string");
    *string = malloc(raw_length(cursor) + 1);
    if (*string == NULL)
        return json_fail(cursor, "no memory for a string");
    if (decode(cursor, *string))
        return true;
    free(*string);
    *string = NULL;
    return false;
}
