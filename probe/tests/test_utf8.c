#include "../utf8.h"
#include "check.h"

static void check_round_trip(uint32_t point, size_t bytes)
{
    char text[4] = {0};
    CHECK(utf8_encode(point, text) == bytes);
    CHECK(utf8_sequence(text, bytes) == bytes);
    CHECK(bytes == 1 || utf8_sequence(text, bytes - 1) == 0);
}

void test_utf8(void)
{
    check_round_trip(0x41, 1);
    check_round_trip(0x7F, 1);
    check_round_trip(0x80, 2);
    check_round_trip(0x7FF, 2);
    check_round_trip(0x800, 3);
    check_round_trip(0xFFFF, 3);
    check_round_trip(0x10000, 4);
    check_round_trip(0x10FFFF, 4);
    CHECK(utf8_sequence("", 0) == 0);
    CHECK(utf8_sequence("\x80", 1) == 0);
    CHECK(utf8_sequence("\xC0\x80", 2) == 0);         /* overlong */
    CHECK(utf8_sequence("\xE0\x80\x80", 3) == 0);     /* overlong */
    CHECK(utf8_sequence("\xED\xA0\x80", 3) == 0);     /* surrogate */
    CHECK(utf8_sequence("\xF4\x90\x80\x80", 4) == 0); /* above U+10FFFF */
    CHECK(utf8_sequence("\xF0\x9F\x98\x41", 4) == 0);
    CHECK(utf8_sequence("\xFF", 1) == 0);
}
