/* Data of mixed sizes: fit_height, buckets, padding. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/build.h"
#include "data/pack.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/task/text/text_folder.h"

/* ---- geometry ---- */

START_TEST(fit_widths)
{
    ct_dataset_spec s = fit_spec(32, 100, 16);
    s.min_width = 5;
    static const struct { int w, h, width, bucket; } want[] = {
        { 64, 32, 64, 64 },  { 65, 32, 65, 80 },    { 100, 32, 100, 100 }, { 99, 32, 99, 100 }, { 400, 32, 100, 100 },
        { 96, 64, 48, 48 },  { 97, 64, 49, 64 },    { 1, 32, 5, 16 },      { 1, 4000, 5, 16 },  { 32767, 1, 100, 100 },
        { 50, 33, 48, 48 },  { 3, 2, 48, 48 },      { 47, 31, 49, 64 },    { 81, 64, 41, 48 }, /* 40.5 goes up */
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int w = ct_fit_width(&s, want[i].w, want[i].h);
        ck_assert_msg(w == want[i].width, "%dx%d: %d", want[i].w, want[i].h, w);
        ck_assert_int_eq(ct_fit_bucket(&s, w), want[i].bucket);
    }
    s.size_rule = CT_SIZE_RESIZE;
    ck_assert_int_eq(ct_fit_width(&s, 7, 9), 100);
    ck_assert_int_eq(ct_fit_bucket(&s, 100), 100);
    s.width_step = 1000; /* above the width: one bucket */
    s.size_rule = CT_SIZE_FIT_HEIGHT;
    ck_assert_int_eq(ct_fit_bucket(&s, 1), 100);
}
END_TEST

/* The pixels a sample must have: resized alone, then padded by hand. */
static void check_pixels(const ct_dataset *ds, int64_t i, const ct_dataset_spec *s, const uint8_t pad[3])
{
    ct_image im, fit;
    ct_image_opts o = { .channels = s->channels };
    memcpy(o.background, s->background, 3);
    ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, ct_dataset_name(ds, i)), &o, &im), CT_OK);
    int w = ct_fit_width(s, im.w, im.h), b = ct_dataset_sample_bucket(ds, i), c = s->channels;
    int wide = ct_dataset_bucket_width(ds, b);
    ck_assert_int_eq(ct_dataset_sample_width(ds, i), w);
    ck_assert_int_eq(wide, ct_fit_bucket(s, w));
    ck_assert_int_eq(ct_image_resize_bilinear(&im, w, s->height, &fit), CT_OK);
    const uint8_t *px = ct_dataset_pixels(ds, i);
    for (int y = 0; y < s->height; y++) {
        ck_assert_mem_eq(px + y * wide * c, fit.px + y * w * c, (size_t)(w * c));
        for (int x = w * c; x < wide * c; x++) ck_assert_int_eq(px[y * wide * c + x], pad[c == 1 ? 0 : x % 3]);
    }
    ct_image_free(&im);
    ct_image_free(&fit);
}

START_TEST(fit_files)
{
    static const uint8_t white[3] = { 255, 255, 255 }, color[3] = { 200, 10, 40 }, gray[3] = { 70, 70, 70 };
    for (unsigned i = 0; i < 25; i++) {
        char name[64];
        sprintf(name, "%.*s_%02u.png", 1 + (int)(i % 5), "ABCDE", i);
        ct_util_picture(dir, name, 5 + (int)(i * 37 % 120), 8 + (int)(i * 5 % 30), i);
    }
    for (int kind = 0; kind < 3; kind++) {
        ct_dataset_spec s = fit_spec(16, 72, 20);
        s.channels = kind == 1 ? 3 : 1;
        if (kind) memcpy(s.background, color, 3);
        const uint8_t *pad = kind == 0 ? white : kind == 1 ? color : gray; /* 0.299 R + 0.587 G + 0.114 B */
        ct_dataset *a = must_open(&s, 1), *b = must_open(&s, 3);
        s.cache = false;
        ct_dataset *c = must_open(&s, 4);
        ck_assert(!ct_dataset_was_cached(a) && ct_dataset_was_cached(b) && !ct_dataset_was_cached(c));
        ck_assert_int_eq(ct_dataset_size(a), 25);
        ck_assert_int_eq(ct_dataset_buckets(a), 4); /* 20 40 60 72 */
        ck_assert_int_eq(ct_dataset_width(a), 72);
        ck_assert_int_eq(ct_text_columns(a), 5);
        ck_assert(ct_dataset_contiguous(a));
        for (int64_t i = 0; i < 25; i++) {
            check_pixels(a, i, &s, pad);
            check_pixels(b, i, &s, pad);
            check_pixels(c, i, &s, pad);
            ck_assert_int_eq(ct_text_length(b, i), (int)strlen(ct_dataset_label_text(b, i)));
        }
        ck_assert_str_eq(ct_dataset_key(a), ct_dataset_key(c));
        char key[33];
        memcpy(key, ct_dataset_key(a), 33);
        ct_dataset_close(a);
        ct_dataset_close(b);
        ct_dataset_close(c);
        s.width_step = 24; /* every rule is part of the key */
        a = must_open(&s, 1);
        ck_assert_str_ne(ct_dataset_key(a), key);
        s.min_width = 30;
        b = must_open(&s, 1);
        ck_assert_str_ne(ct_dataset_key(b), ct_dataset_key(a));
        ct_dataset_close(a);
        ct_dataset_close(b);
    }
}
END_TEST

