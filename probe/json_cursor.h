#ifndef SEATRIAL_JSON_CURSOR_H
#define SEATRIAL_JSON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"

/* Where a reader stands in a line. */
struct json_cursor {
    const char *text;
    size_t length;
    size_t at;
    struct fault *fault;
};

/* The byte at the cursor, or -1 at the end. */
int json_peek(const struct json_cursor *cursor);
void json_skip_space(struct json_cursor *cursor);

/* Steps over `wanted` if it is next. */
bool json_accept(struct json_cursor *cursor, char wanted);

/* Sets the fault to column, `what` and what stands there; returns false. */
bool json_fail(const struct json_cursor *cursor, const char *what);

/* Reads a string at the cursor into fresh memory at *string, which the caller frees. */
bool json_read_string(struct json_cursor *cursor, char **string);

#endif
