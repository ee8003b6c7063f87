#include "json_cursor.h"

int json_peek(const struct json_cursor *cursor)
{
    return cursor->at < cursor->length ? (unsigned char)cursor->text[cursor->at] : -1;
}

void json_skip_space(struct json_cursor *cursor)
{
    for (;;) {
        const int next = json_peek(cursor);
        if (next != ' ' && next != '\t' && next != '\r' && next != '\n')
            return;
        cursor->at++;
    }
}

bool json_accept(struct json_cursor *cursor, char wanted)
{
    if (json_peek(cursor) != (unsigned char)wanted)
        return false;
    cursor->at++;
    return true;
}

bool json_fail(const struct json_cursor *cursor, const char *what)
{
    char near[32];
    if (cursor->at >= cursor->length) {
        fault_set(cursor->fault, "not a command: %s, but the line ends at column %zu", what, cursor->at + 1);
        return false;
    }
    fault_excerpt(near, sizeof near, cursor->text + cursor->at, cursor->length - cursor->at);
    fault_set(cursor->fault, "not a command: %s at column %zu, near '%s'", what, cursor->at + 1, near);
    return false;
}
