/* Files of ONNX: what was changed in one behind its back is found and named; what the reader does not know is
 * refused. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "onnx/make.h"
#include "onnx/onnx.h"
#include "onnx/read.h"
#include "onnx/runner.h"
#include "tests/ct_check.h"

#define F ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

static void assert_ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

/* x [N,1,2,3] -> a 1x1 convolution of two filters, ReLU, flatten, product of four -> scores [N,2,2]. */
static void small(ct_onnx_maker *k)
{
    assert_ok(ct_onnx_maker_begin(k));
    Onnx__OperatorSetIdProto *set = ct_onnx_take(k, sizeof *set), **list = ct_onnx_take(k, sizeof *list);
    onnx__operator_set_id_proto__init(set);
    set->has_version = true;
    set->version = 17;
    list[0] = set;
    k->model->opset_import = list;
    k->model->n_opset_import = 1;
    ct_onnx_port(k, false, "input", F, 4, (const int64_t[]) { 1, 1, 2, 3 },
                 (const char *const[]) { "N", NULL, NULL, NULL });
    float *w = ct_onnx_floats(k, "w", 4, (const int64_t[]) { 2, 1, 1, 1 });
    float *b = ct_onnx_floats(k, "b", 1, (const int64_t[]) { 2 });
    float *v = ct_onnx_floats(k, "v", 2, (const int64_t[]) { 4, 12 });
    float *c = ct_onnx_floats(k, "c", 1, (const int64_t[]) { 4 });
    int64_t *shape = ct_onnx_ints(k, "shape", 3);
    w[0] = 2, w[1] = -1, b[0] = 0.5f, b[1] = 1, shape[1] = shape[2] = 2;
    for (int o = 0; o < 4; o++) v[o * 12 + 3 * o] = 1, c[o] = (float)o;
    Onnx__NodeProto *n = ct_onnx_node(k, "Conv", "conv", (const char *const[]) { "input", "w", "b", NULL });
    ct_onnx_attr_ints(k, n, "kernel_shape", 2, (const int64_t[]) { 1, 1 });
    ct_onnx_attr_ints(k, n, "strides", 2, (const int64_t[]) { 1, 1 });
    ct_onnx_attr_ints(k, n, "pads", 4, (const int64_t[]) { 0, 0, 0, 0 });
    ct_onnx_attr_ints(k, n, "dilations", 2, (const int64_t[]) { 1, 1 });
    ct_onnx_node(k, "Relu", "relu", (const char *const[]) { "conv", NULL });
    n = ct_onnx_node(k, "Transpose", "pixels", (const char *const[]) { "relu", NULL });
    ct_onnx_attr_ints(k, n, "perm", 4, (const int64_t[]) { 0, 2, 3, 1 });
    n = ct_onnx_node(k, "Flatten", "flat", (const char *const[]) { "pixels", NULL });
    ct_onnx_attr_int(k, n, "axis", 1);
    n = ct_onnx_node(k, "Gemm", "fc", (const char *const[]) { "flat", "v", "c", NULL });
    ct_onnx_attr_int(k, n, "transB", 1);
    ct_onnx_node(k, "Reshape", "scores", (const char *const[]) { "fc", "shape", NULL });
    ct_onnx_port(k, true, "scores", F, 3, (const int64_t[]) { 1, 2, 2 }, (const char *const[]) { "N", NULL, NULL });
    assert_ok(k->status);
}

/* A copy by way of bytes, as a file is one. */
static Onnx__ModelProto *copy(const Onnx__ModelProto *m)
{
    Onnx__ModelProto *out;
    const size_t n = onnx__model_proto__get_packed_size(m);
    uint8_t *data = ct_malloc(n, "bytes");
    onnx__model_proto__pack(m, data);
    assert_ok(ct_onnx_parse(data, n, "bytes", &out));
    ct_free(data);
    return out;
}

static ct_status run(const Onnx__ModelProto *m, const float *x, float *y)
{
    const ct_device_opts opts = { .threads = 1 };
    ct_onnx_runner r;
    CT_TRY(ct_onnx_runner_open("f.onnx", m, &opts, 1, 2, 3, &r));
    const ct_status st = ct_onnx_runner_run(&r, x, y);
    ct_onnx_runner_close(&r);
    return st;
}

