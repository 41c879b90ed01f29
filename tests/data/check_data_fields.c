/* Label readers and what a data set does with them: fields, shapes, bad labels, streams, lists of files. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loader/loader.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/data/tiny_labels.h"

#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static char *dir;

static void set_up(void)
{
    dir = ct_util_tempdir();
    ct_log_set_level(CT_LOG_ERROR);
}

static void tear_down(void)
{
    ct_util_remove(dir);
}

static ct_dataset_spec spec_of(int height, int width)
{
    ct_dataset_spec s;
    ct_dataset_spec_init(&s);
    s.path = dir;
    s.height = height;
    s.width = width;
    s.cache = false;
    return s;
}

static ct_labels *reader(int most, int *closed)
{
    ct_labels *l;
    ck_assert_int_eq(tiny_labels_new(most, closed, &l), CT_OK);
    return l;
}

static const int32_t *letters(const ct_dataset *ds, int64_t i) { return ct_dataset_field(ds, 0, i); }
static const float *mark(const ct_dataset *ds, int64_t i) { return ct_dataset_field(ds, 1, i); }

START_TEST(fields)
{
    int closed = 0, n;
    ct_dataset *ds;
    ct_util_picture(dir, "ab_1.png", 20, 10, 1);
    ct_util_picture(dir, "bca_2.png", 40, 30, 2);
    ct_util_picture(dir, "cabbage_3.png", 20, 10, 3);
    ct_dataset_spec s = spec_of(10, 20);
    ck_assert_int_eq(ct_dataset_open(&s, reader(4, &closed), 2, &ds), CT_EDATA);
    ck_message("cabbage_3.png: 7 letters are too many");
    ck_assert_int_eq(closed, 1);
    s.max_bad = 1;
    ck_assert_msg(ct_dataset_open(&s, reader(4, &closed), 2, &ds) == CT_OK, "%s", ct_error_message());
    const ct_field *f = ct_dataset_fields(ds, &n);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(f[0].dim[0], 3); /* of those that stay */
    ck_assert(f[1].dtype == CT_F32 && f[1].kind == CT_FIELD_POINTS);
    ck_assert(ct_field_elems(&f[1]) == 4 && ct_field_bytes(&f[1]) == 16);
    ck_assert_int_eq(ct_dataset_find_field(ds, "mark"), 1);
    ck_assert_int_eq(ct_dataset_find_field(ds, "target"), -1);
    /* rows lie one after another */
    ck_assert_mem_eq(letters(ds, 0), ((int32_t[]){ 0, 1, -1, 1, 2, 0 }), 6 * sizeof(int32_t));
    ck_assert(mark(ds, 1)[0] == 3 && mark(ds, 1)[1] == 20);
    ck_assert(mark(ds, 1)[2] == 40 && mark(ds, 1)[3] == 30); /* in the file */
    ck_assert_str_eq(ct_dataset_label_text(ds, 1), "bca");

    /* another shape: encoded again; a failure changes nothing */
    ct_labels *l = ct_dataset_label_reader(ds);
    l->field[0].dim[0] = 5;
    ck_assert_int_eq(ct_dataset_refield(ds), CT_OK);
    ck_assert_mem_eq(letters(ds, 1), ((int32_t[]){ 1, 2, 0, -1, -1 }), 5 * sizeof(int32_t));
    ck_assert(mark(ds, 1)[0] == 3);
    l->field[0].dim[0] = 2;
    ck_assert_int_eq(ct_dataset_refield(ds), CT_EDATA);
    ck_message("bca_2.png: 3 letters are too many");
    ck_assert_int_eq(ct_dataset_fields(ds, &n)[0].dim[0], 5);
    l->field[0].dim[0] = 9;
    ct_alloc_fail_after(1); /* the second field */
    ck_assert_int_eq(ct_dataset_refield(ds), CT_ENOMEM);
    ct_alloc_fail_after(-1);
    ck_assert_int_eq(ct_dataset_fields(ds, &n)[0].dim[0], 5);
    ck_assert_mem_eq(letters(ds, 1), ((int32_t[]){ 1, 2, 0, -1, -1 }), 5 * sizeof(int32_t));
    ct_dataset_close(ds);
    ck_assert_int_eq(closed, 2);
}
END_TEST

