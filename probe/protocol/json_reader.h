#ifndef SEATRIAL_PROTOCOL_JSON_READER_H
#define SEATRIAL_PROTOCOL_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/refusal.h"

/* One flat JSON object (RFC 8259), read strictly: values are strings, 64-bit integers, booleans or
 * arrays of integers; no nesting, no fractions, no null, no key twice, nothing after the object. */

#define JSON_MEMBERS_MAX 16

enum json_type { JSON_STRING, JSON_INTEGER, JSON_BOOLEAN, JSON_INTEGERS };

struct json_value {
    enum json_type type;
    char *string;      /* JSON_STRING: UTF-8, without NUL bytes inside */
    int64_t integer;   /* JSON_INTEGER */
    bool boolean;      /* JSON_BOOLEAN */
    int64_t *integers; /* JSON_INTEGERS: `count` of them */
    size_t count;
};

struct json_member {
    char *key;
    struct json_value value;
};

struct json_object {
    struct json_member members[JSON_MEMBERS_MAX];
    size_t count;
};

/* True and the object, or false and why. Either way the object holds the members read so far
 * and must be freed. */
bool json_read(const char *text, size_t length, struct json_object *object, struct refusal *refusal);
void json_free(struct json_object *object);

/* The value of `key`, or NULL. */
const struct json_value *json_find(const struct json_object *object, const char *key);

#endif
