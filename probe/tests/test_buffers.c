#define _POSIX_C_SOURCE 200809L

#include <unistd.h>

#include "rounds/buffers.h"
#include "tests/check.h"

static void check_layout(int64_t message_bytes, int64_t window, int64_t budget_bytes, int64_t slots)
{
    struct buffers buffers = {0};
    CHECK(buffers_open(&buffers, message_bytes, window, budget_bytes));
    CHECK(buffers.slots == slots);
    CHECK(buffers.stride >= message_bytes);
    CHECK((uintptr_t)buffers.block % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
    for (int64_t m = 0; m < window; m++) {
        CHECK(buffers.messages[m] == buffers.messages[m % slots]);
        if (message_bytes > 0)
            CHECK(buffers.messages[m][0] == buffers.messages[m][message_bytes - 1]);
    }
    buffers_close(&buffers);
    CHECK(buffers.block == NULL);
}

void test_buffers(void)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    check_layout(0, 1, BUFFERS_BUDGET_BYTES, 1);
    check_layout(8, 64, BUFFERS_BUDGET_BYTES, 64);
    check_layout(page, 64, 10 * page, 10);
    check_layout(page + 1, 64, 10 * page, 5);
    check_layout(page, 4, 1, 1);
    struct buffers impossible = {0};
    CHECK(buffers_plan(&impossible, (int64_t)1 << 30, 1024, BUFFERS_BUDGET_BYTES) == (int64_t)1 << 30);
    CHECK(!buffers_open(&impossible, (int64_t)1 << 50, 1, BUFFERS_BUDGET_BYTES));
    buffers_close(&impossible);
}
