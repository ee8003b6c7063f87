#define _POSIX_C_SOURCE 200809L

#include "host/clock.h"
#include "tests/check.h"

static void test_wait(void)
{
    struct wait wait = wait_begin(WAIT_IDLE_CAP_NS);
    const int64_t begin = clock_ns();
    for (int i = 0; i < 8; i++)
        wait_sleep(&wait);
    CHECK(wait.sleep_ns == WAIT_IDLE_CAP_NS);
    CHECK(clock_ns() - begin >= WAIT_FIRST_NS + 2 * WAIT_IDLE_CAP_NS);
    wait = wait_begin(WAIT_START_CAP_NS);
    wait_sleep(&wait);
    CHECK(wait.sleep_ns == WAIT_START_CAP_NS);
}

void test_clock(void)
{
    test_wait();
}
