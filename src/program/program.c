#include "config.h"

#include "program/program.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "task/track.h"

void ct_program_defaults(ct_program_spec *spec)
{
    *spec = (ct_program_spec){
        .model = { .name = "textcnn", .width_mult = 1, .dropout = -1, .dtype = CT_F32 },
        .batch = 64,
        .compute = CT_F32,
        .image = { .nmean = 3, .nstd = 3, .std = { 1, 1, 1 }, .prob = 1 },
        .loss = CT_LOSS_SOFTMAX,
        .accumulate = 1,
        .recompute = -1,
        .optimizer = CT_OPT_ADAMW,
        .optim = { .beta1 = 0.9,
                   .beta2 = 0.999,
                   .eps = 1e-8,
                   .weight_decay = 0.01,
                   .decoupled = 1,
                   .momentum = 0.9,
                   .growth = 2,
                   .backoff = 0.5,
                   .growth_interval = 2000,
                   .max_scale = 0x1p32 },
        .schedule = { .kind = CT_SCHED_CONSTANT, .base_lr = 1e-3, .gamma = 0.1, .t0 = 1, .t_mult = 1 },
        .loss_scale = 1,
    };
}

void ct_program_initial_state(const ct_program_spec *spec, double state[CT_STATE_COUNT])
{
    for (int i = 0; i < CT_STATE_COUNT; i++) state[i] = 0;
    state[CT_STATE_LOSS_SCALE] = spec->loss_scale > 0 ? spec->loss_scale : 1;
    state[CT_STATE_CLIP_COEF] = 1;
}

ct_arenas_needs ct_program_needs(const ct_program_spec *spec, bool train)
{
    ct_arenas_needs n = { false, false, 0, false };
    if (!train) return n;
    n.train = true;
    n.accumulate = spec->accumulate > 1;
    n.moments = spec->optimizer == CT_OPT_SGD ? 1 : 2;
    n.ema = spec->optim.decay > 0;
    return n;
}

static bool trains(ct_program_kind kind)
{
    return kind == CT_PROGRAM_STEP || kind == CT_PROGRAM_MICRO_FIRST || kind == CT_PROGRAM_MICRO_NEXT;
}

static bool has_labels(ct_program_kind kind)
{
    return trains(kind) || kind == CT_PROGRAM_EVAL;
}

static ct_status check(const ct_program_spec *s, ct_program_kind kind, const ct_graph *layout_from)
{
    if (s->batch < 1) return ct_fail(CT_EINVAL, "program: a batch of %" PRId64 " samples", s->batch);
    if (s->accumulate < 1) return ct_fail(CT_EINVAL, "program: %" PRId64 " micro-steps per update", s->accumulate);
    if (kind == CT_PROGRAM_STEP && s->accumulate != 1)
        return ct_fail(CT_EINVAL,
                       "program: %" PRId64 " micro-steps per update need micro programs and an update program",
                       s->accumulate);
    if (kind == CT_PROGRAM_UPDATE && !layout_from)
        return ct_fail(CT_EINVAL, "program: the update cannot be a model's first program");
    if (trains(kind) && s->recompute < -1)
        return ct_fail(CT_EINVAL, "program: whether to recompute has not been decided (ct_spec_settle)");
    ct_dtype c = s->compute, m = s->model.dtype;
    bool fine = m == CT_F64 ? c == CT_F64 : c == CT_F32 || c == CT_BF16 || c == CT_F16;
    if (!fine) return ct_fail(CT_EINVAL, "program: %s arithmetic on %s parameters", ct_dtype_name(c), ct_dtype_name(m));
    if ((s->loss == CT_LOSS_CTC) != (ct_model_head(&s->model) == CT_HEAD_CTC))
        return ct_fail(CT_EINVAL, "program: model %s and this loss do not go together: CTC belongs to models with time steps", s->model.name);
    if (s->src_h > 0 && s->src_w <= 0) return ct_fail(CT_EINVAL, "program: source images of width %" PRId64, s->src_w);
    if (s->src_h > 0 && s->model.channels > 3)
        return ct_fail(CT_EINVAL, "program: preprocessing has 1 to 3 channels, not %" PRId64, s->model.channels);
    return CT_OK;
}

/* ---- forward ---- */

