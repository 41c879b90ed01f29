/* The networks with branches, narrow and on small images or short clips, run by the reference: gradients against finite
 * differences, and the passes and the memory plan against the plain graph. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/models.h"
#include "tests/ct_check.h"
#include "tests/graph/graph_compare.h"

static const struct {
    const char *name;
    ct_fuse fuse;
    int64_t frames, height, width, classes, hidden;
} network[] = {
    { "slider", CT_FUSE_WEIGHTED, 1, 32, 64, 0, 0 },
    { "slider", CT_FUSE_ADD, 1, 32, 64, 0, 0 },
    { "slider", CT_FUSE_ATTENTION, 1, 32, 64, 0, 0 },
    { "slider-small", CT_FUSE_MODEL, 1, 32, 64, 0, 0 },
    { "hrnet-w32", CT_FUSE_WEIGHTED, 1, 32, 64, 0, 0 },
    { "tfnet", CT_FUSE_MODEL, 22, 32, 40, 5, 8 },
};
enum { NETWORKS = sizeof network / sizeof network[0] };

/* x of two samples and a loss that is a sum of products of all outputs with inputs "r.0", "r.1", ... */
static void build(test_net *t, int which, ct_dtype dtype)
{
    ct_model_spec spec = { .name = network[which].name,
                           .fuse = network[which].fuse,
                           .frames = network[which].frames,
                           .height = network[which].height,
                           .width = network[which].width,
                           .classes = network[which].classes,
                           .hidden = network[which].hidden,
                           .width_mult = 0.125,
                           .dtype = dtype };
    ct_val out[CT_MODEL_OUTPUTS], term[CT_MODEL_OUTPUTS];
    memset(t, 0, sizeof *t);
    t->classes = 1;
    MUST(ct_model_resolve(&spec));
    MUST(ct_graph_create(&t->g));
    MUST(ct_graph_input(t->g, "x", ct_desc4(dtype, 2 * spec.frames, spec.height, spec.width, spec.channels), &t->x));
    MUST(ct_model_build(t->g, &spec, t->x, CT_NOVAL, true, out));
    ct_attrs sum = { .weights = { .n = ct_model_outputs(&spec) } };
    for (int i = 0; i < sum.weights.n; i++) {
        const ct_desc d = *ct_graph_desc(t->g, out[i]);
        const ct_attrs row = { .shape = { .ndim = 2, .d0 = 1, .d1 = ct_desc_numel(&d) } },
                       one = { .shape = { .ndim = 1, .d0 = 1 } };
        ct_val in[2];
        char name[16];
        snprintf(name, sizeof name, "r.%d", i);
        if (spec.frames == 1) ck_assert(d.dim[0] == 2 && d.dim[1] == 8 && d.dim[2] == 16);
        else ck_assert(d.dim[0] == 2 && d.dim[1] == 2 && d.dim[2] == spec.classes);
        MUST(ct_graph_input(t->g, name, ct_desc2(dtype, 1, row.shape.d1), &in[1]));
        MUST(ct_graph_node(t->g, CT_OP_RESHAPE, &row, "row", 1, &out[i], 1, 1, &in[0]));
        MUST(ct_graph_node(t->g, CT_OP_LINEAR, NULL, "product", 2, in, 1, 1, &term[i]));
        MUST(ct_graph_node(t->g, CT_OP_RESHAPE, &one, "term", 1, &term[i], 1, 1, &term[i]));
        sum.weights.w[i] = 1;
    }
    MUST(ct_graph_node(t->g, CT_OP_WEIGHTED_SUM, &sum, "loss", (int)sum.weights.n, term, 1, 1, &t->loss));
    ct_graph_keep(t->g, t->loss);
}

/* Of every eleventh parameter, and of all of the neck's own. */
START_TEST(finite_differences)
{
    test_net net;
    graph_run r;
    ct_layout layout;
    int seen = 0, checked = 0;
    build(&net, _i, CT_F64);
    if (_i % 2) MUST(ct_pass_fuse(net.g, NULL));
    graph_check_valid(net.g);
    test_net_backward(&net);
    MUST(ct_layout_make(net.g, &layout));
    ck_assert_int_eq(layout.train_elems, layout.param_elems); /* every parameter has a gradient */
    graph_run_open(&r, net.g, false);
    graph_run_fill(&r, 1, 1);
    graph_run_nodes(&r, 0, net.g->nnodes);
    const double loss = graph_run_get(&r, net.loss, 0);
    ck_assert(isfinite(loss));
    for (size_t v = 0; v < net.g->nvalues; v++) {
        if (!ct_graph_is_weight(net.g, (ct_val)v) || net.g->values[v].grad == CT_NOVAL) continue;
        if (seen++ % 11 != _i && strncmp(net.g->values[v].name, "fuse.", 5) != 0) continue;
        graph_check_gradient(&r, net.loss, loss, (ct_val)v, 1);
        checked++;
    }
    ck_assert_int_ge(checked, seen / 11);
    graph_run_close(&r);
    ct_graph_free(net.g);
}
END_TEST

