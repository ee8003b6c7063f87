#ifndef SEATRIAL_PROTOCOL_LINES_H
#define SEATRIAL_PROTOCOL_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_BYTES_MAX ((size_t)16 << 20)

enum line_kind {
    LINE_READ,      /* a line, without its newline; the last one may lack it */
    LINE_TOO_LONG,  /* longer than LINE_BYTES_MAX, skipped to its newline */
    LINE_NO_MEMORY, /* no memory to hold it, skipped to its newline */
    LINE_END        /* no more input */
};

/* Lines from a file descriptor, in a buffer that grows. */
struct lines {
    int descriptor;
    char *buffer;
    size_t begin, end, capacity;
    bool ended;
};

/* Also widens the pipe, where the descriptor is one and the system can. */
struct lines lines_open(int descriptor);

/* The next line in *line, valid until the next call. Blocks until there is one. */
enum line_kind lines_next(struct lines *lines, const char **line, size_t *length);
void lines_free(struct lines *lines);

#endif