/* Pixels and their preprocessing, or ready input: p->x is [N,H,W,C] of the model's type afterwards, until passes change it. */
static ct_status build_input(const ct_program_spec *s, bool training, ct_program *p)
{
    const ct_model_spec *m = &s->model;
    ct_graph *g = p->graph;
    if (s->src_h <= 0)
        return ct_graph_input(g, "x", ct_desc4(m->dtype, s->batch, m->height, m->width, m->channels), &p->x);
    const bool resident = training && s->resident > 0;
    const ct_desc pixels = ct_desc4(CT_U8, resident ? s->resident : s->batch, s->src_h, s->src_w, m->channels);
    ct_val src;
    CT_TRY(resident ? ct_graph_resident(g, "src", pixels, &src) : ct_graph_input(g, "src", pixels, &src));
    if (!resident) p->src = src;
    CT_TRY(ct_graph_input(g, "index", ct_desc2(CT_I32, s->batch, 3), &p->index));
    ct_attrs a = { .image = s->image };
    a.image.out_h = m->height;
    a.image.out_w = m->width;
    a.image.dtype = m->dtype;
    if (!training) a.image.augment = 0;
    ct_val in[2] = { src, p->index };
    return ct_graph_node(g, CT_OP_PREPROCESS, &a, "x", 2, in, 1, 1, &p->x);
}

/* Golden files bring the dropout mask along: it replaces the drawn one. */
static ct_status replace_mask(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].op != CT_OP_DROPOUT_MASK) continue;
        ct_val drawn = g->nodes[i].out[0];
        if (p->keep != CT_NOVAL)
            return ct_fail(CT_EINVAL, "program: one given mask, but the model has more than one dropout");
        CT_TRY(ct_graph_input(g, s->dropout_keep, g->values[drawn].desc, &p->keep));
        for (size_t j = 0; j < g->nnodes; j++)
            for (int k = 0; k < g->nodes[j].nin; k++)
                if (g->nodes[j].in[k] == drawn) g->nodes[j].in[k] = p->keep;
    }
    if (p->keep == CT_NOVAL)
        return ct_fail(CT_EINVAL, "program: a mask '%s' is given, but the model has no dropout", s->dropout_keep);
    return CT_OK; /* the drawn mask is nobody's now: the dead-node pass takes it */
}

/* What every training and evaluation counts. */
static ct_status build_sums(const ct_program_spec *s, ct_program *p, ct_val acc)
{
    const ct_attrs a = { .sums = { .samples = s->batch, .first = CT_METRIC_FIRST } };
    const ct_val in[2] = { p->loss, acc };
    return ct_graph_node(p->graph, CT_OP_BATCH_SUMS, &a, "sums", 2, in, 0, 0, NULL);
}

/* CTC: log-probabilities, which are also what programs without labels give. */
static ct_status build_head(const ct_program_spec *s, ct_program *p)
{
    if (s->loss != CT_LOSS_CTC) return CT_OK;
    return ct_graph_node(p->graph, CT_OP_LOG_SOFTMAX, NULL, "logp", 1, &p->logits, 1, 1, &p->logits);
}

/* nll [N] of each sample in *nll: the metric sums count infeasible samples by it. */
static ct_status build_ctc(const ct_program_spec *s, ct_program *p, ct_val *nll)
{
    ct_graph *g = p->graph;
    CT_TRY(ct_graph_input(g, "target", ct_desc2(CT_I32, s->batch, s->model.positions), &p->target));
    ct_val in[3] = { p->logits, p->target, p->len }, outs[3]; /* loss, nll, alpha */
    CT_TRY(ct_graph_node(g, CT_OP_CTC_LOSS, NULL, "loss", 3, in, 3, 7, outs));
    p->loss = outs[0];
    *nll = outs[1];
    return CT_OK;
}

/* Best paths and, where there are labels, the edits that separate them. */
static ct_status build_ctc_metrics(const ct_program_spec *s, ct_program *p, ct_val nll)
{
    ct_graph *g = p->graph;
    ct_val in[2] = { p->logits, p->len }, outs[2], acc;
    CT_TRY(ct_graph_node(g, CT_OP_CTC_GREEDY, NULL, "pred", 2, in, 2, 3, outs));
    p->pred = outs[0];
    p->conf = outs[1];
    if (p->loss == CT_NOVAL) return CT_OK;
    CT_TRY(ct_graph_metrics(g, &acc));
    CT_TRY(build_sums(s, p, acc));
    const ct_attrs a = { .sums = { .first = CT_TEXT_STRINGS } };
    const ct_val sums[4] = { p->pred, p->target, nll, acc };
    return ct_graph_node(g, CT_OP_EDIT_SUMS, &a, "metrics", 4, sums, 0, 0, NULL);
}

