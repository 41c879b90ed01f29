/* Body of the kernels that move elements: between storage types, from rows to rows, from rows to columns. */

static void from_bf16(int64_t n, const uint16_t *restrict x, float *restrict y)
{
    int64_t i = 0;
    for (; i + KERN_VL <= n; i += KERN_VL) vstore(y + i, vload_bf16(x + i));
    for (; i < n; i++) y[i] = ct_bf16_to_f32(x[i]);
}

static void to_bf16(int64_t n, const float *restrict x, uint16_t *restrict y)
{
    int64_t i = 0;
    for (; i + KERN_VL <= n; i += KERN_VL) vstore_bf16(y + i, vload(x + i));
    for (; i < n; i++) y[i] = ct_f32_to_bf16(x[i]);
}

static void from_f16(int64_t n, const uint16_t *restrict x, float *restrict y)
{
    int64_t i = 0;
#ifdef KERN_F16C
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
#endif
    for (; i < n; i++) y[i] = ct_f16_to_f32(x[i]);
}

static void to_f16(int64_t n, const float *restrict x, uint16_t *restrict y)
{
    int64_t i = 0;
#ifdef KERN_F16C
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) y[i] = ct_f32_to_f16(x[i]);
}

static void copy_rows(int64_t rows, int64_t n, const float *src, int64_t ld_src, float *dst, int64_t ld_dst)
{
    for (int64_t r = 0; r < rows; r++, src += ld_src, dst += ld_dst) {
        int64_t i = 0;
        for (; i + KERN_VL <= n; i += KERN_VL) vstore(dst + i, vload(src + i));
        if (i == n) continue;
        if (n >= KERN_VL) /* the last vector overlaps the one before */
            vstore(dst + n - KERN_VL, vload(src + n - KERN_VL));
        else
            for (; i < n; i++) dst[i] = src[i];
    }
}

/* Lanes of two vectors in turn, from their first or second halves. */
#if KERN_VL == 16
#define KERN_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define KERN_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif KERN_VL == 8
#define KERN_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define KERN_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define KERN_LOW 0, 4, 1, 5
#define KERN_HIGH 2, 6, 3, 7
#endif

static void transpose(int64_t rows, int64_t cols, const float *src, int64_t ld_src, float *dst, int64_t ld_dst)
{
    int64_t r = 0;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
    /* A square of vectors at a time: when rows i and i + half are merged lane by lane, log2(KERN_VL) times, each ends
     * as a column. */
    for (; r + KERN_VL <= rows; r += KERN_VL) {
        int64_t c = 0;
        for (; c + KERN_VL <= cols; c += KERN_VL) {
            vf a[KERN_VL], b[KERN_VL];
            KERN_UNROLL_LANES
            for (int i = 0; i < KERN_VL; i++) a[i] = vload(src + (r + i) * ld_src + c);
            for (int round = KERN_VL; round > 1; round /= 4) {
                KERN_UNROLL_LANES
                for (int i = 0; i < KERN_VL / 2; i++) {
                    b[2 * i] = __builtin_shufflevector(a[i], a[i + KERN_VL / 2], KERN_LOW);
                    b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + KERN_VL / 2], KERN_HIGH);
                }
                if (round == 2) {
                    KERN_UNROLL_LANES
                    for (int i = 0; i < KERN_VL; i++) a[i] = b[i];
                    break;
                }
                KERN_UNROLL_LANES
                for (int i = 0; i < KERN_VL / 2; i++) {
                    a[2 * i] = __builtin_shufflevector(b[i], b[i + KERN_VL / 2], KERN_LOW);
                    a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + KERN_VL / 2], KERN_HIGH);
                }
            }
            KERN_UNROLL_LANES
            for (int i = 0; i < KERN_VL; i++) vstore(dst + (c + i) * ld_dst + r, a[i]);
        }
        for (; c < cols; c++)
            for (int i = 0; i < KERN_VL; i++) dst[c * ld_dst + r + i] = src[(r + i) * ld_src + c];
    }
#endif
#endif
    for (; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) dst[c * ld_dst + r] = src[r * ld_src + c];
}

static const ct_kern_copy copy_kernels = {
    .rows = copy_rows,
    .transpose = transpose,
    .from_bf16 = from_bf16,
    .to_bf16 = to_bf16,
    .from_f16 = from_f16,
    .to_f16 = to_f16,
};
