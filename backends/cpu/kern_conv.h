/* Body of the two matrix kernels. Included first by kern_table.h, after kern_<isa>.c has set KERN_VL (floats of a
 * vector), KERN_NV (vectors of a tile), KERN_MR (rows of a tile) and KERN_L2_BYTES, inside that file's target region. */

typedef float vf __attribute__((vector_size(KERN_VL * 4)));                         /* a register */
typedef float vfu __attribute__((vector_size(KERN_VL * 4), aligned(4), may_alias)); /* anywhere in memory */

#define KERN_INLINE static inline __attribute__((always_inline))

/* Loops over a tile must vanish, or its sums would live in memory. */
#if defined(__clang__)
#define KERN_UNROLL _Pragma("clang loop unroll(full)")
#define KERN_UNROLL_LANES KERN_UNROLL
#else
#define KERN_UNROLL _Pragma("GCC unroll 8")
#define KERN_UNROLL_LANES _Pragma("GCC unroll 16")
#endif

/* Cache lines that are read or written soon. */
#define KERN_FETCH(p) __builtin_prefetch(p, 0, 2)
#define KERN_FETCH_W(p) __builtin_prefetch(p, 1, 2)
#define KERN_FETCH_NEAR(p) __builtin_prefetch(p, 0, 3) /* at once */

KERN_INLINE vf vload(const float *p) { return *(const vfu *)p; }
KERN_INLINE void vstore(float *p, vf v) { *(vfu *)p = v; }

/* A store that goes past the caches where the set has one and `stream` says so: p is then aligned to a vector. */
KERN_INLINE void vstore_past(float *p, vf v, const bool stream)
{
#ifdef KERN_STREAM
    if (stream) {
        KERN_STREAM(p, v);
        return;
    }
#else
    (void)stream;
#endif
    vstore(p, v);
}

#ifdef KERN_STREAM
#define KERN_STREAMS true
#else
#define KERN_STREAMS false
#endif

/* Behind such stores. */
KERN_INLINE void stream_end(const bool stream)
{
#ifdef KERN_STREAM_END
    if (stream) KERN_STREAM_END();
#else
    (void)stream;
#endif
}

KERN_INLINE vf vsplat(float s) { return s - (vf){ 0 }; }

/* Rows of filters are a line each: a slice of them is so few lines that the processor has hardly foreseen them when they end, and the next slice is called into
 * the cache. (Where they are four lines, that gained nothing.) */
#define KERN_SHORT (KERN_NV * KERN_VL <= CT_KERN_LINE)
enum ahead { AHEAD_NONE, AHEAD_LINES, AHEAD_ROWS }; /* what a product calls into the cache: nothing, lines behind each other, or rows of lines */

_Static_assert(KERN_NV * KERN_VL <= CT_KERN_COLS, "a tile's columns");

/* Adds rows of a tile to the moments of its columns, or begins these. */
KERN_INLINE void tile_moments(float *moments, vf (*y)[KERN_NV], const bool begin, const int mr, const int nv)
{
    KERN_UNROLL
    for (int v = 0; v < nv; v++) {
        float *about = moments + v * KERN_VL, *sum = about + KERN_NV * KERN_VL, *square = sum + KERN_NV * KERN_VL;
        const vf middle = begin ? y[mr / 2][v] : vload(about);
        vf s = begin ? vsplat(0) : vload(sum), q = begin ? vsplat(0) : vload(square);
        KERN_UNROLL_LANES
        for (int i = 0; i < mr; i++) {
            const vf d = y[i][v] - middle;
            s += d;
            q += d * d;
        }
        if (begin) vstore(about, middle);
        vstore(sum, s);
        vstore(square, q);
    }
}