static ct_status build_loss(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    ct_attrs a = { .loss = { .positions = s->model.positions, .classes = s->model.classes } };
    CT_TRY(ct_graph_input(g, "target", ct_desc2(CT_I32, s->batch, s->model.positions), &p->target));
    ct_val in[2] = { p->logits, p->target }, outs[2];
    if (s->loss == CT_LOSS_SOFTMAX) {
        a.loss.smoothing = s->smoothing;
        CT_TRY(ct_graph_node(g, CT_OP_SOFTMAX_XENT, &a, "loss", 2, in, 2, 3, outs));
    } else {
        CT_TRY(ct_graph_node(g, CT_OP_SOFT_MARGIN, &a, "loss", 2, in, 1, 1, outs));
    }
    p->loss = outs[0];
    return CT_OK;
}

/* Predictions and, where there are labels, the sums metrics are made of. */
static ct_status build_metrics(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    ct_attrs a = { .loss = { .positions = s->model.positions, .classes = s->model.classes } };
    ct_val outs[2], acc;
    CT_TRY(ct_graph_node(g, CT_OP_ARGMAX, &a, "pred", 1, &p->logits, 2, 3, outs));
    p->pred = outs[0];
    p->conf = outs[1];
    if (p->loss == CT_NOVAL) return CT_OK;
    CT_TRY(ct_graph_metrics(g, &acc));
    CT_TRY(build_sums(s, p, acc));
    a = (ct_attrs){ .sums = { .first = CT_TEXT_STRINGS } };
    const ct_val in[3] = { p->pred, p->target, acc };
    return ct_graph_node(g, CT_OP_METRIC_SUMS, &a, "metrics", 3, in, 0, 0, NULL);
}

static ct_status build_forward(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    bool training = trains(p->kind);
    CT_TRY(build_input(s, training, p));
    bool ctc = s->loss == CT_LOSS_CTC;
    ct_val nll = CT_NOVAL;
    if (ctc) CT_TRY(ct_graph_input(g, "len", ct_desc1(CT_I32, s->batch), &p->len));
    CT_TRY(ct_model_build(g, &s->model, p->x, p->len, training, &p->logits));
    if (training && s->dropout_keep) CT_TRY(replace_mask(s, p));
    CT_TRY(build_head(s, p));
    if (has_labels(p->kind)) CT_TRY(ctc ? build_ctc(s, p, &nll) : build_loss(s, p));
    CT_TRY(ctc ? build_ctc_metrics(s, p, nll) : build_metrics(s, p));
    const ct_val kept[] = { p->logits, p->loss, p->pred, p->conf };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] != CT_NOVAL) ct_graph_keep(g, kept[i]);
    if (training) {
        ct_status st = ct_pass_freeze(g, s->freeze, s->freezes);
        if (st != CT_OK) return ct_fail_context(st, "train.freeze");
    }
    CT_TRY(ct_pass_fuse(g, NULL));
    CT_TRY(ct_pass_cast(g, s->compute));
    return ct_pass_pad(g, s->channel_multiple);
}

/* Outputs of batch norms outlast the forward pass. */
static void keep_norms(ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_BATCHNORM) ct_graph_keep(g, g->nodes[i].out[0]);
}

static ct_status build_backward(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    ct_val state, seed;
    const int64_t parts = s->accumulate * (s->members > 1 ? s->members : 1);
    ct_attrs a = { .loss = { .alpha = 1.0 / (double)parts, .dtype = (int64_t)s->model.dtype } };
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(ct_graph_state(g, &state));
    CT_TRY(ct_graph_node(g, CT_OP_LOSS_SEED, &a, "seed", 1, &state, 1, 1, &seed));
    CT_TRY(ct_autodiff(g, p->loss, seed));
    CT_TRY(ct_pass_dead(g));
    if (s->recompute >= 0)
        CT_TRY(ct_pass_recompute(g, s->recompute, NULL));
    else if (!s->keep_norms)
        CT_TRY(ct_pass_reapply(g, NULL));
    if (s->keep_norms) keep_norms(g);
    return ct_graph_node(g, CT_OP_NEXT_DRAW, NULL, "next_draw", 1, &state, 0, 0, NULL);
}

