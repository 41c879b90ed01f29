/* Body of the pooling kernels. */

static void max_row(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off,
                    const int32_t *number, float *y, uint8_t *code)
{
    for (int64_t i = 0; i < n; i++, x += step, y += c, code += c) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf best = vload(x + off[0] + ch);
            vi at = (vi){ 0 } + number[0];
            for (int64_t t = 1; t < taps; t++) {
                vf v = vload(x + off[t] + ch);
                vi wins = vwins(v, best);
                best = vselect(wins, v, best);
                at = (at & ~wins) | (((vi){ 0 } + number[t]) & wins);
            }
            vstore(y + ch, best);
            vnarrow(code + ch, at);
        }
        for (; ch < c; ch++) {
            float best = x[off[0] + ch];
            int32_t at = number[0];
            for (int64_t t = 1; t < taps; t++) {
                float v = x[off[t] + ch];
                if (!(v > best || (v != v && best == best))) continue;
                best = v;
                at = number[t];
            }
            y[ch] = best;
            code[ch] = (uint8_t)at;
        }
    }
}

static void max_row_bwd(int64_t n, int64_t c, const float *dy, const uint8_t *code, int64_t taps, const int64_t *off,
                        const int32_t *number, float *dx, int64_t dx_step)
{
    for (int64_t i = 0; i < n; i++, dy += c, code += c, dx += dx_step) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf sum = vsplat(0);
            for (int64_t t = 0; t < taps; t++) {
                vi won = vwiden(code + off[t] + ch) == (vi){ 0 } + number[t];
                sum += vselect(won, vload(dy + off[t] + ch), vsplat(0));
            }
            vstore(dx + ch, sum);
        }
        for (; ch < c; ch++) {
            float sum = 0;
            for (int64_t t = 0; t < taps; t++)
                if (code[off[t] + ch] == number[t]) sum += dy[off[t] + ch];
            dx[ch] = sum;
        }
    }
}

static void sum_row(int64_t n, int64_t c, const float *x, int64_t step, int64_t taps, const int64_t *off, float factor,
                    float *y, int64_t y_step)
{
    for (int64_t i = 0; i < n; i++, x += step, y += y_step) {
        int64_t ch = 0;
        for (; ch + KERN_VL <= c; ch += KERN_VL) {
            vf sum = vsplat(0);
            for (int64_t t = 0; t < taps; t++) sum += vload(x + off[t] + ch);
            vstore(y + ch, sum * vsplat(factor));
        }
        for (; ch < c; ch++) {
            float sum = 0;
            for (int64_t t = 0; t < taps; t++) sum += x[off[t] + ch];
            y[ch] = sum * factor;
        }
    }
}

static const ct_kern_pool pool_kernels = { .max_row = max_row, .max_row_bwd = max_row_bwd, .sum_row = sum_row };
