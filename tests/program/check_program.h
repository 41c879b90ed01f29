/* Shared by the files of tests/check_program. */
#ifndef CT_TESTS_CHECK_PROGRAM_H
#define CT_TESTS_CHECK_PROGRAM_H

#include "config.h"

#include <string.h>

#include "task/text/text.h"
#include "program/program.h"
#include "task/track.h"
#include "tests/ct_check.h"

static inline void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static inline void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

#define RUN_MAX 4

/* A store with up to RUN_MAX programs. */
typedef struct test_run {
    ct_program_spec spec;
    ct_layout layout;
    ct_program p[RUN_MAX];
    ct_plan *plan[RUN_MAX];
    int n;
    ct_arenas *store;
} test_run;

void small_spec(ct_program_spec *s, const char *model, int64_t batch);
void run_open(test_run *r, const ct_program_spec *spec, bool reference);
void run_open_on(test_run *r, const ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts);
int run_add(test_run *r, ct_program_kind kind, int64_t batch, bool ema);
void run_close(test_run *r);
void run_feed(test_run *r, int i, int64_t first);
double run_loss(test_run *r, int i);
double run_step(test_run *r, int i, int64_t first);
double arena_difference(const test_run *a, const test_run *b, ct_arena arena);

TCase *spec_case(void);
TCase *ctc_case(void);
TCase *flat_case(void);
TCase *pad_case(void);
TCase *parts_case(void);
TCase *update_case(void);

#endif
