#define _DEFAULT_SOURCE /* madvise */
#define _POSIX_C_SOURCE 200809L

#include "rounds/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two cache lines, which adjacent-line prefetchers fetch together. Small messages lie this far apart rather than
 * a page, because page-aligned slots would all fall into the same cache sets. */
#define SMALL_ALIGNMENT 128
#define TOUCH 0x5A

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int64_t buffers_plan(struct buffers *buffers, int64_t message_bytes, int64_t window, int64_t budget_bytes)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t unit = message_bytes < page ? SMALL_ALIGNMENT : page;
    buffers->stride = round_up(message_bytes > 0 ? message_bytes : 1, unit);
    buffers->slots = budget_bytes / buffers->stride;
    if (buffers->slots > window)
        buffers->slots = window;
    if (buffers->slots < 1)
        buffers->slots = 1;
    return round_up(buffers->slots * buffers->stride, page);
}

bool buffers_open(struct buffers *buffers, int64_t message_bytes, int64_t window, int64_t budget_bytes)
{
    const size_t bytes = (size_t)buffers_plan(buffers, message_bytes, window, budget_bytes);
    void *block = NULL;
    if (posix_memalign(&block, (size_t)sysconf(_SC_PAGESIZE), bytes) != 0)
        return false;
    buffers->block = block;
    buffers->messages = malloc((size_t)window * sizeof *buffers->messages);
    if (buffers->messages == NULL)
        return false;
    if (buffers->fresh)
        madvise(block, bytes, MADV_DONTNEED); /* memory that was used before lies where it was touched then */
    memset(buffers->block, TOUCH, bytes);
    for (int64_t i = 0; i < window; i++)
        buffers->messages[i] = buffers->block + i % buffers->slots * buffers->stride;
    return true;
}

void buffers_close(struct buffers *buffers)
{
    free(buffers->block);
    free(buffers->messages);
    *buffers = (struct buffers){0};
}
