#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/command.h"
#include "tests/check.h"
#include "tests/fixtures.h"

/* The good measure with `from` replaced by `to`. */
static void edit(char *line, size_t room, const char *from, const char *to)
{
    const char *at = strstr(fixture_measure, from);
    CHECK(at != NULL);
    snprintf(line, room, "%.*s%s%s", (int)(at - fixture_measure), fixture_measure, to, at + strlen(from));
}

static void refuses_line(const char *line, int64_t id, const char *sentence)
{
    struct command command;
    struct refusal refusal;
    CHECK(!command_read(line, strlen(line), &fixture_world, &command, &refusal));
    CHECK(refusal.id == id);
    CHECK_TEXT(refusal.sentence, sentence);
}

static void refuses(const char *from, const char *to, const char *sentence)
{
    char line[512];
    edit(line, sizeof line, from, to);
    refuses_line(line, 7, sentence);
}

static void accepts(const char *from, const char *to)
{
    struct command command;
    struct refusal refusal;
    char line[512];
    edit(line, sizeof line, from, to);
    CHECK(command_read(line, strlen(line), &fixture_world, &command, &refusal));
    command_free(&command);
}

static void test_good(void)
{
    struct command command;
    struct refusal refusal;
    CHECK(command_read(fixture_measure, strlen(fixture_measure), &fixture_world, &command, &refusal));
    const struct measure *measure = &command.measure;
    CHECK(command.kind == COMMAND_MEASURE && measure->id == 7 && measure->kernel == 1 && measure->pair_count == 2);
    CHECK(measure->message_bytes == 8 && measure->window == 4 && measure->warmup == 20);
    CHECK(measure->iterations == 200 && measure->verify);
    CHECK(measure->roles[3].kind == ROLE_SOURCE && measure->roles[3].partner == 2);
    command_free(&command);
    CHECK(command_read("{\"command\":\"stop\"}", 18, &fixture_world, &command, &refusal));
    CHECK(command.kind == COMMAND_STOP);
    command_free(&command);
}

static void test_bounds(void)
{
    accepts("\"message_bytes\":8", "\"message_bytes\":0");
    accepts("\"message_bytes\":8", "\"message_bytes\":1073741824");
    accepts("\"window\":4", "\"window\":1024");
    accepts("\"warmup\":20", "\"warmup\":1000000");
    accepts("\"iterations\":200", "\"iterations\":1000000");
    refuses("\"message_bytes\":8", "\"message_bytes\":1073741825",
            "'message_bytes' is 1073741825; it must lie between 0 and 1073741824");
    refuses("\"message_bytes\":8", "\"message_bytes\":-1",
            "'message_bytes' is -1; it must lie between 0 and 1073741824");
    refuses("\"window\":4", "\"window\":0", "'window' is 0; it must lie between 1 and 1024");
    refuses("\"window\":4", "\"window\":1025", "'window' is 1025; it must lie between 1 and 1024");
    refuses("\"warmup\":20", "\"warmup\":1000001", "'warmup' is 1000001; it must lie between 0 and 1000000");
    refuses("\"iterations\":200", "\"iterations\":0", "'iterations' is 0; it must lie between 1 and 1000000");
}

static void test_pairs(void)
{
    refuses("[0,1,3,2]", "[0,1,3]", "'pairs' holds 3 ranks; it must hold an even number");
    refuses("[0,1,3,2]", "[]", "'pairs' is empty; it must name at least a source and a target");
    refuses("[0,1,3,2]", "[0,4]", "'pairs' names rank 4; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[-1,0]", "'pairs' names rank -1; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[4294967296,0]", "'pairs' names rank 4294967296; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[2,2]", "'pairs' pairs rank 2 with itself");
    refuses("[0,1,3,2]", "[0,1,1,2]", "'pairs' names rank 1 twice; a rank may be in one pair only");
    refuses("[0,1,3,2]", "3", "'pairs' is an integer; it must be an array of integers");
}

static void test_keys(void)
{
    refuses(",\"verify\":true", "", "the key 'verify' is missing");
    refuses(",\"verify\":true", ",\"verfy\":true", "unknown key 'verfy'");
    refuses("\"verify\":true", "\"verify\":1", "'verify' is an integer; it must be true or false");
    refuses("oneway", "warp", "unknown kernel 'warp'; --list shows all kernels");
    refuses("oneway", "pingpong", "'window' is 4; pingpong sends one message at a time, it must be 1");
    refuses("\"measure\"", "\"fly\"", "unknown command 'fly'; there are measure and stop");
    refuses("\"measure\"", "3", "'command' is an integer; it must be a string");
    refuses("\"measure\"", "\"stop\"", "unknown key 'id'");
    refuses_line("{}", 0, "the key 'command' is missing");
    refuses_line("{\"command\":\"measure\"}", 0, "the key 'id' is missing");
    refuses_line("{\"command\":\"measure\",\"id\":-1}", 0,
                 "'id' is -1; it must lie between 0 and 9007199254740991");
    refuses_line("{\"id\":5,\"command\":null}", 5,
                 "not a command: expected a string, an integer, true, false or an array of integers at column 19, "
                 "near 'null}'");
}

static void test_prefixes(void)
{
    for (size_t n = 0; n < strlen(fixture_measure); n++) {
        struct command command;
        struct refusal refusal;
        char *line = fixture_exact(fixture_measure, n);
        CHECK(!command_read(line, n, &fixture_world, &command, &refusal));
        free(line);
    }
}

void test_command(void)
{
    test_good();
    test_bounds();
    test_pairs();
    test_keys();
    test_prefixes();
}
