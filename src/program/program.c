#include "config.h"

#include "program/program.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "program/tree.h"
#include "program/update.h"

void ct_program_defaults(ct_program_spec *spec)
{
    *spec = (ct_program_spec){
        .model = { .name = "textcnn", .width_mult = 1, .dropout = -1, .dtype = CT_F32 },
        .batch = 64,
        .compute = CT_F32,
        .image = { .nmean = 3, .nstd = 3, .std = { 1, 1, 1 }, .prob = 1 },
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
        .muon = { .momentum = 0.95, .nesterov = true, .steps = 5, .lr_factor = 1, .match_rms = true, .first = true },
        .schedule = { .kind = CT_SCHED_CONSTANT, .base_lr = 1e-3, .gamma = 0.1, .t0 = 1, .t_mult = 1 },
        .loss_scale = 1,
    };
}

int64_t ct_program_small_side(double factor, int64_t pixels)
{
    const int64_t side = llround(factor * (double)pixels);
    return side < 1 ? 1 : side;
}

void ct_program_shrink(ct_program_spec *spec)
{
    const ct_small_spec *small = &spec->small;
    spec->model.width = ct_program_small_side(small->width, spec->model.width);
    spec->model.height = ct_program_small_side(small->height, spec->model.height);
    spec->image.shift_x *= small->width;
    spec->image.shift_y *= small->height;
    spec->image.blur *= small->width < small->height ? small->width : small->height;
}

void ct_program_initial_state(const ct_program_spec *spec, double state[CT_STATE_COUNT])
{
    for (int i = 0; i < CT_STATE_COUNT; i++) state[i] = 0;
    state[CT_STATE_LOSS_SCALE] = spec->loss_scale > 0 ? spec->loss_scale : 1;
    state[CT_STATE_CLIP_COEF] = 1;
}

/* Groups sum gradients while others are still computed. */
static bool casts_flat(const ct_program_spec *s)
{
    return s->flat_casts && s->members <= 1 && (s->compute == CT_BF16 || s->compute == CT_F16);
}

ct_arenas_needs ct_program_needs(const ct_program_spec *spec, bool train)
{
    ct_arenas_needs n = { .half = casts_flat(spec), .rows = (int)spec->parts };
    if (!train) return n;
    n.train = true;
    n.sums = spec->accumulate > 1 ? 1 : ct_tree_levels(spec->parts);
    n.means = ct_tree_levels(spec->parts);
    n.moments = spec->optimizer == CT_OPT_SGD ? 1 : 2;
    n.ema = spec->optim.decay > 0;
    return n;
}

ct_status ct_program_usual_goal(ct_program_spec *spec)
{
    const ct_task *task = ct_task_of(spec->model.name);
    spec->goal.task = task;
    return task ? task->usual(NULL, &spec->model, &spec->goal) : CT_ECONFIG;
}

static bool trains(ct_program_kind kind)
{
    return kind == CT_PROGRAM_STEP || kind == CT_PROGRAM_PART || kind == CT_PROGRAM_MICRO_FIRST ||
           kind == CT_PROGRAM_MICRO_NEXT;
}

static bool has_labels(ct_program_kind kind)
{
    return trains(kind) || kind == CT_PROGRAM_EVAL;
}

static bool has_mask(const ct_model_spec *m)
{
    const ct_model_info *info = ct_model_find(m->name);
    return info && info->mask;
}

/* Channels of a model's pictures: the mask comes from their place. */
static int64_t pixel_channels(const ct_model_spec *m) { return m->channels - (has_mask(m) ? 1 : 0); }

