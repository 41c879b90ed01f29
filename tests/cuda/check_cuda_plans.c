/* cuDNN finds a plan for every convolution of every model, in every precision, for cards that are not here: tests/emulate/devices/
 * holds their properties, written down from public numbers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/dnn_plan.h"
#include "base/alloc.h"
#include "base/file.h"
#include "program/program.h"
#include "program/spec.h"
#include "tests/ct_check.h"

static const ct_services services = { .abi = CT_BACKEND_ABI, .size = sizeof(ct_services), .fail = ct_fail };
const ct_services *ct_core = &services;

enum { MAX_CALLS = 4096, PICTURES = 32, CLIPS = 2 /* of 112 pictures: engines end at 2 GiB of them */ };
static char *calls[MAX_CALLS];
static int ncalls;

static bool is_convolution(ct_op op)
{
    return op == CT_OP_CONV2D || op == CT_OP_CONV2D_DGRAD || op == CT_OP_CONV2D_WGRAD;
}

/* Keeps the text of a call unless it is known. */
static void keep(const ct_call *c)
{
    char text[1024];
    ck_assert_int_lt(ct_call_format(c, text, sizeof text), (int)sizeof text);
    for (int i = 0; i < ncalls; i++)
        if (strcmp(calls[i], text) == 0) return;
    ck_assert_int_lt(ncalls, MAX_CALLS);
    ck_assert_ptr_nonnull(calls[ncalls++] = ct_strdup(text, "a call"));
}

/* What the backend of such a card wants channels padded to: rows of 16 bytes, where Tensor Cores may be used. */
static int64_t channel_multiple(const ct_program_spec *s)
{
    if (s->compute == CT_F32) return s->tf32 ? 4 : 1;
    return 8;
}

/* The convolutions of a training step of each model, their images padded as they are on a card: all of these have Tensor Cores for 16
 * bits and tf32. With and without what a card's plan fuses more, which takes strides from some gradients. Depthwise ones have kernels of their own, no plan. Returns whether tf32 is asked for. */
static bool collect(const char *precision)
{
    bool tf32 = false;
    const ct_model_info *m;
    for (size_t i = 0; (m = ct_model_at(i / 2)); i++) {
        ct_program_spec spec;
        ct_layout layout;
        ct_program p;
        ck_assert_int_eq(ct_spec_from_model(m->name, m->frames ? CLIPS : PICTURES, precision, &spec), CT_OK);
        spec.channel_multiple = channel_multiple(&spec);
        spec.fuse_more = spec.join_sums = i % 2 == 1;
        tf32 = spec.tf32;
        ck_assert_int_eq(ct_program_build(&spec, CT_PROGRAM_STEP, NULL, &layout, &p), CT_OK);
        for (size_t k = 0; k < p.graph->nnodes; k++) {
            ct_call c;
            ct_graph_call(p.graph, k, &c);
            if (!is_convolution(c.op) || c.attrs.conv.groups != 1) continue;
            /* images are read padded; heads of one to four outputs, and the four channels within small gates, are not */
            if (c.op != CT_OP_CONV2D_DGRAD && spec.channel_multiple > 1) ck_assert_int_ge(c.in[0].desc.dim[3], 4);
            keep(&c);
        }
        ct_program_free(&p);
    }
    return tf32;
}

static ct_dnn_target open_target(const char *device)
{
    char path[1024];
    uint8_t *json;
    size_t bytes;
    ct_dnn_target target;
    snprintf(path, sizeof path, "%s/tests/emulate/devices/%s.json", ct_check_srcdir(), device);
    ck_assert_int_eq(ct_file_read(path, (size_t)1 << 20, &json, &bytes), CT_OK);
    ck_assert_msg(ct_dnn_target_json((const char *)json, bytes, &target) == CT_OK, "%s", ct_error_message());
    ct_free(json);
    return target;
}

