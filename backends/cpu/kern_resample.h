/* Body of the kernels that enlarge a row of pixels. Included after kern_vec.h. */

/* Few channels: a phase at a time, so that weights stay and pixels follow one another. */
static void upsample_thin(int64_t w, int64_t c, int shift, const float *t, float *y)
{
    const int64_t scale = (int64_t)1 << shift;
    for (int64_t phase = 0; phase < scale; phase++) {
        const int64_t first = phase < scale / 2 ? -1 : 0; /* the left neighbour, from the pixel of the phase */
        const float b = (float)(2 * phase + 1 - scale - 2 * scale * first) / (float)(2 * scale), a = 1 - b;
        for (int64_t j = 0; j < w; j++) {
            const int64_t left = j + first < 0 ? 0 : j + first, right = j + first + 1 < w ? j + first + 1 : w - 1;
            for (int64_t ch = 0; ch < c; ch++)
                y[(j * scale + phase) * c + ch] = a * t[left * c + ch] + b * t[right * c + ch];
        }
    }
}

static void upsample_row(int64_t w, int64_t c, int shift, const float *t, float *y)
{
    if (c < KERN_VL) {
        upsample_thin(w, c, shift, t, y);
        return;
    }
    for (int64_t q = 0; q < w << shift; q++, y += c) {
        int64_t j0, j1, ch = 0;
        const float b = (float)ct_upsample_axis(q, shift, w, &j0, &j1), a = 1 - b;
        const float *l = t + j0 * c, *r = t + j1 * c;
        for (; ch + KERN_VL <= c; ch += KERN_VL) vstore(y + ch, vsplat(a) * vload(l + ch) + vsplat(b) * vload(r + ch));
        for (; ch < c; ch++) y[ch] = a * l[ch] + b * r[ch];
    }
}

static void upsample_row_bwd(int64_t w, int64_t c, int shift, const float *t, float *dx)
{
    for (int64_t j = 0; j < w; j++, dx += c) {
        float weight[CT_UPSAMPLE_TAPS];
        int64_t q0, q1, ch = 0;
        ct_upsample_range(j, shift, w, &q0, &q1);
        for (int64_t q = q0; q < q1; q++) weight[q - q0] = (float)ct_upsample_weight(q, j, shift, w);
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf sum = vsplat(0);
            for (int64_t q = q0; q < q1; q++) sum += vsplat(weight[q - q0]) * vload(t + q * c + ch);
            vstore(dx + ch, sum);
        }
        for (; ch < c; ch++) {
            float sum = 0;
            for (int64_t q = q0; q < q1; q++) sum += weight[q - q0] * t[q * c + ch];
            dx[ch] = sum;
        }
    }
}

static const ct_kern_resample resample_kernels = { .row = upsample_row, .row_bwd = upsample_row_bwd };
