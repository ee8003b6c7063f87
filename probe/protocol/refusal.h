#ifndef SEATRIAL_PROTOCOL_REFUSAL_H
#define SEATRIAL_PROTOCOL_REFUSAL_H

#include <stdint.h>

#define REFUSAL_BYTES 256

/* Why a command was refused: one sentence that shows the value at fault, cut at REFUSAL_BYTES. */
struct refusal {
    int64_t id; /* the command's; 0 where none could be read */
    char sentence[REFUSAL_BYTES];
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void refuse(struct refusal *refusal, const char *format, ...);

#endif
