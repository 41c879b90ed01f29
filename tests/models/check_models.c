/* The model catalogue: parameter counts, names, geometry, messages, PyTorch's element order. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "models/models.h"
#include "models/torch_map.h"
#include "tests/ct_check.h"

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

typedef struct built {
    ct_graph *g;
    ct_val x, out[CT_MODEL_OUTPUTS], logits; /* logits: the first output */
    int64_t params, buffers;
} built;

/* Builds a model for two samples. Of models of clips x has all pictures of both. */
static ct_status build(ct_model_spec spec, bool training, built *b)
{
    *b = (built){ .logits = CT_NOVAL };
    ct_status st = ct_model_resolve(&spec);
    if (st != CT_OK) return st;
    ck_assert_int_eq(ct_graph_create(&b->g), CT_OK);
    ck_assert_int_eq(ct_graph_input(b->g, "x", ct_desc4(spec.dtype, 2 * spec.frames, spec.height, spec.width, spec.channels), &b->x),
                     CT_OK);
    st = ct_model_build(b->g, &spec, b->x, CT_NOVAL, training, b->out);
    b->logits = b->out[0];
    for (size_t i = 0; i < b->g->nvalues; i++) {
        if (!ct_graph_is_weight(b->g, (ct_val)i)) continue;
        int64_t n = ct_desc_numel(&b->g->values[i].desc);
        if (b->g->values[i].arena == CT_ARENA_PARAM) b->params += n;
        else b->buffers += n;
    }
    return st;
}

static built must_build(ct_model_spec spec, bool training)
{
    built b;
    ck_assert_msg(build(spec, training, &b) == CT_OK, "%s", ct_error_message());
    return b;
}

/* Counts of PyTorch (torchvision's for resnets); buffers without num_batches_tracked. */
START_TEST(counts)
{
    const struct {
        const char *name;
        int64_t params, buffers, width;
    } want[] = {
        { "textcnn", 19072400, 2 * (32 + 64 + 64 + 4 * 128), 144 },
        { "resnet18", 11689512, 9600, 1000 },
        { "resnet34", 21797672, 17024, 1000 },
        { "resnet50", 25557032, 53120, 1000 },
        { "resnet101", 44549160, 105344, 1000 },
        { "resnet152", 60192808, 151424, 1000 },
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        for (int training = 0; training < 2; training++) {
            built b = must_build((ct_model_spec){ .name = want[i].name, .dropout = -1 }, training != 0);
            ck_assert_int_eq(b.params, want[i].params);
            ck_assert_int_eq(b.buffers, want[i].buffers);
            const ct_desc *d = ct_graph_desc(b.g, b.logits);
            ck_assert(d->ndim == 2 && d->dim[0] == 2 && d->dim[1] == want[i].width);
            ct_graph_free(b.g);
        }
    }
    const struct {
        const char *name;
        int64_t height, width, classes, params, buffers, steps;
    } text[] = {
        { "crnn", 32, 100, 37, 8331301, 2 * (256 + 512 + 512), 26 },
        { "crnn", 47, 203, 37, 8331301, 2 * (256 + 512 + 512), 51 }, /* no parameter depends on the width */
        { "crnn-stacked", 32, 100, 37, 8724261, 2 * (256 + 512 + 512), 26 },
        { "crnn-small", 50, 200, 20, 566228, 2 * (32 + 64 + 128 + 256), 50 },
        { "crnn-small", 50, 33, 20, 566228, 2 * (32 + 64 + 128 + 256), 8 },
        { "reader", 60, 160, 37, 417797, 2 * (32 + 64 + 2 * 128 + 256 + 2 * 256), 40 },
        { "reader", 60, 163, 37, 417797, 2 * (32 + 64 + 2 * 128 + 256 + 2 * 256), 41 },
        { "reader-large", 60, 160, 37, 554501, 2 * (32 + 64 + 2 * 128 + 256 + 6 * 256), 40 },
    };
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        ct_model_spec spec = { .name = text[i].name, .height = text[i].height, .width = text[i].width, .classes = text[i].classes };
        for (int training = 0; training < 2; training++) {
            built b = must_build(spec, training != 0);
            ck_assert_int_eq(b.params, text[i].params);
            ck_assert_int_eq(b.buffers, text[i].buffers);
            const ct_desc *d = ct_graph_desc(b.g, b.logits);
            ck_assert(d->ndim == 3 && d->dim[0] == text[i].steps && d->dim[1] == 2 && d->dim[2] == text[i].classes);
            ct_graph_free(b.g);
        }
    }
    built small = must_build((ct_model_spec){ .name = "textcnn-small" }, true);
    ck_assert_int_eq(small.params, 962992);
    ct_graph_free(small.g);
}
END_TEST

/* Multiplications of the convolutions of a graph for one of its two samples. */
static int64_t multiplications(const ct_graph *g)
{
    int64_t n = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].op != CT_OP_CONV2D) continue;
        const ct_desc *w = ct_graph_desc(g, g->nodes[i].in[1]);
        n += ct_desc_numel(ct_graph_desc(g, g->nodes[i].out[0])) * w->dim[1] * w->dim[2] * w->dim[3];
    }
    return n / 2;
}

