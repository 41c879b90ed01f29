/* Targets from places, maps read at places, places read off maps, and sums of how far off they are; see
 * ops/math/points_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/points_math.h"

#include <math.h>

static ct_accept accept_floats(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

static ct_status mask_pool(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_points_attrs *a = &call->attrs.points;
    const int64_t *xd = call->in[0].desc.dim, *yd = call->out[0].desc.dim, f = a->factor;
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t i = 0; i < yd[1]; i++)
            for (int64_t j = 0; j < yd[2]; j++) {
                double sum = 0, least = INFINITY;
                for (int64_t r = i * f; r < (i + 1) * f; r++)
                    for (int64_t s = j * f; s < (j + 1) * f; s++) {
                        const double v = ct_ref_at(&call->in[0], ((n * xd[1] + r) * xd[2] + s) * xd[3] + a->channel);
                        sum += v;
                        if (v < least || isnan(v)) least = v;
                    }
                ct_ref_put(&call->out[0], (n * yd[1] + i) * yd[2] + j, sum / (double)(f * f));
                ct_ref_put(&call->out[1], (n * yd[1] + i) * yd[2] + j, least);
            }
    return CT_OK;
}

static ct_status heat_target(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_points_attrs *a = &call->attrs.points;
    const int64_t samples = call->in[0].desc.dim[0], points = call->in[0].desc.dim[1];
    const int64_t radius = ct_heat_radius(a->sigma);
    for (int64_t n = 0; n < samples; n++)
        for (int64_t p = 0; p < points; p++) {
            double du, dv;
            const int64_t at = 2 * (n * points + p);
            const int64_t col = ct_cell_of(ct_ref_at(&call->in[0], at), a->stride, a->out_w, &du);
            const int64_t row = ct_cell_of(ct_ref_at(&call->in[0], at + 1), a->stride, a->out_h, &dv);
            const bool there = row >= 0 && col >= 0;
            for (int64_t i = 0; i < a->out_h; i++)
                for (int64_t j = 0; j < a->out_w; j++) {
                    const int64_t down = i - row, right = j - col,
                                  to = ((n * a->out_h + i) * a->out_w + j) * points + p;
                    const bool drawn =
                        there && down >= -radius && down <= radius && right >= -radius && right <= radius;
                    const bool here = a->around ? drawn : there && down == 0 && right == 0;
                    ct_ref_put(&call->out[0], to,
                               drawn ? ct_heat_weight(down, a->sigma) * ct_heat_weight(right, a->sigma) : 0);
                    ct_ref_put(&call->out[1], 2 * to, here ? ct_heat_offset(right, du) : 0);
                    ct_ref_put(&call->out[1], 2 * to + 1, here ? ct_heat_offset(down, dv) : 0);
                }
        }
    return CT_OK;
}

/* Where point k of sample n of input 1 lies on a map of h x w cells. */
static ct_image_point locate(const ct_call *call, int64_t n, int64_t k, int64_t h, int64_t w)
{
    const int64_t at = 2 * (n * call->in[1].desc.dim[1] + k);
    return ct_map_locate(ct_ref_at(&call->in[1], at), ct_ref_at(&call->in[1], at + 1), call->attrs.points.stride, h, w);
}

static ct_status sample_points(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t *d = call->in[0].desc.dim, points = call->in[1].desc.dim[1], channel = call->attrs.points.channel;
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t k = 0; k < points; k++) {
            const ct_image_point p = locate(call, n, k, d[1], d[2]);
            const int64_t rows[2] = { p.row0, p.row1 }, cols[2] = { p.col0, p.col1 };
            const double down[2] = { 1 - p.wr, p.wr }, right[2] = { 1 - p.wc, p.wc };
            double sum = 0;
            for (int t = 0; t < 4 && p.cover > 0; t++)
                sum += down[t / 2] * right[t % 2] *
                       ct_ref_at(&call->in[0], ((n * d[1] + rows[t / 2]) * d[2] + cols[t % 2]) * d[3] + channel);
            ct_ref_put(&call->out[0], n * points + k, sum);
        }
    return CT_OK;
}

