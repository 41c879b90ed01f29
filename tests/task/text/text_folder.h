/* A fixture of tests of data sets of texts: a folder for pictures, one for the cache, the rules of labels. Each file that
   includes this has its own. */
#ifndef CT_TESTS_TEXT_FOLDER_H
#define CT_TESTS_TEXT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/task/text/text_util.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static char *dir, *cache;
static ct_text_rules rules; /* how labels are read */

static inline void set_up(void)
{
    dir = ct_util_tempdir();
    cache = ct_util_tempdir();
    setenv("CAPTRAIN_CACHE_DIR", cache, 1);
    ct_text_rules_init(&rules);
    ct_log_set_level(CT_LOG_ERROR);
}

static inline void tear_down(void)
{
    ct_util_remove(dir);
    ct_util_remove(cache);
}

static inline ct_dataset_spec fit_spec(int height, int width, int step)
{
    ct_dataset_spec s;
    ct_dataset_spec_init(&s);
    s.path = dir;
    s.size_rule = CT_SIZE_FIT_HEIGHT;
    s.height = height;
    s.width = width;
    s.width_step = step;
    return s;
}

static inline ct_dataset *must_open(const ct_dataset_spec *s, int workers)
{
    ct_dataset *ds;
    ck_assert_msg(open_text(s, &rules, workers, &ds) == CT_OK, "%s", ct_error_message());
    return ds;
}

/* Opens the set with one allocation after the other failing, without a cache and with one: each is told, nothing leaks. */
static inline void every_allocation_may_fail(const ct_dataset_spec *s)
{
    char packed[8192];
    ct_dataset *whole = must_open(s, 1);
    snprintf(packed, sizeof packed, "%s/data/%s.ctpack", cache, ct_dataset_key(whole));
    ct_dataset_close(whole);
    for (int filled = 0; filled < 2; filled++) {
        ck_assert_int_eq(access(packed, F_OK), 0); /* left by the pass before */
        for (long n = 0;; n++) {
            ct_dataset *ds = NULL;
            if (!filled) remove(packed);
            ct_alloc_fail_after(n);
            ct_status st = open_text(s, &rules, 1 + (int)(n & 1), &ds);
            long made = ct_alloc_fail_after(-1);
            ct_dataset_close(ds);
            if (made <= n) {
                ck_assert_int_eq(st, CT_OK);
                ck_assert_int_gt(n, 40);
                break;
            }
            ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed (filled %d), status %d: %s", n, filled, (int)st,
                          ct_error_message());
            ck_assert_ptr_null(ds);
        }
    }
}

#endif