/* ct_fit_image() is what `predict` does with one picture: the pixels of the data set. */
START_TEST(fit_one_picture)
{
    ct_util_picture(dir, "A_1.png", 33, 20, 3);
    ct_dataset_spec s = fit_spec(10, 64, 16);
    ct_dataset *ds = must_open(&s, 1);
    ct_image im;
    ct_image_opts o = { .channels = 1, .background = { 255, 255, 255 } };
    int width = 0;
    ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, "A_1.png"), &o, &im), CT_OK);
    ck_assert_int_eq(ct_fit_image(&s, "A_1.png", &im, &width), CT_OK);
    ck_assert(width == 17 && im.w == 32 && im.h == 10);
    ck_assert_mem_eq(im.px, ct_dataset_pixels(ds, 0), 320);
    ct_image_free(&im);
    ct_dataset_close(ds);
}
END_TEST

START_TEST(fit_bad_files)
{
    for (int bad_first = 0; bad_first < 2; bad_first++) {
        ct_util_text(dir, bad_first ? "A_0.png" : "Z_9.png", "");
        ct_util_picture(dir, "B_1.png", 30, 10, 1);
        ct_util_picture(dir, "C_2.png", 90, 10, 2);
        ct_util_picture(dir, "D_3.png", 31, 10, 3);
        ct_dataset_spec s = fit_spec(10, 200, 32);
        s.max_bad = 2;
        for (int pass = 0; pass < 2; pass++) { /* built, then from the cache */
            ct_dataset *ds = must_open(&s, 2);
            ck_assert_int_eq(ct_dataset_was_cached(ds), pass);
            ck_assert_int_eq(ct_dataset_size(ds), 3);
            ck_assert_int_eq(ct_dataset_buckets(ds), 2);
            ck_assert_int_eq(ct_dataset_bucket_count(ds, 0), 2);
            ck_assert_int_eq(ct_dataset_sample_width(ds, 1), 90);
            ck_assert_int_eq(ct_dataset_width(ds), 96);
            static const uint8_t white[3] = { 255, 255, 255 };
            for (int64_t i = 0; i < 3; i++) check_pixels(ds, i, &s, white);
            ct_dataset_close(ds);
        }
    }
    ct_util_text(dir, "B_1.png", "");
    ct_util_text(dir, "C_2.png", "");
    ct_util_text(dir, "D_3.png", "");
    ct_dataset *ds;
    ct_dataset_spec s = fit_spec(10, 200, 32);
    s.max_bad = 9;
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("none of the 5 samples can be used");
}
END_TEST

START_TEST(fit_errors)
{
    ct_dataset *ds;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    for (int i = 0; i < 5; i++) {
        ct_dataset_spec s = fit_spec(8, 16, 8);
        if (i == 0) s.height = s.width = 0;
        if (i == 1) s.width_step = 0;
        if (i == 2) s.min_width = 0;
        if (i == 3) s.min_width = 17;
        if (i == 4) rules.most = CT_LABEL_MAX + 1;
        ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EINVAL);
        ck_assert_ptr_null(ds);
    }
}
END_TEST

/* ---- the cache file ---- */

static int warnings;

static void count_warning(void *user)
{
    (void)user;
    warnings++;
}