/* In shared memory, with recomputation, and with batch norms applied again, the same bits as with a place for every
 * value. */
START_TEST(variants_agree)
{
    static const struct {
        unsigned variant;
        const char *what;
    } other[] = { { GRAPH_SHARED, "memory plan" },
                  { GRAPH_SHARED | GRAPH_RECOMPUTED, "recompute" },
                  { GRAPH_SHARED | GRAPH_RECOMPUTED | GRAPH_MERGED, "recompute in three segments" },
                  { GRAPH_SHARED | GRAPH_REAPPLIED, "norms applied again" } };
    test_net net;
    graph_step plain, step;
    int64_t planned = 0;
    build(&net, _i, CT_F32);
    graph_step_run(&net, GRAPH_FUSED, 1, &plain);
    ck_assert(isfinite(plain.loss));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        build(&net, _i, CT_F32);
        graph_step_run(&net, GRAPH_FUSED | other[i].variant, 1, &step);
        graph_steps_equal(&plain, &step, other[i].what, (uint64_t)_i);
        ck_assert_int_ge(step.act_bytes, step.lower_bound);
        if (i == 0) planned = step.act_bytes;
        else
            ck_assert_msg(step.act_bytes < planned, "%s: %s: %lld bytes, and %lld without", network[_i].name,
                          other[i].what, (long long)step.act_bytes, (long long)planned);
        graph_step_free(&step);
    }
    graph_step_free(&plain);
}
END_TEST

/* Computing in bf16 and fp16: parameters and what they are normalised by stay f32, results are near. Not very: some
 * hundred roundings to 8 bits stand one behind another, and the coarsest maps are normalised over four pixels. */
START_TEST(casts)
{
    static const ct_dtype type[] = { CT_F32, CT_BF16, CT_F16 };
    static const double near[] = { 0, 0.25, 0.03 };
    double out[3];
    for (int k = 0; k < 3; k++) {
        test_net net;
        graph_run r;
        ct_layout layout;
        double sum = 0, square = 0;
        build(&net, _i, CT_F32);
        const int norms = graph_count_op(net.g, CT_OP_BATCHNORM);
        MUST(ct_pass_fuse(net.g, NULL));
        ck_assert_int_eq(graph_count_op(net.g, CT_OP_BATCHNORM), norms);
        MUST(ct_pass_cast(net.g, type[k]));
        graph_check_valid(net.g);
        test_net_backward(&net);
        MUST(ct_layout_make(net.g, &layout));
        ck_assert_int_eq(layout.dtype, CT_F32);
        graph_run_open(&r, net.g, true);
        graph_run_fill(&r, 3, 1);
        graph_run_nodes(&r, 0, net.g->nnodes);
        for (size_t i = 0; i < r.bytes[CT_ARENA_GRAD] / sizeof(float); i++) {
            const double g = ct_load(CT_F32, r.base[CT_ARENA_GRAD], (int64_t)i);
            ck_assert(isfinite(g));
            square += g * g;
        }
        for (int i = 0; i < ct_model_outputs(&(ct_model_spec){ .name = network[_i].name }); i++) {
            char name[16];
            snprintf(name, sizeof name, "r.%d", i);
            const ct_val v = ct_graph_find(net.g, name);
            for (int64_t j = 0; j < ct_desc_numel(ct_graph_desc(net.g, v)); j++) sum += fabs(graph_run_get(&r, v, j));
        }
        out[k] = graph_run_get(&r, net.loss, 0) / sqrt(sum);
        ck_assert_double_gt(square, 0);
        ck_assert_msg(fabs(out[k] - out[0]) <= near[k], "%s in %s: %g, and %g in f32", network[_i].name,
                      ct_dtype_name(type[k]), out[k], out[0]);
        graph_run_close(&r);
        ct_graph_free(net.g);
    }
    ck_assert(out[1] != out[0] && out[2] != out[0]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("networks");
    TCase *t = tcase_create("numbers");
    /* under sanitizers two ways to fuse the slider's maps less: hrnet-w32 has the one, the operators' cases the other */
    const int begin = getenv("CT_QUICK") ? 2 : 0;
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, finite_differences, begin, NETWORKS);
    tcase_add_loop_test(t, variants_agree, begin, NETWORKS);
    tcase_add_loop_test(t, casts, begin, NETWORKS);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