/* ---- update ---- */

static ct_status range(ct_graph *g, const char *name, ct_arena arena, const ct_layout *l, int64_t first, int64_t end,
                       ct_val *out)
{
    CT_TRY(ct_graph_range(g, name, arena, l->dtype, first, end - first, out));
    g->values[*out].range = true;
    return CT_OK;
}

/* One optimizer call over elements [first, end); `tag` makes the names of its values unique. */
static ct_status update_range(const ct_program_spec *s, ct_graph *g, const ct_layout *l, ct_arena grad, const char *tag,
                              int64_t first, int64_t end, double weight_decay, ct_val state)
{
    if (first >= end) return CT_OK;
    const struct {
        const char *what;
        ct_arena arena;
    } parts[4] = { { "p", CT_ARENA_PARAM }, { "g", grad }, { "m", CT_ARENA_OPT1 }, { "v", CT_ARENA_OPT2 } };
    bool sgd = s->optimizer == CT_OPT_SGD;
    int n = sgd ? 3 : 4;
    ct_val in[5];
    for (int i = 0; i < n; i++) {
        char *name = ct_asprintf("update.%s.%s", tag, parts[i].what);
        if (!name) return CT_ENOMEM;
        ct_status st = range(g, name, parts[i].arena, l, first, end, &in[i]);
        ct_free(name);
        if (st != CT_OK) return st;
    }
    in[n] = state;
    const ct_optim_attrs *o = &s->optim;
    ct_attrs a = { .optim = { .weight_decay = weight_decay } };
    if (sgd) {
        a.optim.momentum = o->momentum;
        a.optim.nesterov = o->nesterov;
    } else {
        a.optim.beta1 = o->beta1;
        a.optim.beta2 = o->beta2;
        a.optim.eps = o->eps;
        a.optim.decoupled = s->optimizer == CT_OPT_ADAMW;
    }
    char *name = ct_asprintf("update.%s", tag);
    if (!name) return CT_ENOMEM;
    ct_status st = ct_graph_node(g, sgd ? CT_OP_SGD : CT_OP_ADAMW, &a, name, n + 1, in, 0, 0, NULL);
    ct_free(name);
    return st;
}

static ct_status average(const ct_program_spec *s, ct_graph *g, const ct_layout *l, const char *name, ct_arena shadow,
                         ct_arena src, int64_t elems, ct_val state)
{
    if (elems == 0) return CT_OK;
    char *shadow_name = ct_asprintf("%s.shadow", name), *src_name = ct_asprintf("%s.src", name);
    ct_status st = CT_ENOMEM;
    ct_val in[3] = { CT_NOVAL, CT_NOVAL, state };
    if (!shadow_name || !src_name) goto fail;
    CT_GOTO(st, range(g, shadow_name, shadow, l, 0, elems, &in[0]));
    CT_GOTO(st, range(g, src_name, src, l, 0, elems, &in[1]));
    ct_attrs a = { .optim = { .decay = s->optim.decay, .warmup = s->optim.warmup } };
    st = ct_graph_node(g, CT_OP_EMA, &a, name, 3, in, 0, 0, NULL);
fail:
    ct_free(shadow_name);
    ct_free(src_name);
    return st;
}