/* One tile: mr rows by nv vectors of columns, all sums in registers. mr and nv are constants where this is inlined. */
KERN_INLINE void igemm_tile(const ct_igemm *a, int64_t p, const float *ahead, int64_t lines, const int mr, const int nv, const enum ahead what)
{
    vf acc[KERN_MR][KERN_NV];
    const int64_t kn = a->kn;
    const bool whole = kn == nv * KERN_VL;
    float edge[KERN_NV * KERN_VL];

    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        const float *dst = a->out[p + i] + a->k_first, *src = a->accumulate ? dst : a->bias;
        KERN_UNROLL
        for (int v = 0; v < nv; v++)
            if (!a->stream) KERN_FETCH_W(dst + v * KERN_VL);
        if (src && !whole) {
            for (int64_t k = 0; k < nv * KERN_VL; k++) edge[k] = k < kn ? src[k] : 0;
            src = edge;
        }
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = src ? vload(src + v * KERN_VL) : vsplat(0);
    }
    /* What the next tile begins with is called while this one is multiplied: rows far apart, which the processor does not foresee. */
    if (a->accumulate && p + 2 * mr <= a->np) {
        KERN_UNROLL
        for (int i = 0; i < mr; i++) {
            KERN_UNROLL
            for (int v = 0; v < nv; v++) KERN_FETCH_W(a->out[p + mr + i] + a->k_first + v * KERN_VL);
        }
    }
    const float *w = a->w;
    for (int64_t t = 0; t < a->taps; t++, w += (a->c_stride - a->c) * nv * KERN_VL) {
        const float *x[KERN_MR], *const *list = a->in + t * a->in_stride + p;
        const int64_t next = p + 2 * mr <= a->np ? mr : 0; /* the tile after this reads there */
        KERN_UNROLL
        for (int i = 0; i < mr; i++) x[i] = list[i] + a->c_first;
        for (int64_t c = 0; c < a->c;) {
            const int64_t end = c + CT_KERN_LINE < a->c ? c + CT_KERN_LINE : a->c;
            KERN_UNROLL
            for (int i = 0; i < mr; i++) KERN_FETCH(list[next + i] + a->c_first + c);
            for (int64_t i = 0; i < lines && what == AHEAD_LINES; i++, ahead += CT_KERN_LINE) KERN_FETCH(ahead);
            for (int64_t i = 0; i < lines && what == AHEAD_ROWS; i++, ahead += a->next_ld)
                for (int64_t k = 0; k < a->next_run; k++) KERN_FETCH(ahead + k * CT_KERN_LINE);
            for (; c < end; c++, w += nv * KERN_VL) {
                vf b[KERN_NV];
                KERN_UNROLL
                for (int v = 0; v < nv; v++) b[v] = vload(w + v * KERN_VL);
                KERN_UNROLL
                for (int i = 0; i < mr; i++) {
                    vf s = vsplat(x[i][c]);
                    KERN_UNROLL
                    for (int v = 0; v < nv; v++) acc[i][v] += s * b[v];
                }
            }
        }
    }
    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        float *dst = whole ? a->out[p + i] + a->k_first : edge;
        KERN_UNROLL
        for (int v = 0; v < nv; v++) vstore_past(dst + v * KERN_VL, acc[i][v], a->stream && whole);
        if (!whole)
            for (int64_t k = 0; k < kn; k++) a->out[p + i][a->k_first + k] = edge[k];
    }
    if (a->moments) tile_moments(a->moments, acc, p == 0, mr, nv);
}

KERN_INLINE void igemm_rows(const ct_igemm *a, const int nv, const enum ahead what)
{
    /* Lines, or rows of them, called for each line of the channels of a tile; the last tiles may have none left. */
    const int64_t steps = a->taps * ((a->c + CT_KERN_LINE - 1) / CT_KERN_LINE), tiles = a->np / KERN_MR;
    const int64_t lines = what != AHEAD_NONE && tiles * steps > 0 ? (a->next_lines + tiles * steps - 1) / (tiles * steps) : 0;
    const int64_t ld = what == AHEAD_ROWS ? a->next_ld : CT_KERN_LINE;
    const float *ahead = a->next;
    int64_t p = 0, left = a->next_lines;
    for (; p + KERN_MR <= a->np; p += KERN_MR, ahead += lines * steps * ld, left -= lines * steps)
        igemm_tile(a, p, ahead, left > 0 ? lines : 0, KERN_MR, nv, what);
    if (KERN_MR > 4)
        for (; p + 4 <= a->np; p += 4) igemm_tile(a, p, NULL, 0, 4, nv, AHEAD_NONE);
    for (; p + 2 <= a->np; p += 2) igemm_tile(a, p, NULL, 0, 2, nv, AHEAD_NONE);
    if (p < a->np) igemm_tile(a, p, NULL, 0, 1, nv, AHEAD_NONE);
}

static void igemm(const ct_igemm *a)
{
    const enum ahead what = KERN_SHORT ? AHEAD_LINES : AHEAD_NONE;
    switch (a->kw / KERN_VL) {
    case 1: igemm_rows(a, 1, what); break;
#if KERN_NV >= 2
    case 2: igemm_rows(a, 2, what); break;
#endif
#if KERN_NV >= 4
    case 3: igemm_rows(a, 3, what); break;
    case 4:
        if (a->next_run) igemm_rows(a, 4, AHEAD_ROWS);
        else igemm_rows(a, 4, what);
        break;
#endif
    default: break;
    }
    stream_end(a->stream);
}

#define WINDOW_MR 12 /* most pixels of a tile of windows: it has as many sums as one of KERN_MR by KERN_NV, or fewer */

/* mr windows by nv vectors of columns, from start[nv vectors] on. Without lists of pointers: where taps are short, following
 * them would take longer than the products. */
