#include <string.h>

#include "protocol/json_writer.h"
#include "tests/check.h"

static void check_string(const char *value, const char *wanted)
{
    struct record record = {0};
    record_begin(&record, "x");
    record_string(&record, "s", value);
    record_end(&record);
    record_reserve(&record, record.length + 1);
    record.text[record.length] = '\0';
    CHECK_TEXT(record.text, wanted);
    record_free(&record);
}

static void test_strings(void)
{
    check_string("plain", "{\"record\":\"x\",\"s\":\"plain\"}\n");
    check_string("\"\\", "{\"record\":\"x\",\"s\":\"\\\"\\\\\"}\n");
    check_string("\n\t\x01\x7F", "{\"record\":\"x\",\"s\":\"\\u000a\\u0009\\u0001\\u007f\"}\n");
    check_string("\xC3\xA9\xF0\x9F\x98\x80", "{\"record\":\"x\",\"s\":\"\xC3\xA9\xF0\x9F\x98\x80\"}\n");
    check_string("a\xFF\xC3", "{\"record\":\"x\",\"s\":\"a\\ufffd\\ufffd\"}\n");
}

static void test_numbers(void)
{
    static const int64_t times_ns[] = {0, 1, 123456789, 999999999, 1500000000};
    struct record record = {0};
    record_begin(&record, "x");
    record_integer(&record, "i", INT64_MIN);
    record_counts(&record, "c", (const int64_t[]){-1, 5, INT64_C(1) << 40, 6}, 2, 2);
    record_counts(&record, "n", NULL, 0, 2);
    record_seconds(&record, "s", 2.1e-8);
    record_seconds_list(&record, "l", times_ns, 5);
    record_seconds_list(&record, "e", NULL, 0);
    record_integers(&record, "r", (const int[]){3, -1}, 2);
    record_integers(&record, "n", NULL, 0);
    record_end(&record);
    record_reserve(&record, record.length + 1);
    record.text[record.length] = '\0';
    CHECK_TEXT(record.text, "{\"record\":\"x\",\"i\":-9223372036854775808,\"c\":[-1,1099511627776],\"n\":[],\"s\":2.1e-08,"
                            "\"l\":[0,1e-09,0.123456789,0.999999999,1.5],\"e\":[],\"r\":[3,-1],\"n\":[]}\n");
    record_free(&record);
}

/* Room that was reserved is enough: the buffer of a long list does not move. */
static void test_reserve(void)
{
    enum { TIMES = 5000 };
    static int64_t times_ns[TIMES];
    struct record record = {0};
    memset(times_ns, 0x11, sizeof times_ns);
    CHECK(record_reserve(&record, record_bytes(TIMES)));
    const char *const text = record.text;
    record_begin(&record, "x");
    record_seconds_list(&record, "l", times_ns, TIMES);
    record_end(&record);
    CHECK(record.text == text && !record.failed);
    record.failed = true;
    CHECK(!record_print(&record, stdout));
    record_free(&record);
}

/* The whole sequence counts, and no part of it does. */
static void check_sequence(const char *text)
{
    const size_t bytes = strlen(text);
    CHECK(utf8_sequence(text, bytes) == bytes);
    CHECK(bytes == 1 || utf8_sequence(text, bytes - 1) == 0);
}

static void test_utf8(void)
{
    check_sequence("A");
    check_sequence("\x7F");
    check_sequence("\xC2\x80");
    check_sequence("\xDF\xBF");
    check_sequence("\xE0\xA0\x80");
    check_sequence("\xEF\xBF\xBF");
    check_sequence("\xF0\x90\x80\x80");
    check_sequence("\xF4\x8F\xBF\xBF");
    CHECK(utf8_sequence("", 0) == 0);
    CHECK(utf8_sequence("\x80", 1) == 0);
    CHECK(utf8_sequence("\xC0\x80", 2) == 0);         /* overlong */
    CHECK(utf8_sequence("\xE0\x80\x80", 3) == 0);     /* overlong */
    CHECK(utf8_sequence("\xED\xA0\x80", 3) == 0);     /* surrogate */
    CHECK(utf8_sequence("\xF4\x90\x80\x80", 4) == 0); /* above U+10FFFF */
    CHECK(utf8_sequence("\xF0\x9F\x98\x41", 4) == 0);
    CHECK(utf8_sequence("\xFF", 1) == 0);
}

void test_json_writer(void)
{
    test_utf8();
    test_strings();
    test_numbers();
    test_reserve();
}