START_TEST(unlabelled)
{
    int n;
    ct_labels *l;
    ct_dataset *ds;
    ct_util_picture(dir, "same.png", 20, 10, 1);
    ct_util_picture(dir, "_.png", 20, 10, 2); /* a label it would be wrong to look for */
    ct_util_text(dir, "labels.txt", "nonsense\n");
    ck_assert_int_eq(ct_labels_none(NULL, &l), CT_OK);
    ct_dataset_spec s = spec_of(10, 20);
    ck_assert_msg(ct_dataset_open(&s, l, 2, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_size(ds), 2);
    ct_dataset_fields(ds, &n);
    ck_assert_int_eq(n, 0);
    ck_assert_str_eq(ct_dataset_label_text(ds, 0), "");
    ct_loader *loader;
    const ct_batch *b;
    ct_loader_spec spec = { .data = ds, .batch = 2, .epochs = 1 };
    ck_assert_int_eq(ct_loader_open(&spec, &loader), CT_OK);
    ck_assert_int_eq(ct_loader_next(loader, &b), CT_OK);
    ck_assert(b->n == 2 && b->field[0] == NULL);
    ct_loader_close(loader);
    ct_dataset_close(ds);
}
END_TEST

/* Pictures of a list: in its order, in buckets, the bad ones by their paths. */
START_TEST(files)
{
    ct_labels *l;
    ct_dataset *ds;
    char *path[6];
    ct_util_picture(dir, "z.png", 20, 10, 1);
    ct_util_picture(dir, "a.png", 90, 10, 2);
    ct_util_text(dir, "broken.png", "\x89PNG no");
    static const char *const names[6] = { "z.png", "none.png", "a.png", "broken.png", "z.png", "a.png" };
    for (int i = 0; i < 6; i++) path[i] = strdup(ct_util_path(dir, names[i]));
    ct_dataset_spec s = spec_of(10, 200);
    s.size_rule = CT_SIZE_FIT_HEIGHT;
    ck_assert_int_eq(ct_labels_none(NULL, &l), CT_OK);
    ct_status st = ct_dataset_open_files(&s, l, (const char *const *)path, 6, 3, &ds);
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
    ck_assert(ct_dataset_size(ds) == 4 && ct_dataset_bad_count(ds) == 2 && ct_dataset_buckets(ds) == 2);
    static const int good[4] = { 0, 2, 4, 5 }, width[4] = { 20, 90, 20, 90 };
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(ct_dataset_name(ds, i), path[good[i]]);
        ck_assert_int_eq(ct_dataset_sample_width(ds, i), width[i]);
    }
    ck_assert_mem_eq(ct_dataset_pixels(ds, 0), ct_dataset_pixels(ds, 2), 320);
    ck_assert_str_eq(ct_dataset_bad(ds, 0).name, path[1]);
    ck_assert_ptr_nonnull(strstr(ct_dataset_bad(ds, 0).reason, "No such file"));
    ck_assert_str_eq(ct_dataset_bad(ds, 1).name, path[3]);
    ct_dataset_close(ds);

    ck_assert_int_eq(ct_labels_none(NULL, &l), CT_OK); /* not one can be read */
    ck_assert_int_eq(ct_dataset_open_files(&s, l, (const char *const *)path + 1, 1, 1, &ds), CT_OK);
    ck_assert(ct_dataset_size(ds) == 0 && ct_dataset_bad_count(ds) == 1);
    ck_assert(ct_dataset_buckets(ds) == 1 && ct_dataset_bucket_count(ds, 0) == 0 && ct_dataset_width(ds) == 200);
    ct_dataset_close(ds);
    ck_assert_int_eq(ct_labels_none(NULL, &l), CT_OK);
    ck_assert_int_eq(ct_dataset_open_files(&s, l, NULL, 0, 1, &ds), CT_EINVAL);
    for (int i = 0; i < 6; i++) free(path[i]);
}
END_TEST

/* ---- generators ---- */

static ct_status open_state(const void *user, void **state)
{
    (void)user;
    *state = malloc(1);
    return CT_OK;
}

/* Labels far longer than a line of a form. */
static ct_status render(void *state, int64_t index, ct_image *out, char **label)
{
    (void)state;
    CT_TRY(ct_image_make(8, 4, 1, (uint8_t)index, out));
    if (!(*label = ct_malloc(5001, "label"))) return CT_ENOMEM;
    memset(*label, 'a' + (int)(index % 26), 5000);
    (*label)[5000 - index % 7] = '\0';
    return CT_OK;
}

static int released;
static void release(const void *user)
{
    released += *(const int *)user;
}