static ct_status sample_points_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t *d = call->out[0].desc.dim, points = call->in[1].desc.dim[1], channel = call->attrs.points.channel;
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t i = 0; i < d[1]; i++)
            for (int64_t j = 0; j < d[2]; j++)
                for (int64_t c = 0; c < d[3]; c++) {
                    double sum = 0;
                    for (int64_t k = 0; k < points && c == channel; k++) {
                        const ct_image_point p = locate(call, n, k, d[1], d[2]);
                        const double weight = ct_map_weight(&p, i, j);
                        if (weight > 0) sum += ct_ref_at(&call->in[0], n * points + k) * weight;
                    }
                    ct_ref_put(&call->out[0], ((n * d[1] + i) * d[2] + j) * d[3] + c, sum);
                }
    return CT_OK;
}

/* The cell that is chosen on a map; cell -1: none may be. */
typedef struct choice {
    int64_t cell;
    double logit;
} choice;

/* First maximum of map p of sample n among the rows of [from, to) that there are; a NaN is none. */
static choice choose(const ct_call *call, int64_t n, int64_t p, int64_t from, int64_t to)
{
    const int64_t *d = call->in[0].desc.dim;
    choice best = { -1, -INFINITY };
    for (int64_t cell = (from > 0 ? from : 0) * d[2]; cell < ct_ref_min(to, d[1]) * d[2]; cell++) {
        const double v = ct_ref_at(&call->in[0], (n * d[1] * d[2] + cell) * d[3] + p);
        const bool inside = ct_ref_at(&call->in[2], n * d[1] * d[2] + cell) > CT_DECODE_LEAST;
        if (inside && !isnan(v) && (best.cell < 0 || v > best.logit)) best = (choice){ cell, v };
    }
    return best;
}

static ct_status heat_decode(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_points_attrs *a = &call->attrs.points;
    const int64_t *d = call->in[0].desc.dim, points = d[3];
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t p = 0; p < points; p++) {
            choice best = choose(call, n, p, 0, d[1]);
            if (a->align) {
                const choice other = choose(call, n, 1 - p, 0, d[1]);
                const bool weaker = p == 0 ? best.logit < other.logit : best.logit <= other.logit;
                const int64_t row = other.cell / d[2];
                if (weaker && best.cell >= 0 && other.cell >= 0) best = choose(call, n, p, row - 1, row + 2);
            }
            const int64_t at = n * points + p, from = 2 * ((n * d[1] * d[2] + best.cell) * points + p);
            const bool found = best.cell >= 0;
            const double x = found ? ct_cell_place(best.cell % d[2], ct_ref_at(&call->in[1], from), a->stride) : NAN;
            const double y =
                found ? ct_cell_place(best.cell / d[2], ct_ref_at(&call->in[1], from + 1), a->stride) : NAN;
            ct_ref_put(&call->out[0], 2 * at, x);
            ct_ref_put(&call->out[0], 2 * at + 1, y);
            ct_ref_put(&call->out[1], at, found ? ct_sigmoid_f64(best.logit) : 0);
        }
    return CT_OK;
}

static ct_status point_sums(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    double *acc = (double *)call->in[3].data + call->attrs.sums.first;
    for (int64_t n = 0; n < call->in[0].desc.dim[0]; n++) {
        double pred[4], truth[4];
        ct_ref_load(&call->in[0], 4 * n, 4, pred);
        ct_ref_load(&call->in[1], 4 * n, 4, truth);
        ct_point_count(pred, truth, ct_ref_at(&call->in[2], n), call->attrs.sums.unit, acc);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_MASK_POOL, "ref", CT_REF_FLAGS, accept_floats, mask_pool },
    { CT_OP_HEAT_TARGET, "ref", CT_REF_FLAGS, accept_floats, heat_target },
    { CT_OP_SAMPLE_POINTS, "ref", CT_REF_FLAGS, accept_floats, sample_points },
    { CT_OP_SAMPLE_POINTS_BWD, "ref", CT_REF_FLAGS, accept_floats, sample_points_bwd },
    { CT_OP_HEAT_DECODE, "ref", CT_REF_FLAGS, accept_floats, heat_decode },
    { CT_OP_POINT_SUMS, "ref", CT_REF_FLAGS, accept_floats, point_sums },
};
const ct_impl_set ct_ref_points_impls = CT_IMPL_SET(impls);
