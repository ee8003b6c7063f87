#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

static int passed, failed;

void check_that(bool good, const char *what, const char *file, int line)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("%s:%d: failed: %s\n", file, line, what);
}

void check_text(const char *got, const char *wanted, const char *file, int line)
{
    const bool good = strcmp(got, wanted) == 0;
    check_that(good, "texts are equal", file, line);
    if (!good)
        printf("  got    %s\n  wanted %s\n", got, wanted);
}

int main(void)
{
    test_json_reader();
    test_json_writer();
    test_records();
    test_command();
    test_rank_sets();
    test_lines();
    test_pattern();
    test_buffers();
    test_clock();
    test_rank_facts();
    test_pinning();
    test_conditions();
    test_fuzz();
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
