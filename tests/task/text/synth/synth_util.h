/* What the tests of the text generator share. */
#ifndef CT_TESTS_SYNTH_UTIL_H
#define CT_TESTS_SYNTH_UTIL_H

#include <string.h>

#include "task/text/synth/synth.h"
#include "tests/ct_check.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static inline ct_text_params style(const char *name)
{
    ct_text_params p;
    ck_assert_msg(ct_text_params_init(&p, name) == CT_OK, "%s", ct_error_message());
    return p;
}

static inline ct_image draw(const ct_text_params *p, uint64_t seed, int64_t index, char label[CT_TEXT_BYTES])
{
    ct_image im;
    ck_assert_msg(ct_synth_text(p, seed, index, &im, label) == CT_OK, "%s", ct_error_message());
    return im;
}

#endif
