/* Losses on maps of cells [N,h,w,P]. With p = sigmoid(logit), per map:
 *   heat_focal: sum over the cells of mask * term / count; the term is (1-p)^alpha * -log p where heat >= t, elsewhere
 *     (1-heat)^beta * p^alpha * -log(1-p)
 *   heat_offset: sum of heat * mask * (SmoothL1 of dx + of dy) / sum of heat * mask
 *   heat_angle: mean of 1 - direction . target over the cells of map 0 with heat > t
 *   margin_rank: mean over samples with fakes of the mean over their fakes of max(0, margin - s + fake)
 *   heat_padding: mean with weights 1 - mask of min(cap, sum over the maps of -log(1-p))
 *   heat_rows: q = softmax(log(mean of p over a row + eps)/tau); -log q at the point's row; the earth mover's distance
 *     of both q
 * What a cell or a row contributes, and its derivative, stands in ops/math/heatmap_math.h. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"
#include "ops/math/heatmap_math.h"

#include <math.h>
#include <string.h>

static ct_accept accept_float(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(0);
}

/* The focal term at logit i of input 0, mask included. */
static double focal_at(const ct_call *call, int64_t i, double *slope)
{
    const ct_heat_attrs *a = &call->attrs.heat;
    const int64_t maps = call->in[0].desc.dim[3];
    const double mask = ct_ref_at(&call->in[2], i / maps);
    const double term = ct_heat_focal(ct_ref_at(&call->in[0], i), ct_ref_at(&call->in[1], i), a->alpha, a->beta,
                                      a->threshold, a->eps, slope);
    *slope *= mask;
    return term * mask;
}

static ct_status focal_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[0].desc), maps = call->in[0].desc.dim[3];
    double loss = 0, slope;
    for (int64_t p = 0; p < maps; p++) {
        double sum = 0, count = 0;
        for (int64_t i = p; i < n; i += maps) {
            sum += focal_at(call, i, &slope);
            if (ct_ref_at(&call->in[1], i) >= call->attrs.heat.threshold) count += ct_ref_at(&call->in[2], i / maps);
        }
        ct_ref_put(&call->out[1], p, count);
        loss += count == 0 ? NAN : sum / count;
    }
    ct_ref_put(&call->out[0], 0, loss);
    return CT_OK;
}

static ct_status focal_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[0].desc), maps = call->in[0].desc.dim[3];
    const double dloss = ct_ref_at(&call->in[4], 0);
    for (int64_t i = 0; i < n; i++) {
        const double count = ct_ref_at(&call->in[3], i % maps);
        double slope;
        focal_at(call, i, &slope);
        ct_ref_put(&call->out[0], i, count == 0 ? NAN : dloss * slope / count);
    }
    return CT_OK;
}

/* heat * mask at heat i */
static double offset_weight(const ct_call *call, int64_t i, int64_t maps)
{
    return ct_ref_at(&call->in[2], i) * ct_ref_at(&call->in[3], i / maps);
}

/* SmoothL1 at number i of input 0. */
static double offset_at(const ct_call *call, int64_t i, double *slope)
{
    return ct_heat_smooth(ct_ref_at(&call->in[0], i) - ct_ref_at(&call->in[1], i), call->attrs.heat.beta, slope);
}

static ct_status offset_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[2].desc), maps = call->in[2].desc.dim[3];
    double loss = 0, slope;
    for (int64_t p = 0; p < maps; p++) {
        double sum = 0, weights = 0;
        for (int64_t i = p; i < n; i += maps) {
            const double weight = offset_weight(call, i, maps);
            if (weight == 0) continue;
            sum += weight * (offset_at(call, 2 * i, &slope) + offset_at(call, 2 * i + 1, &slope));
            weights += weight;
        }
        ct_ref_put(&call->out[1], p, weights);
        loss += weights == 0 ? NAN : sum / weights;
    }
    ct_ref_put(&call->out[0], 0, loss);
    return CT_OK;
}

