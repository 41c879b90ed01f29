/* dft_magnitude by the sum that defines it: X[k] = R - iS with R = sum of x[c] cos(2 pi k c/C), S with the sine;
 * y[k] = |X[k]|/C = y[C-k], and dx[c] = sum over k of dy[k] (R cos(2 pi k c/C) + S sin(2 pi k c/C))/(|X[k]| C). */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

/* x or dy, and what is stored: y or dx; parts; the roots of unity. */
static size_t scratch_bytes(int64_t cols)
{
    return (size_t)(2 * cols + 2 * (cols / 2 + 1) + 2 * cols) * sizeof(double);
}

static ct_accept accept_rows(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes(scratch_bytes(ct_ref_cols(&call->in[0])));
}

/* (cos, sin) of 2 pi j/n for j < n. */
static void roots_of_unity(int64_t n, double *root)
{
    const double turn = 2 * acos(-1.0);
    for (int64_t j = 0; j < n; j++) {
        root[2 * j] = cos(turn * (double)j / (double)n);
        root[2 * j + 1] = sin(turn * (double)j / (double)n);
    }
}

static ct_status magnitude(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]), half = cols / 2 + 1;
    double *x = scratch, *y = x + cols, *part = y + cols, *root = part + 2 * half;
    roots_of_unity(cols, root);
    for (int64_t r = 0; r < rows; r++) {
        ct_ref_load(&call->in[0], r * cols, cols, x);
        for (int64_t k = 0; k < half; k++) {
            double re = 0, im = 0;
            for (int64_t c = 0; c < cols; c++) {
                re += x[c] * root[2 * (k * c % cols)];
                im += x[c] * root[2 * (k * c % cols) + 1];
            }
            part[k] = re;
            part[half + k] = im;
            y[k] = hypot(re, im) / (double)cols;
            if (k > 0) y[cols - k] = y[k];
        }
        ct_ref_store(&call->out[0], r * cols, cols, y);
        ct_ref_store(&call->out[1], r * 2 * half, 2 * half, part);
    }
    return CT_OK;
}

static ct_status magnitude_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t cols = ct_ref_cols(&call->in[0]), rows = ct_ref_rows(&call->in[0]), half = cols / 2 + 1;
    double *dy = scratch, *dx = dy + cols, *part = dx + cols, *root = part + 2 * half;
    roots_of_unity(cols, root);
    for (int64_t r = 0; r < rows; r++) {
        ct_ref_load(&call->in[0], r * cols, cols, dy);
        ct_ref_load(&call->in[1], r * 2 * half, 2 * half, part);
        for (int64_t c = 0; c < cols; c++) dx[c] = 0;
        for (int64_t k = 0; k < cols; k++) {
            const int64_t j = k < half ? k : cols - k; /* X[C-k] is the conjugate of X[k] */
            const double re = part[j], im = k < half ? part[half + j] : -part[half + j];
            const double size = hypot(re, im) * (double)cols;
            if (size == 0) continue;
            for (int64_t c = 0; c < cols; c++)
                dx[c] += dy[k] * (re * root[2 * (k * c % cols)] + im * root[2 * (k * c % cols) + 1]) / size;
        }
        ct_ref_store(&call->out[0], r * cols, cols, dx);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_DFT_MAGNITUDE, "ref", CT_REF_FLAGS, accept_rows, magnitude },
    { CT_OP_DFT_MAGNITUDE_BWD, "ref", CT_REF_FLAGS, accept_rows, magnitude_bwd },
};
const ct_impl_set ct_ref_spectrum_impls = CT_IMPL_SET(impls);