/* Two points in a picture with a mask: counts of PyTorch, and what a picture costs. */
START_TEST(points)
{
    static const struct {
        const char *name;
        ct_fuse fuse;
        int64_t height, width, params, macs;
    } want[] = {
        { "slider", CT_FUSE_WEIGHTED, 256, 512, 3284846, 5818937344 },
        { "slider", CT_FUSE_ADD, 256, 512, 3284846 - 3 * 2, 5818937344 },
        { "slider", CT_FUSE_ATTENTION, 256, 512, 3284846 - 3 * 2 + 3 * (256 * 32 + 32 + 32 * 256 + 256), 5818986496 },
        { "hrnet-w32", CT_FUSE_WEIGHTED, 256, 512, 30255630, 24720703488 },
        { "hrnet-w48", CT_FUSE_WEIGHTED, 256, 512, 66305934, 46498447360 },
        { "slider-small", CT_FUSE_ATTENTION, 128, 256, 929072, 252912640 },
    };
    static const int64_t channels[] = { 1, 1, 4, 2 };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const ct_model_info *m = ct_model_find(want[i].name);
        ct_model_spec spec = { .name = want[i].name };
        if (want[i].fuse != m->fuse) spec.fuse = want[i].fuse;
        built b = must_build(spec, true);
        ck_assert(m->mask && m->channels == 4);
        ck_assert_int_eq(ct_graph_desc(b.g, b.x)->dim[1], want[i].height);
        ck_assert_int_eq(ct_graph_desc(b.g, b.x)->dim[2], want[i].width);
        ck_assert_int_eq(b.params, want[i].params);
        ck_assert_int_eq(multiplications(b.g), want[i].macs);
        ck_assert_int_eq(ct_model_outputs(&spec), 4);
        for (int k = 0; k < 4; k++) {
            const ct_desc d = ct_desc4(CT_F32, 2, want[i].height / 4, want[i].width / 4, channels[k]);
            ck_assert_msg(ct_desc_equal(ct_graph_desc(b.g, b.out[k]), &d), "%s: %s", want[i].name, m->output[k]);
        }
        ct_graph_free(b.g);
    }
}
END_TEST

static const ct_value *weight(const built *b, const char *name)
{
    const ct_val v = ct_graph_find(b->g, name);
    ck_assert_msg(v != CT_NOVAL, "there is no %s", name);
    return &b->g->values[v];
}

/* Clips: counts of PyTorch; five scores per time step and sample, of which there are as many as frames, rounded up to
 * fours, over four. */
START_TEST(clips)
{
    static const struct {
        const char *name;
        int64_t frames, height, width, params, buffers;
    } want[] = {
        { "tfnet", 13, 224, 224, 73274003, 2 * (17024 / 2 + 4 * 1024) },
        { "tfnet", 20, 112, 80, 73274003, 2 * (17024 / 2 + 4 * 1024) }, /* no parameter depends on the sizes */
        { "tfnet-small", 29, 64, 64, 3967367, 2 * (17024 / 8 + 4 * 256) },
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ct_model_spec spec = { .name = want[i].name, .height = want[i].height, .width = want[i].width };
        const ct_clip_rule *rule = ct_model_clip(&spec);
        ck_assert_ptr_nonnull(rule);
        ct_model_set_length(&spec, ct_clip_padded(rule, want[i].frames));
        built b = must_build(spec, true);
        const int64_t steps = (want[i].frames + 3) / 4;
        ck_assert_int_eq(ct_model_steps(&spec, spec.frames), steps);
        ck_assert_int_eq(b.params, want[i].params);
        ck_assert_int_eq(b.buffers, want[i].buffers);
        ck_assert_int_eq(ct_model_outputs(&spec), 5);
        for (int k = 0; k < 5; k++) {
            const ct_desc d = { CT_F32, 3, { steps, 2, ct_model_find(want[i].name)->classes } };
            ck_assert(ct_desc_equal(ct_graph_desc(b.g, b.out[k]), &d));
        }
        ct_graph_free(b.g);
    }
    for (int64_t pictures = 1; pictures < 40; pictures++) { /* what torch's layers leave of so many pictures */
        ct_model_spec spec = { .name = "tfnet-small", .frames = pictures, .height = 16, .width = 16, .hidden = 8 };
        const int64_t first = pictures >= 5 ? (pictures - 4) / 2 : 0, steps = first >= 5 ? (first - 4) / 2 : 0;
        built b = { .g = NULL };
        ck_assert_int_eq(ct_model_steps(&spec, pictures), steps);
        if (steps < 1) {
            says(build(spec, true, &b), CT_ECONFIG, "too short for one time step");
            continue;
        }
        b = must_build(spec, true);
        ck_assert_int_eq(ct_graph_desc(b.g, b.logits)->dim[0], steps);
        ct_graph_free(b.g);
    }
    built b = { .g = NULL };
    says(build((ct_model_spec){ .name = "tfnet", .hidden = 9, .frames = 20 }, true, &b), CT_ECONFIG, "must be even");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "textcnn", .frames = 20 }, true, &b), CT_ECONFIG, "looks at one picture");
}
END_TEST

