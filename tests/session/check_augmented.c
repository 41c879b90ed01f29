/* Pictures for people are those that training computes with: compared with what a step's own preprocessing gives. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loader/loader.h"
#include "program/spec.h"
#include "session/augmented.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static char dir[64];

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-augmented.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", dir, 1), 0);
    ct_log_set_level(CT_LOG_ERROR);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

#define AUGMENT "augment: {shift: 3, scale: 0.1, rotate: 8, shear: 0.1, noise: 0.05, brightness: 0.1, contrast: 0.2, blur: 0.7}\n"
#define TEXT "data: {train: \"synth:text\", charset: \"01\", height: 16, width: 24, mean: [0.4], std: [0.3],\n"
#define LOADED "train: {batch_size: 16, workers: 0, threads: 1}\n"

static const struct {
    const char *yaml;
    bool same; /* nothing is augmented */
} sets[] = {
    { "model: {name: textcnn-small, width: 0.25, hidden: 16}\n" TEXT
      "       synth: {style: plain, count: 40, val_count: 4, length: 2}}\n" LOADED, true },
    { "model: {name: textcnn-small, width: 0.25, hidden: 16}\n" TEXT
      "       synth: {style: plain, count: 40, val_count: 4, length: 2}}\n" LOADED AUGMENT, false },
    { "model: {name: textcnn-small, width: 0.25, hidden: 16}\n" TEXT "       channels: 3,\n"
      "       synth: {style: simple, count: 40, val_count: 4, length: 2, fresh: true}}\n" LOADED AUGMENT, false },
    { "model: {name: crnn-small, width: 0.25, hidden: 16}\n"
      "data: {train: \"synth:text\", charset: \"01\", height: 16, width: 64, size_rule: fit_height, width_step: 16,\n"
      "       synth: {style: plain, count: 40, val_count: 4, length_min: 1, length_max: 4}}\n" LOADED AUGMENT, false },
    { "model: {name: resnet18}\n" TEXT "       channels: 3, crop: 16,\n"
      "       synth: {style: plain, count: 40, val_count: 4, length: 2}}\n" LOADED, false },
    { "model: {name: slider-small}\n"
      "data: {train: \"synth:slider\", height: 64, width: 96, channels: 3, size_rule: letterbox,\n"
      "       synth: {count: 20, val_count: 4}}\n" LOADED, true },
    { "model: {name: tfnet-small}\n"
      "data: {train: \"synth:gestures\", height: 32, width: 32, channels: 3, synth: {count: 20, val_count: 4}}\n"
      "train: {batch_size: 4, workers: 0, threads: 1}\n" AUGMENT, false },
    /* smaller at first; one of the three widths is odd */
    { "model: {name: crnn-small, width: 0.25, hidden: 16}\n"
      "data: {train: \"synth:text\", charset: \"01\", height: 16, width: 66, size_rule: fit_height, width_step: 22,\n"
      "       synth: {style: plain, count: 40, val_count: 4, length_min: 1, length_max: 4}}\n"
      "train: {batch_size: 16, workers: 0, threads: 1, progressive: {epochs: 0.5}}\n" AUGMENT, false },
    { "model: {name: resnet18}\n" TEXT "       channels: 3, crop: 16,\n"
      "       synth: {style: plain, count: 40, val_count: 4, length: 2}}\n"
      "train: {batch_size: 16, workers: 0, threads: 1, progressive: {epochs: 1, width: 0.7, height: 0.8}}\n", false },
    { "model: {name: slider-small}\n"
      "data: {train: \"synth:slider\", height: 64, width: 128, channels: 3, size_rule: letterbox,\n"
      "       synth: {count: 20, val_count: 4}}\n"
      "train: {batch_size: 16, workers: 0, threads: 1, progressive: {epochs: 1, width: 0.5, height: 0.5}}\n", false },
};

typedef struct run {
    ct_config *cfg;
    ct_datasets data;
    ct_session session;
} run;

static void open_run(run *r, const char *yaml)
{
    ct_program_spec spec;
    char why[256];
    const ct_device_opts opts = { .threads = 1 };
    int64_t batches, steps;
    memset(r, 0, sizeof *r);
    ok(ct_config_parse(yaml, strlen(yaml), "test", NULL, 0, &r->cfg));
    ok(ct_datasets_open(r->cfg, &r->data));
    ok(ct_spec_epoch_of(r->cfg, &r->data.train, &batches, &steps));
    ok(ct_spec_from_config(r->cfg, r->data.facts, ct_dataset_height(r->data.train.data),
                           ct_dataset_width(r->data.train.data), ct_spec_longest(r->cfg, &r->data.train), steps, &spec));
    ok(ct_session_begin(&r->session, &spec, true, "cpu", &opts, why, sizeof why));
}

static void close_run(run *r)
{
    ct_session_end(&r->session);
    ct_datasets_close(&r->data);
    ct_config_free(r->cfg);
}

