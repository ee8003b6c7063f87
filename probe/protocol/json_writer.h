#ifndef SEATRIAL_PROTOCOL_JSON_WRITER_H
#define SEATRIAL_PROTOCOL_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One output record, a JSON object on a line of its own, built in a buffer that grows and is used again.
 * Without memory the record is marked failed, and record_print refuses it. Start from {0}. */
struct record {
    char *text;
    size_t length, capacity;
    bool failed;
};

/* Begins {"record":"kind"; drops what the buffer held. */
void record_begin(struct record *record, const char *kind);

/* Bytes that are not UTF-8 become U+FFFD. */
void record_string(struct record *record, const char *key, const char *value);
void record_integer(struct record *record, const char *key, int64_t value);
void record_integers(struct record *record, const char *key, const int *values, size_t count);

/* `count` integers, each `stride` after the one before. */
void record_counts(struct record *record, const char *key, const int64_t *values, size_t count, size_t stride);

/* Nine significant digits: nanoseconds, for anything below a second. */
void record_seconds(struct record *record, const char *key, double value_s);
void record_seconds_list(struct record *record, const char *key, const int64_t *values_ns, size_t count);

/* Closes the object and its line. */
void record_end(struct record *record);

/* Writes the record with one fwrite and flushes it; false if it failed or could not be written. */
bool record_print(const struct record *record, FILE *out);

/* Room for `bytes` in all, so that building a record of that size cannot fail; false without memory. */
bool record_reserve(struct record *record, size_t bytes);
void record_free(struct record *record);

/* Bytes that always suffice for a record with `numbers` numbers in its lists, besides its strings. */
size_t record_bytes(size_t numbers);

/* Bytes (1 to 4) of the well-formed UTF-8 sequence that starts at `text`, 0 if none does
 * (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t utf8_sequence(const char *text, size_t length);

#endif
