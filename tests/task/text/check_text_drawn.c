/* Data sets and folders of drawn text: any number of workers, the cache, streams that are drawn in training, files. */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "loader/loader.h"
#include "tests/data/data_util.h"
#include "tests/task/text/synth/synth_util.h"
#include "tests/task/text/text_util.h"

START_TEST(any_threads)
{
    ct_text_params p = style("hard");
    ct_dataset_spec spec;
    ct_dataset *a, *b, *c;
    ct_dataset_spec_init(&spec);
    spec.cache = false;
    ck_assert_int_eq(open_drawn(&p, 9, 0, 60, &spec, NULL, 1, &a), CT_OK);
    ck_assert_int_eq(open_drawn(&p, 9, 0, 60, &spec, NULL, 4, &b), CT_OK);
    ck_assert_int_eq(open_drawn(&p, 9, 20, 40, &spec, NULL, 3, &c), CT_OK);
    ck_assert_int_eq(ct_dataset_size(a), 60);
    ck_assert_int_eq(ct_text_columns(a), 4);
    ck_assert_int_eq(ct_text_charset(a)->n, 36);
    ck_assert_mem_eq(ct_dataset_pixels(a, 0), ct_dataset_pixels(b, 0), 60 * 160 * 60 * 3);
    ck_assert_mem_eq(ct_dataset_pixels(a, 20), ct_dataset_pixels(c, 0), 40 * 160 * 60 * 3);
    for (int64_t i = 0; i < 60; i++) ck_assert_str_eq(ct_dataset_label_text(a, i), ct_dataset_label_text(b, i));
    ck_assert_str_eq(ct_dataset_label_text(a, 25), ct_dataset_label_text(c, 5));
    ck_assert_str_eq(ct_dataset_name(c, 5), "synth:text/25");
    ck_assert_str_eq(ct_dataset_key(a), ct_dataset_key(b));
    ck_assert_str_ne(ct_dataset_key(a), ct_dataset_key(c));
    ct_dataset_close(a);
    ct_dataset_close(b);
    ct_dataset_close(c);
}
END_TEST

START_TEST(cached)
{
    char *cache = ct_util_tempdir();
    setenv("CAPTRAIN_CACHE_DIR", cache, 1);
    ct_text_params p = style("plain");
    ct_dataset *a, *b;
    p.channels = 1;
    p.length_min = 2;
    ck_assert_int_eq(open_drawn(&p, 9, 0, 20, NULL, NULL, 2, &a), CT_OK);
    ck_assert_int_eq(open_drawn(&p, 9, 0, 20, NULL, NULL, 2, &b), CT_OK);
    ck_assert(!ct_dataset_was_cached(a) && ct_dataset_was_cached(b));
    ck_assert_int_eq(ct_dataset_channels(b), 1);
    ck_assert_mem_eq(ct_dataset_pixels(a, 0), ct_dataset_pixels(b, 0), 20 * 160 * 60);
    ck_assert_mem_eq(ct_text_ids(a, 0), ct_text_ids(b, 0), 20 * 4 * sizeof(int32_t));
    ct_dataset_close(a);
    ct_dataset_close(b);
    p.dots_max++; /* any other parameter: another set */
    ck_assert_int_eq(open_drawn(&p, 9, 0, 20, NULL, NULL, 2, &b), CT_OK);
    ck_assert(!ct_dataset_was_cached(b));
    ct_dataset_close(b);
    ct_util_remove(cache);
}
END_TEST

/* ---- pictures drawn by the loader ---- */

enum { STREAM_N = 10, STREAM_BATCH = 4, STREAM_PX = 32 * 16 };

static ct_dataset *stream(const ct_text_params *p)
{
    ct_dataset *ds;
    ck_assert_msg(open_drawn(p, 7, -1, STREAM_N, NULL, NULL, 1, &ds) == CT_OK, "%s", ct_error_message());
    return ds;
}

static ct_text_params stream_params(void)
{
    ct_text_params p = style("hard");
    p.width = 32;
    p.height = 16;
    p.channels = 1;
    p.length_min = 1;
    p.length_max = 3;
    return p;
}

/* Walks epochs 0 to 2 from a position on and checks every row against the generator; the labels of epoch e are noted.
 */