/* A cache of another version at the right place, or one whose widths lie, is made anew with a warning. */
START_TEST(cache_of_old)
{
    for (unsigned i = 0; i < 6; i++) {
        char name[32];
        sprintf(name, "A_%u.png", i);
        ct_util_picture(dir, name, 16 + 9 * (int)i, 8, i);
    }
    ct_dataset_spec s = fit_spec(8, 64, 16);
    ct_dataset *ds = must_open(&s, 1);
    char path[8192], key[33];
    strcpy(key, ct_dataset_key(ds));
    snprintf(path, sizeof path, "%s/data/%s.ctpack", cache, key);
    ct_dataset_close(ds);

    ct_pack_shape shape = ct_fit_shape(&s);
    ct_pack p;
    const ct_pack_shape files = { .h = 8, .w = 64, .c = 1, .files = true };
    ck_assert_int_eq(ct_pack_make(6, &files, &p), CT_OK); /* sizes of files that are more than there is */
    for (int i = 0; i < 6; i++) p.size[i] = 10 * i;
    ck_assert_int_eq(ct_pack_add_pixels(&p, NULL), CT_OK);
    ck_assert_uint_eq(p.px_bytes, 150);
    memset(p.own_px, 9, p.px_bytes);
    for (int wrong = 0; wrong < 3; wrong++) {
        ct_pack q;
        const int64_t was = p.size[3];
        if (wrong) p.size[3] = wrong == 1 ? 31 : -1;
        ck_assert_int_eq(ct_pack_store(path, key, &p), CT_OK);
        p.size[3] = was;
        ck_assert_int_eq(ct_pack_load(path, key, 6, &files, &q), wrong ? CT_EFORMAT : CT_OK);
        if (wrong) ck_message("damaged cache: records");
        else ck_assert(q.size[5] == 50 && q.at[5] == 100);
        if (!wrong) ct_pack_free(&q);
    }
    ct_pack_free(&p);
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0) {
            FILE *f = fopen(path, "r+b");
            ck_assert_ptr_nonnull(f);
            fwrite("CTPACK1\n", 1, 8, f);
            fclose(f);
        } else {
            ck_assert_int_eq(ct_pack_make(6, &shape, &p), CT_OK);
            for (int i = 0; i < 6; i++) p.width[i] = 16;
            ck_assert_int_eq(ct_pack_add_pixels(&p, NULL), CT_OK);
            memset(p.own_px, 9, p.px_bytes);
            /* other pixels than there are; impossible; not of a good item */
            p.width[3] = kind == 1 ? 17 : kind == 2 ? 65 : 0;
            ck_assert_int_eq(ct_pack_store(path, key, &p), CT_OK);
            ct_pack_free(&p);
            ck_assert_int_eq(ct_pack_load(path, key, 6, &shape, &p), CT_EFORMAT);
            ck_message(kind == 1 ? "damaged cache: widths" : "damaged cache: records");
        }
        ct_log_set_level(CT_LOG_WARN);
        ct_log_set_hooks(count_warning, NULL, NULL);
        warnings = 0;
        ds = must_open(&s, 2);
        ck_assert(!ct_dataset_was_cached(ds));
        ck_assert_int_eq(warnings, 1);
        ck_assert_int_eq(ct_dataset_sample_width(ds, 1), 25);
        ct_dataset_close(ds);
        ds = must_open(&s, 2);
        ck_assert(ct_dataset_was_cached(ds));
        ct_dataset_close(ds);
    }
    ct_log_set_hooks(NULL, NULL, NULL);
}
END_TEST

START_TEST(cache_damage)
{
    for (unsigned i = 0; i < 5; i++) {
        char name[32];
        sprintf(name, "A_%u.png", i);
        ct_util_picture(dir, name, 10 + 9 * (int)i, 8, i);
    }
    ct_dataset_spec s = fit_spec(8, 64, 16);
    ct_dataset *ds = must_open(&s, 1);
    char path[8192];
    snprintf(path, sizeof path, "%s/data/%s.ctpack", cache, ct_dataset_key(ds));
    ct_dataset_close(ds);
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    for (off_t at = 0; at < info.st_size; at = at < 215 ? at + 1 : at < 4096 ? 4096 : at + 7) { /* 216..4095: no data */
        FILE *f = fopen(path, "r+b");
        fseek(f, at, SEEK_SET);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 0x21, f);
        fclose(f);
        ds = must_open(&s, 1);
        /* behind the NUL of a digest nothing is compared */
        if (ct_dataset_was_cached(ds)) ck_assert_msg(at >= 209 && at < 216, "damage at %d was not noticed", (int)at);
        ct_dataset_close(ds);
    }
}
END_TEST

/* ---- memory ---- */

/* As many steps as a model with one per four pixels would have. */
static int64_t quarter(const void *user, int width)
{
    return width / 4 - *(const int *)user;
}

/* Every allocation in turn fails. The cache is empty in the first half and filled in the second. */
START_TEST(out_of_memory)
{
    int less = 0;
    ct_util_picture(dir, "AB_1.png", 9, 5, 1);
    ct_util_picture(dir, "CDE_2.png", 60, 9, 2);
    ct_util_picture(dir, "AAAAAAAA_3.png", 8, 8, 2);
    ct_util_text(dir, "EF_4.png", "");
    ct_dataset_spec s = fit_spec(8, 40, 8);
    s.max_bad = 2;
    rules.steps = quarter;
    rules.user = &less;
    rules.user_bytes = sizeof less;
    every_allocation_may_fail(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("widths");
    TCase *t = tcase_create("widths");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, fit_widths);
    tcase_add_test(t, fit_files);
    tcase_add_test(t, fit_one_picture);
    tcase_add_test(t, fit_bad_files);
    tcase_add_test(t, fit_errors);
    tcase_add_test(t, cache_of_old);
    tcase_add_test(t, cache_damage);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