static ct_status check_parts(const ct_program_spec *s, ct_program_kind kind)
{
    const int64_t parts = s->parts > 1 ? s->parts : 1;
    if ((parts & (parts - 1)) != 0 || s->part < 0 || s->part >= parts)
        return ct_fail(CT_EINVAL, "program: part %" PRId64 " of %" PRId64 ", which must be a power of two", s->part,
                       parts);
    if ((kind == CT_PROGRAM_PART) == (s->part < parts - 1) && (parts == 1 || s->accumulate == 1)) return CT_OK;
    return ct_fail(CT_EINVAL, "program: the last part of a step alone has its update, and parts have no micro-steps");
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
    if (trains(kind)) CT_TRY(check_parts(s, kind));
    if (trains(kind) && s->recompute < -1)
        return ct_fail(CT_EINVAL, "program: whether to recompute has not been decided (ct_spec_settle)");
    ct_dtype c = s->compute, m = s->model.dtype;
    bool fine = m == CT_F64 ? c == CT_F64 : c == CT_F32 || c == CT_BF16 || c == CT_F16;
    if (!fine) return ct_fail(CT_EINVAL, "program: %s arithmetic on %s parameters", ct_dtype_name(c), ct_dtype_name(m));
    if (s->src_h > 0 && s->src_w <= 0) return ct_fail(CT_EINVAL, "program: source images of width %" PRId64, s->src_w);
    if (s->src_h > 0 && pixel_channels(&s->model) > CT_IMAGE_CHANNELS)
        return ct_fail(CT_EINVAL, "program: preprocessing has 1 to 3 channels, not %" PRId64,
                       pixel_channels(&s->model));
    return CT_OK;
}

/* ---- forward ---- */

static ct_status add_port(ct_program *p, const char *name, ct_port_role role, ct_val v)
{
    if (p->ports == CT_MAX_PORTS)
        return ct_fail(CT_EINTERNAL, "program: more than %d inputs and outputs", CT_MAX_PORTS);
    p->port[p->ports++] = (ct_port){ name, role, v };
    return CT_OK;
}

ct_val ct_program_port(const ct_program *p, const char *name)
{
    for (int i = 0; i < p->ports; i++)
        if (strcmp(p->port[i].name, name) == 0) return p->port[i].val;
    return CT_NOVAL;
}

ct_val ct_program_role(const ct_program *p, ct_port_role role)
{
    for (int i = 0; i < p->ports; i++)
        if (p->port[i].role == role) return p->port[i].val;
    return CT_NOVAL;
}

static ct_status add_input(ct_program *p, const char *name, ct_port_role role, ct_desc desc, ct_val *out)
{
    CT_TRY(ct_graph_input(p->graph, name, desc, out));
    return add_port(p, name, role, *out);
}

/* Pixels and their preprocessing, or ready input: *x is [N,H,W,C] of the model's type afterwards, until passes change
 * it; of clips [N*frames,H,W,C]. */
static ct_status build_input(const ct_program_spec *s, bool training, ct_program *p, ct_moves *moves, ct_val *x)
{
    const ct_model_spec *m = &s->model;
    const int64_t pictures = s->batch * m->frames;
    ct_graph *g = p->graph;
    *moves = (ct_moves){ .index = CT_NOVAL, .src_h = s->src_h, .src_w = s->src_w };
    if (s->src_h <= 0)
        return add_input(p, "x", CT_PORT_READY, ct_desc4(m->dtype, pictures, m->height, m->width, m->channels), x);
    const bool resident = training && s->resident > 0;
    const ct_desc pixels = ct_desc4(CT_U8, resident ? s->resident : pictures, s->src_h, s->src_w, pixel_channels(m));
    ct_val src, window = CT_NOVAL;
    CT_TRY(resident ? ct_graph_resident(g, "src", pixels, &src) : add_input(p, "src", CT_PORT_PIXELS, pixels, &src));
    const int64_t columns = ct_model_clip(m) ? CT_INDEX_OF_CLIPS : CT_INDEX_OF_PICTURES;
    CT_TRY(add_input(p, "index", CT_PORT_INDEX, ct_desc2(CT_I32, pictures, columns), &moves->index));
    moves->attrs = (ct_attrs){ .image = s->image };
    moves->attrs.image.out_h = m->height;
    moves->attrs.image.out_w = m->width;
    moves->attrs.image.dtype = m->dtype;
    if (!training) moves->attrs.image.augment = 0;
    if (has_mask(m))
        CT_TRY(add_input(p, "window", CT_PORT_WINDOW, ct_desc2(CT_F32, pictures, 4), &window));
    ct_val in[3] = { src, moves->index, window };
    return ct_graph_node(g, CT_OP_PREPROCESS, &moves->attrs, "x", has_mask(m) ? 3 : 2, in, 1, 1, x);
}

