#include <stdlib.h>
#include <string.h>

#include "protocol/json_reader.h"
#include "tests/check.h"
#include "tests/fixtures.h"

static bool reads(const char *text, size_t length)
{
    struct json_object object;
    struct refusal refusal = {0};
    char *copy = fixture_exact(text, length);
    const bool good = json_read(copy, length, &object, &refusal);
    CHECK(good == (refusal.sentence[0] == '\0'));
    json_free(&object);
    free(copy);
    return good;
}

#define READS(text) CHECK(reads(text, sizeof text - 1))
#define REFUSES(text) CHECK(!reads(text, sizeof text - 1))

static void test_values(void)
{
    static const char text[] = " { \"s\" : \"a /~\" , \"i\":-12,\"t\":true,"
                               "\"f\":false,\"a\":[ 1 , -2,3],\"e\":[],\"min\":-9223372036854775808,"
                               "\"max\":9223372036854775807}\r";
    struct json_object object;
    struct refusal refusal;
    CHECK(json_read(text, sizeof text - 1, &object, &refusal));
    CHECK(object.count == 8);
    CHECK(json_equals(json_find(&object, "s")->text, "a /~"));
    CHECK(!json_equals(json_find(&object, "s")->text, "a /") && !json_equals(json_find(&object, "s")->text, "a /~~"));
    CHECK(json_find(&object, "i")->integer == -12);
    CHECK(json_find(&object, "t")->boolean);
    CHECK(!json_find(&object, "f")->boolean);
    CHECK(json_find(&object, "a")->count == 3 && json_find(&object, "a")->integers[1] == -2);
    CHECK(json_find(&object, "e")->type == JSON_INTEGERS && json_find(&object, "e")->count == 0);
    CHECK(json_find(&object, "min")->integer == INT64_MIN);
    CHECK(json_find(&object, "max")->integer == INT64_MAX);
    CHECK(json_find(&object, "absent") == NULL);
    json_free(&object);
}

static void test_good(void)
{
    READS("{}");
    READS("{\"\":0}");
    READS("{\"a\":-0}");
    READS("\t{\"a\":\"\"}\n");
}

static void test_structure(void)
{
    REFUSES("");
    REFUSES("[]");
    REFUSES("{\"a\":1,}");
    REFUSES("{\"a\":1 \"b\":2}");
    REFUSES("{\"a\" 1}");
    REFUSES("{a:1}");
    REFUSES("{\"a\":1}x");
    REFUSES("{\"a\":1}{\"b\":1}");
    REFUSES("{\"a\":1,\"a\":1}");
    REFUSES("{\"a\":{}}");
    REFUSES("{\"a\":[[1]]}");
    REFUSES("{\"a\":[1,]}");
    REFUSES("{\"a\":[1 2]}");
    REFUSES("{\"a\":[\"1\"]}");
    REFUSES("{\"a\":[true]}");
    REFUSES("{\"a\":null}");
    REFUSES("{\"a\":True}");
    REFUSES("{\"a\":tru}");
    REFUSES("{\"a\":NaN}");
}

static void test_numbers(void)
{
    REFUSES("{\"a\":9223372036854775808}");
    REFUSES("{\"a\":-9223372036854775809}");
    REFUSES("{\"a\":99999999999999999999999999999999999999999999999999}");
    REFUSES("{\"a\":1.5}");
    REFUSES("{\"a\":1e3}");
    REFUSES("{\"a\":01}");
    REFUSES("{\"a\":-01}");
    REFUSES("{\"a\":-}");
    REFUSES("{\"a\":+1}");
    REFUSES("{\"a\":0x10}");
}

static void test_strings(void)
{
    REFUSES("{\"a\":\"\n\"}");
    REFUSES("{\"a\":\"\x1F\"}");
    REFUSES("{\"a\":\"\x7F\"}");
    REFUSES("{\"a\":\"\0\"}");
    REFUSES("{\"a\0\":1}");
    REFUSES("\0");
    REFUSES("{\"a\":1}\0");
    REFUSES("{\"a\":\"\\\"\"}");
    REFUSES("{\"a\":\"\\u0041\"}");
    REFUSES("{\"a\\n\":1}");
    REFUSES("{\"a\":\"\xFF\"}");
    REFUSES("{\"a\":\"\xC3\xA9\"}");
    REFUSES("{\"a\":\"b");
}

static void test_prefixes(void)
{
    const size_t length = strlen(fixture_measure);
    CHECK(reads(fixture_measure, length));
    for (size_t n = 0; n < length; n++)
        CHECK(!reads(fixture_measure, n));
}

static void test_depth_and_width(void)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 5);
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', DEPTH);
    CHECK(!reads(text, DEPTH + 5));
    memset(text, '{', DEPTH);
    CHECK(!reads(text, DEPTH));
    free(text);
    READS("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,"
          "\"n\":1,\"o\":1,\"p\":1}");
    REFUSES("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,"
            "\"n\":1,\"o\":1,\"p\":1,\"q\":1}");
}

static void test_sentence(void)
{
    struct json_object object;
    struct refusal refusal;
    CHECK(!json_read("{\"a\":1.5}", 9, &object, &refusal));
    CHECK_TEXT(refusal.sentence, "not a command: a number that is not written as an integer at column 6, near '1.5}'");
    json_free(&object);
    CHECK(!json_read("{\"a\":1", 6, &object, &refusal));
    CHECK_TEXT(refusal.sentence, "not a command: expected ',' or '}', but the line ends at column 7");
    CHECK(json_find(&object, "a") != NULL);
    json_free(&object);
}

void test_json_reader(void)
{
    test_values();
    test_good();
    test_structure();
    test_numbers();
    test_strings();
    test_prefixes();
    test_depth_and_width();
    test_sentence();
}
