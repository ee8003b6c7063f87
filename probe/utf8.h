#ifndef SEATRIAL_UTF8_H
#define SEATRIAL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes (1 to 4) of the well-formed UTF-8 sequence that starts at `text`, 0 if none does
 * (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t utf8_sequence(const char *text, size_t length);

/* Writes `point` (not a surrogate, at most 0x10FFFF) as UTF-8; returns the bytes written, 1 to 4. */
size_t utf8_encode(uint32_t point, char *out);

#endif