static void plan_all(const char *device, const char *precision, bool tf32)
{
    ct_dnn_target target = open_target(device);
    const ct_device_opts opts = { .deterministic = true, .tf32 = tf32 };
    bool seen[CT_OP_COUNT] = { false };
    for (int i = 0; i < ncalls; i++) {
        ct_call c;
        ct_dnn_plan plan;
        ct_receipt r;
        ck_assert_int_eq(ct_call_parse(calls[i], &c), CT_OK);
        ck_assert_msg(ct_dnn_plan_make(&target, &c, &opts, &plan) == CT_OK, "%s: %s: %s", device, calls[i], ct_error_message());
        ct_dnn_plan_receipt(&plan, c.in[0].desc.dtype, &r);
        /* Matrix units are taken wherever the precision means them, and fp32 takes none. */
        ck_assert_msg(strcmp(r.math, precision) == 0, "%s: %s computes in %s, not %s", device, calls[i], r.math, precision);
        seen[c.op] = true;
        ct_dnn_plan_free(&plan);
    }
    ck_assert(seen[CT_OP_CONV2D] && seen[CT_OP_CONV2D_DGRAD] && seen[CT_OP_CONV2D_WGRAD]);
    ct_dnn_target_free(&target);
}

static const char *const devices[] = { "a100", "h100", "b200", "rtx5090" };
static const char *const precisions[] = { "bf16", "fp16", "fp32", "tf32" };

START_TEST(every_convolution_has_a_plan)
{
    const bool tf32 = collect(precisions[_i % 4]);
    ck_assert_int_gt(ncalls, 50);
    plan_all(devices[_i / 4], precisions[_i % 4], tf32);
}
END_TEST

/* ---- variants: configurations by name ---- */

static const char *const some[] = {
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(%s[32,15,40,64], %s[128,3,3,64], %s[128]) -> (%s[32,15,40,128])",
    "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=16 in_w=40}(%s[32,8,20,128], %s[128,3,3,64]) -> "
    "(%s[32,16,40,64])",
    "conv2d_wgrad{stride_h=1 stride_w=1 dil_h=1 dil_w=1 groups=1 ker_h=1 ker_w=1}(%s[32,15,40,64], %s[32,15,40,256]) -> (%s[256,1,1,64])",
};

static void parse_some(int i, const char *type, ct_call *c)
{
    char text[512];
    snprintf(text, sizeof text, some[i], type, type, type, type);
    ck_assert_msg(ct_call_parse(text, c) == CT_OK, "%s: %s", text, ct_error_message());
}

static void pinned(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, const char *name, ct_receipt *r)
{
    ct_dnn_plan p;
    ck_assert_msg(ct_dnn_plan_named(t, c, opts, name, &p) == CT_OK, "%s: %s", name, ct_error_message());
    ck_assert_str_eq(p.name, name);
    ck_assert_ptr_nonnull(p.plan);
    ck_assert(p.workspace >= 0 && p.workspace <= CT_DNN_MAX_WORKSPACE);
    int64_t number = strtoll(name + 3, NULL, 10);
    ck_assert_int_eq((int)p.engine, (int)number);
    ct_dnn_plan_receipt(&p, c->in[0].desc.dtype, r);
    ck_assert_ptr_nonnull(strstr(r->engine, name));
    ct_dnn_plan_free(&p);
}

enum { MANY = 12 };