/* A parameter that torch has as [I,O]. */
START_TEST(transposed)
{
    built b = must_build((ct_model_spec){ .name = "tfnet-small", .classes = 3, .hidden = 4, .frames = 20 }, true);
    const ct_value *w = weight(&b, "c5.weight");
    const ct_desc d = ct_torch_desc(w), want = ct_desc2(CT_F32, 4, 3);
    float theirs[12], ours[12], back[12];
    ck_assert(w->desc.dim[0] == 3 && w->desc.dim[1] == 4 && ct_desc_equal(&d, &want));
    for (int i = 0; i < 12; i++) theirs[i] = (float)i;
    ct_from_torch(w, sizeof(float), theirs, ours);
    ct_to_torch(w, sizeof(float), ours, back);
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < 4; i++) ck_assert(ours[o * 4 + i] == (float)(i * 3 + o));
    ck_assert_mem_eq(theirs, back, sizeof theirs);
    ct_graph_free(b.g);
}
END_TEST

/* How they start: filters as kaiming_normal(fan_out), whatever the groups, biases at 0; but the heads' last layers
 * nearly flat, and a heatmap at
 * 0.1, or thousands of empty cells would make the first loss. */
START_TEST(starts)
{
    static const struct {
        const char *model, *name;
        ct_init_kind kind;
        double bound;
    } want[] = {
        { "slider", "stem.0.conv.weight", CT_INIT_NORMAL, 2.0 / (32 * 9) },
        { "slider", "s3_in.0.conv.weight", CT_INIT_NORMAL, 2.0 / (64 * 9) }, /* depthwise */
        { "slider", "s4_ex.paths.0_3.conv.weight", CT_INIT_NORMAL, 2.0 / 32 },
        { "slider", "s4_ex.paths.0_3.bn.weight", CT_INIT_ONE, 0 },
        { "slider", "fuse.2.w", CT_INIT_ONE, 0 },
        { "slider", "heat_gap.pre.conv.bias", CT_INIT_ZERO, 0 },
        { "slider", "heat_gap.out.weight", CT_INIT_NORMAL, 1e-6 },
        { "slider", "heat_piece.out.bias", CT_INIT_CONSTANT, -2.19 },
        { "slider", "offset.out.bias", CT_INIT_CONSTANT, 0 },
        { "slider-small", "heat_gap.out.bias", CT_INIT_CONSTANT, -2.19 },
        { "slider-small", "fuse.0.fc2.bias", CT_INIT_ZERO, 0 },
        { "slider-small", "match.gate.bias", CT_INIT_ZERO, 0 },
        { "slider-small", "match.sought.conv.weight", CT_INIT_NORMAL, 2.0 / (64 * 3) },
        { "hrnet-w48", "angle_head.out.weight", CT_INIT_NORMAL, 1e-6 },
        { "hrnet-w48", "stage4.2.branches.3.3.conv2.weight", CT_INIT_NORMAL, 2.0 / (384 * 9) },
        { "tfnet", "layer3.2.conv1.weight", CT_INIT_NORMAL, 2.0 / (256 * 9) },
        { "tfnet", "mam1.convs.3.bias", CT_INIT_UNIFORM, 0.072168783648703 }, /* 1/sqrt(3*64) */
        { "tfnet", "tconv_b.conv2.weight", CT_INIT_UNIFORM, 0.013975424859374 }, /* 1/sqrt(5*1024) */
        { "tfnet", "lstm_a.weight_ih_l1_reverse", CT_INIT_UNIFORM, 0.044194173824159 }, /* 1/sqrt(512) */
        { "tfnet", "c3.weight", CT_INIT_UNIFORM, 0.051411786646327 }, /* sqrt 2 * sqrt(6/(1024+3516)) */
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        built b = must_build((ct_model_spec){ .name = want[i].model }, true);
        const ct_init init = weight(&b, want[i].name)->init;
        const double bound = init.kind == CT_INIT_NORMAL ? init.bound * init.bound : init.bound;
        ck_assert_msg(init.kind == want[i].kind && fabs(bound - want[i].bound) <= 1e-12, "%s: %s", want[i].model,
                      want[i].name);
        ct_graph_free(b.g);
    }
}
END_TEST