START_TEST(generators)
{
    const int one = 1;
    int closed = 0;
    ct_dataset *ds;
    ct_source src = { .name = "test",
                      .n = 9,
                      .width = 8,
                      .height = 4,
                      .user = &one,
                      .open = open_state,
                      .render = render,
                      .close = free,
                      .release = release };
    ct_dataset_spec s = spec_of(4, 8);
    released = 0;
    ck_assert_msg(ct_dataset_open_source(&s, &src, reader(9999, &closed), 3, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(released, 1); /* everything is packed */
    ck_assert_int_eq(ct_field_elems(ct_dataset_fields(ds, &(int){ 0 })), 5000);
    ck_assert(letters(ds, 3)[4996] == 3 && letters(ds, 3)[4997] == -1);
    ck_assert(mark(ds, 3)[2] == 8 && mark(ds, 3)[3] == 4);
    ct_dataset_close(ds);
    src.n = 0; /* failures own what they were given, too */
    ck_assert_int_eq(ct_dataset_open_source(&s, &src, reader(9999, &closed), 3, &ds), CT_EDATA);
    ck_assert_int_eq(released, 2);
    ck_assert_int_eq(ct_dataset_open_stream(&s, &src, reader(9999, &closed), &ds), CT_EDATA);
    ck_assert_int_eq(released, 3);
    s.channels = 2;
    ck_assert_int_eq(ct_dataset_open_stream(&s, &src, reader(9999, &closed), &ds), CT_EINVAL);
    ck_assert_int_eq(ct_dataset_open_source(&s, &src, reader(9999, &closed), 1, &ds), CT_EINVAL);
    ck_assert_int_eq(released, 5);
    ck_assert_int_eq(closed, 5);
}
END_TEST

/* A stream: blank fields, which the loader fills for the pictures it draws. */
START_TEST(streams)
{
    const int one = 1;
    int n;
    ct_dataset *ds;
    ct_source src = { .name = "test", .n = 5, .user = &one, .open = open_state, .render = render, .close = free,
                      .release = release };
    ct_dataset_spec s = spec_of(4, 8);
    released = 0;
    ck_assert_msg(ct_dataset_open_stream(&s, &src, reader(9999, NULL), &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(letters(ds, 4)[0], -1);
    ct_dataset_label_reader(ds)->field[0].dim[0] = 6000;
    ck_assert_int_eq(ct_dataset_refield(ds), CT_OK);
    ck_assert_int_eq(ct_dataset_fields(ds, &n)[0].dim[0], 6000);
    ck_assert(letters(ds, 4)[0] == -1 && letters(ds, 4)[5999] == -1);
    ct_loader *loader;
    const ct_batch *b;
    ct_loader_spec spec = { .data = ds, .batch = 2, .workers = 2, .epochs = 2 };
    ck_assert_int_eq(ct_loader_open(&spec, &loader), CT_OK);
    for (int64_t k = 0; k < 6; k++) {
        ck_assert_int_eq(ct_loader_next(loader, &b), CT_OK);
        for (int i = 0; i < b->n; i++) {
            const int64_t picture = k / 3 * 5 + k % 3 * 2 + i;
            const int32_t *row = (const int32_t *)b->field[0] + i * 6000;
            ck_assert(row[0] == picture % 26 && row[5000 - picture % 7 - 1] == row[0] && row[5000 - picture % 7] == -1);
            ck_assert(((const float *)b->field[1])[4 * i + 1] == 8);
        }
    }
    ct_loader_close(loader);
    ck_assert_int_eq(released, 0);
    ct_dataset_close(ds);
    ck_assert_int_eq(released, 1);
}
END_TEST

/* Every allocation in turn fails, whatever a set is opened from: nothing is left, and everything given is given back.
 */
START_TEST(out_of_memory)
{
    const int one = 1;
    ct_source src = { .name = "test", .n = 3, .user = &one, .open = open_state, .render = render, .close = free,
                      .release = release };
    ct_dataset_spec s = spec_of(4, 8);
    ct_util_picture(dir, "ab_1.png", 8, 4, 1);
    ct_util_picture(dir, "cabbage_2.png", 9, 5, 2);
    ct_util_text(dir, "c_3.png", "");
    s.max_bad = 2;
    char *path = strdup(ct_util_path(dir, "ab_1.png"));
    for (int kind = 0; kind < 4; kind++) {
        for (long n = 0;; n++) {
            int closed = 0;
            ct_labels *l;
            ct_dataset *ds = NULL;
            ck_assert_int_eq(tiny_labels_new(kind ? 9999 : 4, &closed, &l), CT_OK);
            released = 0;
            ct_alloc_fail_after(n);
            ct_status st = kind == 0   ? ct_dataset_open(&s, l, 1, &ds)
                           : kind == 1 ? ct_dataset_open_files(&s, l, (const char *const[]){ path }, 1, 1, &ds)
                           : kind == 2 ? ct_dataset_open_source(&s, &src, l, 1, &ds)
                                       : ct_dataset_open_stream(&s, &src, l, &ds);
            long made = ct_alloc_fail_after(-1);
            ct_dataset_close(ds);
            ck_assert_int_eq(closed, 1);
            ck_assert_int_eq(released, kind >= 2);
            if (made <= n) {
                ck_assert_msg(st == CT_OK, "%s", ct_error_message());
                ck_assert_int_gt(n, 10);
                break;
            }
            ck_assert_msg(st == CT_ENOMEM, "allocation %ld of %d failed, status %d: %s", n, kind, (int)st,
                          ct_error_message());
            ck_assert_ptr_null(ds);
        }
    }
    free(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fields");
    TCase *t = tcase_create("fields");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, fields);
    tcase_add_test(t, unlabelled);
    tcase_add_test(t, files);
    tcase_add_test(t, generators);
    tcase_add_test(t, streams);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
