/* Golden files that PyTorch made: those checked in agree; a changed one fails and the tensor is named. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "ops/math/mask_math.h"
#include "selftest/golden.h"
#include "tests/ct_check.h"

static const ct_common cpu = { "cpu", 2 };

/* Path of a checked-in file; ct_free(). */
static char *golden_path(const char *name)
{
    return ct_asprintf("%s/tests/golden/%s", ct_check_srcdir(), name);
}

/* Checks a file; *text (free()) receives what was printed. */
static ct_status check_with(const char *path, bool inexact, char **text)
{
    size_t size;
    FILE *to = open_memstream(text, &size);
    ck_assert_ptr_nonnull(to);
    ct_status st = ct_golden_check(path, &cpu, inexact, to);
    fclose(to);
    return st;
}

static ct_status check_file(const char *path, char **text)
{
    return check_with(path, false, text);
}

static void agrees_with(const char *name, bool inexact)
{
    char *path = golden_path(name), *text;
    ct_status st = check_with(path, inexact, &text);
    ck_assert_msg(st == CT_OK, "%s\n%s", ct_error_message(), text);
    ck_assert_msg(strstr(text, " 0 beyond tolerance") && !strstr(text, "FAIL"), "%s", text);
    ck_assert_msg(strstr(text, "\ngrad.") && strstr(text, "\nloss "), "%s", text);
    free(text);
    ct_free(path);
}

static void agrees(const char *name)
{
    agrees_with(name, false);
}

START_TEST(files_agree)
{
    agrees("textcnn-f32.safetensors");
    agrees("textcnn-dropout-f32.safetensors");
    agrees("textcnn-dropout-f64.safetensors");
    agrees("resnet18-f32.safetensors");
    agrees("resnet101-f32.safetensors");
    agrees("resnet152-f32.safetensors");
    agrees("crnn-f32.safetensors");
    agrees("crnn-f64.safetensors");
    agrees("crnn-stacked-f32.safetensors");
    agrees("tfnet-f32.safetensors");
    agrees("tfnet-f64.safetensors");
}
END_TEST

/* What a training takes by default. The f64 reference has no such thing. */
START_TEST(inexact_files_agree)
{
    agrees_with("textcnn-f32.safetensors", true);
    agrees_with("resnet18-f32.safetensors", true);
    agrees_with("crnn-f32.safetensors", true);
    agrees_with("tfnet-f32.safetensors", true);
    char *path = golden_path("crnn-f64.safetensors"), *text;
    ck_assert_int_eq(check_with(path, true, &text), CT_EINVAL);
    ck_assert_msg(strstr(ct_error_message(), "reference"), "%s", ct_error_message());
    free(text);
    ct_free(path);
}
END_TEST

/* A copy of file `name` in which the elements of `tensor` are multiplied by `factor` (NULL: nothing changes), or, if
 * `find` is given, the text `find` of the header is replaced by `replace` of the same length. The path is for unlink()
 * and free(). */
static char *altered(const char *name, const char *tensor, double factor, const char *find, const char *replace)
{
    char *path = golden_path(name), *copy = strdup("/tmp/ct_golden_XXXXXX");
    uint8_t *data;
    size_t size;
    ct_safetensors *st;
    ck_assert_int_eq(ct_file_read(path, 64u << 20, &data, &size), CT_OK);
    if (tensor) {
        ck_assert_int_eq(ct_safetensors_open_memory(data, size, path, &st), CT_OK);
        const ct_st_tensor *t = ct_safetensors_find(st, tensor);
        ck_assert_ptr_nonnull(t);
        uint8_t *at = data + (t->data - data);
        ck_assert(t->desc.dtype == CT_F32 || t->desc.dtype == CT_F64);
        for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
            double v;
            uint8_t *e = at + (size_t)i * ct_dtype_size(t->desc.dtype);
            ct_st_tensor one = *t;
            one.data = e;
            one.bytes = ct_dtype_size(t->desc.dtype);
            one.desc = ct_desc1(t->desc.dtype, 1);
            ct_st_read(&one, CT_F64, &v);
            v *= factor;
            double raw;
            ct_store(t->desc.dtype, &raw, 0, v);
            memcpy(e, &raw, ct_dtype_size(t->desc.dtype));
        }
        ct_safetensors_close(st);
    }
    if (find) {
        ck_assert_uint_eq(strlen(find), strlen(replace));
        uint8_t *at = memmem(data, size, find, strlen(find));
        ck_assert_ptr_nonnull(at);
        memcpy(at, replace, strlen(replace));
    }
    int fd = mkstemp(copy);
    ck_assert_int_ge(fd, 0);
    ck_assert(write(fd, data, size) == (ssize_t)size);
    close(fd);
    ct_free(data);
    ct_free(path);
    return copy;
}

