#define _POSIX_C_SOURCE 200809L

#include "wait.h"

#include <time.h>

void wait_sleep(struct wait *wait)
{
    const struct timespec nap = {0, wait->sleep_ns};
    nanosleep(&nap, NULL);
    const long longer = wait->sleep_ns * 2;
    wait->sleep_ns = longer < wait->cap_ns ? longer : wait->cap_ns;
}
