/* Clips: the rule of lengths, folders of frames, sets of clips. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset.h"
#include "data/scan.h"
#include "tests/ct_check.h"
#include "tests/data/clip_labels.h"
#include "tests/data/data_util.h"

/* ---- lengths ---- */

START_TEST(lengths)
{
    for (int64_t t = 1; t <= 300; t++) {
        const int64_t n = ct_clip_padded(&rule, t), steps = ((n - 4) / 2 - 4) / 2; /* two convolutions of 5, two pools */
        ck_assert_int_eq(steps, (t + 3) / 4);
        ck_assert_int_eq(n % 4, 0);
        for (int64_t p = 0; p < n; p++) {
            const int64_t want = p < 6 ? 0 : p - 6 < t ? p - 6 : t - 1;
            ck_assert_int_eq(ct_clip_frame(&rule, t, p), want);
        }
        ck_assert_int_ge(n - 6 - t, 6); /* copies behind */
    }
    ck_assert_int_eq(ct_clip_padded(&(ct_clip_rule){ 0 }, 7), 7);
}
END_TEST

START_TEST(thinning)
{
    for (int all = 1; all < 60; all++) {
        for (int most = 1; most <= all; most++) {
            ck_assert_int_eq(ct_clip_thin(all, most, 0), most == 1 ? all / 2 : 0);
            if (most > 1) ck_assert_int_eq(ct_clip_thin(all, most, most - 1), all - 1);
            int64_t least = all, largest = 0;
            for (int k = 1; k < most; k++) {
                const int64_t gap = ct_clip_thin(all, most, k) - ct_clip_thin(all, most, k - 1);
                if (gap < least) least = gap;
                if (gap > largest) largest = gap;
            }
            if (most > 1) ck_assert(least >= 1 && largest - least <= 1); /* even */
        }
        ck_assert_int_eq(ct_clip_thin(all, all + 5, all - 1), all - 1);
    }
}
END_TEST

/* ---- folders of frames ---- */

static void frames_are(const char *dir, const char *want)
{
    char **name, got[512] = "";
    int64_t n;
    ck_assert_msg(ct_scan_frames(dir, &name, &n) == CT_OK, "%s", ct_error_message());
    for (int64_t i = 0; i < n; i++) {
        strcat(strcat(got, name[i]), " ");
        ct_free(name[i]);
    }
    ct_free(name);
    ck_assert_str_eq(got, want);
}

static void refused(const char *dir, ct_status want, const char *words)
{
    char **name;
    int64_t n;
    ck_assert_int_eq(ct_scan_frames(dir, &name, &n), want);
    ck_assert_ptr_null(name);
    ck_assert_msg(strstr(ct_error_message(), words) != NULL, "'%s' does not say '%s'", ct_error_message(), words);
}

START_TEST(folders)
{
    char *dir = ct_util_tempdir();
    for (int i = 8; i <= 11; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.png", i);
        ct_util_picture(dir, name, 4, 4, (unsigned)i);
    }
    ct_util_text(dir, "notes.txt", "not a frame");
    frames_are(dir, "8.png 9.png 10.png 11.png ");
    ct_util_picture(dir, "14.png", 4, 4, 1);
    refused(dir, CT_EDATA, "after frame 11.png comes 14.png: 2 are missing");
    ct_util_picture(dir, "12.png", 4, 4, 1);
    ct_util_picture(dir, "13.png", 4, 4, 1);
    frames_are(dir, "8.png 9.png 10.png 11.png 12.png 13.png 14.png ");
    ct_util_picture(dir, "0012.png", 4, 4, 1);
    refused(dir, CT_EDATA, "have the same number");
    ct_util_picture(dir, "x_fn000012-0.png", 4, 4, 1); /* names that are no numbers: by their bytes */
    frames_are(dir, "0012.png 10.png 11.png 12.png 13.png 14.png 8.png 9.png x_fn000012-0.png ");
    ct_util_text(dir, "sign.mp4", "video");
    refused(ct_util_path(dir, "sign.mp4"), CT_EDATA, "ffmpeg -i ");
    refused(ct_util_path(dir, "notes.txt"), CT_EDATA, "a clip is a folder of pictures");
    refused(ct_util_path(dir, "nowhere"), CT_EIO, "nowhere");
    ck_assert_int_eq(mkdir(ct_util_path(dir, "empty"), 0755), 0);
    refused(ct_util_path(dir, "empty"), CT_EDATA, "empty");
    ct_util_remove(dir);
}
END_TEST

/* ---- sets from folders ---- */

enum { SIDE = 4 };

static void write_clip(const char *dir, const char *name, int frames, unsigned seed)
{
    ck_assert_int_eq(mkdir(ct_util_path(dir, name), 0755), 0);
    for (int i = 1; i <= frames; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s/%05d.png", name, i);
        ct_util_picture(dir, file, SIDE, SIDE, seed + (unsigned)i);
    }
}

static ct_dataset *open_clips(const char *dir, int workers, int max_frames, int64_t max_bad, ct_status want)
{
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.path = dir;
    spec.max_frames = max_frames;
    spec.max_bad = max_bad;
    ck_assert_msg(ct_dataset_open(&spec, reader(), workers, &ds) == want, "%s", ct_error_message());
    return ds;
}