/* The altered file must fail with this tensor as the worst, in the table's first row and in the message. */
static void fails_naming(const char *file, const char *tensor, double factor)
{
    char *copy = altered(file, tensor, factor, NULL, NULL), *text, row[160], worst[160];
    ct_status st = check_file(copy, &text);
    snprintf(worst, sizeof worst, "worst: %s differs by", tensor);
    ck_assert_msg(st == CT_EINTERNAL, "%s %s: %s", file, tensor, ct_status_name(st));
    ck_assert_msg(strstr(ct_error_message(), worst) != NULL, "%s", ct_error_message());
    snprintf(row, sizeof row, "allowed\n%s ", tensor);
    ck_assert_msg(strstr(text, row) != NULL, "'%s' is not in\n%.600s", row, text);
    unlink(copy);
    free(copy);
    free(text);
}

START_TEST(changes_are_named)
{
    fails_naming("textcnn-f32.safetensors", "grad.features.4.weight", 1.01);
    fails_naming("textcnn-f32.safetensors", "grad.fc1.weight", 1.01);
    fails_naming("textcnn-f32.safetensors", "buffer1.features.5.running_var", 1.001);
    fails_naming("textcnn-f32.safetensors", "param1.fc2.weight", 1.0001);
    fails_naming("textcnn-f32.safetensors", "loss", 1.0001);
    fails_naming("resnet18-f32.safetensors", "grad.layer2.0.downsample.0.weight", 1.01);
    fails_naming("textcnn-dropout-f64.safetensors", "grad.fc2.bias", 1.01);
    fails_naming("textcnn-dropout-f64.safetensors", "param3.features.8.weight", 1.0001);
    fails_naming("textcnn-dropout-f64.safetensors", "eval3.logits", 1.0001);
    fails_naming("textcnn-f32.safetensors", "grad.features.4.weight", NAN);
    fails_naming("crnn-f32.safetensors", "grad.rnn1.weight_hh_l0_reverse", 1.01);
    fails_naming("crnn-f32.safetensors", "param1.emb.weight", 1.0001);
    fails_naming("crnn-f64.safetensors", "output.logits", 1.0001);
    fails_naming("crnn-f64.safetensors", "grad.rnn2.bias_hh_l0", 1.0001);
    fails_naming("crnn-stacked-f32.safetensors", "grad.rnn.weight_ih_l1", 1.01);
    fails_naming("tfnet-f32.safetensors", "grad.mam2.convs.1.weight", 1.01);
    fails_naming("tfnet-f32.safetensors", "grad.tconv_b.conv2.weight", 1.01);
    fails_naming("tfnet-f32.safetensors", "param1.c1.weight", 1.0001);
    fails_naming("tfnet-f32.safetensors", "output.lp3", 1.01);
    fails_naming("tfnet-f64.safetensors", "grad.c3.weight", 1.01);
    fails_naming("tfnet-f64.safetensors", "grad.lstm_b.weight_hh_l1_reverse", 1.0001);
    fails_naming("tfnet-f64.safetensors", "output.lp2", 1.0001);
    fails_naming("tfnet-f64.safetensors", "output.lp5", 1.0001);
}
END_TEST

/* The noise of a gradient of few elements is one draw, and no less than what is usual in the file; that of others is
 * the file's word. */
START_TEST(noise_of_few)
{
    char *path = golden_path("textcnn-f32.safetensors");
    ct_golden g;
    ct_value v = { .name = "features.5.weight", .desc = ct_desc1(CT_F32, CT_GOLDEN_FEW + 1) };
    ck_assert_int_eq(ct_golden_open(path, &g), CT_OK);
    const double own = ct_golden_noise(&g, &v), usual = g.usual_noise;
    ck_assert_double_gt(own, 0);
    ck_assert_double_lt(own, usual);
    v.desc = ct_desc1(CT_F32, CT_GOLDEN_FEW);
    ck_assert_double_eq(ct_golden_noise(&g, &v), usual);
    v.name = "features.1.weight";
    ck_assert_double_gt(ct_golden_noise(&g, &v), usual);
    v = (ct_value){ .name = "nobody's", .desc = ct_desc1(CT_F32, CT_GOLDEN_FEW + 1) };
    ck_assert_double_eq(ct_golden_noise(&g, &v), 0);
    ct_golden_close(&g);
    ct_free(path);
}
END_TEST

