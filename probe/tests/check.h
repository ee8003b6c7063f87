#ifndef SEATRIAL_TESTS_CHECK_H
#define SEATRIAL_TESTS_CHECK_H

#include <stdbool.h>

/* The whole harness: a check counts, and a failed one says where. */
void check_that(bool good, const char *what, const char *file, int line);
void check_text(const char *got, const char *wanted, const char *file, int line);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), __FILE__, __LINE__)

/* One a file. */
void test_json_reader(void);
void test_json_writer(void);
void test_records(void);
void test_command(void);
void test_rank_sets(void);
void test_lines(void);
void test_pattern(void);
void test_buffers(void);
void test_clock(void);
void test_rank_facts(void);
void test_pinning(void);
void test_conditions(void);
void test_fuzz(void);

#endif
