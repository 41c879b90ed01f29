/* Whether images stay on the device: the choice, and its reasons. What it does to a training: tests/sh/feed.sh. */
#include "config.h"

#include <string.h>

#include "session/resident.h"
#include "tests/ct_check.h"

/* 1000 images of 100 bytes, a training of 300000, 2 MB free, on a device of its own. */
static ct_resident_facts facts(ct_cfg_resident key)
{
    return (ct_resident_facts){ .key = key, .far = true, .buckets = 1, .images = 1000, .each = 100, .peak = 300000, .available = 2000000 };
}

static void chosen(const ct_resident_facts *f, bool yes, const char *why)
{
    ct_resident r;
    ck_assert_msg(ct_resident_choose(f, &r) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(r.yes == yes, "%s", r.why);
    ck_assert_msg(strstr(r.why, why) != NULL, "'%s' is not in '%s'", why, r.why);
    ck_assert_int_eq(r.bytes, f->images * f->each);
}

static void refused(const ct_resident_facts *f, const char *why)
{
    ct_resident r;
    ck_assert_int_eq(ct_resident_choose(f, &r), CT_ECONFIG);
    ck_assert(!r.yes);
    ck_assert_msg(strstr(ct_error_message(), "data.resident: true cannot be: ") != NULL, "%s", ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), why) != NULL, "'%s' is not in '%s'", why, ct_error_message());
}

START_TEST(fits)
{
    ct_resident_facts f = facts(CT_CFG_RESIDENT_AUTO);
    chosen(&f, true, "1000 images of 100 bytes are 0.1 MB beside 0.3 MB of the training, 2.0 MB are free");
    f.key = CT_CFG_RESIDENT_TRUE;
    chosen(&f, true, "beside");
    f.key = CT_CFG_RESIDENT_FALSE;
    chosen(&f, false, "data.resident is false");
}
END_TEST

/* To the byte: images, training and a sixteenth that is kept free. */
START_TEST(does_not_fit)
{
    ct_resident_facts f = facts(CT_CFG_RESIDENT_AUTO);
    f.available = 1600000;
    f.peak = f.available - f.available / 16 - 100000;
    chosen(&f, true, "beside");
    f.peak++;
    chosen(&f, false, "more than the 1.6 MB that are free");
    f.key = CT_CFG_RESIDENT_TRUE;
    refused(&f, "1000 images of 100 bytes are 0.1 MB, the training takes 1.4 MB, 0.1 MB are left for others: more than the 1.6 MB");
}
END_TEST

START_TEST(cannot_be)
{
    ct_resident_facts f = facts(CT_CFG_RESIDENT_AUTO);
    f.drawn = true;
    chosen(&f, false, "new images are drawn in every epoch");
    f.key = CT_CFG_RESIDENT_TRUE;
    refused(&f, "new images are drawn in every epoch");
    f.drawn = false;
    f.buckets = 3;
    refused(&f, "images have 3 widths");
    f.key = CT_CFG_RESIDENT_AUTO;
    chosen(&f, false, "images have 3 widths");
}
END_TEST

START_TEST(near_and_silent_devices)
{
    ct_resident_facts f = facts(CT_CFG_RESIDENT_AUTO);
    f.far = false;
    chosen(&f, false, "the device reads the host's memory");
    f.key = CT_CFG_RESIDENT_TRUE;
    chosen(&f, true, "beside");
    f.available = 0;
    chosen(&f, true, "beside");
    f.key = CT_CFG_RESIDENT_AUTO;
    f.far = true;
    chosen(&f, false, "does not say what memory is free");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resident");
    TCase *t = tcase_create("choice");
    tcase_add_test(t, fits);
    tcase_add_test(t, does_not_fit);
    tcase_add_test(t, cannot_be);
    tcase_add_test(t, near_and_silent_devices);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