/* Another learning rate, or the mask left out, must show. */
START_TEST(constants_count)
{
    char *copy =
             altered("textcnn-f32.safetensors", NULL, 1, "\\\"weight_decay\\\": 0.01", "\\\"weight_decay\\\": 0.09"),
         *text;
    ck_assert_int_eq(check_file(copy, &text), CT_EINTERNAL);
    ck_assert_msg(strstr(ct_error_message(), "worst: param1.") != NULL, "%s", ct_error_message());
    unlink(copy);
    free(copy);
    free(text);
    copy = altered("textcnn-dropout-f32.safetensors", NULL, 1, "p=0.5", "p=0.4");
    ck_assert_int_eq(check_file(copy, &text), CT_EINTERNAL);
    unlink(copy);
    free(copy);
    free(text);
}
END_TEST

static void refuses(const char *file, const char *find, const char *replace, const char *part)
{
    char *copy = altered(file, NULL, 1, find, replace), *text;
    ct_status st = check_file(copy, &text);
    ck_assert_msg(st == CT_EFORMAT, "%s: %s", find, ct_status_name(st));
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in '%s'", part, ct_error_message());
    unlink(copy);
    free(copy);
    free(text);
}

START_TEST(other_files)
{
    const char *const f = "textcnn-f32.safetensors";
    char *text;
    refuses(f, "peer_torch golden 1", "peer_torch golden 2", "'peer_torch golden 2' is unknown");
    refuses(f, "\"model\":\"textcnn\"", "\"model\":\"textcmm\"", "did you mean 'textcnn'?");
    refuses(f, "\\\"hidden\\\": 16", "\\\"hidden\\\": 17", "but the model has f32[17,");
    refuses(f, "\"param.fc1.weight\"", "\"param.fc9.weight\"", "'param.fc9.weight' is no parameter of model textcnn");
    refuses(f, "\"input.target\"", "\"input.tarmac\"", "no tensor 'input.target'");
    refuses(f, "\"buffer.features.1.running_var\"", "\"buffer.features.1.running_bar\"",
            "no tensor 'buffer.features.1.running_var'");
    refuses(f, "\\\"name\\\": \\\"AdamW\\\"", "\\\"name\\\": \\\"AdamQ\\\"", "optimizer is not AdamW");
    refuses("textcnn-dropout-f32.safetensors", "\"aux.dropout_keep\"", "\"aux.dropout_heap\"",
            "no tensor 'aux.dropout_keep'");
    refuses("crnn-f32.safetensors", "\"input.out_lens\"", "\"input.out_pens\"", "no tensor 'input.out_lens'");
    refuses("crnn-f32.safetensors", "\"crnn_variant\":\"ref\"", "\"crnn_variant\":\"res\"", "crnn_variant 'res' is unknown");
    ck_assert_int_eq(check_file("/nonexistent.safetensors", &text), CT_EIO);
    free(text);
}
END_TEST

/* One step of a small model in f32 or f64: weights of one seed, the forward pass done. */
typedef struct half_step {
    ct_program p;
    ct_arenas *store;
    ct_plan *plan;
    size_t forward;
} half_step;

enum { HALF_BATCH = 3 };
static const ct_model_spec texts = { .name = "textcnn-small", .height = 24, .width = 48, .channels = 1, .positions = 2,
                                     .classes = 5, .width_mult = 0.5, .hidden = 8, .seed = 1 };
static const ct_model_spec clips = { .name = "tfnet", .height = 16, .width = 16, .channels = 3, .frames = 24,
                                     .positions = 2, .classes = 5, .width_mult = 0.01, .hidden = 8, .seed = 1 };

