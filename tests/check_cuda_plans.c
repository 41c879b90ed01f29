/* cuDNN finds a plan for every convolution of every model, in every precision, for cards that are not here: tests/emulate/devices/
 * holds their properties, written down from public numbers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/dnn_plan.h"
#include "base/alloc.h"
#include "base/file.h"
#include "tests/ct_check.h"
#include "train/program.h"
#include "train/spec.h"

static const ct_services services = { .abi = CT_BACKEND_ABI, .size = sizeof(ct_services), .fail = ct_fail };
const ct_services *ct_core = &services;

enum { MAX_CALLS = 4096 };
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

/* The convolutions of a training step of each model. Depthwise ones have kernels of their own, no plan. */
static void collect(const char *precision)
{
    size_t n;
    const ct_model_info *m = ct_model_table(&n);
    for (size_t i = 0; i < n; i++) {
        ct_program_spec spec;
        ct_layout layout;
        ct_program p;
        ck_assert_int_eq(ct_spec_from_model(m[i].name, 32, precision, &spec), CT_OK);
        ck_assert_int_eq(ct_program_build(&spec, CT_PROGRAM_STEP, NULL, &layout, &p), CT_OK);
        for (size_t k = 0; k < p.graph->nnodes; k++) {
            ct_call c;
            ct_graph_call(p.graph, k, &c);
            if (is_convolution(c.op) && c.attrs.conv.groups == 1) keep(&c);
        }
        ct_program_free(&p);
    }
}

static void plan_all(const char *device)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/emulate/devices/%s.json", ct_check_srcdir(), device);
    uint8_t *json;
    size_t bytes;
    ct_dnn_target target;
    ct_device_opts opts = { .deterministic = true };
    ck_assert_int_eq(ct_file_read(path, (size_t)1 << 20, &json, &bytes), CT_OK);
    ck_assert_msg(ct_dnn_target_json((const char *)json, bytes, &target) == CT_OK, "%s", ct_error_message());
    for (int i = 0; i < ncalls; i++) {
        ct_call c;
        ct_dnn_plan plan;
        ck_assert_int_eq(ct_call_parse(calls[i], &c), CT_OK);
        ck_assert_msg(ct_dnn_plan_make(&target, &c, &opts, &plan) == CT_OK, "%s: %s: %s", device, calls[i], ct_error_message());
        ct_dnn_plan_free(&plan);
    }
    ct_dnn_target_free(&target);
    ct_free(json);
}

static const char *const devices[] = { "a100", "h200", "rtx5090" };
static const char *const precisions[] = { "bf16", "fp16", "fp32" };

START_TEST(every_convolution_has_a_plan)
{
    collect(precisions[_i % 3]);
    ck_assert_int_gt(ncalls, 50);
    plan_all(devices[_i / 3]);
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
    tcase_add_loop_test(t, every_convolution_has_a_plan, 0, 9);
    tcase_add_test(t, what_cannot_be_planned_is_refused);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
