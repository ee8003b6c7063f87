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

static int64_t wrong_bytes(const char *bytes, size_t length, uint64_t seed)
{
    struct wrong wrong = NOTHING_WRONG;
    pattern_compare(bytes, length, seed, &wrong);
    CHECK((wrong.bytes > 0) == (wrong.first >= 0));
    return wrong.bytes;
}

static void test_counting(void)
{
    char bytes[1003];
    const size_t length = sizeof bytes;
    const uint64_t seed = pattern_seed(0, 1, 0, 0);
    pattern_fill(bytes, length, seed);
    CHECK(wrong_bytes(bytes, length, seed) == 0);
    bytes[0] = (char)(bytes[0] ^ 1);
    bytes[500] = (char)(bytes[500] ^ 0x80);
    bytes[length - 1] = (char)~bytes[length - 1];
    CHECK(wrong_bytes(bytes, length, seed) == 3);
    struct wrong wrong = NOTHING_WRONG;
    pattern_compare(bytes + 496, length - 496, pattern_seed(9, 9, 9, 9), &wrong);
    CHECK(wrong.first == 0);
    pattern_spoil(bytes, length, seed);
    CHECK(wrong_bytes(bytes, length, seed) == (int64_t)length);
    CHECK(wrong_bytes(NULL, 0, seed) == 0);
}

/* Wherever it is, also in the last bytes that are not a whole word, and at no other place. */
static void test_first(void)
{
    char bytes[29];
    const uint64_t seed = pattern_seed(3, 4, 0, 1);
    for (size_t length = 1; length <= sizeof bytes; length++)
        for (size_t at = 0; at < length; at++) {
            struct wrong wrong = NOTHING_WRONG;
            pattern_fill(bytes, length, seed);
            bytes[at] = (char)(bytes[at] ^ 0x10);
            pattern_compare(bytes, length, seed, &wrong);
            CHECK(wrong.bytes == 1 && wrong.first == (int64_t)at);
            bytes[length - 1] = (char)(bytes[length - 1] ^ 0x01);
            pattern_compare(bytes, length, seed, &wrong);
            CHECK(wrong.bytes == (at == length - 1 ? 2 : 3) && wrong.first == (int64_t)at);
        }
}

/* A message moved by one byte or by one word is wrong nearly everywhere. */
static void test_shift(void)
{
    char bytes[1024];
    const uint64_t seed = pattern_seed(0, 1, 0, 0);
    for (size_t by = 1; by <= 8; by += 7) {
        pattern_fill(bytes, sizeof bytes, seed);
        memmove(bytes + by, bytes, sizeof bytes - by);
        CHECK(wrong_bytes(bytes, sizeof bytes, seed) > 900);
    }
}

void test_pattern(void)
{
    test_seeds();
    test_counting();
    test_first();
    test_shift();
}