static void half_open(half_step *h, const ct_model_spec *model, ct_dtype dtype)
{
    const ct_backend *b;
    ct_layout layout;
    ct_program_spec s;
    ct_program_defaults(&s);
    s.model = *model;
    s.model.dtype = s.compute = dtype;
    s.batch = HALF_BATCH;
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    const ct_device_opts opts = { .threads = 1, .exact = true, .reference = dtype == CT_F64 };
    int32_t target[2 * HALF_BATCH] = { 0, 1, 2, 3, 1, 0 }, steps[HALF_BATCH];
    double state[CT_STATE_COUNT];
    ck_assert_int_eq(ct_backend_load("cpu", &b), CT_OK);
    s.inspect = true; /* as the golden self-test has it */
    ck_assert_int_eq(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &layout, &h->p), CT_OK);
    ck_assert_int_eq(ct_arenas_create(b, &opts, &layout, &needs, false, &h->store), CT_OK);
    ck_assert_int_eq(ct_arenas_init(h->store, h->p.graph, 5), CT_OK);
    ct_program_initial_state(&s, state);
    ck_assert_int_eq(ct_arenas_set_state(h->store, state), CT_OK);
    ck_assert_int_eq(ct_plan_create(h->store, h->p.graph, false, &h->plan), CT_OK);
    const ct_desc *d = ct_graph_desc(h->p.graph, ct_graph_find(h->p.graph, "x"));
    void *x = calloc((size_t)ct_desc_numel(d), ct_dtype_size(dtype));
    ct_rng rng;
    ct_rng_init(&rng, 5, CT_RNG_TEST, 0);
    for (int64_t i = 0; i < ct_desc_numel(d); i++) ct_store(dtype, x, i, (double)(float)ct_rng_uniform(&rng, 0, 1));
    ck_assert_int_eq(ct_plan_upload(h->plan, ct_graph_find(h->p.graph, "x"), x), CT_OK);
    ck_assert_int_eq(ct_plan_upload(h->plan, ct_program_port(&h->p, "target"), target), CT_OK);
    for (int i = 0; i < HALF_BATCH; i++) steps[i] = 3; /* of 24 pictures */
    const ct_val len = ct_program_role(&h->p, CT_PORT_STEPS);
    if (len != CT_NOVAL) ck_assert_int_eq(ct_plan_upload(h->plan, len, steps), CT_OK);
    free(x);
    h->forward = ct_golden_forward_end(h->p.graph);
    ck_assert_int_eq(ct_plan_run_nodes(h->plan, 0, h->forward), CT_OK);
}

static void half_close(half_step *h)
{
    ct_plan_free(h->plan);
    ct_arenas_free(h->store);
    ct_program_free(&h->p);
}

/* A decision that differs by rounding is set as in f64; one that differs by more is left alone. */
START_TEST(ties_are_settled)
{
    half_step a, b;
    half_open(&a, &texts, CT_F32);
    half_open(&b, &texts, CT_F64);
    ct_golden_ties ties = { 0, 0 };
    ck_assert_int_eq(ct_golden_settle(a.plan, b.plan, false, &ties), CT_OK);
    ck_assert_int_gt(ties.decisions, 1000);

    size_t norm = 0; /* the first batch norm, with its ReLU merged in */
    while (a.p.graph->nodes[norm].op != CT_OP_BATCHNORM) norm++;
    ck_assert_int_eq(a.p.graph->nodes[norm].attrs.norm.act, 1);
    ct_val v = a.p.graph->nodes[norm].out[0], w = b.p.graph->nodes[norm].out[0], gate = a.p.graph->nodes[norm].out[3];
    int64_t bytes = ct_desc_numel(ct_graph_desc(a.p.graph, gate)), cols = ct_graph_desc(a.p.graph, v)->dim[3];
    uint8_t *mask = malloc((size_t)bytes), *after = malloc((size_t)bytes);
    int64_t n = ct_desc_numel(ct_graph_desc(a.p.graph, v)), off = -1, on = -1;
    float *y = malloc((size_t)n * sizeof *y);
    double *z = malloc((size_t)n * sizeof *z), most = 0;
    ck_assert_int_eq(ct_plan_download(a.plan, v, y), CT_OK);
    ck_assert_int_eq(ct_plan_download(b.plan, w, z), CT_OK);
    ck_assert_int_eq(ct_plan_download(a.plan, gate, mask), CT_OK);
    for (int64_t i = 0; i < n; i++) {
        if (z[i] > most) most = z[i];
        if (z[i] == 0 && y[i] == 0 && off < 0) off = i;
        if (z[i] > 0.1 && on < 0) on = i;
        ck_assert_int_eq(ct_mask_at(mask + i / cols * ct_mask_bytes(cols), i % cols), y[i] > 0);
    }
    ck_assert(off >= 0 && on >= 0 && most > 0.1);
    uint8_t *risen = mask + off / cols * ct_mask_bytes(cols) + off % cols / 8, *fallen = mask + on / cols * ct_mask_bytes(cols) + on % cols / 8;
    memcpy(after, mask, (size_t)bytes);
    y[off] = (float)(most * 1e-6); /* rounding made it positive */
    *risen |= (uint8_t)(1u << (off % cols % 8));
    y[on] = 0;                     /* an operator that is wrong */
    *fallen &= (uint8_t)~(1u << (on % cols % 8));
    after[fallen - mask] &= (uint8_t)~(1u << (on % cols % 8));
    ck_assert_int_eq(ct_plan_patch(a.plan, v, y), CT_OK);
    ck_assert_int_eq(ct_plan_patch(a.plan, gate, mask), CT_OK);
    ties = (ct_golden_ties){ 0, 0 };
    ck_assert_int_eq(ct_golden_settle(a.plan, b.plan, false, &ties), CT_OK);
    ck_assert_int_eq(ties.settled, 1);
    ck_assert_int_eq(ct_plan_download(a.plan, gate, mask), CT_OK);
    ck_assert_mem_eq(mask, after, (size_t)bytes);
    ck_assert_int_eq(ct_plan_run_nodes(a.plan, a.forward, a.p.graph->nnodes), CT_OK);
    free(y);
    free(mask);
    free(after);
    free(z);
    half_close(&a);
    half_close(&b);
}
END_TEST