static ct_status offset_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[0].desc), maps = call->in[2].desc.dim[3];
    const double dloss = ct_ref_at(&call->in[5], 0);
    for (int64_t i = 0; i < n; i++) {
        const double weights = ct_ref_at(&call->in[4], i / 2 % maps), weight = offset_weight(call, i / 2, maps);
        double slope = 0;
        if (weight != 0) offset_at(call, i, &slope);
        ct_ref_put(&call->out[0], i, weights == 0 ? NAN : dloss * slope * weight / weights);
    }
    return CT_OK;
}

/* Whether cell i counts, of maps of `cells` cells a sample: its heat in map 0 is above the threshold, its sample's
 * target known. */
static bool angle_counts(const ct_tensor *target, const ct_tensor *heat, int64_t i, int64_t cells, double threshold)
{
    const int64_t n = i / cells;
    if (isnan(ct_ref_at(target, 2 * n)) || isnan(ct_ref_at(target, 2 * n + 1))) return false;
    return ct_ref_at(heat, i * heat->desc.dim[3]) > threshold;
}

static ct_status angle_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_tensor *direction = &call->in[0], *target = &call->in[1];
    const int64_t cells = direction->desc.dim[1] * direction->desc.dim[2], n = cells * direction->desc.dim[0];
    double sum = 0, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!angle_counts(target, &call->in[2], i, cells, call->attrs.heat.threshold)) continue;
        const int64_t t = 2 * (i / cells), d = 2 * i;
        sum += 1;
        for (int k = 0; k < 2; k++) sum -= ct_ref_at(direction, d + k) * ct_ref_at(target, t + k);
        count += 1;
    }
    ct_ref_put(&call->out[0], 0, count == 0 ? 0 : sum / count);
    ct_ref_put(&call->out[1], 0, count);
    return CT_OK;
}

static ct_status angle_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_tensor *target = &call->in[0], *heat = &call->in[1];
    const int64_t cells = heat->desc.dim[1] * heat->desc.dim[2], n = cells * heat->desc.dim[0];
    const double count = ct_ref_at(&call->in[2], 0), factor = count == 0 ? 0 : -ct_ref_at(&call->in[3], 0) / count;
    for (int64_t i = 0; i < 2 * n; i++) {
        const bool counts = angle_counts(target, heat, i / 2, cells, call->attrs.heat.threshold);
        ct_ref_put(&call->out[0], i, counts ? factor * ct_ref_at(target, 2 * (i / 2 / cells) + i % 2) : 0);
    }
    return CT_OK;
}

static bool is_fake(const ct_tensor *points, int64_t i)
{
    return !isnan(ct_ref_at(points, 2 * i)) && !isnan(ct_ref_at(points, 2 * i + 1));
}

/* Fakes of sample n, of which there are at most k. */
static int64_t fakes_of(const ct_tensor *points, int64_t n, int64_t k)
{
    int64_t count = 0;
    for (int64_t i = n * k; i < (n + 1) * k; i++) count += is_fake(points, i);
    return count;
}

static ct_status margin_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_tensor *points = &call->in[2];
    const int64_t samples = points->desc.dim[0], k = points->desc.dim[1];
    int64_t having = 0;
    double loss = 0;
    for (int64_t n = 0; n < samples; n++) having += fakes_of(points, n, k) > 0;
    for (int64_t n = 0; n < samples; n++) {
        const int64_t fakes = fakes_of(points, n, k);
        for (int64_t i = n * k; i < (n + 1) * k; i++) {
            const bool there = is_fake(points, i);
            const double weight = there ? 1 / ((double)having * (double)fakes) : 0;
            const double lack = call->attrs.heat.margin - ct_ref_at(&call->in[0], n) + ct_ref_at(&call->in[1], i);
            if (there) loss += weight * (lack < 0 ? 0 : lack);
            ct_ref_put(&call->out[1], i, weight);
        }
    }
    ct_ref_put(&call->out[0], 0, loss);
    return CT_OK;
}