/* Every variant that is listed is planned again from its name alone, and computes as the type asks. */
START_TEST(variants_are_planned_by_name)
{
    static const char *const types[] = { "bf16", "f16", "f32" };
    const char *type = types[_i % 3], *math = strcmp(type, "f16") == 0 ? "fp16" : strcmp(type, "f32") == 0 ? "fp32" : "bf16";
    ct_dnn_target t = open_target(devices[_i / 3]);
    const ct_device_opts opts = { .deterministic = true };
    for (int i = 0; i < 3; i++) {
        char names[MANY][CT_VARIANT_NAME];
        ct_call c;
        ct_receipt r;
        ct_dnn_plan own;
        int with_units = 0;
        parse_some(i, type, &c);
        int n = ct_dnn_plan_variants(&t, &c, &opts, names, MANY);
        ck_assert_msg(n >= 2, "%s: %d variants of %s", devices[_i / 3], n, some[i]);
        ck_assert_int_eq(ct_dnn_plan_variants(&t, &c, &opts, names, 1), 1);
        ck_assert_int_eq(ct_dnn_plan_variants(&t, &c, &opts, names, MANY), n);
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < k; j++) ck_assert_str_ne(names[k], names[j]);
            pinned(&t, &c, &opts, names[k], &r);
            ck_assert_str_eq(r.math, r.tensor_cores ? math : "fp32");
            with_units += r.tensor_cores;
        }
        if (strcmp(type, "f32") == 0) ck_assert_int_eq(with_units, 0);
        else ck_assert_int_gt(with_units, 0);
        ck_assert_int_eq(ct_dnn_plan_make(&t, &c, &opts, &own), CT_OK);
        ct_dnn_plan_receipt(&own, c.in[0].desc.dtype, &r);
        ck_assert_str_eq(r.math, math);
        if (*own.name) pinned(&t, &c, &opts, own.name, &r);
        ct_dnn_plan_free(&own);
    }
    ct_dnn_target_free(&t);
}
END_TEST

/* f32 with matrix units only where tf32 was asked for; a name does not get around the options. */
START_TEST(tf32_only_when_asked)
{
    ct_dnn_target t = open_target(devices[_i]);
    const ct_device_opts plain = { .deterministic = true }, tf32 = { .deterministic = true, .tf32 = true };
    for (int i = 0; i < 3; i++) {
        ct_call c;
        ct_dnn_plan p, again;
        ct_receipt r;
        parse_some(i, "f32", &c);
        ck_assert_int_eq(ct_dnn_plan_make(&t, &c, &tf32, &p), CT_OK);
        ct_dnn_plan_receipt(&p, CT_F32, &r);
        ck_assert_str_eq(r.math, "tf32");
        ck_assert(r.tensor_cores);
        ck_assert(*p.name);
        pinned(&t, &c, &tf32, p.name, &r);
        ck_assert_int_eq(ct_dnn_plan_named(&t, &c, &plain, p.name, &again), CT_EUNSUPPORTED);
        ck_assert_msg(strstr(ct_error_message(), "do not allow") != NULL, "%s", ct_error_message());
        ct_dnn_plan_free(&p);
    }
    ct_dnn_target_free(&t);
}
END_TEST

START_TEST(names_that_mean_nothing)
{
    static const char *const wrong[] = { "", "eng", "38", "eng38x", "eng38/k2", "eng38/k2=", "eng38/2=4", "eng-1", "eng38/k2=4/", "eng99999",
                                         "eng38/k2=77777777", "eng38/k43=12345/k43=1" };
    ct_dnn_target t = open_target("h200");
    const ct_device_opts opts = { .tf32 = true };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ct_call c;
        ct_dnn_plan p;
        parse_some(0, "f32", &c);
        ck_assert_msg(ct_dnn_plan_named(&t, &c, &opts, wrong[i], &p) == CT_EUNSUPPORTED, "'%s' is planned", wrong[i]);
        ck_assert_ptr_null(p.plan);
    }
    ct_dnn_target_free(&t);
}
END_TEST

START_TEST(what_cannot_be_planned_is_refused)
{
    ct_dnn_target target;
    ck_assert_int_eq(ct_dnn_target_json("{", 1, &target), CT_EBACKEND);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("plans");
    Suite *s = suite_create("cuda_plans");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, every_convolution_has_a_plan, 0, 16);
    tcase_add_loop_test(t, variants_are_planned_by_name, 0, 12);
    tcase_add_loop_test(t, tf32_only_when_asked, 0, 4);
    tcase_add_test(t, names_that_mean_nothing);
    tcase_add_test(t, what_cannot_be_planned_is_refused);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