ct_status ct_program_pictures(const ct_program_spec *spec, int64_t pictures, ct_program *out)
{
    *out = (ct_program){ .kind = CT_PROGRAM_PREDICT };
    ct_program_spec s = *spec;
    ct_moves moves;
    ct_val x;
    ct_status st;
    if (s.src_h <= 0) return ct_fail(CT_EINVAL, "program: ready input has no pictures");
    CT_TRY(ct_model_resolve(&s.model));
    s.batch = pictures;
    s.model.frames = 1;
    s.model.dtype = CT_F32;
    s.resident = 0;
    for (int c = 0; c < CT_IMAGE_CHANNELS; c++) {
        s.image.mean[c] = 0;
        s.image.std[c] = 1;
    }
    CT_GOTO(st, ct_graph_create(&out->graph));
    CT_GOTO(st, build_input(&s, true, out, &moves, &x));
    CT_GOTO(st, add_port(out, "x", CT_PORT_SCORE, x));
    ct_graph_keep(out->graph, x);
    return CT_OK;
fail:
    ct_program_free(out);
    return st;
}

/* Golden files bring the dropout mask along: it replaces the drawn one. */
static ct_status replace_mask(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    ct_val keep = CT_NOVAL;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].op != CT_OP_DROPOUT_MASK) continue;
        ct_val drawn = g->nodes[i].out[0];
        if (keep != CT_NOVAL)
            return ct_fail(CT_EINVAL, "program: one given mask, but the model has more than one dropout");
        CT_TRY(add_input(p, s->dropout_keep, CT_PORT_MASK, g->values[drawn].desc, &keep));
        for (size_t j = 0; j < g->nnodes; j++)
            for (int k = 0; k < g->nodes[j].nin; k++)
                if (g->nodes[j].in[k] == drawn) g->nodes[j].in[k] = keep;
    }
    if (keep == CT_NOVAL)
        return ct_fail(CT_EINVAL, "program: a mask '%s' is given, but the model has no dropout", s->dropout_keep);
    return CT_OK; /* the drawn mask is nobody's now: the dead-node pass takes it */
}

/* The loss: the only term as it is, or the weighted sum of all; and what every task counts: samples, loss, batches,
 * terms. */
static ct_status build_loss(const ct_parts *parts, ct_program *p)
{
    ct_graph *g = p->graph;
    ct_val in[2 + CT_PARTS_MAX], loss, acc;
    ct_attrs sums = { .sums = { .samples = parts->batch, .first = CT_METRIC_TERMS } };
    const int n = parts->terms;
    if (n == 0)
        return ct_fail(CT_EINTERNAL, "program: task %s gives model %s no loss", parts->goal->task->name,
                       parts->model->name);
    for (int i = 0; i < n; i++) in[i] = parts->term[i].val;
    if (n == 1 && parts->term[0].weight == 1) {
        loss = in[0];
    } else {
        ct_attrs a = { .weights = { .n = n } };
        for (int i = 0; i < n; i++) a.weights.w[i] = parts->term[i].weight;
        CT_TRY(ct_graph_node(g, CT_OP_WEIGHTED_SUM, &a, "loss.sum", n, in, 1, 1, &loss));
    }
    for (int i = 0; i < n; i++) CT_TRY(add_port(p, parts->term[i].name, CT_PORT_TERM, in[i]));
    CT_TRY(add_port(p, "loss", CT_PORT_LOSS, loss));
    CT_TRY(ct_graph_metrics(g, &acc));
    const int terms = n > 1 ? n : 0; /* a single one is the loss itself */
    memmove(in + 2, in, (size_t)n * sizeof in[0]);
    in[0] = loss;
    in[1] = acc;
    return ct_graph_node(g, CT_OP_BATCH_SUMS, &sums, "sums", 2 + terms, in, 0, 0, NULL);
}

