/* Body of the kernels that sum: over the rows of a matrix, over products, over squares. */

KERN_INLINE void col_sums_tile(int64_t rows, int64_t ld, const float *x, double *sum, const int nv)
{
    vf s[KERN_WIDE];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) s[v] = vsplat(0);
    for (int64_t r = 0; r < rows; r++, x += ld) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) s[v] += vload(x + v * KERN_VL);
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) vadd_to(sum + v * KERN_VL, s[v]);
}

static void col_sums(int64_t rows, int64_t cols, int64_t ld, const float *x, double *sum)
{
    for (int64_t r0 = 0; r0 < rows; r0 += KERN_BLOCK) {
        const int64_t n = rows < r0 + KERN_BLOCK ? rows - r0 : KERN_BLOCK;
        const float *block = x + r0 * ld;
        int64_t c = 0;
        for (; c + KERN_WIDE * KERN_VL <= cols; c += KERN_WIDE * KERN_VL)
            col_sums_tile(n, ld, block + c, sum + c, KERN_WIDE);
        for (; c + KERN_NV * KERN_VL <= cols; c += KERN_NV * KERN_VL) col_sums_tile(n, ld, block + c, sum + c, KERN_NV);
        for (; c + 2 * KERN_VL <= cols; c += 2 * KERN_VL) col_sums_tile(n, ld, block + c, sum + c, 2);
        for (; c + KERN_VL <= cols; c += KERN_VL) col_sums_tile(n, ld, block + c, sum + c, 1);
        for (; c < cols; c++) {
            float s = 0;
            for (int64_t r = 0; r < n; r++) s += block[r * ld + c];
            sum[c] += (double)s;
        }
    }
}

KERN_INLINE void col_products_tile(int64_t rows, int64_t ld, const float *x, const float *y, double *sum, const int nv)
{
    vf s[KERN_WIDE];
    KERN_UNROLL
    for (int v = 0; v < nv; v++) s[v] = vsplat(0);
    for (int64_t r = 0; r < rows; r++, x += ld, y += ld) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) s[v] += vload(x + v * KERN_VL) * vload(y + v * KERN_VL);
    }
    KERN_UNROLL
    for (int v = 0; v < nv; v++) vadd_to(sum + v * KERN_VL, s[v]);
}

static void col_products(int64_t rows, int64_t cols, int64_t ld, const float *x, const float *y, double *sum)
{
    for (int64_t r0 = 0; r0 < rows; r0 += KERN_BLOCK) {
        const int64_t n = rows < r0 + KERN_BLOCK ? rows - r0 : KERN_BLOCK;
        const float *a = x + r0 * ld, *b = y + r0 * ld;
        int64_t c = 0;
        for (; c + KERN_WIDE * KERN_VL <= cols; c += KERN_WIDE * KERN_VL)
            col_products_tile(n, ld, a + c, b + c, sum + c, KERN_WIDE);
        for (; c + KERN_VL <= cols; c += KERN_VL) col_products_tile(n, ld, a + c, b + c, sum + c, 1);
        for (; c < cols; c++) {
            float s = 0;
            for (int64_t r = 0; r < n; r++) s += a[r * ld + c] * b[r * ld + c];
            sum[c] += (double)s;
        }
    }
}

static double lanes_sum(vf v)
{
    double sum = 0;
    for (int i = 0; i < KERN_VL; i++) sum += (double)v[i];
    return sum;
}

static void blend_bwd(int64_t n, float p, float q, const float *dy, const float *a, const float *b, float *da, float *db,
                      double sum[2])
{
    int64_t i = 0;
    while (i + KERN_VL <= n) {
        const int64_t end = i + KERN_BLOCK * KERN_VL < n ? i + KERN_BLOCK * KERN_VL : n;
        vf sa = vsplat(0), sb = vsplat(0);
        for (; i + KERN_VL <= end; i += KERN_VL) {
            const vf g = vload(dy + i);
            sa += g * vload(a + i);
            sb += g * vload(b + i);
            vstore(da + i, p * g);
            vstore(db + i, q * g);
        }
        sum[0] += lanes_sum(sa);
        sum[1] += lanes_sum(sb);
    }
    for (; i < n; i++) {
        const float g = dy[i];
        sum[0] += (double)g * (double)a[i];
        sum[1] += (double)g * (double)b[i];
        da[i] = p * g;
        db[i] = q * g;
    }
}

static double sum_squares(int64_t n, const float *x, bool *finite)
{
    double sum = 0;
    int64_t i = 0;
    while (i + KERN_VL <= n) {
        int64_t end = i + KERN_BLOCK * KERN_VL < n ? i + KERN_BLOCK * KERN_VL : n;
        vf q = vsplat(0), bad = vsplat(0);
        for (; i + KERN_VL <= end; i += KERN_VL) {
            vf v = vload(x + i);
            q += v * v;
            bad += v * 0; /* stays 0 unless an element is NaN or infinite */
        }
        for (int k = 0; k < KERN_VL; k++) {
            sum += (double)q[k];
            if (bad[k] != 0) *finite = false;
        }
    }
    for (; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
        if (x[i] * 0 != 0) *finite = false;
    }
    return sum;
}

static const ct_kern_sum sum_kernels = {
    .columns = col_sums,
    .products = col_products,
    .blend_bwd = blend_bwd,
    .squares = sum_squares,
};
