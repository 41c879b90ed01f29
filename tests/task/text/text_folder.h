/* A fixture of tests of data sets of texts: a folder for pictures, one for the cache, the rules of labels. Each file that
   includes this has its own. */
#ifndef CT_TESTS_TEXT_FOLDER_H
#define CT_TESTS_TEXT_FOLDER_H

#include <stdlib.h>
#include <string.h>

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

#endif
