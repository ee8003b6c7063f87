#include "utf8.h"

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

static char continuation(uint32_t point, unsigned shift)
{
    return (char)(0x80 | ((point >> shift) & 0x3F));
}

size_t utf8_encode(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | (point >> 6));
        out[1] = continuation(point, 0);
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | (point >> 12));
        out[1] = continuation(point, 6);
        out[2] = continuation(point, 0);
        return 3;
    }
    out[0] = (char)(0xF0 | (point >> 18));
    out[1] = continuation(point, 12);
    out[2] = continuation(point, 6);
    out[3] = continuation(point, 0);
    return 4;
}
