/* Body of the matrix kernels of bf16 for processors that multiply tiles (AMX): a register holds 16 rows of 16 words, and one instruction
 * multiplies two of them. Included by kern_<isa>.c behind kern_pairs.h, for sets that have
 *
 *   TILE_BEGIN(), TILE_END()     around all others: a thread's registers are set up, and given back
 *   TILE_ZERO(c)
 *   TILE_LOAD(t, p, ld)          rows of words or floats from p on, ld of them apart: columns and sums
 *   TILE_LOAD_A(t, p, ld)        the same for rows that are multiplied
 *   TILE_STORE(c, p, ld)
 *   TILE_DOT(c, a, b)            c[i][k] += sum over w of both products of the words a[i][w] and b[w][k]
 *
 * where c, t, a and b are the registers' numbers, 0 to 7, as they stand. Without the instructions KERN_TILES_EMULATED does in plain C what
 * they do (Intel SDM, TDPBF16PS; compared bit by bit by tests/cpu/check_pairs.c): the products of lower halves are summed for themselves, and
 * those of upper halves, each sum rounded once by a product and an addition; then both sums are added, and what they give to c. Numbers
 * below the smallest normal one count as zero, before and after. A register of sums has KERN_VL columns there.
 *
 * Every result is the same sum in the same order wherever its row lies among those of a call: a tile is 16 words deep from the first on. */

#define TILE CT_KERN_TILE
#define TILE_PANEL 256             /* words of a row that are laid out at a time */
#define TILE_LD (TILE_PANEL + TILE) /* of a panel: no two rows share a set of the cache */

#ifdef KERN_TILES_EMULATED
#include <math.h>

typedef struct tile {
    uint32_t word[TILE][TILE];
} tile;

static _Thread_local tile tile_at[8];

