#define _GNU_SOURCE /* F_SETPIPE_SZ */

#include "protocol/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define PIPE_BYTES (1 << 20) /* what Linux grants to anyone: /proc/sys/fs/pipe-max-size */

/* MPICH's Hydra ends the whole run when standard input comes faster than rank 0 drains a pipe of 64 KiB
 * ("process reading stdin too slowly"); the pairs of some ten thousand ranks come close to that. */
struct lines lines_open(int descriptor)
{
#ifdef F_SETPIPE_SZ
    fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES);
#endif
    return (struct lines){.descriptor = descriptor};
}

static bool make_room(struct lines *lines)
{
    const size_t held = lines->end - lines->begin;
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, held);
        lines->begin = 0;
        lines->end = held;
    }
    if (lines->capacity - held >= CHUNK_BYTES)
        return true;
    const size_t wanted = lines->capacity == 0 ? 2 * CHUNK_BYTES : lines->capacity * 2;
    char *grown = realloc(lines->buffer, wanted);
    if (grown == NULL)
        return false;
    lines->buffer = grown;
    lines->capacity = wanted;
    return true;
}

/* Launchers hand down descriptors that do not block; poll makes the wait a sleep all the same. */
static void fill(struct lines *lines)
{
    for (;;) {
        const ssize_t got = read(lines->descriptor, lines->buffer + lines->end, CHUNK_BYTES);
        if (got > 0) {
            lines->end += (size_t)got;
            return;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd wait = {.fd = lines->descriptor, .events = POLLIN};
            poll(&wait, 1, -1);
        } else if (got == 0 || errno != EINTR) {
            lines->ended = true;
            return;
        }
    }
}

/* Drops input up to and with the next newline. */
static void skip_line(struct lines *lines)
{
    for (;;) {
        const char *newline = memchr(lines->buffer + lines->begin, '\n', lines->end - lines->begin);
        if (newline != NULL) {
            lines->begin = (size_t)(newline - lines->buffer) + 1;
            return;
        }
        lines->begin = lines->end = 0;
        if (lines->ended)
            return;
        fill(lines);
    }
}

static enum line_kind take(struct lines *lines, size_t length, size_t newline, const char **line, size_t *taken)
{
    *line = lines->buffer + lines->begin;
    *taken = length;
    lines->begin += length + newline;
    return length > LINE_BYTES_MAX ? LINE_TOO_LONG : LINE_READ;
}

enum line_kind lines_next(struct lines *lines, const char **line, size_t *length)
{
    size_t searched = 0;
    for (;;) {
        const size_t held = lines->end - lines->begin;
        const char *from = lines->buffer == NULL ? NULL : lines->buffer + lines->begin;
        const char *newline = held > searched ? memchr(from + searched, '\n', held - searched) : NULL;
        if (newline != NULL)
            return take(lines, (size_t)(newline - from), 1, line, length);
        if (held > LINE_BYTES_MAX) {
            skip_line(lines);
            return LINE_TOO_LONG;
        }
        if (lines->ended)
            return held == 0 ? LINE_END : take(lines, held, 0, line, length);
        searched = held;
        if (!make_room(lines)) {
            if (lines->capacity < CHUNK_BYTES)
                return LINE_END;
            skip_line(lines);
            return LINE_NO_MEMORY;
        }
        fill(lines);
    }
}

void lines_free(struct lines *lines)
{
    free(lines->buffer);
    *lines = (struct lines){.descriptor = lines->descriptor};
}
