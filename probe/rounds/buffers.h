#ifndef SEATRIAL_ROUNDS_BUFFERS_H
#define SEATRIAL_ROUNDS_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFERS_BUDGET_BYTES ((int64_t)256 << 20)

/* The message buffers of one direction: a page-aligned block cut into slots, touched when opened.
 * messages[i] is where message i of a window lies; slots are used again once the budget is spent. */
struct buffers {
    char *block;
    char **messages; /* `window` of them */
    int64_t slots;
    int64_t stride; /* bytes from slot to slot */
    bool fresh;     /* set before it is opened: pages that nobody has touched, wherever malloc found them */
};

/* Bytes that opening would take; fills slots and stride. */
int64_t buffers_plan(struct buffers *buffers, int64_t message_bytes, int64_t window, int64_t budget_bytes);

/* False without memory. Start from {0}; close in either case. */
bool buffers_open(struct buffers *buffers, int64_t message_bytes, int64_t window, int64_t budget_bytes);
void buffers_close(struct buffers *buffers);

#endif