/* A 1x1 convolution works on the small map, the batch norm behind it on the large one. */
START_TEST(small_before_large)
{
    built b = must_build((ct_model_spec){ .name = "slider" }, true);
    int seen = 0;
    for (size_t i = 0; i < b.g->nnodes; i++) {
        const ct_node *n = &b.g->nodes[i];
        if (n->op != CT_OP_UPSAMPLE_BILINEAR || strstr(n->name, ".paths.") == NULL) continue;
        const ct_node *before = &b.g->nodes[b.g->values[n->in[0]].producer];
        ck_assert_int_eq(before->op, CT_OP_CONV2D);
        for (size_t j = i; j < b.g->nnodes; j++)
            if (b.g->nodes[j].in[0] == n->out[0]) ck_assert_int_eq(b.g->nodes[j].op, CT_OP_BATCHNORM);
        seen++;
    }
    ck_assert_int_eq(seen, 1 + 3 + 6);
    ct_graph_free(b.g);
}
END_TEST

/* What can be imported of a network trained for something else is everything but the neck and the heads. */
START_TEST(trunks)
{
    static const char *const behind[] = { "lat", "fuse", "fpn_sm", "heat_gap", "heat_piece", "offset", "angle_head",
                                         "mam0", "mam1", "mam2", "mam3", "tconv_a", "tconv_b", "lstm_a", "lstm_b", "c1",
                                         "c3", "c5" };
    for (size_t m = 0; ct_model_at(m); m++) {
        const ct_model_info *row = ct_model_at(m);
        if (!row->trunk) continue;
        built b = must_build((ct_model_spec){ .name = row->name, .width_mult = 0.125 }, true);
        int in = 0, out = 0;
        for (size_t i = 0; i < b.g->nvalues; i++) {
            if (!ct_graph_is_weight(b.g, (ct_val)i)) continue;
            const char *name = b.g->values[i].name;
            bool head = false, trunk = false;
            for (size_t k = 0; k < sizeof behind / sizeof behind[0]; k++)
                head = head || ct_name_matches(behind[k], name);
            char words[160], *save = NULL;
            snprintf(words, sizeof words, "%s", row->trunk);
            for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
                trunk = trunk || ct_name_matches(w, name);
            ck_assert_msg(head != trunk, "%s: %s", row->name, name);
            in += trunk;
            out += head;
        }
        ck_assert(in >= 36 * 5 && out > 40 && row->others);
        if (row->stem) ck_assert_int_eq(weight(&b, row->stem)->desc.dim[3], row->channels);
        else ck_assert(!row->mask);
        ct_graph_free(b.g);
    }
}
END_TEST

/* Training and evaluation graphs have the same weights under the same names, whatever the batch and geometry of the
 * head. */
START_TEST(same_weights)
{
    const char *const names[] = { "textcnn",  "textcnn-small", "crnn",     "crnn-stacked", "crnn-small", "reader", "reader-large", "resnet18",
                                  "resnet34", "resnet50",      "resnet101", "resnet152", "slider",   "slider-small", "hrnet-w32",
                                  "tfnet",    "tfnet-small" };
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        const bool maps = ct_model_find(names[m])->mask, clip = ct_model_find(names[m])->clip.multiple > 0;
        const bool steps = clip || ct_model_find(names[m])->head == CT_HEAD_CTC;
        ct_model_spec spec = { .name = names[m],
                               .height = maps ? 64 : steps ? 40 : 50,
                               .width = maps ? 96 : clip ? 40 : 200,
                               .channels = maps ? 2 : 1,
                               .positions = 5,
                               .classes = 19,
                               .width_mult = 0.25 };
        built t = must_build(spec, true), e = must_build(spec, false);
        const ct_desc *d = ct_graph_desc(t.g, t.logits);
        ck_assert_int_eq(d->dim[d->ndim - 1], maps ? 1 : steps ? 19 : 95);
        ck_assert_int_eq(t.params, e.params);
        ck_assert_int_eq(t.buffers, e.buffers);
        for (size_t i = 0; i < t.g->nvalues; i++) {
            if (!ct_graph_is_weight(t.g, (ct_val)i)) continue;
            const ct_value *v = &t.g->values[i];
            ct_val w = ct_graph_find(e.g, v->name);
            ck_assert_msg(w != CT_NOVAL && ct_desc_equal(&v->desc, ct_graph_desc(e.g, w)), "%s: %s", names[m], v->name);
        }
        ck_assert_msg(t.g->ncheckpoints >= 5, "%s: %zu checkpoints", names[m], t.g->ncheckpoints);
        ct_graph_free(t.g);
        ct_graph_free(e.g);
    }
}
END_TEST

