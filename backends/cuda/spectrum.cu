/* dft_magnitude and its gradient, f32: a thread adds up one part of one row, from a table of the roots of unity that is made
 * first, in f64. One transform in a network of convolutions; every length is as good as another. */
#include "backends/cuda/dev.cuh"
#include "ops/math/spectrum_math.h"

struct alignas(8) turn { float x, y; }; /* cosine and sine, read at once */

/* root[j]: of 2 pi j/n, j < n */
__global__ void roots(turn *root, int64_t n)
{
    for (CT_EACH(j, n)) {
        double s, c;
        sincospi(2.0 * (double)j / (double)n, &s, &c);
        root[j].x = (float)c;
        root[j].y = (float)s;
    }
}

/* x [rows,n] -> part [rows,2 half], y [rows,n] */
__global__ void magnitude(const float *x, const turn *root, float *y, float *part, int64_t rows, int n)
{
    int half = n / 2 + 1;
    float share = (float)(1.0 / (double)n);
    for (CT_EACH(i, rows * half)) {
        int64_t r = i / half;
        int k = (int)(i - r * half), at = 0;
        const float *row = x + r * n;
        float re = 0, im = 0;
        for (int c = 0; c < n; c++) {
            turn w = root[at];
            float v = row[c];
            re += v * w.x;
            im += v * w.y;
            at = at + k >= n ? at + k - n : at + k;
        }
        float size = share * hypotf(re, im);
        part[r * 2 * half + k] = re;
        part[r * 2 * half + half + k] = im;
        y[r * n + k] = size;
        if (k > 0) y[r * n + n - k] = size;
    }
}

/* slope [rows,2 half]: gradients of the parts, those of X[k] and X[n-k] in one. */
__global__ void slopes(const float *dy, const float *part, float *slope, int64_t rows, int n)
{
    int half = n / 2 + 1;
    float share = (float)(1.0 / (double)n);
    for (CT_EACH(i, rows * half)) {
        int64_t r = i / half, at = r * 2 * half;
        int k = (int)(i - r * half);
        float re = part[at + k], im = part[at + half + k], along, across;
        float both = k > 0 && 2 * k != n ? dy[r * n + k] + dy[r * n + n - k] : dy[r * n + k];
        ct_direction(re, im, &along, &across);
        slope[at + k] = share * both * along;
        slope[at + half + k] = share * both * across;
    }
}

__global__ void magnitude_bwd(const float *slope, const turn *root, float *dx, int64_t rows, int n)
{
    int half = n / 2 + 1;
    for (CT_EACH(i, rows * n)) {
        int64_t r = i / n;
        int c = (int)(i - r * n), at = 0;
        const float *row = slope + r * 2 * half;
        float sum = 0;
        for (int k = 0; k < half; k++) {
            turn w = root[at];
            sum += row[k] * w.x + row[half + k] * w.y;
            at = at + c >= n ? at + c - n : at + c;
        }
        dx[i] = sum;
    }
}

static size_t root_bytes(const ct_call *c)
{
    return ct_cuda_align((size_t)ct_cuda_cols(&c->in[0].desc) * sizeof(turn));
}

static ct_accept accept_f32(const ct_call *c, size_t scratch)
{
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(scratch) : ct_accept_no("cuda: dft_magnitude of f32 only");
}

static ct_accept dft_magnitude_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, root_bytes(c));
}
static ct_status dft_magnitude_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), n = ct_cuda_cols(&c->in[0].desc);
    turn *root = (turn *)scratch;
    CT_LAUNCH(&roots, CT_GRID1(ct_blocks(n)), CT_THREADS, s, root, n);
    CT_LAUNCH(&magnitude, CT_GRID1(ct_blocks(rows * (n / 2 + 1))), CT_THREADS, s, (const float *)c->in[0].data,
              (const turn *)root, (float *)c->out[0].data, (float *)c->out[1].data, rows, (int)n);
    CT_LAUNCHED("dft_magnitude");
}

static ct_accept dft_magnitude_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c, root_bytes(c) + (size_t)ct_cuda_numel(&c->in[1].desc) * sizeof(float));
}
static ct_status dft_magnitude_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    int64_t rows = ct_cuda_rows(&c->in[0].desc), n = ct_cuda_cols(&c->in[0].desc);
    turn *root = (turn *)scratch;
    float *slope = (float *)((char *)scratch + root_bytes(c));
    CT_LAUNCH(&roots, CT_GRID1(ct_blocks(n)), CT_THREADS, s, root, n);
    CT_LAUNCH(&slopes, CT_GRID1(ct_blocks(rows * (n / 2 + 1))), CT_THREADS, s, (const float *)c->in[0].data,
              (const float *)c->in[1].data, slope, rows, (int)n);
    CT_LAUNCH(&magnitude_bwd, CT_GRID1(ct_blocks(rows * n)), CT_THREADS, s, (const float *)slope, (const turn *)root,
              (float *)c->out[0].data, rows, (int)n);
    CT_LAUNCHED("dft_magnitude_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_DFT_MAGNITUDE, "cuda.kernel", CT_CUDA_TUNED, dft_magnitude_accept, dft_magnitude_run },
    { CT_OP_DFT_MAGNITUDE_BWD, "cuda.kernel", CT_CUDA_TUNED, dft_magnitude_bwd_accept, dft_magnitude_bwd_run },
};
CT_CUDA_SET(spectrum)