static void walk(const ct_dataset *ds, const ct_text_params *p, int workers, int64_t epoch, int64_t batch, char *seen)
{
    ct_loader_spec l = { .data = ds, .batch = STREAM_BATCH, .shuffle = true, .seed = 5, .workers = workers, .epochs = 3,
                         .start_epoch = epoch, .start_batch = batch };
    ct_loader *loader;
    const ct_batch *b;
    int64_t order[STREAM_N], batches = (STREAM_N + STREAM_BATCH - 1) / STREAM_BATCH;
    ck_assert_msg(ct_loader_open(&l, &loader) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_loader_batches(loader), batches);
    for (int64_t at = epoch * batches + batch; at < 3 * batches; at++) {
        ck_assert_msg(ct_loader_next(loader, &b) == CT_OK, "%s", ct_error_message());
        ck_assert_ptr_nonnull(b);
        ck_assert(b->epoch == at / batches && b->batch == at % batches && b->width == 32);
        ct_loader_order(&l, STREAM_N, b->epoch, order);
        for (int i = 0; i < b->n; i++) {
            char label[CT_TEXT_BYTES], got[CT_TEXT_BYTES];
            int64_t id = order[b->batch * STREAM_BATCH + i];
            ck_assert(b->index[3 * i] == i && b->index[3 * i + 1] == id && b->index[3 * i + 2] == b->epoch);
            ct_image im = draw(p, 7, CT_STREAM_FIRST + b->epoch * STREAM_N + id, label);
            ck_assert_mem_eq(im.px, b->px + (size_t)i * STREAM_PX, STREAM_PX);
            ct_charset_decode(ct_text_charset(ds), (const int32_t *)b->field[0] + 3 * i, 3, got, sizeof got);
            ck_assert_str_eq(got, label);
            ck_assert_int_eq(b->lengths[i], 32);
            if (seen) strcat(strcat(seen, label), " ");
            ct_image_free(&im);
        }
    }
    ck_assert_int_eq(ct_loader_next(loader, &b), CT_OK);
    ck_assert_ptr_null(b);
    ct_loader_close(loader);
}

START_TEST(streams)
{
    ct_text_params p = stream_params();
    ct_dataset *ds = stream(&p);
    char seen[2][1000] = { "", "" };
    ck_assert(ct_dataset_stream(ds) && ct_dataset_size(ds) == STREAM_N && ct_text_columns(ds) == 3);
    ck_assert(ct_dataset_width(ds) == 32 && ct_dataset_height(ds) == 16 && ct_dataset_buckets(ds) == 1);
    ck_assert_ptr_null(ct_dataset_pixels(ds, 3));
    ck_assert_str_eq(ct_dataset_name(ds, 3), "synth:text/new/3");
    walk(ds, &p, 0, 0, 0, seen[0]);
    walk(ds, &p, 4, 0, 0, seen[1]); /* the number of workers changes nothing */
    ck_assert_str_eq(seen[0], seen[1]);
    walk(ds, &p, 0, 1, 2, NULL); /* from the middle of an epoch, and its end */
    walk(ds, &p, 2, 1, 3, NULL);

    ct_loader *loader;
    ct_loader_spec resident = { .data = ds, .batch = 2, .resident = true, .epochs = 1 };
    ck_assert_int_eq(ct_loader_open(&resident, &loader), CT_EINVAL);
    ck_message("cannot be resident");
    ct_dataset *other;
    ct_text_params q = p;
    q.dots_max++;
    other = stream(&q);
    ck_assert_str_ne(ct_dataset_key(ds), ct_dataset_key(other));
    ct_dataset_close(other);
    ct_dataset_close(ds);
}
END_TEST

static int64_t few_steps(const void *user, int width)
{
    return width / *(const int *)user;
}