/* Time steps: what the graph of each width has, never fewer for a wider image, and none where it cannot be built. */
START_TEST(time_steps)
{
    const char *const names[] = { "crnn", "crnn-stacked", "crnn-small", "reader", "reader-large" };
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        int64_t before = 0;
        for (int64_t width = 1; width < 70; width++) {
            ct_model_spec spec = { .name = names[m], .height = 32, .width = width, .width_mult = 0.125, .hidden = 8 };
            int64_t steps = ct_model_steps(&spec, width);
            built b = { .g = NULL };
            ck_assert_int_ge(steps, before);
            before = steps;
            if (steps < 1) {
                says(build(spec, true, &b), CT_ECONFIG, "too narrow for one time step");
                continue;
            }
            b = must_build(spec, true);
            ck_assert_int_eq(ct_graph_desc(b.g, b.logits)->dim[0], steps);
            ct_graph_free(b.g);
        }
        ck_assert_int_gt(before, 15);
    }
    ct_model_spec fixed = { .name = "textcnn" }, unknown = { .name = "x" };
    ck_assert_int_eq(ct_model_steps(&fixed, 160), 0);
    ck_assert_int_eq(ct_model_steps(&unknown, 160), 0);
    ck_assert(ct_model_head(&fixed) == CT_HEAD_POSITIONS && ct_model_head(&unknown) == CT_HEAD_POSITIONS);
}
END_TEST

/* x [N=2,T=9,C=3] through kernels of 4 with padding 1: a convolution of height 1 and the weights of torch.nn.Conv1d. */
START_TEST(conv1d)
{
    ct_graph *g;
    ct_val x, y;
    ck_assert_int_eq(ct_graph_create(&g), CT_OK);
    ck_assert_int_eq(ct_graph_input(g, "x", (ct_desc){ CT_F32, 3, { 2, 9, 3 } }, &x), CT_OK);
    ck_assert_msg(ct_layer_conv1d(g, "c", x, 5, 4, 1, true, &y) == CT_OK, "%s", ct_error_message());
    const ct_desc want = { CT_F32, 3, { 2, 8, 5 } };
    ck_assert(ct_desc_equal(ct_graph_desc(g, y), &want));
    const ct_value *w = &g->values[ct_graph_find(g, "c.weight")];
    ct_desc d = ct_torch_desc(w);
    ck_assert(d.ndim == 3 && d.dim[0] == 5 && d.dim[1] == 3 && d.dim[2] == 4);
    float theirs[60], ours[60];
    for (int i = 0; i < 60; i++) theirs[i] = (float)i;
    ct_from_torch(w, sizeof(float), theirs, ours);
    for (int k = 0; k < 5; k++)
        for (int s = 0; s < 4; s++)
            for (int c = 0; c < 3; c++) ck_assert(ours[(k * 4 + s) * 3 + c] == (float)((k * 3 + c) * 4 + s));
    says(ct_layer_conv1d(g, "d", ct_graph_find(g, "c"), 5, 4, 1, true, &y), CT_EINVAL, "is not [N,T,C]");
    says(ct_layer_lstm(g, "l", ct_graph_find(g, "c"), CT_NOVAL, 4, 1, true, &y), CT_EINVAL, "is not [T,N,I]");
    ct_graph_free(g);
}
END_TEST

