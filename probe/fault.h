#ifndef SEATRIAL_FAULT_H
#define SEATRIAL_FAULT_H

#include <stddef.h>

#define FAULT_BYTES 256

/* Why something was refused: one sentence, with the value shown. Cut at FAULT_BYTES. */
struct fault {
    char sentence[FAULT_BYTES];
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void fault_set(struct fault *fault, const char *format, ...);

/* At most `room - 1` of the `length` bytes at `text`, NUL bytes shown as '?', ended by a NUL. */
void fault_excerpt(char *excerpt, size_t room, const char *text, size_t length);

#endif