START_TEST(stream_errors)
{
    ct_text_params p = stream_params();
    ct_text_rules rules;
    ct_dataset *ds;
    int pixels = 6;
    ct_text_rules_init(&rules);
    rules.steps = few_steps;
    rules.user = &pixels;
    rules.user_bytes = sizeof pixels;
    rules.most = 8; /* columns; the generator makes 3 characters at most, which need 5 steps */
    ck_assert_msg(open_drawn(&p, 7, -1, 5, NULL, &rules, 1, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_columns(ds), 8);
    ct_dataset_close(ds);
    pixels = 7;
    ck_assert_int_eq(open_drawn(&p, 7, -1, 5, NULL, &rules, 1, &ds), CT_EDATA);
    ck_message("a label of 3 characters may need 5 time steps, an image of 32 pixels gives 4");
    ck_assert_int_eq(open_drawn(&p, 7, -1, 0, NULL, NULL, 1, &ds), CT_EDATA);

    /* memory runs out while a worker or the caller draws: the failure arrives, with its message */
    for (int workers = 0; workers < 2; workers++) {
        int failed = 0;
        for (long n = 0;; n += n > 60 ? 41 : 1) {
            ct_loader *loader = NULL;
            const ct_batch *b;
            ct_loader_spec l = { .batch = 3, .workers = workers, .epochs = 1 };
            ct_alloc_fail_after(n);
            ct_status st = open_drawn(&p, 7, -1, 3, NULL, NULL, 1, &ds);
            if (st == CT_OK) {
                l.data = ds;
                st = ct_loader_open(&l, &loader);
            }
            if (st == CT_OK) st = ct_loader_next(loader, &b);
            ct_loader_close(loader);
            ct_dataset_close(ds);
            long made = ct_alloc_fail_after(-1);
            if (made <= n) {
                ck_assert_int_eq(st, CT_OK);
                break;
            }
            ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
            failed++;
        }
        ck_assert_int_gt(failed, 40);
    }
}
END_TEST

static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

START_TEST(files)
{
    char *dir = ct_util_tempdir();
    const char *a = ct_util_path(dir, "new/a"), *b = ct_util_path(dir, "b");
    ct_text_params p = style("simple");
    ck_assert_msg(ct_synth_text_write(&p, 5, 25, a, false, 1) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_synth_text_write(&p, 5, 25, b, false, 4), CT_OK);
    ck_assert_int_eq(entries(a), 25);
    ck_assert_int_eq(entries(b), 25);

    /* Read back as a data set: the labels and pixels of the generator. */
    ct_dataset_spec s;
    ct_dataset *x, *y;
    ct_dataset_spec_init(&s);
    s.cache = false;
    s.channels = 3;
    s.path = a;
    ck_assert_int_eq(open_text(&s, NULL, 2, &x), CT_OK);
    s.path = b;
    ck_assert_int_eq(open_text(&s, NULL, 2, &y), CT_OK);
    for (int64_t i = 0; i < 25; i++) {
        char label[CT_TEXT_BYTES], name[400];
        int number = atoi(strchr(ct_dataset_name(x, i), '_') + 1);
        ct_image im = draw(&p, 5, number, label);
        ck_assert_str_eq(ct_dataset_label_text(x, i), label);
        snprintf(name, sizeof name, "%s_%06d.png", label, number);
        ck_assert_str_eq(ct_dataset_name(x, i), name);
        ck_assert_str_eq(ct_dataset_name(y, i), name);
        ck_assert_mem_eq(ct_dataset_pixels(x, i), im.px, 160 * 60 * 3);
        ck_assert_mem_eq(ct_dataset_pixels(y, i), im.px, 160 * 60 * 3);
        ct_image_free(&im);
    }
    ct_dataset_close(x);
    ct_dataset_close(y);

    ck_assert_int_eq(ct_synth_text_write(&p, 5, 25, a, false, 1), CT_EIO);
    ck_message("new/a: the folder is not empty");
    ck_assert_int_eq(ct_synth_text_write(&p, 5, 30, a, true, 2), CT_OK);
    ck_assert_int_eq(entries(a), 30);
    ck_assert_int_eq(ct_synth_text_write(&p, 5, 0, b, true, 1), CT_EINVAL);
    strcpy(p.alphabet, "A_");
    ck_assert_int_eq(ct_synth_text_write(&p, 5, 3, ct_util_path(dir, "c"), false, 1), CT_ECONFIG);
    ct_util_text(dir, "file", "x");
    p = style("simple");
    ck_assert_int_eq(ct_synth_text_write(&p, 5, 3, ct_util_path(dir, "file/sub"), false, 1), CT_EIO);
    ct_util_remove(dir);
}
END_TEST

/* Parameters from a configuration. */
START_TEST(from_configuration)
{
    static const char good[] =
        "model: {name: crnn}\n"
        "data: {charset: 'abc', width: 90, height: 40, channels: 3,\n"
        " synth: {style: plain, length: 5, length_min: 3, sizes: [30, 40], fonts: [DejaVuSerif.ttf]}}\n";
    static const char wrong[] = "data: {synth: {length: 5, length_min: 6}}\n";
    ct_text_params p;
    ct_config *cfg;
    ck_assert_msg(ct_config_parse(good, strlen(good), "t.yaml", NULL, 0, &cfg) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(ct_text_generator_params(cfg, &p) == CT_OK, "%s", ct_error_message());
    ck_assert(p.width == 90 && p.height == 40 && p.channels == 3 && p.length_min == 3 && p.length_max == 5);
    ck_assert(p.n_sizes == 2 && p.sizes[0] == 30 && p.sizes[1] == 40 && p.n_fonts == 1);
    ck_assert_str_eq(p.fonts[0], "DejaVuSerif.ttf");
    ck_assert_str_eq(p.alphabet, "abc");
    ct_config_free(cfg);
    ck_assert_int_eq(ct_config_parse(wrong, strlen(wrong), "t.yaml", NULL, 0, &cfg), CT_ECONFIG);
    ck_message("data.synth.length_min");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text drawn");
    TCase *t = tcase_create("text drawn");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, any_threads);
    tcase_add_test(t, cached);
    tcase_add_test(t, streams);
    tcase_add_test(t, stream_errors);
    tcase_add_test(t, files);
    tcase_add_test(t, from_configuration);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