/* The task's part: fields, terms, predictions and sums; the ports they are. */
static ct_status build_task(const ct_program_spec *s, ct_parts *parts, ct_program *p)
{
    const ct_model_info *m = ct_model_find(s->model.name);
    if (!m) return CT_ECONFIG;
    for (int i = 0; i < ct_model_outputs(&s->model); i++)
        parts->score[parts->scores++] = (ct_part){ m->output[i], parts->out[i], 1 };
    CT_TRY(s->goal.task->build(parts));
    for (int i = 0; i < parts->fields; i++)
        CT_TRY(add_port(p, parts->field[i].name, CT_PORT_FIELD, parts->field[i].val));
    for (int i = 0; i < parts->scores; i++)
        CT_TRY(add_port(p, parts->score[i].name, CT_PORT_SCORE, parts->score[i].val));
    for (int i = 0; i < parts->results; i++)
        CT_TRY(add_port(p, parts->result[i].name, CT_PORT_RESULT, parts->result[i].val));
    return parts->labels ? build_loss(parts, p) : CT_OK;
}

static ct_status build_forward(const ct_program_spec *s, ct_program *p)
{
    ct_graph *g = p->graph;
    const bool training = trains(p->kind);
    ct_parts parts = { .g = g, .model = &s->model, .goal = &s->goal, .batch = s->batch, .training = training,
                       .labels = has_labels(p->kind), .inspect = s->inspect, .steps = CT_NOVAL };
    ct_val x;
    CT_TRY(build_input(s, training, p, &parts.moves, &x));
    parts.x = x;
    if (ct_model_elastic(&s->model))
        CT_TRY(add_input(p, "len", CT_PORT_STEPS, ct_desc1(CT_I32, s->batch), &parts.steps));
    CT_TRY(ct_model_build(g, &s->model, x, parts.steps, training, parts.out));
    if (training) CT_TRY(ct_graph_ends(g));
    if (s->dirac) ct_graph_dirac(g);
    if (training && s->dropout_keep) CT_TRY(replace_mask(s, p));
    CT_TRY(build_task(s, &parts, p));
    for (int i = 0; i < p->ports; i++)
        if (!ct_port_is_input(p->port[i].role) && (s->inspect || p->port[i].role != CT_PORT_TERM))
            ct_graph_keep(g, p->port[i].val);
    if (training) {
        ct_status st = ct_pass_freeze(g, s->freeze, s->freezes);
        if (st != CT_OK) return ct_fail_context(st, "train.freeze");
    }
    CT_TRY(ct_pass_fuse(g, NULL));
    if (training && s->sync_norm) CT_TRY(ct_pass_sync(g, s->batch, s->model.of > 0 ? s->model.of : s->batch, NULL));
    if (s->fuse_more && !s->inspect) CT_TRY(ct_pass_fuse_more(g, NULL));
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
    const double alike = s->members > 1 ? (double)s->members : 1;
    const double members = s->model.of > 0 ? (double)s->model.of / (double)s->batch : alike;
    ct_attrs a = { .loss = { .alpha = 1 / ((double)s->accumulate * members), .dtype = (int64_t)s->model.dtype } };
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(ct_graph_state(g, &state));
    CT_TRY(ct_graph_node(g, CT_OP_LOSS_SEED, &a, "seed", 1, &state, 1, 1, &seed));
    CT_TRY(ct_autodiff(g, ct_program_role(p, CT_PORT_LOSS), seed));
    CT_TRY(ct_pass_dead(g));
    if (s->sync_norm) CT_TRY(ct_pass_sync_gradients(g, NULL));
    if (s->skip_still) CT_TRY(ct_pass_still(g, NULL));
    if (s->join_sums && !s->inspect) CT_TRY(ct_pass_join(g, NULL));
    if (s->sum_in_place && !s->inspect) CT_TRY(ct_pass_accumulate(g, NULL));
    if (s->recompute >= 0)
        CT_TRY(ct_pass_recompute(g, s->recompute, NULL));
    else if (!s->inspect)
        CT_TRY(ct_pass_reapply(g, s->norms_kept, NULL));
    if (s->measure && !s->inspect) CT_TRY(ct_pass_measure(g, NULL));
    if (s->inspect) keep_norms(g);
    p->settle = g->nnodes;
    /* all parts of a batch draw alike, as its rows do */
    if (p->kind == CT_PROGRAM_PART) return CT_OK;
    return ct_graph_node(g, CT_OP_NEXT_DRAW, NULL, "next_draw", 1, &state, 0, 0, NULL);
}

