/* Body of the matrix kernels of f32 by tiles of bf16, included behind kern_amx.h, whose instructions it takes: tiles multiply bf16 so much
 * faster than vectors multiply f32 that six products of bf16 in one's place take less time.
 *
 * A number x is x0 + x1 + x2: x rounded to the 8 bits of bf16 (ties away from zero), what that leaves rounded alike, and what that leaves,
 * which has no more than 8 bits (Dekker's splitting, Numerische Mathematik 18, 1971, in three). Of the nine products x_i y_j those with
 * i + j <= 2 are summed; the others are below 2^-24 |x y| together. Products are exact in f32, and a tile adds 32 of them before it rounds at
 * the size of the whole sum: six roundings where a chain of multiplications and additions has 32. Exceptions: what is infinite or rounds
 * beyond the largest bf16 (3.39e38) becomes NaN; numbers below 2^-126 * 2^16 (1e-33) lose bits, as numbers of bf16 that are not normal count
 * as zero.
 *
 * Operands are laid out as the tiles that are loaded, 1 KiB each behind each other, whatever the length of their rows: rows of 1 or 4 KiB
 * would fight for the same few sets of the L1 cache. */

#define SPLIT_TILE (TILE * TILE)         /* words of a tile of rows */
#define SPLIT_COLUMNS (TILE * KERN_VL)   /* and of columns */

KERN_INLINE int64_t split_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* 8 bits of each number, and what they leave. */
KERN_INLINE vf split_upper(vf x, vf *rest)
{
    const vf upper = (vf)(((vw)x + 0x8000) & 0xffff0000); /* unsigned: of the largest NaNs the sum wraps, and the rest is NaN */
    *rest = x - upper;
    return upper;
}

/* Words of a's numbers, in their lower halves, and b's: a vector for each of the three levels, `level` words apart. What is left of a number
 * below 1e-33 is not normal, and may have bits in the lower half, which would be another number's. */
KERN_INLINE void split_pair(vf a, vf b, float *out, int64_t level)
{
    KERN_UNROLL
    for (int i = 0; i < 2; i++) {
        const vw lower = (vw)split_upper(a, &a), upper = (vw)split_upper(b, &b);
        vstore(out + i * level, (vf)(lower >> 16 | upper));
    }
    vstore(out + 2 * level, (vf)((vw)a >> 16 | ((vw)b & 0xffff0000)));
}

/* CT_SPLIT numbers of a row -> its words in a run of the block that row r belongs to. */
KERN_INLINE void split_row(const float *x, float *run, int64_t r)
{
    float *to = run + r % CT_SPLIT / TILE * SPLIT_TILE + r % TILE * TILE;
    KERN_UNROLL
    for (int i = 0; i < TILE; i += KERN_VL) split_pair(vload(x + i), vload(x + TILE + i), to + i, 2 * SPLIT_TILE);
}

static void split_rows(int64_t rows, int64_t n, const float *const *x, int64_t first, float *out, int64_t block)
{
    for (int64_t r = 0; r < rows; r++) {
        float *run = out + r / CT_SPLIT * block;
        const float *from = x[r] + first;
        int64_t d = 0;
        for (; d + CT_SPLIT <= n; d += CT_SPLIT, run += CT_SPLIT_ROWS) split_row(from + d, run, r);
        if (d == n) continue;
        float edge[CT_SPLIT] = { 0 };
        memcpy(edge, from + d, (size_t)(n - d) * sizeof *edge);
        split_row(edge, run, r);
    }
}

/* Two squares of KERN_VL x KERN_VL, whose rows lie at upper and lower, turned round: number pairs of their columns -> words, column q's `step` words behind
 * the one before. */
KERN_INLINE void split_turned(const float *const *lower, const float *const *upper, int64_t at, float *out, int64_t step, int64_t level)
{
    vf a[KERN_VL], b[KERN_VL];
    KERN_UNROLL_LANES
    for (int i = 0; i < KERN_VL; i++) a[i] = vload(lower[i] + at);
    turn_lanes(a);
    KERN_UNROLL_LANES
    for (int i = 0; i < KERN_VL; i++) b[i] = vload(upper[i] + at);
    turn_lanes(b);
    KERN_UNROLL_LANES
    for (int i = 0; i < KERN_VL; i++) split_pair(a[i], b[i], out + i * step, level);
}

/* What lies at x[i] + first, 0 <= i < n, m numbers of each -> `most` rows of `wide` numbers, copied where there are fewer: zeros fill up. */
KERN_INLINE void split_edge(int64_t n, int64_t most, int64_t m, int64_t wide, const float *const *x, int64_t first, float *copy, const float **row)
{
    for (int64_t i = 0; i < most; i++) {
        row[i] = i < n && m == wide ? x[i] + first : copy + i * wide;
        for (int64_t j = 0; row[i] == copy + i * wide && j < wide; j++) copy[i * wide + j] = i < n && j < m ? x[i][first + j] : 0;
    }
}