START_TEST(torch_names)
{
    const struct {
        const char *model, *name;
        int64_t d[4];
        bool decay;
        ct_param_layout layout;
    } want[] = {
        { "textcnn", "features.0.weight", { 32, 3, 3, 1 }, true, CT_PARAM_FILTER },
        { "textcnn", "features.0.bias", { 32 }, false, CT_PARAM_PLAIN },
        { "textcnn", "features.4.weight", { 64, 3, 3, 32 }, true, CT_PARAM_FILTER },
        { "textcnn", "features.22.weight", { 128 }, false, CT_PARAM_PLAIN },
        { "textcnn", "features.22.running_var", { 128 }, false, CT_PARAM_PLAIN },
        { "textcnn", "fc1.weight", { 1024, 17920 }, true, CT_PARAM_FLATTEN },
        { "textcnn", "fc2.bias", { 144 }, false, CT_PARAM_PLAIN },
        { "resnet50", "conv1.weight", { 64, 7, 7, 3 }, true, CT_PARAM_FILTER },
        { "resnet50", "layer1.0.downsample.0.weight", { 256, 1, 1, 64 }, true, CT_PARAM_FILTER },
        { "resnet50", "layer3.5.conv2.weight", { 256, 3, 3, 256 }, true, CT_PARAM_FILTER },
        { "resnet101", "layer3.22.conv3.weight", { 1024, 1, 1, 256 }, true, CT_PARAM_FILTER },
        { "resnet152", "layer2.7.bn2.running_var", { 128 }, false, CT_PARAM_PLAIN },
        { "resnet152", "layer3.35.conv2.weight", { 256, 3, 3, 256 }, true, CT_PARAM_FILTER },
        { "resnet50", "layer4.2.bn3.bias", { 2048 }, false, CT_PARAM_PLAIN },
        { "resnet50", "fc.weight", { 1000, 2048 }, true, CT_PARAM_PLAIN },
        { "resnet18", "layer2.0.downsample.1.running_mean", { 128 }, false, CT_PARAM_PLAIN },
        { "crnn", "cnn.0.weight", { 64, 3, 3, 1 }, true, CT_PARAM_FILTER },
        { "crnn", "cnn.7.running_mean", { 256 }, false, CT_PARAM_PLAIN },
        { "crnn", "cnn.18.weight", { 512, 2, 2, 512 }, true, CT_PARAM_FILTER },
        { "crnn", "rnn1.weight_ih_l0", { 1024, 512 }, true, CT_PARAM_PLAIN },
        { "crnn", "rnn1.weight_hh_l0_reverse", { 1024, 256 }, true, CT_PARAM_PLAIN },
        { "crnn", "rnn2.bias_hh_l0_reverse", { 1024 }, false, CT_PARAM_PLAIN },
        { "crnn", "emb.weight", { 256, 512 }, true, CT_PARAM_PLAIN },
        { "reader", "along.0.depth.conv.weight", { 256, 1, 7, 1 }, true, CT_PARAM_FILTER },
        { "crnn-stacked", "rnn.weight_ih_l1_reverse", { 1024, 512 }, true, CT_PARAM_PLAIN },
        { "slider", "stem.0.conv.weight", { 32, 3, 3, 4 }, true, CT_PARAM_FILTER },
        { "slider", "s2_in.1.0.conv.weight", { 32, 3, 3, 1 }, true, CT_PARAM_FILTER },
        { "slider", "s3_lb.2.1.body.1.bn.running_var", { 256 }, false, CT_PARAM_PLAIN },
        { "slider", "s4_ex.paths.3_0.2.1.conv.weight", { 256, 1, 1, 32 }, true, CT_PARAM_FILTER },
        { "slider", "s4_ex.smooth.3.conv.weight", { 256, 3, 3, 256 }, true, CT_PARAM_FILTER },
        { "slider", "lat.2.bn.bias", { 128 }, false, CT_PARAM_PLAIN },
        { "slider", "fuse.1.w", { 2 }, false, CT_PARAM_PLAIN },
        { "slider", "fpn_sm.3.conv.weight", { 128, 3, 3, 128 }, true, CT_PARAM_FILTER },
        { "slider", "offset.out.weight", { 4, 1, 1, 64 }, true, CT_PARAM_FILTER },
        { "slider-small", "layer4.0.downsample.0.weight", { 128, 1, 1, 96 }, true, CT_PARAM_FILTER },
        { "slider-small", "fuse.1.fc1.weight", { 16, 1, 1, 128 }, true, CT_PARAM_FILTER },
        { "slider-small", "fuse.2.fc1.weight", { 8, 1, 1, 64 }, true, CT_PARAM_FILTER },
        { "slider-small", "match.sought.conv.weight", { 64, 3, 1, 64 }, true, CT_PARAM_FILTER },
        { "slider-small", "fine.conv.weight", { 32, 1, 1, 64 }, true, CT_PARAM_FILTER },
        { "tfnet", "layer4.0.downsample.0.weight", { 512, 1, 1, 256 }, true, CT_PARAM_FILTER },
        { "tfnet", "mam0.convs.3.weight", { 3, 3, 1, 16 }, true, CT_PARAM_FILTER },
        { "tfnet", "tconv_a.conv1.weight", { 1024, 1, 5, 512 }, true, CT_PARAM_FILTER1D },
        { "tfnet", "tconv_b.bn2.running_mean", { 1024 }, false, CT_PARAM_PLAIN },
        { "tfnet", "lstm_b.weight_hh_l1_reverse", { 2048, 512 }, true, CT_PARAM_PLAIN },
        { "tfnet", "c1.weight", { 3516, 1024 }, true, CT_PARAM_TRANSPOSED },
        { "tfnet-small", "mam0.convs.1.weight", { 4, 3, 1, 4 }, true, CT_PARAM_FILTER },
        { "hrnet-w32", "transition1.1.0.0.weight", { 64, 3, 3, 256 }, true, CT_PARAM_FILTER },
        { "hrnet-w32", "stage3.3.fuse_layers.0.2.1.running_mean", { 32 }, false, CT_PARAM_PLAIN },
        { "hrnet-w32", "stage4.2.fuse_layers.3.0.2.0.weight", { 256, 3, 3, 32 }, true, CT_PARAM_FILTER },
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        built b = must_build((ct_model_spec){ .name = want[i].model, .dropout = -1 }, true);
        ct_val v = ct_graph_find(b.g, want[i].name);
        ck_assert_msg(v != CT_NOVAL, "%s has no %s", want[i].model, want[i].name);
        const ct_value *x = &b.g->values[v];
        for (int k = 0; k < 4; k++)
            ck_assert_msg((k < x->desc.ndim ? x->desc.dim[k] : 0) == want[i].d[k], "%s dimension %d", want[i].name, k);
        ck_assert_msg(x->decay == want[i].decay && x->layout == want[i].layout, "%s", want[i].name);
        if (x->layout == CT_PARAM_FLATTEN) ck_assert(x->hwc[0] == 7 && x->hwc[1] == 20 && x->hwc[2] == 128);
        ct_graph_free(b.g);
    }
}
END_TEST

