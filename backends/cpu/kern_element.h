/* Body of the element-wise kernels: plain loops that the compiler vectorises. */

/* Outputs may lie on an input here (in-place calls), so no restrict: iterations are independent all the same. */
#if defined(__clang__)
#define KERN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KERN_INDEPENDENT _Pragma("GCC ivdep")
#endif

static void add(int64_t n, const float *a, const float *b, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

static void mul(int64_t n, const float *a, const float *b, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

static void axpby(int64_t n, float alpha, const float *x, float beta, float *y)
{
    if (beta == 0) {
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = alpha * x[i];
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = beta * y[i] + alpha * x[i];
}

static void mask_scale(int64_t n, const float *x, const uint8_t *mask, float s, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] * s;
        y[i] = mask[i] ? v : 0;
    }
}

static void leaky(int64_t n, const float *x, float alpha, float *y)
{
    if (alpha == 0) { /* ReLU: 0 * infinity must not come into it */
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float v = x[i], low = alpha * v;
        y[i] = v < 0 ? low : v;
    }
}

static void leaky_bwd(int64_t n, const float *dy, const float *y, float alpha, float *dx)
{
    if (alpha == 0) {
        KERN_INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            float g = dy[i];
            dx[i] = y[i] > 0 ? g : 0;
        }
        return;
    }
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i], low = alpha * g;
        dx[i] = y[i] > 0 ? g : low;
    }
}

static void sigmoid_bwd(int64_t n, const float *dy, const float *y, float *dx)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (y[i] * (1 - y[i]));
}

static void tanh_bwd(int64_t n, const float *dy, const float *y, float *dx)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * (1 - y[i] * y[i]);
}

static void mul_rows(int64_t rows, int64_t cols, const float *x, const float *g, float *y)
{
    for (int64_t r = 0; r < rows; r++, x += cols, y += cols) mul(cols, x, g, y);
}

static void blend(int64_t n, float p, const float *a, float q, const float *b, float *y)
{
    KERN_INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = p * a[i] + q * b[i];
}

static const ct_kern_element element_kernels = {
    .add = add,
    .mul = mul,
    .axpby = axpby,
    .mask_scale = mask_scale,
    .leaky = leaky,
    .leaky_bwd = leaky_bwd,
    .sigmoid_bwd = sigmoid_bwd,
    .tanh_bwd = tanh_bwd,
    .mul_rows = mul_rows,
    .blend = blend,
};
