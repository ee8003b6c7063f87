#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/lines.h"
#include "tests/check.h"

/* Reads from a pipe that a child fills with `length` bytes. */
static struct lines feed(const char *bytes, size_t length)
{
    int ends[2] = {-1, -1};
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
        close(ends[0]);
        for (size_t sent = 0; sent < length;) {
            const ssize_t step = write(ends[1], bytes + sent, length - sent);
            if (step <= 0)
                _exit(1);
            sent += (size_t)step;
        }
        _exit(0);
    }
    close(ends[1]);
    return lines_open(ends[0]);
}

static void finish(struct lines *lines)
{
    close(lines->descriptor);
    lines_free(lines);
    wait(NULL);
}

static void check_line(struct lines *lines, const char *wanted, size_t wanted_length)
{
    const char *line = NULL;
    size_t length = 0;
    CHECK(lines_next(lines, &line, &length) == LINE_READ);
    CHECK(length == wanted_length && memcmp(line, wanted, length) == 0);
}

static void test_plain(void)
{
    const char *line;
    size_t length;
    struct lines lines = feed("one\n\ntw\0o\nlast", 14);
    check_line(&lines, "one", 3);
    check_line(&lines, "", 0);
    check_line(&lines, "tw\0o", 4);
    check_line(&lines, "last", 4);
    CHECK(lines_next(&lines, &line, &length) == LINE_END);
    CHECK(lines_next(&lines, &line, &length) == LINE_END);
    finish(&lines);
}

static void test_not_blocking(void)
{
    struct lines lines = feed("one\n", 4);
    CHECK(fcntl(lines.descriptor, F_SETFL, O_NONBLOCK) == 0);
    check_line(&lines, "one", 3);
    finish(&lines);
}

/* Exactly the longest line passes, one byte more is skipped, and what follows is read as if nothing had been. */
static void test_long(void)
{
    const char *line;
    size_t length;
    const size_t total = 2 * LINE_BYTES_MAX + 1 + 1 + 1 + 5;
    char *bytes = malloc(total);
    memset(bytes, 'x', total);
    bytes[LINE_BYTES_MAX] = '\n';
    bytes[2 * LINE_BYTES_MAX + 2] = '\n';
    memcpy(bytes + total - 5, "next\n", 5);
    struct lines lines = feed(bytes, total);
    CHECK(lines_next(&lines, &line, &length) == LINE_READ && length == LINE_BYTES_MAX);
    CHECK(lines_next(&lines, &line, &length) == LINE_TOO_LONG);
    check_line(&lines, "next", 4);
    CHECK(lines_next(&lines, &line, &length) == LINE_END);
    finish(&lines);
    free(bytes);
}

/* Far longer than the buffer may become, and never ended. */
static void test_endless(void)
{
    const char *line;
    size_t length;
    const size_t total = 3 * LINE_BYTES_MAX;
    char *bytes = malloc(total);
    memset(bytes, 'x', total);
    struct lines lines = feed(bytes, total);
    CHECK(lines_next(&lines, &line, &length) == LINE_TOO_LONG);
    CHECK(lines_next(&lines, &line, &length) == LINE_END);
    CHECK(lines.capacity <= 2 * LINE_BYTES_MAX);
    finish(&lines);
    free(bytes);
}

void test_lines(void)
{
    test_plain();
    test_not_blocking();
    test_long();
    test_endless();
}
