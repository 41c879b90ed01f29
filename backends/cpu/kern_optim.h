/* Body of the optimizers' kernels: plain loops that the compiler vectorises. */

static void adam(int64_t n, const ct_adam_coef_f32 *coef, const float *restrict g, float *restrict p, float *restrict m,
                 float *restrict v)
{
    const ct_adam_coef_f32 c = *coef;
    for (int64_t i = 0; i < n; i++) ct_adam_f32(&c, g[i], p + i, m + i, v + i);
}

static void sgd(int64_t n, const ct_sgd_coef *coef, const float *restrict g, float *restrict p, float *restrict buf)
{
    const ct_sgd_coef c = *coef;
    if (c.first) {
        for (int64_t i = 0; i < n; i++) buf[i] = 0; /* what it holds is not to be read, not even as a factor of 0 */
    }
    for (int64_t i = 0; i < n; i++) ct_sgd_f32(&c, g[i], p + i, buf + i);
}

static void muon(int64_t n, const ct_muon_coef *coef, const float *restrict g, float *restrict m, float *restrict u)
{
    const ct_muon_coef c = *coef;
    for (int64_t i = 0; i < n; i++) u[i] = ct_muon_f32(&c, g[i], m + i);
}

static void ema(int64_t n, float d, float one_minus_d, const float *restrict src, float *restrict shadow)
{
    for (int64_t i = 0; i < n; i++) shadow[i] = ct_ema_f32(d, one_minus_d, shadow[i], src[i]);
}

static const ct_kern_optim optim_kernels = { .adam = adam, .sgd = sgd, .muon = muon, .ema = ema };