/* The sign of what comes out of a leaky ReLU decides, too; how close to 0 a value below it was tells what goes in. */
START_TEST(leaky_ties_are_settled)
{
    half_step a, b;
    half_open(&a, &clips, CT_F32);
    half_open(&b, &clips, CT_F64);
    size_t node = 0;
    while (a.p.graph->nodes[node].op != CT_OP_ACTIVATION ||
           a.p.graph->nodes[node].attrs.act.kind != CT_ACT_LEAKY_RELU)
        node++;
    const double slope = a.p.graph->nodes[node].attrs.act.alpha;
    const ct_val v = a.p.graph->nodes[node].out[0], w = b.p.graph->nodes[node].out[0];
    const int64_t n = ct_desc_numel(ct_graph_desc(a.p.graph, v));
    float *y = malloc((size_t)n * sizeof *y);
    double *z = malloc((size_t)n * sizeof *z), most = 0;
    ck_assert_int_eq(ct_plan_download(a.plan, v, y), CT_OK);
    ck_assert_int_eq(ct_plan_download(b.plan, w, z), CT_OK);
    for (int64_t i = 0; i < n; i++) most = z[i] > most ? z[i] : most;
    ck_assert(most > 0.01);
    y[0] = (float)(most * 1e-6); /* rounding made it positive */
    z[0] = most * -1e-6 * slope;
    y[1] = (float)(most * -1e-6 * slope); /* or negative */
    z[1] = most * 1e-6;
    y[2] = (float)(most * 1e-6); /* what went in was not that near */
    z[2] = most * -1e-4 * slope;
    ck_assert_int_eq(ct_plan_patch(a.plan, v, y), CT_OK);
    ck_assert_int_eq(ct_plan_patch(b.plan, w, z), CT_OK);
    ct_golden_ties ties = { 0, 0 };
    ck_assert_int_eq(ct_golden_settle(a.plan, b.plan, false, &ties), CT_OK);
    ck_assert_int_eq(ties.settled, 2);
    ck_assert_int_eq(ct_plan_download(a.plan, v, y), CT_OK);
    ck_assert(y[0] < 0 && y[1] > 0 && y[2] > 0);
    free(y);
    free(z);
    half_close(&a);
    half_close(&b);
}
END_TEST

/* Out of memory while reading: a message, and nothing left behind. */
START_TEST(out_of_memory)
{
    char *path = golden_path("textcnn-dropout-f32.safetensors");
    int failures = 0;
    for (long n = 0;; n += n < 20 ? 1 : 31) {
        ct_golden g;
        ct_alloc_fail_after(n);
        ct_status st = ct_golden_open(path, &g);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) {
            ct_golden_close(&g);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        failures++;
    }
    ck_assert_int_gt(failures, 5);
    ct_free(path);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("golden");
    TCase *c = tcase_create("golden");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, files_agree);
    tcase_add_test(c, inexact_files_agree);
    tcase_add_test(c, changes_are_named);
    tcase_add_test(c, noise_of_few);
    tcase_add_test(c, constants_count);
    tcase_add_test(c, other_files);
    tcase_add_test(c, ties_are_settled);
    tcase_add_test(c, leaky_ties_are_settled);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