static ct_status margin_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t samples = call->in[1].desc.dim[0], k = call->in[1].desc.dim[1];
    const double dloss = ct_ref_at(&call->in[3], 0);
    for (int64_t n = 0; n < samples; n++) {
        double sum = 0;
        const double s = ct_ref_at(&call->in[0], n);
        for (int64_t i = n * k; i < (n + 1) * k; i++) {
            const double lack = call->attrs.heat.margin - s + ct_ref_at(&call->in[1], i);
            const double weight = ct_ref_at(&call->in[2], i), slope = weight == 0 || lack < 0 ? 0 : dloss * weight;
            sum += slope;
            ct_ref_put(&call->out[1], i, slope);
        }
        ct_ref_put(&call->out[0], n, -sum);
    }
    return CT_OK;
}

/* What cell i costs before the cap: the sum over its maps. */
static double padding_at(const ct_call *call, int64_t i)
{
    const int64_t maps = call->in[0].desc.dim[3];
    double sum = 0, slope;
    for (int64_t p = i * maps; p < (i + 1) * maps; p++)
        sum += ct_heat_padding(ct_ref_at(&call->in[0], p), call->attrs.heat.eps, &slope);
    return sum;
}

static ct_status padding_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[1].desc);
    const double cap = call->attrs.heat.cap;
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < n; i++) {
        const double weight = 1 - ct_ref_at(&call->in[1], i), cost = weight == 0 ? 0 : padding_at(call, i);
        sum += weight * (cost > cap ? cap : cost);
        weights += weight;
    }
    ct_ref_put(&call->out[0], 0, weights == 0 ? 0 : sum / weights);
    ct_ref_put(&call->out[1], 0, weights);
    return CT_OK;
}

static ct_status padding_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const int64_t n = ct_desc_numel(&call->in[1].desc), maps = call->in[0].desc.dim[3];
    const double weights = ct_ref_at(&call->in[2], 0), factor = weights == 0 ? 0 : ct_ref_at(&call->in[3], 0) / weights;
    for (int64_t i = 0; i < n; i++) {
        const double weight = factor * (1 - ct_ref_at(&call->in[1], i));
        const bool none = weight == 0 || padding_at(call, i) > call->attrs.heat.cap;
        for (int64_t p = i * maps; p < (i + 1) * maps; p++) {
            double slope;
            ct_heat_padding(ct_ref_at(&call->in[0], p), call->attrs.heat.eps, &slope);
            ct_ref_put(&call->out[0], p, none ? 0 : weight * slope);
        }
    }
    return CT_OK;
}

/* ---- rows ---- */

/* Row of point p of sample n, -1: none. */
static int64_t row_of(const ct_call *call, int64_t n, int64_t p)
{
    const int64_t i = 2 * (2 * n + p), h = call->in[0].desc.dim[1];
    return ct_heat_row(ct_ref_at(&call->in[1], i), ct_ref_at(&call->in[1], i + 1), call->attrs.heat.stride, h);
}

/* Samples whose point 0, whose point 1 and whose two points count. */
static void count_rows(const ct_call *call, double count[3])
{
    memset(count, 0, 3 * sizeof *count);
    for (int64_t n = 0; n < call->in[0].desc.dim[0]; n++) {
        const bool first = row_of(call, n, 0) >= 0, second = row_of(call, n, 1) >= 0;
        count[0] += first;
        count[1] += second;
        count[2] += first && second;
    }
}

/* Means of p over the rows of map `map` of sample n. */
static void row_means(const ct_call *call, int64_t n, int64_t map, double *mean)
{
    const int64_t h = call->in[0].desc.dim[1], w = call->in[0].desc.dim[2];
    for (int64_t y = 0; y < h; y++) {
        const int64_t first = (n * h + y) * w;
        double sum = 0;
        for (int64_t i = first; i < first + w; i++) sum += ct_heat_cell_at(ct_ref_at(&call->in[0], 2 * i + map)).p;
        mean[y] = sum / (double)w;
    }
}

/* Two distributions over the rows, and the means of one map. */
static ct_accept accept_rows(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes((size_t)(3 * call->in[0].desc.dim[1]) * sizeof(double));
}

