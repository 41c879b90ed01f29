/* Body of the kernels of an LSTM's units: plain loops that the compiler vectorises. */

static void lstm_units(int64_t n, const float *restrict xg, float *restrict gates, const float *restrict c_prev,
                       float *restrict c, float *restrict h)
{
    for (int64_t j = 0; j < n; j++) {
        ct_lstm_gates_f32 a = { gates[j] + xg[j], gates[n + j] + xg[n + j], gates[2 * n + j] + xg[2 * n + j],
                                gates[3 * n + j] + xg[3 * n + j] };
        a = ct_lstm_unit_f32(a, c_prev[j], &c[j], &h[j]);
        gates[j] = a.i;
        gates[n + j] = a.f;
        gates[2 * n + j] = a.g;
        gates[3 * n + j] = a.o;
    }
}

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