/* Adds this micro-step's gradients to the sum, or starts the sum. */
static ct_status build_accumulate(ct_graph *g, const ct_layout *l, bool first)
{
    ct_val in[2];
    if (l->train_elems == 0) return CT_OK;
    g->phase = CT_PHASE_BACKWARD;
    CT_TRY(ct_update_part(g, "accumulate.src", CT_ARENA_GRAD, l, 0, l->train_elems, &in[0]));
    CT_TRY(ct_update_part(g, "accumulate.acc", CT_ARENA_GACC, l, 0, l->train_elems, &in[1]));
    ct_attrs a = { .scale = { .alpha = 1, .beta = first ? 0 : 1 } };
    return ct_graph_node(g, CT_OP_ACCUMULATE, &a, "accumulate", 2, in, 0, 0, NULL);
}

ct_status ct_program_build(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                           ct_layout *layout, ct_program *out)
{
    *out = (ct_program){ .kind = kind };
    ct_program_spec s = *spec;
    ct_flat flat = { .copies = false };
    ct_status st;
    if (!s.goal.task) CT_TRY(ct_program_usual_goal(&s));
    CT_TRY(ct_model_resolve(&s.model));
    CT_TRY(check(&s, kind, layout_from));
    CT_TRY(ct_graph_create(&out->graph));
    if (kind != CT_PROGRAM_UPDATE) {
        CT_GOTO(st, build_forward(&s, out));
        if (trains(kind)) CT_GOTO(st, build_backward(&s, out));
        if (trains(kind) && !layout_from) CT_GOTO(st, ct_update_sort(&s, out->graph));
        if (layout_from) CT_GOTO(st, ct_layout_apply(out->graph, layout_from));
        else CT_GOTO(st, ct_layout_make(out->graph, layout));
    }
    if (casts_flat(&s))
        CT_GOTO(st, ct_pass_flat(out->graph, s.compute, layout->param_elems, kind == CT_PROGRAM_STEP, &flat));
    ct_tree_count(out->graph, s.part);
    if (trains(kind)) CT_GOTO(st, ct_tree_build(out->graph, layout, s.part, s.parts));
    out->update = out->graph->nnodes;
    const ct_graph *weights = layout_from ? layout_from : out->graph;
    switch (kind) {
    case CT_PROGRAM_STEP: CT_GOTO(st, ct_update_build(&s, out->graph, weights, layout, CT_ARENA_GRAD, &flat)); break;
    case CT_PROGRAM_UPDATE: CT_GOTO(st, ct_update_build(&s, out->graph, weights, layout, CT_ARENA_GACC, &flat)); break;
    case CT_PROGRAM_MICRO_FIRST: CT_GOTO(st, build_accumulate(out->graph, layout, true)); break;
    case CT_PROGRAM_MICRO_NEXT: CT_GOTO(st, build_accumulate(out->graph, layout, false)); break;
    case CT_PROGRAM_PART:
    case CT_PROGRAM_EVAL:
    case CT_PROGRAM_PREDICT: break;
    }
    if (kind != CT_PROGRAM_STEP && kind != CT_PROGRAM_UPDATE) out->update = out->graph->nnodes;
    return CT_OK;
fail:
    ct_program_free(out);
    return st;
}

ct_status ct_program_build_small(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                                 ct_layout *layout, ct_program *out)
{
    ct_program_spec s = *spec;
    ct_program_shrink(&s);
    const ct_status st = ct_program_build(&s, kind, layout_from, layout, out);
    if (st != CT_EINVAL && st != CT_ECONFIG) return st;
    return ct_fail_context(CT_ECONFIG, "train.progressive: %s with pictures of %" PRId64 "x%" PRId64 " pixels",
                           s.model.name, s.model.height, s.model.width);
}

void ct_program_free(ct_program *p)
{
    if (!p) return;
    ct_graph_free(p->graph);
    p->graph = NULL;
}
