#include <string.h>

#include "kernels/pattern.h"
#include "tests/check.h"

static void test_seeds(void)
{
    const uint64_t seed = pattern_seed(1, 2, 3, 4);
    CHECK(seed == pattern_seed(1, 2, 3, 4));
    CHECK(seed != pattern_seed(2, 1, 3, 4));
    CHECK(seed != pattern_seed(1, 2, 4, 3));
    CHECK(seed != pattern_seed(1, 2, 3, 5));
}

static void test_counting(void)
{
    char bytes[1003];
    const size_t length = sizeof bytes;
    const uint64_t seed = pattern_seed(0, 1, 0, 0);
    pattern_fill(bytes, length, seed);
    CHECK(pattern_wrong_bytes(bytes, length, seed) == 0);
    bytes[0] = (char)(bytes[0] ^ 1);
    bytes[500] = (char)(bytes[500] ^ 0x80);
    bytes[length - 1] = (char)~bytes[length - 1];
    CHECK(pattern_wrong_bytes(bytes, length, seed) == 3);
    pattern_spoil(bytes, length, seed);
    CHECK(pattern_wrong_bytes(bytes, length, seed) == length);
    CHECK(pattern_wrong_bytes(NULL, 0, seed) == 0);
}

/* A message moved by one byte or by one word is wrong nearly everywhere. */
static void test_shift(void)
{
    char bytes[1024];
    const uint64_t seed = pattern_seed(0, 1, 0, 0);
    for (size_t by = 1; by <= 8; by += 7) {
        pattern_fill(bytes, sizeof bytes, seed);
        memmove(bytes + by, bytes, sizeof bytes - by);
        CHECK(pattern_wrong_bytes(bytes, sizeof bytes, seed) > 900);
    }
}

void test_pattern(void)
{
    test_seeds();
    test_counting();
    test_shift();
}
