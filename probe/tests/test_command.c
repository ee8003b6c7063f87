#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/command.h"
#include "tests/check.h"
#include "tests/fixtures.h"

/* `line` with `from` replaced by `to`. */
static void edit(char *edited, size_t room, const char *line, const char *from, const char *to)
{
    const char *at = strstr(line, from);
    CHECK(at != NULL);
    snprintf(edited, room, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
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
    edit(line, sizeof line, fixture_measure, from, to);
    refuses_line(line, 7, sentence);
}

static void refuses_group(const char *from, const char *to, const char *sentence)
{
    char line[512];
    edit(line, sizeof line, fixture_group, from, to);
    refuses_line(line, 8, sentence);
}

/* How many sets the edited line makes; 0: it is refused. */
static size_t sets_in(const char *line, const char *from, const char *to)
{
    struct command command;
    struct refusal refusal;
    char edited[512];
    edit(edited, sizeof edited, line, from, to);
    const bool good = command_read(edited, strlen(edited), &fixture_world, &command, &refusal);
    const size_t sets = good ? command.measure.sets.count : 0;
    command_free(&command);
    return sets;
}

static void accepts(const char *from, const char *to)
{
    CHECK(sets_in(fixture_measure, from, to) == 2);
}

static void test_good(void)
{
    struct command command;
    struct refusal refusal;
    CHECK(command_read(fixture_measure, strlen(fixture_measure), &fixture_world, &command, &refusal));
    const struct measure *measure = &command.measure;
    CHECK(command.kind == COMMAND_MEASURE && measure->id == 7 && measure->kernel == 1 && measure->sets.count == 2);
    CHECK(measure->message_bytes == 8 && measure->window == 4 && measure->warmup == 20);
    CHECK(measure->iterations == 200 && measure->verify == VERIFY_ENDS);
    CHECK(measure->sets.places[3].set == 1 && measure->sets.places[3].index == 0);
    CHECK(rank_sets_members(&measure->sets, 1)[1] == 2);
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
            "'message_bytes' is 1073741825; it must be between 0 and 1073741824");
    refuses("\"message_bytes\":8", "\"message_bytes\":-1",
            "'message_bytes' is -1; it must be between 0 and 1073741824");
    refuses("\"window\":4", "\"window\":0", "'window' is 0; it must be between 1 and 1024");
    refuses("\"window\":4", "\"window\":1025", "'window' is 1025; it must be between 1 and 1024");
    refuses("\"warmup\":20", "\"warmup\":1000001", "'warmup' is 1000001; it must be between 0 and 1000000");
    refuses("\"iterations\":200", "\"iterations\":0", "'iterations' is 0; it must be between 1 and 1000000");
}

static void test_pairs(void)
{
    refuses("[0,1,3,2]", "[0,1,3]", "'pairs' has 3 ranks; it must have an even number");
    refuses("[0,1,3,2]", "[]", "'pairs' is empty; it must name the ranks that measure");
    refuses("[0,1,3,2]", "[0,4]", "'pairs' names rank 4; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[-1,0]", "'pairs' names rank -1; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[4294967296,0]", "'pairs' names rank 4294967296; there are ranks 0 to 3");
    refuses("[0,1,3,2]", "[2,2]", "'pairs' names rank 2 twice; a rank has one part in a round");
    refuses("[0,1,3,2]", "[0,1,1,2]", "'pairs' names rank 1 twice; a rank has one part in a round");
    refuses("[0,1,3,2]", "3", "'pairs' is an integer; it must be an array of integers");
}

static void test_groups(void)
{
    CHECK(sets_in(fixture_group, "[2,1]", "[3]") == 1);
    CHECK(sets_in(fixture_group, "[2,1]", "[1,1,1]") == 3);
    refuses_group("[2,1]", "[]", "'group_sizes' does not add up to the 3 ranks in 'ranks'");
    refuses_group("[2,1]", "[2]", "'group_sizes' does not add up to the 3 ranks in 'ranks'");
    refuses_group("[2,1]", "[2,2]", "'group_sizes' does not add up to the 3 ranks in 'ranks'");
    refuses_group("[2,1]", "[3,0]", "'group_sizes' has a group of 0 ranks; a group has at least one");
    refuses_group("[2,1]", "[3,-1]", "'group_sizes' has a group of -1 ranks; a group has at least one");
    refuses_group("[2,1]", "[9223372036854775807,3]", "'group_sizes' does not add up to the 3 ranks in 'ranks'");
    refuses_group("[2,1]", "2", "'group_sizes' is an integer; it must be an array of integers");
    refuses_group("[3,0,2]", "[]", "'ranks' is empty; it must name the ranks that measure");
    refuses_group("[3,0,2]", "[3,0,3]", "'ranks' names rank 3 twice; a rank has one part in a round");
    refuses_group("[3,0,2]", "[3,3,2]", "'ranks' names rank 3 twice; a rank has one part in a round");
    refuses_group("[3,0,2]", "[3,0,4]", "'ranks' names rank 4; there are ranks 0 to 3");
    refuses_group("\"message_bytes\":0", "\"message_bytes\":8",
                  "'message_bytes' is 8; meet sends no data, it must be 0");
    CHECK(sets_in(fixture_group, "\"verify\":\"none\"", "\"verify\":\"all\"") == 2);
}