KERN_INLINE void window_tile(const ct_window_gemm *a, const float *start, int64_t p, const int mr, const int nv)
{
    vf acc[WINDOW_MR][KERN_NV];
    KERN_UNROLL_LANES
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vload(start + v * KERN_VL);
    }
    const float *w = a->w;
    for (int64_t t = 0; t < a->taps; t++) {
        const float *x = a->in[t] + p * a->step;
        for (const float *end = x + a->c; x < end; x++, w += nv * KERN_VL) {
            vf b[KERN_NV];
            KERN_UNROLL
            for (int v = 0; v < nv; v++) b[v] = vload(w + v * KERN_VL);
            KERN_UNROLL_LANES
            for (int i = 0; i < mr; i++) {
                const vf s = vsplat(x[i * a->step]);
                KERN_UNROLL
                for (int v = 0; v < nv; v++) acc[i][v] += s * b[v];
            }
        }
    }
    /* Columns that are no whole vectors leave by way of rows that are. */
    float edge[WINDOW_MR * KERN_NV * KERN_VL], *out = a->out + p * a->ld;
    const bool whole = a->kn == nv * KERN_VL;
    const int64_t ld = whole ? a->ld : nv * KERN_VL;
    float *dst = whole ? out : edge;
    KERN_UNROLL_LANES
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) vstore_past(dst + i * ld + v * KERN_VL, acc[i][v], a->stream && whole);
    }
    for (int64_t i = 0; i < mr && !whole; i++) memcpy(out + i * a->ld, edge + i * ld, (size_t)a->kn * sizeof *out);
    if (a->moments) tile_moments(a->moments, acc, p == 0, mr, nv);
}

KERN_INLINE void window_rows(const ct_window_gemm *a, const int mr, const int nv)
{
    float start[KERN_NV * KERN_VL] = { 0 };
    if (a->bias) memcpy(start, a->bias, (size_t)a->kn * sizeof *start);
    int64_t p = 0;
    for (; p + mr <= a->np; p += mr) window_tile(a, start, p, mr, nv);
    for (; p + 4 <= a->np; p += 4) window_tile(a, start, p, 4, nv);
    for (; p < a->np; p++) window_tile(a, start, p, 1, nv);
}

static void windows(const ct_window_gemm *a)
{
    switch (a->kw / KERN_VL) {
    case 1: window_rows(a, WINDOW_MR, 1); break;
#if KERN_NV == 2
    case 2: window_rows(a, KERN_MR, 2); break;
#elif KERN_NV == 4
    case 2: window_rows(a, WINDOW_MR, 2); break;
    case 3: window_rows(a, KERN_MR, 3); break;
    case 4: window_rows(a, KERN_MR, 4); break;
#endif
    default: break;
    }
    stream_end(a->stream);
}

/* A row of nv vectors of sums to dst, or added to what is there. */
KERN_INLINE void sums_out(float *dst, const vf *sum, const int nv, const bool add, const bool stream)
{
    KERN_UNROLL
    for (int v = 0; v < nv; v++, dst += KERN_VL) vstore_past(dst, add ? vload(dst) + sum[v] : sum[v], stream);
}

/* A block's sums begin at zero and are added to dw at the end: far more accurate than one long sum. copies: dy is read where it shall come from. */
KERN_INLINE void wgemm_tile(const ct_wgemm *a, int64_t c, const int mr, const int nv, const bool copies)
{
    vf acc[KERN_MR][KERN_NV];
    KERN_UNROLL
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vsplat(0);
    }
    /* One line a pixel; with nothing to fetch, the line that is read anyway. */
    const int64_t tile = c / KERN_MR;
    const int which = tile < a->lines[0] ? 0 : 1;
    const int64_t line = which ? tile - a->lines[0] : tile;
    const bool fetch = line < a->lines[which];
    const float *const *ahead = fetch ? a->ahead[which] : a->in;
    const int64_t at = fetch ? a->first[which] + line * CT_KERN_LINE : c;
    const float *dy = copies ? a->dy_from : a->dy;
    const int64_t ld = copies ? a->ld_from : a->ldy;
    float *copy = a->dy;
    for (int64_t p = 0; p < a->np; p++, dy += ld) {
        const float *x = a->in[p] + c;
        KERN_FETCH(ahead[p] + at);
        vf b[KERN_NV];
        KERN_UNROLL
        for (int v = 0; v < nv; v++) b[v] = vload(dy + v * KERN_VL);
        KERN_UNROLL
        for (int v = 0; v < nv; v++)
            if (copies) vstore(copy + v * KERN_VL, b[v]);
        if (copies) copy += a->ldy;
        KERN_UNROLL
        for (int i = 0; i < mr; i++) {
            vf s = vsplat(x[i]);
            KERN_UNROLL
            for (int v = 0; v < nv; v++) acc[i][v] += s * b[v];
        }
    }
    KERN_UNROLL
    for (int i = 0; i < mr; i++) sums_out(a->dw + (c + i) * a->ldw, acc[i], nv, a->accumulate, a->stream);
}

