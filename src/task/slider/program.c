/* Sliders in programs. The model's maps [N,h,w,..] have cells of 4 x 4 pixels; points are in pixels of its input.
 *
 * Scores: heat_gap_logit and heat_piece_logit [N,h,w,1], offset [N,h,w,4] in cells, angle [N,h,w,2] = (sin, cos).
 * Fields: points [N,2,2] (gap, piece), fakes [N,K,2], scale [N,1]; the angle comes as direction [N,2,2], an arrow that
 * turns with its pixels, or, with ready input, as pose [N,2] = (sin, cos). Results: found [N,2,2], conf [N,2], and
 * where samples are scored heat [N,h,w,2], the logits. To be inspected: what golden files have under aux. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "task/slider/goal.h"
#include "task/slider/slider.h"

enum { HEAT_GAP, HEAT_PIECE, OFFSET, ANGLE }; /* the model's outputs */

/* What a program has in hand. */
typedef struct maker {
    ct_parts *p;
    ct_graph *g;
    const double *v;   /* of the goal */
    ct_dtype type;     /* of losses and places */
    ct_val logits;     /* [N,h,w,2] */
    ct_val mean, least; /* [N,h,w] of the mask over cells */
    ct_val points, fakes, pose, scale; /* fields, moved with their pixels; pose CT_NOVAL: not wanted */
    ct_val heat, offset; /* targets */
} maker;

static ct_status op(maker *m, ct_op kind, const ct_attrs *a, const char *name, const ct_val *in, int nin, ct_val *out)
{
    return ct_graph_node(m->g, kind, a, name, nin, in, 1, 1, out);
}

static ct_status reshape(maker *m, const char *name, ct_val v, int64_t ndim, int64_t d0, int64_t d1, int64_t d2,
                         int64_t d3, ct_val *out)
{
    const ct_attrs a = { .shape = { .ndim = ndim, .d0 = d0, .d1 = d1, .d2 = d2, .d3 = d3 } };
    return op(m, CT_OP_RESHAPE, &a, name, &v, 1, out);
}

/* ---- fields ---- */

/* Field `name` in the type that losses compute in. Golden files bring it so; samples have f32. */
static ct_status field(maker *m, const char *name, const char *cast, ct_field_kind kind, int ndim, const int64_t *dim,
                       ct_val *out)
{
    const bool ready = m->p->moves.index == CT_NOVAL;
    const ct_attrs a = { .cast = { .dtype = (int64_t)m->type } };
    CT_TRY(ct_parts_field(m->p, name, ready ? m->type : CT_F32, kind, ndim, dim, out));
    return ready || m->type == CT_F32 ? CT_OK : op(m, CT_OP_CAST, &a, cast, out, 1, out);
}

/* (sin, cos) [N,2] of the arrow [N,2,2] from the gap to where its own right is: y grows downwards, angles go the other
 * way round. */
static ct_status turn_of(maker *m, ct_val arrow, ct_val *out)
{
    static const char *const names[4] = { "arrow.x0", "arrow.y0", "arrow.x1", "arrow.y1" };
    const ct_attrs less = { .scale = { .alpha = -1 } };
    ct_val part[4], end, flat, turn[2];
    CT_TRY(reshape(m, "arrow.flat", arrow, 4, m->p->batch, 1, 1, 4, &flat));
    for (int k = 0; k < 4; k++) {
        const ct_attrs a = { .channels = { .first = k, .channels = 1 } };
        CT_TRY(op(m, CT_OP_SLICE_CHANNELS, &a, names[k], &flat, 1, &part[k]));
    }
    CT_TRY(op(m, CT_OP_SCALE, &less, "arrow.less_y", &part[3], 1, &end));
    CT_TRY(op(m, CT_OP_ADD, NULL, "arrow.up", (ct_val[]){ part[1], end }, 2, &turn[0]));
    CT_TRY(op(m, CT_OP_SCALE, &less, "arrow.less_x", &part[0], 1, &end));
    CT_TRY(op(m, CT_OP_ADD, NULL, "arrow.right", (ct_val[]){ part[2], end }, 2, &turn[1]));
    CT_TRY(op(m, CT_OP_CONCAT_CHANNELS, NULL, "arrow.turn", turn, 2, &flat));
    CT_TRY(op(m, CT_OP_L2_NORMALIZE, NULL, "arrow.unit", &flat, 1, &flat));
    return reshape(m, "pose.of_arrow", flat, 2, m->p->batch, 2, 0, 0, out);
}