/* 1.5 in a bottleneck: the 3x3 convolution has the stride. */
START_TEST(resnet_strides)
{
    built b = must_build((ct_model_spec){ .name = "resnet50" }, true);
    for (size_t i = 0; i < b.g->nnodes; i++) {
        const ct_node *n = &b.g->nodes[i];
        if (n->op != CT_OP_CONV2D) continue;
        bool second = strstr(n->name, ".0.conv2") != NULL && strncmp(n->name, "layer1", 6) != 0;
        bool side = strstr(n->name, "downsample") != NULL && strncmp(n->name, "layer1", 6) != 0;
        bool stem = strcmp(n->name, "conv1") == 0;
        ck_assert_msg(n->attrs.conv.stride_h == (second || side || stem ? 2 : 1), "%s", n->name);
    }
    ct_graph_free(b.g);
}
END_TEST

START_TEST(width_multiplier)
{
    /* max(8, round(c*m/8)*8), ties to even */
    built b = must_build((ct_model_spec){ .name = "textcnn", .width_mult = 0.25 }, true);
    ck_assert_int_eq(ct_graph_desc(b.g, ct_graph_find(b.g, "features.0.bias"))->dim[0], 8);
    ck_assert_int_eq(ct_graph_desc(b.g, ct_graph_find(b.g, "features.4.bias"))->dim[0], 16);
    ck_assert_int_eq(ct_graph_desc(b.g, ct_graph_find(b.g, "features.11.bias"))->dim[0], 32);
    ct_graph_free(b.g);
    b = must_build((ct_model_spec){ .name = "textcnn", .width_mult = 0.3125 }, true); /* 64*0.3125/8 = 2.5 -> 2 */
    ck_assert_int_eq(ct_graph_desc(b.g, ct_graph_find(b.g, "features.4.bias"))->dim[0], 16);
    ct_graph_free(b.g);
    b = must_build((ct_model_spec){ .name = "resnet50", .width_mult = 0.125 }, true);
    ck_assert_int_eq(ct_graph_desc(b.g, ct_graph_find(b.g, "layer4.0.conv3.weight"))->dim[0], 256);
    ct_graph_free(b.g);
}
END_TEST

START_TEST(messages)
{
    built b;
    says(build((ct_model_spec){ .name = "textcn" }, true, &b), CT_ECONFIG,
         "there is no model 'textcn'; did you mean 'textcnn'?");
    says(build((ct_model_spec){ .name = "resnet5" }, true, &b), CT_ECONFIG, "did you mean 'resnet50'?");
    says(build((ct_model_spec){ .name = NULL }, true, &b), CT_ECONFIG, "models: textcnn, textcnn-small, crnn, crnn-stacked, crnn-small, reader, reader-large, resnet18");
    says(build((ct_model_spec){ .name = "textcnn", .height = 6, .width = 160 }, true, &b), CT_ECONFIG,
         "model textcnn at 6x160x1: layer 'features.20': the image is too small: 1x40");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "textcnn-small", .height = 7, .width = 90 }, false, &b), CT_ECONFIG,
         "model textcnn-small at 7x90x1: layer 'features.");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "crnn", .height = 60 }, true, &b), CT_ECONFIG,
         "model crnn at 60x100x1: image height: must be 32 to 47 pixels");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "crnn-small", .classes = 1 }, true, &b), CT_ECONFIG, "a blank and at least one character");
    says(build((ct_model_spec){ .name = "crnn-small", .height = 7 }, true, &b), CT_ECONFIG, "the image is too small");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "crnn", .fuse = CT_FUSE_ADD }, true, &b), CT_ECONFIG,
         "model crnn: has no neck that joins maps");
    says(build((ct_model_spec){ .name = "slider", .height = 240 }, true, &b), CT_ECONFIG,
         "model slider at 240x512x4: image height and width: must be multiples of 32 pixels");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "hrnet-w32", .channels = 1 }, true, &b), CT_ECONFIG,
         "the last is the mask of the picture");
    ct_graph_free(b.g);
    says(build((ct_model_spec){ .name = "textcnn", .dropout = 1 }, true, &b), CT_ECONFIG, "dropout 1 is not below 1");
    says(build((ct_model_spec){ .name = "textcnn", .width_mult = 100 }, true, &b), CT_ECONFIG, "width multiplier 100");
    says(build((ct_model_spec){ .name = "textcnn", .dtype = CT_BF16 }, true, &b), CT_EINVAL,
         "parameters are f32 or f64");
    says(build((ct_model_spec){ .name = "textcnn", .height = 1 << 20 }, true, &b), CT_ECONFIG, "image height");
}
END_TEST