/* lr, norm and clip, optimizer, averages, counters. */
static ct_status build_update(const ct_program_spec *s, ct_graph *g, const ct_layout *l, ct_arena grad)
{
    ct_val state, all;
    g->phase = CT_PHASE_UPDATE;
    CT_TRY(ct_graph_state(g, &state));
    ct_attrs schedule = { .schedule = s->schedule };
    CT_TRY(ct_graph_node(g, CT_OP_LR_SCHEDULE, &schedule, "lr", 1, &state, 0, 0, NULL));
    if (l->train_elems > 0) {
        CT_TRY(range(g, "grad_norm.g", grad, l, 0, l->train_elems, &all));
        ct_attrs norm = { .optim = { .max_norm = s->optim.max_norm } };
        ct_val in[2] = { all, state };
        CT_TRY(ct_graph_node(g, CT_OP_GRAD_NORM, &norm, "grad_norm", 2, in, 0, 0, NULL));
    }
    double wd = s->optim.weight_decay;
    if (s->decay_norm_bias || wd == 0) {
        CT_TRY(update_range(s, g, l, grad, "all", 0, l->train_elems, wd, state));
    } else {
        int64_t split = l->decay_elems < l->train_elems ? l->decay_elems : l->train_elems;
        CT_TRY(update_range(s, g, l, grad, "decay", 0, split, wd, state));
        CT_TRY(update_range(s, g, l, grad, "no_decay", split, l->train_elems, 0, state));
    }
    if (s->optim.decay > 0) {
        CT_TRY(average(s, g, l, "ema", CT_ARENA_EMA, CT_ARENA_PARAM, l->param_elems, state));
        CT_TRY(average(s, g, l, "ema_buffers", CT_ARENA_EMABUF, CT_ARENA_BUFFER, l->buffer_elems, state));
    }
    ct_attrs end = { .optim = { .dynamic = s->optim.dynamic,
                                .growth = s->optim.growth,
                                .backoff = s->optim.backoff,
                                .growth_interval = s->optim.growth_interval,
                                .max_scale = s->optim.max_scale } };
    return ct_graph_node(g, CT_OP_STEP_END, &end, "step_end", 1, &state, 0, 0, NULL);
}

/* Adds this micro-step's gradients to the sum, or starts the sum. */
static ct_status build_accumulate(ct_graph *g, const ct_layout *l, bool first)
{
    ct_val in[2];
    if (l->train_elems == 0) return CT_OK;
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(range(g, "accumulate.src", CT_ARENA_GRAD, l, 0, l->train_elems, &in[0]));
    CT_TRY(range(g, "accumulate.acc", CT_ARENA_GACC, l, 0, l->train_elems, &in[1]));
    ct_attrs a = { .scale = { .alpha = 1, .beta = first ? 0 : 1 } };
    return ct_graph_node(g, CT_OP_ACCUMULATE, &a, "accumulate", 2, in, 0, 0, NULL);
}

ct_status ct_program_build(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                           ct_layout *layout, ct_program *out)
{
    *out = (ct_program){ .kind = kind,
                         .src = CT_NOVAL,
                         .index = CT_NOVAL,
                         .x = CT_NOVAL,
                         .target = CT_NOVAL,
                         .len = CT_NOVAL,
                         .keep = CT_NOVAL,
                         .logits = CT_NOVAL,
                         .loss = CT_NOVAL,
                         .pred = CT_NOVAL,
                         .conf = CT_NOVAL };
    ct_program_spec s = *spec;
    ct_status st;
    CT_TRY(ct_model_resolve(&s.model));
    CT_TRY(check(&s, kind, layout_from));
    CT_TRY(ct_graph_create(&out->graph));
    if (kind != CT_PROGRAM_UPDATE) {
        CT_GOTO(st, build_forward(&s, out));
        if (trains(kind)) CT_GOTO(st, build_backward(&s, out));
        if (layout_from) CT_GOTO(st, ct_layout_apply(out->graph, layout_from));
        else CT_GOTO(st, ct_layout_make(out->graph, layout));
    }
    switch (kind) {
    case CT_PROGRAM_STEP: CT_GOTO(st, build_update(&s, out->graph, layout, CT_ARENA_GRAD)); break;
    case CT_PROGRAM_UPDATE: CT_GOTO(st, build_update(&s, out->graph, layout, CT_ARENA_GACC)); break;
    case CT_PROGRAM_MICRO_FIRST: CT_GOTO(st, build_accumulate(out->graph, layout, true)); break;
    case CT_PROGRAM_MICRO_NEXT: CT_GOTO(st, build_accumulate(out->graph, layout, false)); break;
    case CT_PROGRAM_EVAL:
    case CT_PROGRAM_PREDICT: break;
    }
    return CT_OK;
fail:
    ct_program_free(out);
    return st;
}

void ct_program_free(ct_program *p)
{
    if (!p) return;
    ct_graph_free(p->graph);
    p->graph = NULL;
}