static ct_status build_fields(maker *m)
{
    static const int64_t two[2] = { 2, 2 }, fakes[2] = { CT_SLIDER_MAX_FAKES, 2 }, one[1] = { 1 }, sin_cos[1] = { 2 };
    const bool ready = m->p->moves.index == CT_NOVAL;
    m->fakes = m->pose = CT_NOVAL;
    CT_TRY(field(m, "points", "points.exact", CT_FIELD_POINTS, 2, two, &m->points));
    CT_TRY(field(m, "scale", "scale.exact", CT_FIELD_IDS, 1, one, &m->scale));
    if (m->v[CT_SLIDER_W_HARD_NEGATIVE] > 0)
        CT_TRY(field(m, "fakes", "fakes.exact", CT_FIELD_POINTS, 2, fakes, &m->fakes));
    if (!(m->v[CT_SLIDER_W_ANGLE] > 0)) return CT_OK;
    if (ready) return field(m, "pose", "pose.exact", CT_FIELD_IDS, 1, sin_cos, &m->pose);
    CT_TRY(field(m, "direction", "direction.exact", CT_FIELD_POINTS, 2, two, &m->pose));
    return turn_of(m, m->pose, &m->pose);
}

/* ---- losses ---- */

static ct_status heat_terms(maker *m)
{
    const ct_attrs focal = { .heat = { .alpha = m->v[CT_SLIDER_ALPHA], .beta = m->v[CT_SLIDER_BETA],
                                       .threshold = m->v[CT_SLIDER_POSITIVE], .eps = m->v[CT_SLIDER_EPS] } };
    const ct_attrs smooth = { .heat = { .beta = m->v[CT_SLIDER_OFFSET_BETA] } };
    ct_val out[2];
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_FOCAL, &focal, "heat.loss", 3,
                         (ct_val[]){ m->logits, m->heat, m->mean }, 2, 3, out));
    CT_TRY(ct_parts_term(m->p, "heat", out[0], m->v[CT_SLIDER_W_HEAT]));
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_OFFSET, &smooth, "offset.loss", 4,
                         (ct_val[]){ m->p->out[OFFSET], m->offset, m->heat, m->mean }, 2, 3, out));
    return ct_parts_term(m->p, "offset", out[0], m->v[CT_SLIDER_W_OFFSET]);
}

static ct_status angle_term(maker *m)
{
    const ct_attrs a = { .heat = { .threshold = m->v[CT_SLIDER_ANGLE_POSITIVE] } };
    ct_val out[2];
    if (m->pose == CT_NOVAL) return CT_OK;
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_ANGLE, &a, "angle.loss", 3,
                         (ct_val[]){ m->p->out[ANGLE], m->pose, m->heat }, 2, 3, out));
    return ct_parts_term(m->p, "angle", out[0], m->v[CT_SLIDER_W_ANGLE]);
}

