/* Files of ONNX: what was changed in one behind its back is found and named, also by what it reads alone; what the
 * reader does not know is refused. */
#include "config.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/read.h"
#include "onnx/runner.h"
#include "onnx/write.h"
#include "tests/ct_check.h"
#include "tests/onnx/even.h"

#define F ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

static void assert_ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

/* An empty model of opset 17. */
static void empty_model(ct_onnx_maker *k)
{
    assert_ok(ct_onnx_maker_begin(k));
    Onnx__OperatorSetIdProto *set = ct_onnx_take(k, sizeof *set), **list = ct_onnx_take(k, sizeof *list);
    onnx__operator_set_id_proto__init(set);
    set->has_version = true;
    set->version = 17;
    list[0] = set;
    k->model->opset_import = list;
    k->model->n_opset_import = 1;
}

/* x [N,1,2,3] -> a 1x1 convolution of two filters, ReLU, flatten, product of four -> scores [N,2,2]. */
static void small(ct_onnx_maker *k)
{
    empty_model(k);
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
    const ct_onnx_size size = { 1, 0, 2, 3 };
    CT_TRY(ct_onnx_runner_open("f.onnx", m, &opts, &size, NULL, &r));
    const ct_status st = ct_onnx_runner_run(&r, x, &y);
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
            ck_assert(ct_onnx_graph_make("cut", m, &(ct_onnx_size) { 1, 0, 2, 3 }, &x) != CT_OK);
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

/* ---- operators of maps and clips ---- */

/* Input x [N,3,2,4], of clips [N,2,3,2,4], for nodes that stand behind it. */
static void begin_nodes(ct_onnx_maker *k, bool clip)
{
    static const char *const free_n[5] = { "N", NULL, NULL, NULL, NULL };
    const int64_t clips[5] = { 1, 2, 3, 2, 4 }, pictures[4] = { 1, 3, 2, 4 };
    empty_model(k);
    ct_onnx_port(k, false, "x", F, clip ? 5 : 4, clip ? clips : pictures, free_n);
    ct_onnx_port(k, true, "y", F, 4, pictures, free_n);
}

/* What reading these nodes, the last of which is y, gives: its output, or a refusal in which `word` stands. */
static void end_nodes(ct_onnx_maker *k, const char *word, const float *want, size_t n)
{
    const ct_device_opts opts = { .threads = 1 };
    const ct_onnx_size size = { 1, k->model->graph->input[0]->type->tensor_type->shape->n_dim == 5 ? 2 : 0, 2, 4 };
    ct_onnx_runner r;
    float x[48], y[96] = { 0 }, *const out = y;
    assert_ok(k->status);
    Onnx__ModelProto *m = copy(k->model);
    if (word) {
        refused(ct_onnx_runner_open("f.onnx", m, &opts, &size, NULL, &r), CT_EFORMAT, "f.onnx: node y", word);
    } else {
        for (int i = 0; i < 48; i++) x[i] = (float)(i % 7) - 2;
        assert_ok(ct_onnx_runner_open("f.onnx", m, &opts, &size, NULL, &r));
        ck_assert_uint_eq((size_t)ct_desc_numel(&r.out[0]), n);
        assert_ok(ct_onnx_runner_run(&r, x, &out));
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(y[i] - want[i] < 1e-6f && want[i] - y[i] < 1e-6f, "number %zu is %g, not %g", i, (double)y[i],
                          (double)want[i]);
        ct_onnx_runner_close(&r);
    }
    ct_onnx_close(m);
    ct_onnx_maker_end(k);
}

static Onnx__NodeProto *add_resize(ct_onnx_maker *k, float s, const char *mode, const char *coordinates)
{
    begin_nodes(k, false);
    float *scales = ct_onnx_floats(k, "scales", 1, (const int64_t[]) { 4 });
    scales[0] = scales[1] = 1, scales[2] = scales[3] = s;
    Onnx__NodeProto *n = ct_onnx_node(k, "Resize", "y", (const char *const[]) { "x", "", "scales", NULL });
    ct_onnx_attr_text(k, n, "mode", mode);
    ct_onnx_attr_text(k, n, "coordinate_transformation_mode", coordinates);
    return n;
}

static void add_slice(ct_onnx_maker *k, int64_t start, int64_t end, int64_t axis)
{
    begin_nodes(k, false);
    *ct_onnx_ints(k, "starts", 1) = start;
    *ct_onnx_ints(k, "ends", 1) = end;
    *ct_onnx_ints(k, "axes", 1) = axis;
    ct_onnx_node(k, "Slice", "y", (const char *const[]) { "x", "starts", "ends", "axes", NULL });
}

static void add_window(ct_onnx_maker *k, const char *op, bool clip, const int64_t *ker, int64_t pad)
{
    const int rank = clip ? 3 : 2;
    const int64_t one[3] = { 1, 1, 1 }, pads[6] = { pad, pad, pad, pad, pad, pad };
    const char *from = "x";
    begin_nodes(k, clip);
    if (clip) {
        Onnx__NodeProto *t = ct_onnx_node(k, "Transpose", "t", (const char *const[]) { "x", NULL });
        ct_onnx_attr_ints(k, t, "perm", 5, (const int64_t[]) { 0, 2, 1, 3, 4 });
        from = "t";
    }
    Onnx__NodeProto *n = ct_onnx_node(k, op, "y", (const char *const[]) { from, NULL });
    ct_onnx_attr_ints(k, n, "kernel_shape", rank, ker);
    ct_onnx_attr_ints(k, n, "strides", rank, one);
    ct_onnx_attr_ints(k, n, "pads", 2 * rank, pads);
}

/* Pixels x [2,4,3] of 0..23 mod 7 less 2, and what the operators make of them. */
START_TEST(maps_are_read)
{
    ct_onnx_maker k;
    float want[96];
    ct_onnx_attr_text(&k, add_resize(&k, 2, "nearest", "asymmetric"), "nearest_mode", "floor");
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            for (int c = 0; c < 3; c++)
                want[(i * 8 + j) * 3 + c] = (float)(((i / 2 * 4 + j / 2) * 3 + c) % 7) - 2;
    end_nodes(&k, NULL, want, 96);
    add_slice(&k, 1, 3, 1);
    for (int p = 0; p < 8; p++)
        for (int c = 0; c < 2; c++) want[p * 2 + c] = (float)((p * 3 + c + 1) % 7) - 2;
    end_nodes(&k, NULL, want, 16);
    /* a row's means, and what they make of its pixels */
    add_window(&k, "AveragePool", false, (const int64_t[]) { 1, 4 }, 0);
    k.model->graph->node[0]->name[0] = k.model->graph->node[0]->output[0][0] = 'm';
    ct_onnx_node(&k, "Mul", "y", (const char *const[]) { "x", "m", NULL });
    for (int p = 0; p < 8; p++)
        for (int c = 0; c < 3; c++) {
            float mean = 0;
            for (int j = 0; j < 4; j++) mean += ((float)(((p / 4 * 4 + j) * 3 + c) % 7) - 2) / 4;
            want[p * 3 + c] = ((float)((p * 3 + c) % 7) - 2) * mean;
        }
    end_nodes(&k, NULL, want, 24);
    begin_nodes(&k, false);
    ct_onnx_node(&k, "Mul", "a", (const char *const[]) { "x", "x", NULL });
    ct_onnx_node(&k, "Add", "s", (const char *const[]) { "a", "a", NULL });
    ct_onnx_node(&k, "Sqrt", "y", (const char *const[]) { "s", NULL });
    for (int i = 0; i < 24; i++) want[i] = 1.41421356f * (i % 7 > 2 ? (float)(i % 7) - 2 : 2 - (float)(i % 7));
    end_nodes(&k, NULL, want, 24);
}
END_TEST

/* A mean over one dimension, as opset 17 says it, or 18. */
static void add_mean(ct_onnx_maker *k, const char *name, const char *from, int64_t axis, bool input)
{
    static const char *const axes[] = { "axes0", "axes1", "axes2", "axes3" };
    const char *const in[] = { from, input ? axes[axis] : NULL, NULL };
    Onnx__NodeProto *n = ct_onnx_node(k, "ReduceMean", name, in);
    if (!input) ct_onnx_attr_ints(k, n, "axes", 1, &axis);
    ct_onnx_attr_int(k, n, "keepdims", 1);
}

/* x to mean 0 and variance 1, as the writer says it, but for step `wrong`, which is named y. 0: none. */
static void add_even(ct_onnx_maker *k, int wrong, bool input)
{
    static const char *const good[] = { "", "m1", "m2", "m3", "d", "q", "v1", "v2", "v3", "a", "s", "y" };
    const char *at[12];
    begin_nodes(k, false);
    for (int i = 0; i < 12; i++) at[i] = i == wrong ? "y" : good[i];
    for (int64_t i = 0; i < 4; i++) *ct_onnx_ints(k, (const char *[]) { "axes0", "axes1", "axes2", "axes3" }[i], 1) = i;
    *ct_onnx_floats(k, "eps", 1, (const int64_t[]) { 1 }) = 0.01f;
    ct_onnx_floats(k, "four", 1, (const int64_t[]) { 4 });
    add_mean(k, at[1], "x", wrong == 1 ? 2 : 3, input);
    if (wrong == 1) return;
    add_mean(k, at[2], "m1", wrong == 2 ? 3 : 2, input);
    if (wrong == 2) return;
    add_mean(k, at[3], "m2", wrong == 3 ? 0 : 1, input);
    if (wrong == 3) return;
    ct_onnx_node(k, "Sub", at[4], (const char *const[]) { "x", wrong == 4 ? "m2" : "m3", NULL });
    if (wrong == 4) return;
    ct_onnx_node(k, "Mul", at[5], (const char *const[]) { "d", wrong == 5 ? "x" : "d", NULL });
    if (wrong == 5) return;
    add_mean(k, at[6], wrong == 6 ? "d" : "q", 3, input);
    if (wrong == 6) return;
    add_mean(k, at[7], "v1", 2, input);
    if (wrong == 7) k->model->graph->node[k->model->graph->n_node - 1]->attribute[input ? 0 : 1]->i = 0; /* keepdims */
    if (wrong == 7) return;
    add_mean(k, at[8], "v2", 1, input);
    if (wrong == 8) k->model->graph->node[k->model->graph->n_node - 1]->op_type[0] = 'r';
    if (wrong == 8) return;
    ct_onnx_node(k, "Add", at[9], (const char *const[]) { "v3", wrong == 9 ? "four" : "eps", NULL });
    if (wrong == 9) return;
    ct_onnx_node(k, "Sqrt", at[10], (const char *const[]) { wrong == 10 ? "v3" : "a", NULL });
    if (wrong == 10) return;
    ct_onnx_node(k, "Div", at[11], (const char *const[]) { wrong == 11 ? "x" : "d", "s", NULL });
}

START_TEST(even_pictures_are_read)
{
    static const char *const means = "no mean of lines, then columns, then channels";
    static const char *const step = "no step of a picture's way";
    const char *const word[] = { NULL, means, means, means, step, step, "something else than pictures",
                                 means, step, step, step, step };
    ct_onnx_maker k;
    float want[24];
    double mean = 0, square = 0;
    for (int i = 0; i < 24; i++) mean += (i % 7 - 2) / 24.0;
    for (int i = 0; i < 24; i++) square += (i % 7 - 2 - mean) * (i % 7 - 2 - mean) / 24;
    for (int i = 0; i < 24; i++) want[i] = (float)((i % 7 - 2 - mean) / sqrt(square + 0.01));
    for (int input = 0; input < 2; input++)
        for (int wrong = 0; wrong < 12; wrong++) {
            add_even(&k, wrong, input == 1);
            end_nodes(&k, word[wrong], want, 24);
        }
    /* what stands between is nobody's to read */
    add_even(&k, 0, false);
    Onnx__NodeProto *last_step = k.model->graph->node[k.model->graph->n_node - 1];
    last_step->name[0] = last_step->output[0][0] = 'n';
    ct_onnx_attr_int(&k, ct_onnx_node(&k, "Concat", "y", (const char *const[]) { "x", "d", NULL }), "axis", 1);
    end_nodes(&k, "mean something else", NULL, 0);
}
END_TEST

START_TEST(limits_of_operators)
{
    ct_onnx_maker k;
    add_resize(&k, 3, "linear", "half_pixel");
    end_nodes(&k, "larger by something else", NULL, 0);
    add_resize(&k, 1e9f, "linear", "half_pixel");
    end_nodes(&k, "larger by something else", NULL, 0);
    add_resize(&k, 2, "cubic", "half_pixel");
    end_nodes(&k, "neither linear", NULL, 0);
    add_resize(&k, 2, "linear", "align_corners");
    end_nodes(&k, "neither linear", NULL, 0);
    ct_onnx_attr_int(&k, add_resize(&k, 2, "linear", "half_pixel"), "antialias", 1);
    end_nodes(&k, "neither linear", NULL, 0);
    add_slice(&k, 1, 4, 1);
    end_nodes(&k, "channels that are not there", NULL, 0);
    add_slice(&k, INT64_MIN, INT64_MAX, 1);
    end_nodes(&k, "channels that are not there", NULL, 0);
    add_slice(&k, 0, 1, 2);
    end_nodes(&k, "something else than channels", NULL, 0);
    add_window(&k, "AveragePool", false, (const int64_t[]) { 2, 2 }, 1);
    end_nodes(&k, "pads of 0", NULL, 0);
    add_window(&k, "MaxPool", true, (const int64_t[]) { 2, 2, 2 }, 0);
    end_nodes(&k, "even pads", NULL, 0);
    add_window(&k, "MaxPool", false, (const int64_t[]) { 4095, 4095 }, 0);
    k.model->graph->node[0]->attribute[0]->ints[0] = INT64_MAX;
    end_nodes(&k, "even pads", NULL, 0);
    begin_nodes(&k, false);
    ct_onnx_attr_int(&k, ct_onnx_node(&k, "Concat", "y", (const char *const[]) { "x", "x", NULL }), "axis", 3);
    end_nodes(&k, "channels side by side", NULL, 0);
    begin_nodes(&k, false);
    ct_onnx_node(&k, "LpNormalization", "y", (const char *const[]) { "x", NULL });
    end_nodes(&k, "something else than channels", NULL, 0);
    begin_nodes(&k, false);
    ct_onnx_node(&k, "Sqrt", "y", (const char *const[]) { "x", NULL });
    end_nodes(&k, "sum of two squares", NULL, 0);
    begin_nodes(&k, false);
    ct_onnx_floats(&k, "c", 1, (const int64_t[]) { 3 });
    ct_onnx_node(&k, "Mul", "y", (const char *const[]) { "x", "c", NULL });
    end_nodes(&k, "one number", NULL, 0);
    begin_nodes(&k, true);
    ct_onnx_node(&k, "Relu", "r", (const char *const[]) { "x", NULL });
    memcpy(ct_onnx_ints(&k, "s", 4), (const int64_t[4]) { 0, 0, 1, -1 }, 4 * sizeof(int64_t));
    ct_onnx_node(&k, "Reshape", "y", (const char *const[]) { "r", "s", NULL });
    end_nodes(&k, "a shape that export does not write", NULL, 0);
}
END_TEST

/* ---- the proof, with models that were trained for a moment ---- */

enum { POSITIONS, CTC, POINTS, CLIPS, EVEN, EVEN_CTC, MODELS };
static char work[64], run_of[MODELS][96];
static const char *const config[MODELS] = {
    "model: {name: textcnn-small, width: 0.5, hidden: 32}\n"
    "data: {train: 'synth:text', charset: '0123', height: 16, width: 40, mean: [0.6], std: [0.3], synth: {style: plain, "
    "count: 64, val_count: 40, length: 2}}\ntrain: {batch_size: 16, epochs: 2, workers: 0}\n",
    "model: {name: crnn-small, width: 0.5, hidden: 16}\n"
    "data: {train: 'synth:text', charset: '01', height: 32, width: 64, synth: {style: plain, count: 64, val_count: 40, "
    "length: 2}}\ntrain: {batch_size: 16, epochs: 2, workers: 0}\n",
    "model: {name: slider-small, width: 0.25}\n"
    "data: {train: 'synth:slider', height: 64, width: 96, mean: [0.6], std: [0.3], synth: {count: 32, val_count: 40}}\n"
    "train: {batch_size: 8, epochs: 2, workers: 0}\n",
    "model: {name: tfnet-small, width: 0.5, hidden: 16}\n"
    "data: {train: 'synth:gestures', height: 40, width: 40, crop: 32, mean: [0.6], std: [0.3], "
    "synth: {count: 8, val_count: 5}}\ntrain: {batch_size: 4, epochs: 1, workers: 0}\n",
    "model: {name: textcnn-small-even, width: 0.5, hidden: 32}\n"
    "data: {train: 'synth:text', charset: '0123', height: 16, width: 40, channels: 3, mean: [0.6, 0.5, 0.4], "
    "std: [0.3, 0.2, 0.1], synth: {style: plain, count: 64, val_count: 40, length: 2}}\ntrain: {batch_size: 16, epochs: 2, workers: 0}\n",
    "model: {name: crnn-small-even, width: 0.5, hidden: 16}\n"
    "data: {train: 'synth:text', charset: '01', height: 32, width: 64, mean: [0.6], std: [0.3], synth: {style: plain, "
    "count: 64, val_count: 40, length: 2}}\ntrain: {batch_size: 16, epochs: 2, workers: 0}\n"
};
/* A weight whose first number is added to a score, or is part of one; how many samples the proof has. */
static const char *const last[MODELS] = { "fc.bias", "fc.bias", "heat_gap.out.bias", "c5.unit", "fc.bias", "fc.bias" };
static const int samples[MODELS] = { 40, 40, 40, 5, 40, 40 };

static void begin(void)
{
    snprintf(work, sizeof work, "/tmp/captrain-onnx.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(work));
    ct_set_verbosity(0);
    assert_ok(even_models_add());
    for (int i = 0; i < MODELS; i++) {
        char yaml[96];
        ct_train_opts o = { .size = sizeof o, .common = { .backend = "cpu", .threads = 1 } };
        ct_train_result r = { .size = sizeof r };
        snprintf(yaml, sizeof yaml, "%s/%d.yaml", work, i);
        snprintf(run_of[i], sizeof run_of[i], "%s/run%d", work, i);
        assert_ok(ct_file_write_atomic(yaml, config[i], strlen(config[i])));
        o.config = yaml;
        o.out = run_of[i];
        assert_ok(ct_run_train(&o, &r));
    }
}

static void end(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", work);
    ck_assert_int_eq(system(command), 0);
}

static void open_run(int i, ct_model_use *use)
{
    const ct_common cpu = { .backend = "cpu", .threads = 1 };
    memset(use, 0, sizeof *use);
    assert_ok(ct_model_use_begin(use, run_of[i], &cpu));
}

static ct_status prove(int i, const Onnx__ModelProto *m, const ct_onnx_form *form, ct_onnx_proof *out)
{
    ct_model_use use;
    open_run(i, &use);
    const ct_status st = ct_onnx_prove(&use, m, form, "f.onnx", 40, out);
    ct_model_use_end(&use);
    return st;
}

/* Changes the first number of an initializer. */
static void shift(Onnx__ModelProto *m, const char *name, float by)
{
    float v;
    for (size_t i = 0; i < m->graph->n_initializer; i++) {
        Onnx__TensorProto *t = m->graph->initializer[i];
        if (strcmp(t->name, name) != 0) continue;
        memcpy(&v, t->raw_data.data, sizeof v);
        v += by;
        memcpy(t->raw_data.data, &v, sizeof v);
        return;
    }
    ck_abort_msg("no initializer %s", name);
}

/* Whatever the bytes say: a graph that gives other scores is refused, with the picture and both scores; one that gives
 * the same is not. */
START_TEST(other_scores_are_refused)
{
    static const ct_onnx_form form[] = { { 17, CT_ONNX_ANYONE, true, true },
                                         { 17, CT_ONNX_ANYONE, false, false },
                                         { 12, CT_ONNX_DDDDOCR_15, false, true },
                                         { 17, CT_ONNX_DDDDOCR, true, true } };
    /* ddddocr reads texts alone */
    const int i = _i < 8 ? _i % 2 : _i < 12 ? _i % 2 + POINTS : _i % 2 + EVEN;
    const ct_onnx_form *f = &form[_i < 8 ? _i / 2 : _i < 12 ? _i / 2 - 4 : _i / 2 - 6];
    ct_model_use use;
    ct_onnx_maker k;
    ct_onnx_proof proof;
    open_run(i, &use);
    assert_ok(ct_session_add(&use.session, CT_PROGRAM_PREDICT, 1, ct_session_length(&use.session), 1, false));
    assert_ok(ct_model_use_ready(&use));
    assert_ok(ct_onnx_maker_begin(&k));
    assert_ok(ct_onnx_write(&k, &use, f));
    ct_model_use_end(&use);
    Onnx__ModelProto *m = copy(k.model);
    assert_ok(prove(i, m, f, &proof));
    ck_assert_int_eq(proof.samples, samples[i]);
    ck_assert(proof.worst < 1e-4);
    shift(m, last[i], 1e-6f);
    assert_ok(prove(i, m, f, &proof));
    /* of positions with a blank between them the first score is the blank's, which must only stay the least */
    const bool spread = f->target != CT_ONNX_ANYONE && (i == POSITIONS || i == EVEN);
    shift(m, last[i], 0.1f);
    if (spread) assert_ok(prove(i, m, f, &proof));
    shift(m, last[i], spread ? 2e4f : 0);
    const char *where = i == CLIPS ? "f.onnx: clip " : "f.onnx: picture ";
    refused(prove(i, m, f, &proof), CT_EDATA, where, spread ? "step 0 reads the blank" : "off");
    ct_onnx_close(m);
    m = copy(k.model);
    size_t n = 0;
    while (n < m->graph->n_node && strcmp(m->graph->node[n]->op_type, "Relu") != 0) n++;
    ck_assert_uint_lt(n, m->graph->n_node);
    memcpy(m->graph->node[n]->op_type, "Tanh", 5);
    refused(prove(i, m, f, &proof), CT_EDATA, where, "score ");
    ct_onnx_close(m);
    ct_onnx_maker_end(&k);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("onnx");
    TCase *t = tcase_create("proof");
    tcase_add_unchecked_fixture(t, begin, end);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, other_scores_are_refused, 0, 20);
    suite_add_tcase(s, t);
    t = tcase_create("files");
    tcase_add_test(t, runs);
    tcase_add_test(t, changes_are_named);
    tcase_add_test(t, damage_is_refused);
    tcase_add_test(t, maps_are_read);
    tcase_add_test(t, even_pictures_are_read);
    tcase_add_test(t, limits_of_operators);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