static void split_rows_turned(int64_t rows, int64_t n, const float *const *x, int64_t first, float *out, int64_t block)
{
    float copy[CT_SPLIT * KERN_VL];
    const float *row[CT_SPLIT];
    for (int64_t d = 0; d < n; d += CT_SPLIT)
        for (int64_t r = 0; r < rows; r += KERN_VL) {
            float *to = out + r / CT_SPLIT * block + d / CT_SPLIT * CT_SPLIT_ROWS + r % CT_SPLIT / TILE * SPLIT_TILE + r % TILE * TILE;
            split_edge(split_least(CT_SPLIT, n - d), CT_SPLIT, split_least(KERN_VL, rows - r), KERN_VL, x + d, first + r, copy, row);
            for (int i = 0; i < TILE; i += KERN_VL) split_turned(row + i, row + TILE + i, 0, to + i, TILE, 2 * SPLIT_TILE);
        }
}

/* 2 TILE numbers below each other, of 2 KERN_VL columns -> a run. */
KERN_INLINE void split_columns(const float *const *row, float *run)
{
    for (int i = 0; i < TILE; i++)
        KERN_UNROLL
        for (int h = 0; h < 2; h++)
            split_pair(vload(row[i] + h * KERN_VL), vload(row[TILE + i] + h * KERN_VL), run + h * SPLIT_COLUMNS + i * KERN_VL,
                       2 * SPLIT_COLUMNS);
}

static void split_cols(int64_t n, int64_t cols, const float *const *x, int64_t first, float *out, int64_t block)
{
    static const float zeros[2 * KERN_VL];
    for (int64_t d = 0; d < n; d += CT_SPLIT) {
        float *run = out + d / CT_SPLIT * 6 * SPLIT_COLUMNS;
        for (int64_t k = 0; k < cols; k += 2 * KERN_VL, run += block) {
            const int64_t wide = split_least(2 * KERN_VL, cols - k);
            float edge[CT_SPLIT][2 * KERN_VL];
            const float *row[CT_SPLIT];
            for (int64_t i = 0; i < CT_SPLIT; i++) {
                row[i] = d + i < n ? x[d + i] + first + k : zeros;
                if (wide == 2 * KERN_VL || d + i >= n) continue;
                for (int64_t j = 0; j < 2 * KERN_VL; j++) edge[i][j] = j < wide ? row[i][j] : 0;
                row[i] = edge[i];
            }
            split_columns(row, run);
        }
    }
}

/* KERN_VL columns at a time: more streams are not foreseen by the processor. */
static void split_cols_turned(int64_t n, int64_t cols, const float *const *x, int64_t first, float *out, int64_t block)
{
    float copy[CT_SPLIT * KERN_VL];
    const float *row[KERN_VL], *upper[KERN_VL];
    for (int64_t k = 0; k < (cols + 2 * KERN_VL - 1) / (2 * KERN_VL) * (2 * KERN_VL); k += KERN_VL)
        for (int64_t d = 0; d < n; d += CT_SPLIT) {
            float *to = out + k / (2 * KERN_VL) * block + d / CT_SPLIT * 6 * SPLIT_COLUMNS + k % (2 * KERN_VL) / KERN_VL * SPLIT_COLUMNS;
            split_edge(k < cols ? split_least(KERN_VL, cols - k) : 0, KERN_VL, split_least(CT_SPLIT, n - d), CT_SPLIT, x + k, first + d, copy, row);
            for (int i = 0; i < KERN_VL; i++) upper[i] = row[i] + TILE;
            for (int i = 0; i < TILE; i += KERN_VL) split_turned(row, upper, i, to + i * KERN_VL, KERN_VL, 2 * SPLIT_COLUMNS);
        }
}

/* Registers: sums of two tiles of rows by two of columns in 0 to 3; rows are multiplied from 4 and 5, columns from 6 and 7. */

KERN_INLINE void split_load(const float *p, int64_t ld, const int mr, const int nc)
{
    TILE_LOAD(0, p, ld);
    if (nc > 1) TILE_LOAD(1, p + KERN_VL, ld);
    if (mr > 1) TILE_LOAD(2, p + TILE * ld, ld);
    if (mr > 1 && nc > 1) TILE_LOAD(3, p + TILE * ld + KERN_VL, ld);
}

KERN_INLINE void split_store(float *p, int64_t ld, const int mr, const int nc)
{
    TILE_STORE(0, p, ld);
    if (nc > 1) TILE_STORE(1, p + KERN_VL, ld);
    if (mr > 1) TILE_STORE(2, p + TILE * ld, ld);
    if (mr > 1 && nc > 1) TILE_STORE(3, p + TILE * ld + KERN_VL, ld);
}

KERN_INLINE void split_load_rows(const float *a, const int mr)
{
    TILE_LOAD_A(4, a, TILE);
    if (mr > 1) TILE_LOAD_A(5, a + SPLIT_TILE, TILE);
}

