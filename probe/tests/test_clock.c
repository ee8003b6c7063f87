#define _POSIX_C_SOURCE 200809L

#include "../clock.h"
#include "../clock_quality.h"
#include "../wait.h"
#include "check.h"

static void test_quality(void)
{
    const struct clock_quality quality = clock_quality_read();
    CHECK(quality.resolution_s > 0 && quality.resolution_s < 1);
    CHECK(quality.overhead_s > 0 && quality.overhead_s < 1);
}

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
    test_quality();
    test_wait();
}