static void refused(ct_status st, ct_status want, const char *a, const char *b)
{
    ck_assert_msg(st == want && strstr(ct_error_message(), a) && strstr(ct_error_message(), b), "%d: %s", (int)st,
                  ct_error_message());
}

/* A file that cannot be read, for a reason in which `word` occurs. */
static void refused_bytes(const Onnx__ModelProto *m, const char *word)
{
    Onnx__ModelProto *none;
    const size_t n = onnx__model_proto__get_packed_size(m);
    uint8_t *data = ct_malloc(n, "bytes");
    onnx__model_proto__pack(m, data);
    refused(ct_onnx_parse(data, n, "f.onnx", &none), CT_EFORMAT, "f.onnx", word);
    ct_free(data);
}

START_TEST(runs)
{
    const float x[6] = { 1, 2, 3, 4, -1, 0.25f }, own[4] = { 2.5f, 1 + 0, 2 + 8.5f, 3 + 2 };
    float y[4];
    ct_onnx_maker k;
    small(&k);
    Onnx__ModelProto *m = copy(k.model);
    assert_ok(ct_onnx_compare("f.onnx", k.model, m));
    assert_ok(run(m, x, y));
    /* elements 0, 3, 6, 9 of [2,3,2] are pixels 0, 1, 3, 4 of filters 0, 1, 0, 1 */
    for (int i = 0; i < 4; i++)
        ck_assert_msg(y[i] == own[i], "score %d is %g, not %g", i, (double)y[i], (double)own[i]);
    ct_onnx_close(m);
    ct_onnx_maker_end(&k);
}
END_TEST

START_TEST(changes_are_named)
{
    ct_onnx_maker k;
    small(&k);
    Onnx__ModelProto *m = copy(k.model);
    float v = 7;
    memcpy(m->graph->initializer[2]->raw_data.data + 40, &v, sizeof v);
    refused(ct_onnx_compare("f.onnx", k.model, m), CT_EDATA, "f.onnx: initializer v: 1 of 48", "model");
    ct_onnx_close(m);
    m = copy(k.model);
    Onnx__NodeProto *n = m->graph->node[1];
    m->graph->node[1] = m->graph->node[2];
    m->graph->node[2] = n;
    refused(ct_onnx_compare("f.onnx", k.model, m), CT_EDATA, "node 1 is pixels (Transpose)", "relu (Relu)");
    refused(run(m, (const float[6]) { 0 }, (float[4]) { 0 }), CT_EFORMAT, "node pixels (Transpose)",
            "no node before it");
    ct_onnx_close(m);
    m = copy(k.model);
    memcpy(m->graph->node[1]->op_type, "Tanh", 5);
    refused(ct_onnx_compare("f.onnx", k.model, m), CT_EDATA, "node relu", "another operator");
    memcpy(m->graph->node[1]->op_type, "Cosh", 5);
    refused(run(m, (const float[6]) { 0 }, (float[4]) { 0 }), CT_EFORMAT, "node relu (Cosh)", "no such operator");
    ct_onnx_close(m);
    ct_onnx_maker_end(&k);
}
END_TEST

START_TEST(damage_is_refused)
{
    ct_onnx_maker k;
    Onnx__ModelProto *m;
    small(&k);
    const size_t n = onnx__model_proto__get_packed_size(k.model);
    uint8_t *data = ct_malloc(n, "bytes");
    onnx__model_proto__pack(k.model, data);
    for (size_t cut = 0; cut < n; cut += 7)
        if (ct_onnx_parse(data, cut, "cut", &m) == CT_OK) {
            ct_onnx_graph x;
            ck_assert(ct_onnx_graph_make("cut", m, 1, 2, 3, &x) != CT_OK);
            ct_onnx_close(m);
        }
    ct_free(data);
    ct_onnx_property(&k, "length", "4");
    ct_onnx_close(copy(k.model));
    ct_onnx_property(&k, "length", "5");
    refused_bytes(k.model, "twice has it property length");
    k.model->n_metadata_props--;
    k.model->graph->initializer[2]->dims[0] = INT64_MAX;
    refused_bytes(k.model, "initializer v");
    ct_onnx_maker_end(&k);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("onnx");
    TCase *t = tcase_create("files");
    tcase_add_test(t, runs);
    tcase_add_test(t, changes_are_named);
    tcase_add_test(t, damage_is_refused);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