/* Row `row` of the x that the first step of a training gives its model, as bytes [h,w,c]; the pictures' own. */
static uint8_t *trained(run *r, const ct_batch *b, int64_t row, const ct_image *like)
{
    ct_session *s = &r->session;
    ct_unit *u = ct_session_like(s, &(ct_unit){ .kind = CT_PROGRAM_STEP, .batch = b->all, .length = b->length,
                                                .accumulate = 1, .small = s->spec.small.steps > 0 });
    ck_assert_ptr_nonnull(u);
    ok(ct_session_upload(s, u, b));
    const ct_graph *g = u->prog.graph;
    size_t node = 0;
    while (g->nodes[node].op != CT_OP_PREPROCESS) ck_assert_uint_lt(++node, g->nnodes);
    ok(ct_plan_run_nodes(u->plan, 0, node + 1));
    const ct_val x = g->nodes[node].out[0];
    const ct_desc *d = ct_graph_desc(g, x);
    ck_assert_int_eq(d->dtype, CT_F32);
    ck_assert_int_eq(d->dim[1], like->h);
    ck_assert_int_eq(d->dim[2], like->w);
    float *all = ct_malloc(ct_desc_bytes(d), "x");
    uint8_t *out = ct_malloc((size_t)like->h * (size_t)like->w * (size_t)like->c, "x");
    ok(ct_plan_download(u->plan, x, all));
    const ct_image_attrs *a = &s->spec.image;
    for (int64_t k = 0; k < (int64_t)like->h * like->w; k++)
        for (int c = 0; c < like->c; c++) {
            const float v = all[(row * like->h * like->w + k) * d->dim[3] + c];
            out[k * like->c + c] = (uint8_t)lrint(255 * ((double)v * a->std[c] + a->mean[c]));
        }
    ct_free(all);
    return out;
}

/* Normalising and back rounds: a value between two bytes may end at either. */
static void alike(const uint8_t *a, const ct_image *im)
{
    for (int k = 0; k < im->h * im->w * im->c; k++) ck_assert_int_le(abs((int)a[k] - (int)im->px[k]), 1);
}

START_TEST(as_trained)
{
    run r;
    ct_augmented *a, *again;
    int n, n2, unlike = 0;
    ct_loader_spec spec;
    ct_loader *loader;
    const ct_batch *b;
    open_run(&r, sets[_i].yaml);
    const ct_view *v = &r.data.train;
    ok(ct_augmented_draw(&r.session, r.cfg, v, CT_AUGMENTED_MOST, &a, &n));
    ck_assert_int_eq(n, ct_dataset_clip(v->data) ? 4 : 16);
    ct_spec_loader(r.cfg, v, &spec);
    spec.workers = 0;
    ok(ct_loader_open(&spec, &loader));
    ok(ct_loader_next(loader, &b));
    ok(ct_session_add(&r.session, CT_PROGRAM_STEP, b->all, b->length, 1, false));
    if (r.session.spec.small.steps > 0)
        ok(ct_session_add_small(&r.session, CT_PROGRAM_STEP, b->all, b->length, 1));
    ok(ct_session_add(&r.session, CT_PROGRAM_PREDICT, b->all, b->length, 1, false)); /* names the parameters */
    ok(ct_session_ready(&r.session));
    ck_assert_int_eq(b->n, n);
    for (int i = 0; i < n; i++) {
        const int64_t row = ct_dataset_clip(v->data) ? (int64_t)i * b->frames + b->frames / 2 : i;
        ck_assert_int_eq(a[i].sample, b->sample[i]);
        ck_assert(*a[i].label != '\0');
        uint8_t *x = trained(&r, b, row, &a[i].image);
        alike(x, &a[i].image);
        ct_free(x);
        if (ct_dataset_stream(v->data) || ct_dataset_clip(v->data)) continue;
        ck_assert_str_eq(a[i].label, ct_dataset_label_text(v->data, a[i].sample));
        if (sets[_i].same)
            unlike += memcmp(a[i].image.px, ct_dataset_pixels(v->data, a[i].sample),
                             (size_t)a[i].image.w * (size_t)a[i].image.h * (size_t)a[i].image.c) != 0;
    }
    ck_assert_int_eq(unlike, 0);
    ok(ct_augmented_draw(&r.session, r.cfg, v, 3, &again, &n2)); /* fewer are the first of them where lengths are one */
    ck_assert_int_eq(n2, 3);
    ct_augmented_free(again, n2);
    ct_augmented_free(a, n);
    ct_loader_close(loader);
    close_run(&r);
}
END_TEST

/* Allocation by allocation: an error, and nothing is left behind. */
START_TEST(without_memory)
{
    run r;
    ct_augmented *a;
    int n, failed = 0;
    open_run(&r, sets[2].yaml);
    for (long k = 0;; k++) {
        ct_alloc_fail_after(k);
        const ct_status st = ct_augmented_draw(&r.session, r.cfg, &r.data.train, 4, &a, &n);
        const long made = ct_alloc_fail_after(-1);
        if (st == CT_OK) ct_augmented_free(a, n);
        if (st == CT_OK && made <= k) break;
        if (st != CT_OK) {
            ck_assert_int_eq(st, CT_ENOMEM);
            ck_assert_ptr_null(a);
            ck_assert_int_eq(n, 0);
            failed++;
        }
    }
    ck_assert_int_gt(failed, 20);
    close_run(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("augmented");
    TCase *t = tcase_create("augmented");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, as_trained, 0, sizeof sets / sizeof *sets);
    tcase_add_test(t, without_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