/* Each kind of kernel takes the keys for its ranks and no others. */
static void test_rank_keys(void)
{
    const char *from = "\"meet\",\"ranks\":[3,0,2],\"group_sizes\":[2,1]";
    CHECK(sets_in(fixture_group, from, "\"copy\",\"ranks\":[3,0,2]") == 3);
    CHECK(sets_in(fixture_group, from, "\"gather\"") == 1);
    refuses("oneway", "gather", "'window' is 4; gather has no window, it must be 1");
    refuses("\"pairs\"", "\"ranks\"", "'ranks' is not a key for oneway, which takes 'pairs'");
    refuses_group("\"ranks\"", "\"pairs\"", "'pairs' is not a key for meet, which takes 'ranks' and 'group_sizes'");
    refuses_group(",\"group_sizes\":[2,1]", "", "the key 'group_sizes' is missing");
    refuses_group("\"ranks\":[3,0,2],", "", "the key 'ranks' is missing");
    refuses_group("meet", "copy", "'group_sizes' is not a key for copy, which takes 'ranks'");
    refuses_group("meet", "gather", "'ranks' is not a key for gather, which runs on all ranks");
}

/* A kernel with a message for each of four ranks may have a quarter of the longest message. */
static void test_memory(void)
{
    const char *from = "\"meet\",\"ranks\":[3,0,2],\"group_sizes\":[2,1],\"message_bytes\":0";
    CHECK(sets_in(fixture_group, from, "\"gather\",\"message_bytes\":268435456") == 1);
    refuses_group(from, "\"gather\",\"message_bytes\":268435457",
                  "'message_bytes' is 268435457; gather holds one message for each of 4 ranks, together at most "
                  "1073741824 bytes");
    CHECK(sets_in(fixture_group, from, "\"copy\",\"ranks\":[0,1,2,3],\"message_bytes\":1073741824") == 4);
}

static void refuses_store(const char *from, const char *to, const char *sentence)
{
    char line[512];
    edit(line, sizeof line, fixture_store, from, to);
    refuses_line(line, 9, sentence);
}

static void test_folder(void)
{
    struct command command;
    struct refusal refusal;
    CHECK(command_read(fixture_store, strlen(fixture_store), &fixture_world, &command, &refusal));
    CHECK_TEXT(command.measure.folder, "/a b");
    command_free(&command);
    refuses_store(",\"folder\":\"/a b\"", "", "the key 'folder' is missing");
    refuses_store("/a b", "", "'folder' is ''; it must be an absolute path of at most 511 bytes");
    refuses_store("/a b", "a", "'folder' is 'a'; it must be an absolute path of at most 511 bytes");
    refuses_store("\"store\"", "\"meet\"", "'folder' is not a key for meet, which writes no files");
}

static void test_folder_bounds(void)
{
    for (int bytes = FOLDER_BYTES_MAX; bytes <= FOLDER_BYTES_MAX + 1; bytes++) {
        char line[1024], folder[FOLDER_BYTES_MAX + 2];
        struct command command;
        struct refusal refusal;
        memset(folder, 'x', (size_t)bytes);
        folder[0] = '/';
        folder[bytes] = '\0';
        edit(line, sizeof line, fixture_store, "/a b", folder);
        const bool good = command_read(line, strlen(line), &fixture_world, &command, &refusal);
        CHECK(good == (bytes == FOLDER_BYTES_MAX));
        CHECK(!good || strlen(command.measure.folder) == FOLDER_BYTES_MAX);
        command_free(&command);
    }
}

static void test_keys(void)
{
    accepts("\"verify\":\"ends\"", "\"verify\":\"all\"");
    refuses(",\"verify\":\"ends\"", "", "the key 'verify' is missing");
    refuses(",\"verify\":\"ends\"", ",\"verfy\":\"ends\"", "unknown key 'verfy'");
    refuses("\"verify\":\"ends\"", "\"verify\":true", "'verify' is true or false; it must be a string");
    refuses("\"verify\":\"ends\"", "\"verify\":\"some\"", "'verify' is 'some'; it must be none, ends or all");
    refuses("oneway", "warp", "unknown kernel 'warp'; --list shows all kernels");
    refuses("oneway", "pingpong", "'window' is 4; pingpong has no window, it must be 1");
    refuses("\"measure\"", "\"fly\"", "unknown command 'fly'; there are measure and stop");
    refuses("\"measure\"", "3", "'command' is an integer; it must be a string");
    refuses("\"measure\"", "\"stop\"", "unknown key 'id'");
    refuses_line("{}", 0, "the key 'command' is missing");
    refuses_line("{\"command\":\"measure\"}", 0, "the key 'id' is missing");
    refuses_line("{\"command\":\"measure\",\"id\":-1}", 0,
                 "'id' is -1; it must be between 0 and 9007199254740991");
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
    test_groups();
    test_rank_keys();
    test_memory();
    test_folder();
    test_folder_bounds();
    test_keys();
    test_prefixes();
}