KERN_INLINE void wgemm_rows(const ct_wgemm *a, const int nv)
{
    int64_t c = 0;
    if (a->dy_from && a->c_n >= KERN_MR) {
        wgemm_tile(a, 0, KERN_MR, nv, true);
        c = KERN_MR;
    } else if (a->dy_from) {
        for (int64_t p = 0; p < a->np; p++) memcpy(a->dy + p * a->ldy, a->dy_from + p * a->ld_from, (size_t)a->kw * sizeof *a->dy);
    }
    for (; c + KERN_MR <= a->c_n; c += KERN_MR) wgemm_tile(a, c, KERN_MR, nv, false);
    if (KERN_MR > 4)
        for (; c + 4 <= a->c_n; c += 4) wgemm_tile(a, c, 4, nv, false);
    for (; c + 2 <= a->c_n; c += 2) wgemm_tile(a, c, 2, nv, false);
    if (c < a->c_n) wgemm_tile(a, c, 1, nv, false);
}

static void wgemm(const ct_wgemm *a)
{
    switch (a->kw / KERN_VL) {
    case 1: wgemm_rows(a, 1); break;
#if KERN_NV >= 2
    case 2: wgemm_rows(a, 2); break;
#endif
#if KERN_NV >= 4
    case 3: wgemm_rows(a, 3); break;
    case 4: wgemm_rows(a, 4); break;
#endif
    default: break;
    }
    stream_end(a->stream);
}

/* mr numbers of each window by nv vectors of columns; as it reads rows, `step` floats more are fetched from `next` on for each. */
KERN_INLINE void window_sum_tile(const ct_window_sum *a, int64_t c, const float *next, int64_t step, const int mr, const int nv)
{
    vf acc[WINDOW_MR][KERN_NV];
    KERN_UNROLL_LANES
    for (int i = 0; i < mr; i++) {
        KERN_UNROLL
        for (int v = 0; v < nv; v++) acc[i][v] = vsplat(0);
    }
    const float *dy = a->dy;
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x[WINDOW_MR];
        KERN_UNROLL_LANES
        for (int i = 0; i < mr; i++) x[i] = a->in[r] + a->at[c + i];
        for (int64_t p = 0, at = 0; p < a->np; p++, at += a->step, dy += a->ldy, next += step) {
            KERN_FETCH(next);
            vf b[KERN_NV];
            KERN_UNROLL
            for (int v = 0; v < nv; v++) b[v] = vload(dy + v * KERN_VL);
            KERN_UNROLL_LANES
            for (int i = 0; i < mr; i++) {
                const vf s = vsplat(x[i][at]);
                KERN_UNROLL
                for (int v = 0; v < nv; v++) acc[i][v] += s * b[v];
            }
        }
    }
    KERN_UNROLL_LANES
    for (int i = 0; i < mr; i++) sums_out(a->dw + (c + i) * a->ldw, acc[i], nv, a->accumulate, false);
}

KERN_INLINE void window_sum_rows(const ct_window_sum *a, const int nv)
{
    /* Evenly over all tiles: a core waits for few lines at a time. */
    const int64_t tiles = a->c_n / 6 + a->c_n % 6 / 3 + a->c_n % 3, pixels = tiles * a->rows * a->np;
    const int64_t step = a->next_floats > 0 ? (a->next_floats + pixels - 1) / pixels : 0, share = step * a->rows * a->np;
    const float *next = step ? a->next : a->dy;
    int64_t c = 0;
    for (; c + 6 <= a->c_n; c += 6, next += share) window_sum_tile(a, c, next, step, 6, nv);
    for (; c + 3 <= a->c_n; c += 3, next += share) window_sum_tile(a, c, next, step, 3, nv);
    for (; c < a->c_n; c++, next += share) window_sum_tile(a, c, next, step, 1, nv);
}

static void window_sums(const ct_window_sum *a)
{
    switch (a->kw / KERN_VL) {
    case 1: window_sum_rows(a, 1); break;
#if KERN_NV >= 2
    case 2: window_sum_rows(a, 2); break;
#endif
#if KERN_NV >= 4
    case 3: window_sum_rows(a, 3); break;
    case 4: window_sum_rows(a, 4); break;
#endif
    default: break;
    }
}

static const ct_kern_conv conv_kernels = { .nr = KERN_NV * KERN_VL, .igemm = igemm, .windows = windows, .wgemm = wgemm,
                                            .window_sums = window_sums };