KERN_INLINE float tile_flush(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (!(bits & 0x7f800000)) bits &= 0x80000000;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void tile_load(int t, const float *p, int64_t ld, int cols)
{
    for (int i = 0; i < TILE; i++) memcpy(tile_at[t].word[i], p + i * ld, (size_t)cols * 4);
}

static void tile_store(int c, float *p, int64_t ld)
{
    for (int i = 0; i < TILE; i++) memcpy(p + i * ld, tile_at[c].word[i], (size_t)KERN_VL * 4);
}

static float tile_half(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return tile_flush(f);
}

static void tile_dot(int c, int a, int b)
{
    for (int i = 0; i < TILE; i++)
        for (int k = 0; k < KERN_VL; k++) {
            float lower = 0, upper = 0, sum;
            for (int w = 0; w < TILE; w++) {
                const uint32_t x = tile_at[a].word[i][w], y = tile_at[b].word[w][k];
                lower = tile_flush(fmaf(tile_half(x << 16), tile_half(y << 16), lower));
                upper = tile_flush(fmaf(tile_half(x & 0xffff0000), tile_half(y & 0xffff0000), upper));
            }
            memcpy(&sum, &tile_at[c].word[i][k], sizeof sum);
            sum = tile_flush(tile_flush(sum) + tile_flush(lower + upper));
            memcpy(&tile_at[c].word[i][k], &sum, sizeof sum);
        }
}

#define TILE_BEGIN()
#define TILE_END()
#define TILE_ZERO(c) memset(&tile_at[c], 0, sizeof tile_at[c])
#define TILE_LOAD(t, p, ld) tile_load(t, p, ld, KERN_VL)
#define TILE_LOAD_A(t, p, ld) tile_load(t, p, ld, TILE)
#define TILE_STORE(c, p, ld) tile_store(c, p, ld)
#define TILE_DOT(c, a, b) tile_dot(c, a, b)
#endif

/* Registers: sums in 0 to 3, columns side by side; a row of tiles is multiplied from 4, columns from the others. */

KERN_INLINE void tiles_zero(const int nv)
{
    TILE_ZERO(0);
    if (nv > 1) TILE_ZERO(1);
    if (nv > 2) TILE_ZERO(2);
    if (nv > 3) TILE_ZERO(3);
}

KERN_INLINE void tiles_load(const float *p, int64_t ld, const int nv)
{
    TILE_LOAD(0, p, ld);
    if (nv > 1) TILE_LOAD(1, p + KERN_VL, ld);
    if (nv > 2) TILE_LOAD(2, p + 2 * KERN_VL, ld);
    if (nv > 3) TILE_LOAD(3, p + 3 * KERN_VL, ld);
}

KERN_INLINE void tiles_store(float *p, int64_t ld, const int nv)
{
    TILE_STORE(0, p, ld);
    if (nv > 1) TILE_STORE(1, p + KERN_VL, ld);
    if (nv > 2) TILE_STORE(2, p + 2 * KERN_VL, ld);
    if (nv > 3) TILE_STORE(3, p + 3 * KERN_VL, ld);
}

/* 16 rows of 16 words times nv tiles of columns. */
KERN_INLINE void tiles_dot(const float *a, int64_t lda, const float *b, int64_t ldb, const int nv)
{
    TILE_LOAD_A(4, a, lda);
    TILE_LOAD(5, b, ldb);
    TILE_DOT(0, 4, 5);
    if (nv > 1) {
        TILE_LOAD(6, b + KERN_VL, ldb);
        TILE_DOT(1, 4, 6);
    }
    if (nv > 2) {
        TILE_LOAD(7, b + 2 * KERN_VL, ldb);
        TILE_DOT(2, 4, 7);
    }
    if (nv > 3) {
        TILE_LOAD(5, b + 3 * KERN_VL, ldb);
        TILE_DOT(3, 4, 5);
    }
}

/* The last rows of b [depth][ldb], which fill a tile in part: a copy [TILE][nv * vl] that zeros fill up. */
KERN_INLINE void tiles_last(const float *b, int64_t depth, int64_t ldb, float *last, const int nv)
{
    const int64_t rest = depth % TILE;
    if (!rest) return;
    b += (depth - rest) * ldb;
    for (int64_t i = 0; i < TILE; i++)
        for (int v = 0; v < nv; v++)
            vstore(last + (i * nv + v) * KERN_VL, i < rest ? vload(b + i * ldb + v * KERN_VL) : vsplat(0));
}

/* The sums of n words from word `from` of depth on: rows of a times rows of b, or of `last`. */
KERN_INLINE void tiles_sum(const float *a, int64_t lda, const float *b, int64_t ldb, int64_t from, int64_t n, int64_t depth, const float *last,
                           const int nv)
{
    for (int64_t w = 0; w < n; w += TILE) {
        if (from + w + TILE <= depth) tiles_dot(a + w, lda, b + (from + w) * ldb, ldb, nv);
        else tiles_dot(a + w, lda, last, nv * KERN_VL, nv);
    }
}

/* The words from a row to the next where 16 rows lie as far from each other; else false. */
KERN_INLINE bool tiles_even(const float *const *row, int64_t *ld)
{
    const intptr_t step = (intptr_t)row[1] - (intptr_t)row[0];
    bool even = true;
    for (int i = 2; i < TILE; i++) even &= (intptr_t)row[i] - (intptr_t)row[i - 1] == step;
    *ld = step / (intptr_t)sizeof(float);
    return even;
}

/* Words from .. from+n-1 of all taps' of rows p .. p+rows-1 -> panel; what fills up its tiles is zero. */
static void tiles_gather(const ct_igemm *a, int64_t p, int64_t rows, int64_t from, int64_t n, float *panel)
{
    const int64_t wide = (n + TILE - 1) / TILE * TILE;
    for (int64_t i = 0; i < TILE; i++) {
        float *out = panel + i * TILE_LD;
        int64_t w = 0, t = from / a->c, c = from % a->c;
        for (int64_t run; i < rows && w < n; w += run, t++, c = 0) {
            const float *x = a->in[t * a->in_stride + p + i] + a->c_first + c;
            run = a->c - c < n - w ? a->c - c : n - w;
            int64_t j = 0;
            for (; j + KERN_VL <= run; j += KERN_VL) vstore(out + w + j, vload(x + j));
            for (; j < run; j++) memcpy(out + w + j, x + j, sizeof *out);
        }
        for (; w < wide; w++) out[w] = 0;
    }
}

/* As pairs_rows. Whole tiles of channels of rows that lie evenly are multiplied where they are. */
KERN_INLINE void tiles_rows(const ct_igemm *a, const int nv)
{
    const int64_t depth = a->taps * a->c;
    float start[KERN_NV * KERN_VL], last[TILE * KERN_NV * KERN_VL], panel[TILE * TILE_LD], sums[TILE * KERN_NV * KERN_VL];
    for (int64_t k = 0; k < nv * KERN_VL; k++) start[k] = a->bias && k < a->kn ? a->bias[k] : 0;
    tiles_last(a->w, depth, a->kw, last, nv);
    for (int64_t p = 0; p < a->np; p += TILE) {
        const int64_t rows = a->np - p < TILE ? a->np - p : TILE;
        const bool whole = rows == TILE && a->c % TILE == 0;
        tiles_load(start, 0, nv);
        for (int64_t k = 0, n, ld; k < depth; k += n) {
            const float *const *row = a->in + (whole ? k / a->c : 0) * a->in_stride + p;
            n = whole ? a->c - k % a->c : depth - k; /* of one tap */
            if (whole && tiles_even(row, &ld)) {
                tiles_sum(row[0] + a->c_first + k % a->c, ld, a->w, a->kw, k, n, depth, last, nv);
                continue;
            }
            if (n > TILE_PANEL) n = TILE_PANEL;
            tiles_gather(a, p, rows, k, n, panel);
            tiles_sum(panel, TILE_LD, a->w, a->kw, k, n, depth, last, nv);
        }
        tiles_store(sums, nv * KERN_VL, nv);
        for (int64_t i = 0; i < rows; i++) {
            uint16_t *out = a->out16[p + i] + a->k_first, edge[KERN_NV * KERN_VL], *dst = a->kn == nv * KERN_VL ? out : edge;
            for (int v = 0; v < nv; v++) pairs_store(dst + v * KERN_VL, vload(sums + (i * nv + v) * KERN_VL));
            if (dst == edge) memcpy(out, edge, (size_t)a->kn * sizeof *out);
        }
    }
}

static void tiles_igemm(const ct_igemm *a)
{
    TILE_BEGIN();
    switch (a->kw / KERN_VL) {
    case 1: tiles_rows(a, 1); break;
    case 2: tiles_rows(a, 2); break;
#if KERN_NV >= 4
    case 3: tiles_rows(a, 3); break;
    case 4: tiles_rows(a, 4); break;
#endif
    default: break;
    }
    TILE_END();
}

/* As pairs_wrows, of channels whose pixels lie side by side. */
KERN_INLINE void tiles_wrows(const ct_wgemm *a, const int nv)
{
    float last[TILE * KERN_NV * KERN_VL], sums[TILE * KERN_NV * KERN_VL];
    tiles_last(a->dy, a->np, a->ldy, last, nv);
    for (int64_t c = 0; c < a->c_n; c += TILE) {
        const int64_t rows = a->c_n - c < TILE ? a->c_n - c : TILE;
        tiles_zero(nv);
        tiles_sum(a->turned + c * a->ld_turned, a->ld_turned, a->dy, a->ldy, 0, a->np, a->np, last, nv);
        tiles_store(sums, nv * KERN_VL, nv);
        for (int64_t i = 0; i < rows; i++)
            for (int v = 0; v < nv; v++) {
                const vf sum = vload(sums + (i * nv + v) * KERN_VL);
                float *dst = a->dw + (c + i) * a->ldw + v * KERN_VL;
                vstore(dst, a->accumulate ? vload(dst) + sum : sum);
            }
    }
}

static void tiles_wgemm(const ct_wgemm *a)
{
    TILE_BEGIN();
    switch (a->kw / KERN_VL) {
    case 1: tiles_wrows(a, 1); break;
    case 2: tiles_wrows(a, 2); break;
#if KERN_NV >= 4
    case 3: tiles_wrows(a, 3); break;
    case 4: tiles_wrows(a, 4); break;
#endif
    default: break;
    }
    TILE_END();
}

static const ct_kern_pairs tiles_kernels = {
    .igemm = tiles_igemm,
    .wgemm = tiles_wgemm,
    .zip = pairs_zip,
    .turned = true,
};