START_TEST(defaults)
{
    ct_model_spec s = { .name = "textcnn", .dropout = -1 };
    ck_assert_int_eq(ct_model_resolve(&s), CT_OK);
    ck_assert(s.height == 60 && s.width == 160 && s.channels == 1 && s.positions == 4 && s.classes == 36 &&
              s.hidden == 1024);
    ck_assert(s.width_mult == 1 && s.dropout == 0.5);
    s = (ct_model_spec){ .name = "textcnn" };
    ck_assert_int_eq(ct_model_resolve(&s), CT_OK);
    ck_assert(s.dropout == 0); /* 0 is a choice */
    built with = must_build((ct_model_spec){ .name = "textcnn", .dropout = 0.5 }, true);
    built without = must_build((ct_model_spec){ .name = "textcnn" }, true);
    built eval = must_build((ct_model_spec){ .name = "textcnn", .dropout = 0.5 }, false);
    ck_assert_int_ne(ct_graph_find(with.g, "drop.mask"), CT_NOVAL);
    ck_assert_int_eq(ct_graph_find(without.g, "drop.mask"), CT_NOVAL);
    ck_assert_int_eq(ct_graph_find(eval.g, "drop.mask"), CT_NOVAL);
    ct_graph_free(with.g);
    ct_graph_free(without.g);
    ct_graph_free(eval.g);
    size_t n = 0;
    for (const ct_model_info *m; (m = ct_model_at(n)); n++) {
        ck_assert_ptr_eq(ct_model_find(m->name), m);
        const ct_model_spec spec = { .name = m->name };
        ck_assert_int_ge(ct_model_outputs(&spec), 1);
        ck_assert(ct_model_elastic(&spec) == (m->steps != NULL));
    }
    ck_assert_uint_eq(n, 18);
}
END_TEST

START_TEST(element_order)
{
    /* a filter [K=2, R=1, S=3, C=2] holding its PyTorch index k*6 + c*3 + s */
    ct_value v = { .desc = ct_desc4(CT_F32, 2, 1, 3, 2), .layout = CT_PARAM_FILTER };
    float theirs[12], ours[12], back[12];
    for (int i = 0; i < 12; i++) theirs[i] = (float)i;
    ct_from_torch(&v, sizeof(float), theirs, ours);
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < 3; s++)
            for (int c = 0; c < 2; c++) ck_assert(ours[(k * 3 + s) * 2 + c] == (float)(k * 6 + c * 3 + s));
    ct_to_torch(&v, sizeof(float), ours, back);
    ck_assert_int_eq(memcmp(theirs, back, sizeof back), 0);
    ct_desc d = ct_torch_desc(&v);
    ck_assert(d.dim[0] == 2 && d.dim[1] == 2 && d.dim[2] == 1 && d.dim[3] == 3);
    /* a linear layer behind a flatten of [H=1, W=3, C=2] */
    v = (ct_value){ .desc = ct_desc2(CT_F64, 2, 6), .layout = CT_PARAM_FLATTEN, .hwc = { 1, 3, 2 } };
    double theirs64[12], ours64[12], back64[12];
    for (int i = 0; i < 12; i++) theirs64[i] = i;
    ct_from_torch(&v, sizeof(double), theirs64, ours64);
    for (int o = 0; o < 2; o++)
        for (int w = 0; w < 3; w++)
            for (int c = 0; c < 2; c++) ck_assert(ours64[o * 6 + w * 2 + c] == o * 6 + c * 3 + w);
    ct_to_torch(&v, sizeof(double), ours64, back64);
    ck_assert_int_eq(memcmp(theirs64, back64, sizeof back64), 0);
    v = (ct_value){ .desc = ct_desc1(CT_F32, 12) };
    ct_from_torch(&v, sizeof(float), theirs, ours);
    ck_assert_int_eq(memcmp(theirs, ours, sizeof ours), 0);
}
END_TEST

START_TEST(out_of_memory)
{
    int failures = 0;
    for (long n = 0;; n += n < 20 ? 1 : 5) {
        ct_graph *g = NULL;
        ct_val x, logits;
        ct_model_spec spec = { .name = "resnet18", .width_mult = 0.125, .height = 32, .width = 32 };
        ck_assert_int_eq(ct_model_resolve(&spec), CT_OK);
        ct_alloc_fail_after(n);
        ct_status st = ct_graph_create(&g);
        if (st == CT_OK) st = ct_graph_input(g, "x", ct_desc4(CT_F32, 2, 32, 32, 3), &x);
        if (st == CT_OK) st = ct_model_build(g, &spec, x, CT_NOVAL, true, &logits);
        ct_alloc_fail_after(-1);
        ct_graph_free(g);
        if (st == CT_OK) break;
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        failures++;
    }
    ck_assert_int_gt(failures, 30);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("models");
    TCase *c = tcase_create("models");
    tcase_add_test(c, counts);
    tcase_add_test(c, points);
    tcase_add_test(c, starts);
    tcase_add_test(c, clips);
    tcase_add_test(c, transposed);
    tcase_add_test(c, small_before_large);
    tcase_add_test(c, trunks);
    tcase_add_test(c, same_weights);
    tcase_add_test(c, time_steps);
    tcase_add_test(c, conv1d);
    tcase_add_test(c, torch_names);
    tcase_add_test(c, resnet_strides);
    tcase_add_test(c, width_multiplier);
    tcase_add_test(c, messages);
    tcase_add_test(c, defaults);
    tcase_add_test(c, element_order);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
