/* What convolutions give beside y, its moments, and what their data gradients are added to: shared by all implementations of them. */
#include "config.h"

#include "backends/cpu/conv.h"
#include "backends/cpu/norm.h"

#include <string.h>

void ct_conv_add_moments(const float *moments, int64_t ld, int64_t cols, int64_t n, double *sums, double *squares)
{
    const float *about = moments + CT_MOMENTS_ABOUT * ld, *above = moments + CT_MOMENTS_SUM * ld, *square = moments + CT_MOMENTS_SQUARE * ld;
    for (int64_t k = 0; k < cols; k++) {
        const double a = (double)about[k], sum = (double)above[k], all = (double)n * a;
        sums[k] += sum + all;
        squares[k] += (double)square[k] + a * (2 * sum + all);
    }
}

typedef struct joined {
    const double *sums;
    int64_t parts, all; /* of a part: 2k */
    double *moments;
} joined;

#define JOINED 64 /* columns added up together */

static void join_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const joined *g = arg;
    const int64_t first = item * JOINED, n = ct_min64(JOINED, g->all - first);
    double *to = g->moments + first;
    memset(to, 0, (size_t)n * sizeof *to);
    for (int64_t i = 0; i < g->parts; i++)
        for (int64_t k = 0; k < n; k++) to[k] += g->sums[i * g->all + first + k];
}

void ct_conv_join_moments(const ct_device *dev, const double *sums, int64_t parts, int64_t k, double *moments)
{
    joined g = { sums, parts, 2 * k, moments };
    ct_cpu_for(dev, ct_ceil_div(g.all, JOINED), join_item, &g);
}

size_t ct_conv_scratch(const ct_device *dev, const ct_call *call, size_t own)
{
    const size_t moments = ct_conv_measures(call) ? ct_norm_moments_bytes(dev, &call->out[0]) : 0;
    return own > moments ? own : moments;
}

void ct_conv_measure(const ct_device *dev, const ct_call *call, void *scratch)
{
    if (ct_conv_measures(call)) ct_norm_moments(dev, &call->out[0], call->out[1].data, scratch);
}

#define COPIED ((int64_t)256 << 10) /* bytes an item */

static void copy_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const ct_call *call = arg;
    const int64_t at = item * COPIED, n = ct_min64(COPIED, (int64_t)ct_desc_bytes(&call->out[0].desc) - at);
    memcpy((char *)call->out[0].data + at, (const char *)call->in[2].data + at, (size_t)n);
}

void ct_conv_begin_sum(const ct_device *dev, const ct_call *call)
{
    ct_call c = *call;
    if (!ct_conv_adds(call) || call->in[2].data == call->out[0].data) return;
    ct_cpu_for(dev, ct_ceil_div((int64_t)ct_desc_bytes(&call->out[0].desc), COPIED), copy_item, &c);
}