/* The gap's map at the gap, and at what only looks like one. */
static ct_status fake_term(maker *m)
{
    const ct_attrs sigmoid = { .act = { .kind = CT_ACT_SIGMOID } };
    const ct_attrs at = { .points = { .stride = CT_SLIDER_STRIDE, .channel = 0 } };
    const ct_attrs first = { .channels = { .first = 0, .channels = 2 } };
    const ct_attrs margin = { .heat = { .margin = m->v[CT_SLIDER_MARGIN] } };
    const int64_t n = m->p->batch;
    ct_val map, gap, sure[2], out[2];
    if (m->fakes == CT_NOVAL) return CT_OK;
    CT_TRY(op(m, CT_OP_ACTIVATION, &sigmoid, "heat.share", &m->logits, 1, &map));
    CT_TRY(reshape(m, "gap.flat", m->points, 4, n, 1, 1, 4, &gap));
    CT_TRY(op(m, CT_OP_SLICE_CHANNELS, &first, "gap.only", &gap, 1, &gap));
    CT_TRY(reshape(m, "gap.place", gap, 3, n, 1, 2, 0, &gap));
    CT_TRY(op(m, CT_OP_SAMPLE_POINTS, &at, "gap.share", (ct_val[]){ map, gap }, 2, &sure[0]));
    CT_TRY(op(m, CT_OP_SAMPLE_POINTS, &at, "fakes.share", (ct_val[]){ map, m->fakes }, 2, &sure[1]));
    CT_TRY(ct_graph_node(m->g, CT_OP_MARGIN_RANK, &margin, "hard_negative.loss", 3,
                         (ct_val[]){ sure[0], sure[1], m->fakes }, 2, 3, out));
    return ct_parts_term(m->p, "hard_negative", out[0], m->v[CT_SLIDER_W_HARD_NEGATIVE]);
}

static ct_status padding_term(maker *m)
{
    const ct_attrs a = { .heat = { .eps = CT_SLIDER_PADDING_EPS, .cap = m->v[CT_SLIDER_CAP] } };
    ct_val out[2];
    if (!(m->v[CT_SLIDER_W_PADDING] > 0)) return CT_OK;
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_PADDING, &a, "padding.loss", 2, (ct_val[]){ m->logits, m->mean }, 2, 3, out));
    return ct_parts_term(m->p, "padding_bce", out[0], m->v[CT_SLIDER_W_PADDING]);
}

static ct_status row_terms(maker *m)
{
    const ct_attrs a = { .heat = { .stride = CT_SLIDER_STRIDE, .tau = m->v[CT_SLIDER_TAU],
                                   .eps = CT_SLIDER_ROW_EPS } };
    const double ce = m->v[CT_SLIDER_W_ROW_CE], emd = m->v[CT_SLIDER_W_ROW_EMD];
    ct_val out[3];
    if (!(ce > 0 || emd > 0)) return CT_OK;
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_ROWS, &a, "rows.loss", 2, (ct_val[]){ m->logits, m->points }, 3, 7, out));
    if (ce > 0) CT_TRY(ct_parts_term(m->p, "row_ce", out[0], ce));
    return emd > 0 ? ct_parts_term(m->p, "row_emd", out[1], emd) : CT_OK;
}

static ct_status build_losses(maker *m)
{
    const ct_desc *d = ct_graph_desc(m->g, m->logits);
    const ct_attrs target = { .points = { .stride = CT_SLIDER_STRIDE, .out_h = d->dim[1], .out_w = d->dim[2],
                                          .sigma = m->v[CT_SLIDER_SIGMA],
                                          .around = m->v[CT_SLIDER_AROUND] > 0 } };
    ct_val out[2];
    CT_TRY(ct_graph_node(m->g, CT_OP_HEAT_TARGET, &target, "target", 1, &m->points, 2, 3, out));
    m->heat = out[0];
    m->offset = out[1];
    CT_TRY(heat_terms(m));
    CT_TRY(angle_term(m));
    CT_TRY(fake_term(m));
    CT_TRY(padding_term(m));
    return row_terms(m);
}

/* ---- places ---- */

static ct_status decode(maker *m, bool align, const char *name, ct_val out[2])
{
    const ct_attrs a = { .points = { .stride = CT_SLIDER_STRIDE, .align = align } };
    return ct_graph_node(m->g, CT_OP_HEAT_DECODE, &a, name, 3,
                         (ct_val[]){ m->logits, m->p->out[OFFSET], m->least }, 2, 3, out);
}