KERN_INLINE void split_load_cols(const float *b, const int nc)
{
    TILE_LOAD(6, b, KERN_VL);
    if (nc > 1) TILE_LOAD(7, b + SPLIT_COLUMNS, KERN_VL);
}

KERN_INLINE void split_dot(const int mr, const int nc)
{
    TILE_DOT(0, 4, 6);
    if (nc > 1) TILE_DOT(1, 4, 7);
    if (mr > 1) TILE_DOT(2, 5, 6);
    if (mr > 1 && nc > 1) TILE_DOT(3, 5, 7);
}

/* Adds the products of some runs: small ones first, and from one to the next only one side is loaded. */
KERN_INLINE void split_sum(const float *a, const float *b, int64_t runs, const int mr, const int nc)
{
    for (int64_t i = 0; i < runs; i++, a += CT_SPLIT_ROWS, b += 6 * SPLIT_COLUMNS) {
        split_load_rows(a, mr);
        split_load_cols(b + 4 * SPLIT_COLUMNS, nc);
        split_dot(mr, nc);
        split_load_cols(b + 2 * SPLIT_COLUMNS, nc);
        split_dot(mr, nc);
        split_load_rows(a + 2 * SPLIT_TILE, mr);
        split_dot(mr, nc);
        split_load_cols(b, nc);
        split_dot(mr, nc);
        split_load_rows(a + 4 * SPLIT_TILE, mr);
        split_dot(mr, nc);
        split_load_rows(a, mr);
        split_dot(mr, nc);
    }
}

/* The floats from a row of sums to the next where `n` rows lie as far from each other; else false. */
KERN_INLINE bool split_even(float *const *row, int64_t n, int64_t *ld)
{
    const intptr_t step = (intptr_t)row[1] - (intptr_t)row[0];
    bool even = true;
    for (int64_t i = 2; i < n; i++) even &= (intptr_t)row[i] - (intptr_t)row[i - 1] == step;
    *ld = step / (intptr_t)sizeof(float);
    return even;
}

/* Sums of up to 16 mr rows, from row r on, by nc tiles of columns from column k on, made where they are to be if they are whole tiles there, and not to be
 * written past the caches. start: what they begin with; NULL: what is there. */
KERN_INLINE void split_block(const ct_split_gemm *g, int64_t r, int64_t k, const float *a, const float *b, const float *start, const int mr, const int nc)
{
    enum { LD = 2 * KERN_VL };
    const int64_t rows = split_least(mr * TILE, g->rows - r), cols = split_least(nc * KERN_VL, g->cols - k), at = g->first + k;
    float *const *out = g->out + r, room[2 * TILE * LD], *sums = room;
    int64_t ld = LD;
    const bool there = !g->stream && rows == mr * TILE && cols == nc * KERN_VL && split_even(out, rows, &ld);
    if (there) sums = out[0] + at;
    else ld = LD;
    for (int64_t i = 0; i < rows && !there && !start; i++) memcpy(room + i * LD, out[i] + at, (size_t)cols * sizeof *room);
    if (start) split_load(start, 0, mr, nc);
    else split_load(sums, ld, mr, nc);
    split_sum(a, b, g->runs, mr, nc);
    split_store(sums, ld, mr, nc);
    if (g->stream && cols == nc * KERN_VL) {
        for (int64_t i = 0; i < rows; i++)
            for (int v = 0; v < nc; v++) vstore_past(out[i] + at + v * KERN_VL, vload(room + i * LD + v * KERN_VL), true);
        return;
    }
    for (int64_t i = 0; i < rows && !there; i++) memcpy(out[i] + at, room + i * LD, (size_t)cols * sizeof *room);
}

static void split_gemm(const ct_split_gemm *g)
{
    TILE_BEGIN();
    for (int64_t k = 0; k < g->cols; k += 2 * KERN_VL) {
        const float *b = g->b + k / (2 * KERN_VL) * g->b_block;
        float bias[2 * KERN_VL];
        for (int64_t j = 0; j < 2 * KERN_VL; j++) bias[j] = g->bias && k + j < g->cols ? g->bias[k + j] : 0;
        const float *start = g->accumulate ? NULL : bias;
        const bool two = k + KERN_VL < g->cols;
        for (int64_t r = 0; r < g->rows; r += CT_SPLIT) {
            const float *a = g->a + r / CT_SPLIT * g->a_block;
            if (r + TILE < g->rows) {
                if (two) split_block(g, r, k, a, b, start, 2, 2);
                else split_block(g, r, k, a, b, start, 2, 1);
            } else {
                if (two) split_block(g, r, k, a, b, start, 1, 2);
                else split_block(g, r, k, a, b, start, 1, 1);
            }
        }
    }
    TILE_END();
    stream_end(g->stream);
}

static const ct_kern_split split_kernels = {
    .rows = split_rows,
    .rows_turned = split_rows_turned,
    .cols = split_cols,
    .cols_turned = split_cols_turned,
    .gemm = split_gemm,
};
