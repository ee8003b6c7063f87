#ifndef SEATRIAL_PROTOCOL_JSON_READER_H
#define SEATRIAL_PROTOCOL_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/refusal.h"

/* One flat JSON object (RFC 8259), read strictly: values are strings, 64-bit integers, booleans or arrays of integers.
 * Strings are printable ASCII without backslashes. No nesting, no fractions, no null, no key twice, nothing after the
 * object. */

#define JSON_MEMBERS_MAX 16

enum json_type { JSON_STRING, JSON_INTEGER, JSON_BOOLEAN, JSON_INTEGERS };

/* A string as it is in the line that was read; not ended by a NUL. */
struct json_text {
    const char *bytes;
    size_t length;
};

struct json_value {
    enum json_type type;
    struct json_text text; /* JSON_STRING */
    int64_t integer;       /* JSON_INTEGER */
    bool boolean;          /* JSON_BOOLEAN */
    int64_t *integers;     /* JSON_INTEGERS: `count` of them */
    size_t count;
};

struct json_member {
    struct json_text key;
    struct json_value value;
};

struct json_object {
    struct json_member members[JSON_MEMBERS_MAX];
    size_t count;
};

/* True and the object, or false and the reason. In both cases the object contains the members read so far, must be
 * freed, and refers to `text`. */
bool json_read(const char *text, size_t length, struct json_object *object, struct refusal *refusal);
void json_free(struct json_object *object);

/* The value of `key`, or NULL. */
const struct json_value *json_find(const struct json_object *object, const char *key);

bool json_equals(struct json_text text, const char *word);

#endif
