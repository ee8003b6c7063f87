#include "../options.h"
#include "check.h"

void test_options(void)
{
    const char *unknown;
    CHECK(options_read(1, (char *[]){"probe"}, &unknown) == OPTION_SERVE);
    CHECK(options_read(2, (char *[]){"probe", "--list"}, &unknown) == OPTION_LIST);
    CHECK(options_read(2, (char *[]){"probe", "--version"}, &unknown) == OPTION_VERSION);
    CHECK(options_read(2, (char *[]){"probe", "--lis"}, &unknown) == OPTION_UNKNOWN);
    CHECK_TEXT(unknown, "--lis");
    CHECK(options_read(3, (char *[]){"probe", "--list", "x"}, &unknown) == OPTION_UNKNOWN);
    CHECK_TEXT(unknown, "x");
}