static ct_status add_sums(maker *m, ct_val points)
{
    const ct_attrs a = { .sums = { .first = CT_METRIC_FIRST,
                                   .unit = (double)CT_SLIDER_WIDTH / (double)m->p->model->width } };
    ct_val acc;
    CT_TRY(ct_graph_metrics(m->g, &acc));
    return ct_graph_node(m->g, CT_OP_POINT_SUMS, &a, "sums.points", 4,
                         (ct_val[]){ points, m->points, m->scale, acc }, 0, 0, NULL);
}

/* What a golden file has beside the outputs. */
static ct_status add_inspected(maker *m)
{
    ct_val plain[2], aligned[2];
    CT_TRY(decode(m, false, "decode.plain", plain));
    if (!m->p->training) {
        CT_TRY(ct_parts_result(m->p, "aux.eval3_decode", plain[0]));
        return ct_parts_result(m->p, "aux.eval3_conf", plain[1]);
    }
    CT_TRY(decode(m, true, "decode.aligned", aligned));
    CT_TRY(ct_parts_result(m->p, "aux.heat", m->heat));
    CT_TRY(ct_parts_result(m->p, "aux.offset", m->offset));
    CT_TRY(ct_parts_result(m->p, "aux.mask", m->mean));
    CT_TRY(ct_parts_result(m->p, "aux.decode", plain[0]));
    CT_TRY(ct_parts_result(m->p, "aux.decode_conf", plain[1]));
    CT_TRY(ct_parts_result(m->p, "aux.decode_align", aligned[0]));
    return ct_parts_result(m->p, "aux.decode_align_conf", aligned[1]);
}

ct_status ct_slider_build(ct_parts *p)
{
    maker m = { .p = p, .g = p->g, .v = p->goal->value };
    const ct_attrs pool = { .points = { .channel = p->model->channels - 1, .factor = CT_SLIDER_STRIDE } };
    ct_val mask[2], found[2];
    m.type = ct_accum_dtype(ct_graph_desc(p->g, p->out[HEAT_GAP])->dtype);
    CT_TRY(op(&m, CT_OP_CONCAT_CHANNELS, NULL, "heat.logits", p->out, 2, &m.logits));
    CT_TRY(ct_graph_node(p->g, CT_OP_MASK_POOL, &pool, "mask", 1, &p->x, 2, 3, mask));
    m.mean = mask[0];
    m.least = mask[1];
    if (p->labels) CT_TRY(build_fields(&m));
    if (p->labels) CT_TRY(build_losses(&m));
    CT_TRY(decode(&m, m.v[CT_SLIDER_ALIGN] > 0, "found", found));
    CT_TRY(ct_parts_result(p, "found", found[0]));
    CT_TRY(ct_parts_result(p, "conf", found[1]));
    if (!p->labels) return CT_OK;
    if (!p->training) CT_TRY(ct_parts_result(p, "heat", m.logits));
    if (p->inspect) CT_TRY(add_inspected(&m));
    return add_sums(&m, found[0]);
}

/* ---- something to measure with ---- */

ct_status ct_slider_random(const ct_place *p, const char *name, const ct_desc *d, ct_rng *rng, void *host)
{
    const bool pose = strcmp(name, "pose") == 0, scale = strcmp(name, "scale") == 0;
    const double side[2] = { (double)p->model->width, (double)p->model->height }, rim = 24;
    if (!pose && !scale && strcmp(name, "points") != 0 && strcmp(name, "fakes") != 0)
        return ct_fail(CT_EINTERNAL, "task slider has no field '%s' to make up", name);
    for (int64_t i = 0; i < ct_desc_numel(d); i += 1 + pose) {
        const double s = side[i % 2], angle = ct_rng_uniform(rng, -0.05, 0.05);
        if (pose) ct_store(d->dtype, host, i + 1, cos(angle));
        const double place = ct_rng_uniform(rng, fmin(rim, s / 4), s - fmin(rim, s / 4));
        ct_store(d->dtype, host, i, pose ? sin(angle) : scale ? 1 : place);
    }
    return CT_OK;
}