static ct_status rows_forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_heat_attrs *a = &call->attrs.heat;
    const int64_t samples = call->in[0].desc.dim[0], h = call->in[0].desc.dim[1];
    double *q[2] = { scratch, (double *)scratch + h }, *mean = q[1] + h, ce[2] = { 0, 0 }, emd = 0, count[3];
    count_rows(call, count);
    for (int64_t n = 0; n < samples; n++) {
        int64_t row[2];
        for (int p = 0; p < 2; p++) {
            row_means(call, n, p, mean);
            const double rest = ct_heat_rows(mean, h, a->eps, a->tau, q[p]);
            row[p] = row_of(call, n, p);
            if (row[p] >= 0) ce[p] += rest - log(mean[row[p]] + a->eps) / a->tau;
            ct_ref_store(&call->out[2], (2 * n + p) * h, h, q[p]);
        }
        if (row[0] >= 0 && row[1] >= 0) emd += ct_heat_emd(q[0], q[1], h) / (double)h;
    }
    ct_ref_put(&call->out[0], 0, (count[0] ? ce[0] / count[0] : 0) + (count[1] ? ce[1] / count[1] : 0));
    ct_ref_put(&call->out[1], 0, count[2] ? emd / count[2] : 0);
    return CT_OK;
}

static ct_status rows_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_heat_attrs *a = &call->attrs.heat;
    const int64_t samples = call->in[0].desc.dim[0], h = call->in[0].desc.dim[1], w = call->in[0].desc.dim[2];
    const double dce = ct_present(&call->in[3]) ? ct_ref_at(&call->in[3], 0) : 0;
    const double demd = ct_present(&call->in[4]) ? ct_ref_at(&call->in[4], 0) : 0;
    double *q[2] = { scratch, (double *)scratch + h }, *mean = q[1] + h, count[3];
    count_rows(call, count);
    for (int64_t n = 0; n < samples; n++) {
        for (int p = 0; p < 2; p++) ct_ref_load(&call->in[2], (2 * n + p) * h, h, q[p]);
        const int64_t row[2] = { row_of(call, n, 0), row_of(call, n, 1) };
        const double emd = row[0] >= 0 && row[1] >= 0 ? demd / (count[2] * (double)h) : 0;
        for (int p = 0; p < 2; p++) {
            row_means(call, n, p, mean);
            ct_heat_rows_slope(q[0], q[1], p, h, emd, row[p] >= 0 ? dce / count[p] : 0, row[p], a->eps, a->tau, mean);
            for (int64_t i = 0; i < h * w; i++) {
                const int64_t at = (n * h * w + i) * 2 + p;
                const ct_heat_cell c = ct_heat_cell_at(ct_ref_at(&call->in[0], at));
                ct_ref_put(&call->out[0], at, mean[i / w] / (double)w * (c.p * c.q));
            }
        }
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_HEAT_FOCAL, "ref", CT_REF_FLAGS, accept_float, focal_forward },
    { CT_OP_HEAT_FOCAL_BWD, "ref", CT_REF_FLAGS, accept_float, focal_backward },
    { CT_OP_HEAT_OFFSET, "ref", CT_REF_FLAGS, accept_float, offset_forward },
    { CT_OP_HEAT_OFFSET_BWD, "ref", CT_REF_FLAGS, accept_float, offset_backward },
    { CT_OP_HEAT_ANGLE, "ref", CT_REF_FLAGS, accept_float, angle_forward },
    { CT_OP_HEAT_ANGLE_BWD, "ref", CT_REF_FLAGS, accept_float, angle_backward },
    { CT_OP_MARGIN_RANK, "ref", CT_REF_FLAGS, accept_float, margin_forward },
    { CT_OP_MARGIN_RANK_BWD, "ref", CT_REF_FLAGS, accept_float, margin_backward },
    { CT_OP_HEAT_PADDING, "ref", CT_REF_FLAGS, accept_float, padding_forward },
    { CT_OP_HEAT_PADDING_BWD, "ref", CT_REF_FLAGS, accept_float, padding_backward },
    { CT_OP_HEAT_ROWS, "ref", CT_REF_FLAGS, accept_rows, rows_forward },
    { CT_OP_HEAT_ROWS_BWD, "ref", CT_REF_FLAGS, accept_rows, rows_backward },
};
const ct_impl_set ct_ref_heatmap_impls = CT_IMPL_SET(impls);
