/* Body of the kernels of an LSTM's units. Included after kern_silu.h by kern_table.h. */

/* ct_tanh_f32() of ops/math/exp_math.h, a vector at a time. Written out, since of a loop over that gcc makes products for the case that x is held, too: with
 * numbers that are not normal, which some processors take a hundred cycles for. */
KERN_INLINE vf lstm_tanh(vf x)
{
    const vf shift = vsplat(12582912.0f);
    x = 2.0f * x;
    x = vselect(x > 88.0f, vsplat(88.0f), x);
    x = vselect(x < -87.0f, vsplat(-87.0f), x);
    const vf t = x * 1.44269504f + shift, n = t - shift, scale = (vf)(((vw)t << 23) + 0x3f800000u);
    vf r = x - n * 0.693145752f;
    r = r - n * 1.42860677e-6f;
    const vf p = CT_EXP_FIT(r) * (r * r) + r, m = scale * p + (scale - 1.0f);
    return m / (m + 2.0f);
}

static void lstm_units(int64_t n, const float *restrict xg, float *restrict gates, const float *restrict c_prev,
                       float *restrict c, float *restrict h)
{
    for (int64_t j = 0; j < n; j += KERN_VL) {
        const vf i = silu_sigmoid(soft_load(gates, j, n, 0) + soft_load(xg, j, n, 0));
        const vf f = silu_sigmoid(soft_load(gates + n, j, n, 0) + soft_load(xg + n, j, n, 0));
        const vf g = lstm_tanh(soft_load(gates + 2 * n, j, n, 0) + soft_load(xg + 2 * n, j, n, 0));
        const vf o = silu_sigmoid(soft_load(gates + 3 * n, j, n, 0) + soft_load(xg + 3 * n, j, n, 0));
        const vf cell = f * soft_load(c_prev, j, n, 0) + i * g;
        soft_store(c, j, n, cell);
        soft_store(h, j, n, o * lstm_tanh(cell));
        soft_store(gates, j, n, i);
        soft_store(gates + n, j, n, f);
        soft_store(gates + 2 * n, j, n, g);
        soft_store(gates + 3 * n, j, n, o);
    }
}

/* A plain loop that the compiler vectorises. */
static void lstm_units_bwd(int64_t n, const float *restrict gates, const float *restrict c,
                           const float *restrict c_prev, const float *restrict dy, const float *restrict dh_next,
                           float *restrict dc, float *restrict da)
{
    for (int64_t j = 0; j < n; j++) {
        ct_lstm_gates_f32 v = { gates[j], gates[n + j], gates[2 * n + j], gates[3 * n + j] };
        v = ct_lstm_unit_bwd_f32(v, c[j], c_prev[j], dy[j] + dh_next[j], &dc[j]);
        da[j] = v.i;
        da[n + j] = v.f;
        da[2 * n + j] = v.g;
        da[3 * n + j] = v.o;
    }
}

static const ct_kern_lstm lstm_kernels = { .units = lstm_units, .units_bwd = lstm_units_bwd };