START_TEST(sets)
{
    static const int frames[3] = { 5, 1, 9 };
    char *dir = ct_util_tempdir(), *cache = ct_util_tempdir();
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", cache, 1), 0);
    write_clip(dir, "a_1", 5, 10);
    write_clip(dir, "b_2", 1, 20);
    write_clip(dir, "c_3", 9, 30);
    for (int round = 0; round < 3; round++) {
        ct_dataset *ds = open_clips(dir, round == 1 ? 4 : 1, 0, 0, CT_OK);
        ck_assert_int_eq(ct_dataset_was_cached(ds), round > 0);
        ck_assert_int_eq(ct_dataset_size(ds), 3);
        ck_assert_int_eq(ct_dataset_clip(ds)->extra, 12);
        ck_assert(!ct_dataset_contiguous(ds));
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(ct_dataset_frames(ds, i), frames[i]);
            ck_assert_int_eq(*(const int32_t *)ct_dataset_field(ds, 0, i), ct_dataset_frames(ds, i));
            ck_assert_int_eq(ct_dataset_least_frames(ds, i), 3);
            for (int k = 0; k < ct_dataset_frames(ds, i); k++) {
                char file[64];
                ct_image im, of;
                ct_image_opts gray = { .channels = 1, .background = { 255, 255, 255 } };
                snprintf(file, sizeof file, "%s/%05d.png", ct_dataset_name(ds, i), k + 1);
                ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, file), &gray, &im), CT_OK);
                ct_image_to_gray(&im);
                ck_assert_mem_eq(ct_dataset_frame_pixels(ds, i, k), im.px, SIDE * SIDE);
                ck_assert_int_eq(ct_dataset_frame(ds, i, k, &of), CT_OK);
                ck_assert_mem_eq(of.px, im.px, SIDE * SIDE);
                ct_image_free(&of);
                ct_image_free(&im);
            }
        }
        ct_dataset_close(ds);
    }
    ct_dataset *few = open_clips(dir, 2, 3, 0, CT_OK), *all = open_clips(dir, 2, 0, 0, CT_OK);
    ck_assert(strcmp(ct_dataset_key(few), ct_dataset_key(all)) != 0);
    for (int k = 0; k < 3; k++) /* of nine: the first, the middle and the last */
        ck_assert_mem_eq(ct_dataset_frame_pixels(few, 2, k), ct_dataset_frame_pixels(all, 2, 4 * k), SIDE * SIDE);
    ck_assert_int_eq(ct_dataset_frames(few, 1), 1);
    ct_dataset_close(few);
    ct_dataset_close(all);
    ct_util_remove(dir);
    ct_util_remove(cache);
}
END_TEST

/* A clip with a damaged frame, with frames of two sizes, or that its label refuses, is bad as a whole. */
START_TEST(bad_clips)
{
    char *dir = ct_util_tempdir(), *cache = ct_util_tempdir();
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", cache, 1), 0);
    write_clip(dir, "a_1", 5, 10);
    write_clip(dir, "b_2", 6, 20);
    write_clip(dir, "c_3", 7, 30);
    write_clip(dir, "d_4", 13, 40);
    ct_util_text(dir, "b_2/00004.png", "\x89PNG\r\n\x1a\n and no more");
    ct_util_picture(dir, "c_3/00006.png", SIDE + 1, SIDE, 9);
    ck_assert_ptr_null(open_clips(dir, 2, 0, 2, CT_EDATA));
    ct_dataset *ds = open_clips(dir, 2, 0, 3, CT_OK);
    ck_assert_int_eq(ct_dataset_size(ds), 1);
    ck_assert_int_eq(ct_dataset_bad_count(ds), 3);
    static const char *const words[] = { "frame b_2/00004.png: ", "frame c_3/00006.png has 5x4 pixels, the first one has 4x4",
                                         "13 frames" };
    for (int i = 0; i < 3; i++)
        ck_assert_msg(strstr(ct_dataset_bad(ds, i).reason, words[i]) != NULL, "%s", ct_dataset_bad(ds, i).reason);
    ct_dataset_close(ds);

    const char *path[] = { ct_util_path(dir, "c_3"), ct_util_path(dir, "a_1"), ct_util_path(dir, "nothing") };
    ct_dataset_spec spec;
    ct_labels *none;
    ct_dataset_spec_init(&spec);
    ck_assert_int_eq(ct_labels_none(&rule, &none), CT_OK);
    ck_assert_msg(ct_dataset_open_files(&spec, none, path, 3, 2, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_size(ds), 1);
    ck_assert_str_eq(ct_dataset_name(ds, 0), path[1]);
    ck_assert_int_eq(ct_dataset_frames(ds, 0), 5);
    ck_assert_int_eq(ct_dataset_bad_count(ds), 2);
    ct_dataset_close(ds);
    spec.size_rule = CT_SIZE_LETTERBOX;
    spec.height = spec.width = 8;
    ck_assert_int_eq(ct_labels_none(&rule, &none), CT_OK);
    ck_assert_int_eq(ct_dataset_open_files(&spec, none, path, 1, 1, &ds), CT_ECONFIG);
    ct_util_remove(dir);
    ct_util_remove(cache);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("clips");
    TCase *t = tcase_create("clips");
    tcase_add_test(t, lengths);
    tcase_add_test(t, thinning);
    tcase_add_test(t, folders);
    tcase_add_test(t, sets);
    tcase_add_test(t, bad_clips);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
