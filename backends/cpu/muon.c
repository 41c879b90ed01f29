/* muon: momentum, Newton-Schulz and update of matrices of one shape.
 *
 * Newton-Schulz takes X to p(X X') X, p a polynomial: after k steps X_k = Q_k X_0, where Q_k is a product of
 * polynomials of A_0 = X_0 X_0'. All of these commute and are symmetric, so that
 *     M = a I + b A + c A A,   Q := Q M,   A := (M A) M        (A = X_k X_k')
 * never touches X: a step costs four products of the shorter side's squares instead of two with the whole matrix, which
 * has many times as many elements where it is a filter's; and each result is symmetric, of which blocks on and below
 * the diagonal are computed. X_0 comes in twice: for A_0 and for Q X_0. The price is that what rounding adds to A_0 is
 * carried along instead of being made anew; it stays near 1e-4 of the result in the worst of spectra. Where the matrix
 * has more rows than columns, A_0 is X_0' X_0 and the result X_0 Q.
 *
 * Products are OpenBLAS calls on blocks, each by one of the backend's threads; blocks are the same for any number. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <math.h>

#include "ops/math/optim_math.h"

#define PIECE 16384 /* least elements of a piece of a matrix */
#define PART 2048   /* elements of a part, whose gradients may have to be converted */
#define SIDE 96     /* rows and columns of a block of a square */
#define ROWS 128    /* of a block of the result */
#define COLS 256
#define SHARED_WORK 1e6 /* multiplications from which on other threads are woken for a product */

enum { A, B, M, T, Q, R, SQUARES }; /* squares of the shorter side that a matrix has room for */

typedef struct muon {
    const ct_device *dev;
    const ct_kern *kern;
    const ct_call *call;
    const ct_tensor *copy; /* the parameters in 16 bits; NULL: not wanted */
    ct_muon_coef coef;
    int64_t matrices, stride; /* elements from one to the next */
    int64_t rows, cols, side; /* side: the shorter */
    int64_t blocks, pairs;    /* of a square: along a side, on and below the diagonal */
    bool tall;                /* more rows than columns */
    ct_pieces pieces;         /* of a matrix */
    float *u;                 /* [matrices][stride] what is made orthogonal */
    double *sums;             /* [matrices][pieces] sums of its squares */
    float *square[SQUARES];   /* [matrices][side*side] */
    float *room;              /* [threads][ROWS*COLS] */
} muon;

/* c = a b, or with `poly` c = CT_MUON_A I + CT_MUON_B a + CT_MUON_C a b; squares by their numbers. a, b and c are
 * symmetric and commute. a < 0: u times its transpose. */
typedef struct product { int a, b, c; bool poly; } product;

typedef struct stage {
    const muon *m;
    product of[2]; /* that do not wait for each other */
    int64_t n;
} stage;

static size_t lay_out(muon *m, void *base)
{
    ct_carve t = { base, 0 };
    m->u = ct_carve_take(&t, (size_t)(m->matrices * m->stride) * sizeof(float));
    m->sums = ct_carve_take(&t, (size_t)(m->matrices * m->pieces.count) * sizeof(double));
    for (int i = 0; i < SQUARES; i++)
        m->square[i] = ct_carve_take(&t, (size_t)(m->matrices * m->side * m->side) * sizeof(float));
    m->room = ct_carve_take(&t, (size_t)(m->dev->threads * ROWS * COLS) * sizeof(float));
    return t.used;
}

static muon make(const ct_device *dev, const ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    muon m = { .dev = dev, .kern = dev->kern, .call = c, .rows = a->rows, .cols = a->cols, .stride = a->stride };
    m.matrices = ct_desc_numel(&c->in[0].desc) / a->stride;
    m.tall = a->rows > a->cols;
    m.side = ct_min64(a->rows, a->cols);
    m.blocks = ct_ceil_div(m.side, SIDE);
    m.pairs = m.blocks * (m.blocks + 1) / 2;
    m.pieces = ct_cpu_pieces(a->rows * a->cols, PART, PIECE);
    return m;
}

static float *element(const muon *m, int tensor, int64_t at) { return (float *)m->call->in[tensor].data + at; }
static float *square(const muon *m, int i, int64_t matrix) { return m->square[i] + matrix * m->side * m->side; }

/* ---- what is made orthogonal ---- */

static void moment_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const muon *m = arg;
    const ct_tensor *g = &m->call->in[1];
    float buf[PART];
    const int64_t base = item / m->pieces.count * m->stride, first = item % m->pieces.count * m->pieces.size;
    const int64_t end = ct_min64(first + m->pieces.size, m->rows * m->cols);
    bool finite;
    for (int64_t at = first; at < end; at += PART) {
        const int64_t n = ct_min64(PART, end - at);
        m->kern->optim->muon(n, &m->coef, ct_cpu_read(m->kern, g->desc.dtype, g->data, base + at, n, buf),
                             element(m, 2, base + at), m->u + base + at);
    }
    m->sums[item] = m->kern->sum->squares(end - first, m->u + base + first, &finite);
}

static void norm_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const muon *m = arg;
    const int64_t matrix = item / m->pieces.count, first = item % m->pieces.count * m->pieces.size;
    const int64_t n = ct_min64(m->pieces.size, m->rows * m->cols - first);
    float *u = m->u + matrix * m->stride + first;
    double sum = 0;
    for (int64_t i = 0; i < m->pieces.count; i++) sum += m->sums[matrix * m->pieces.count + i];
    const float inv = (float)(1 / fmax(sqrt(sum), CT_MUON_EPS));
    m->kern->element->axpby(n, inv, u, 0, u);
}

/* ---- squares ---- */

/* Block of rows i and columns j as c = a b. */
static void square_block(const muon *m, const product *p, int64_t matrix, int64_t i, int64_t j, float *c)
{
    const int64_t n = m->side, rows = ct_min64(SIDE, n - i), cols = ct_min64(SIDE, n - j);
    if (p->a >= 0) { /* columns of b are its rows */
        ct_cpu_sgemm(false, true, rows, cols, n, square(m, p->a, matrix) + i * n, n, square(m, p->b, matrix) + j * n, n,
                     0, c, n);
        return;
    }
    const float *u = m->u + matrix * m->stride;
    if (m->tall) ct_cpu_sgemm(true, false, rows, cols, m->rows, u + i, n, u + j, n, 0, c, n);
    else ct_cpu_sgemm(false, true, rows, cols, m->cols, u + i * m->cols, m->cols, u + j * m->cols, m->cols, 0, c, n);
}

static void square_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const stage *s = arg;
    const muon *m = s->m;
    const product *p = &s->of[item % s->n];
    const int64_t n = m->side, matrix = item / s->n / m->pairs;
    int64_t i = 0, j = item / s->n % m->pairs;
    while (j > i) j -= ++i;
    i *= SIDE;
    j *= SIDE;
    const int64_t rows = ct_min64(SIDE, n - i), cols = ct_min64(SIDE, n - j);
    float *c = square(m, p->c, matrix) + i * n + j;
    square_block(m, p, matrix, i, j, c);
    for (int64_t r = 0; p->poly && r < rows; r++) {
        m->kern->element->axpby(cols, (float)CT_MUON_B, square(m, p->a, matrix) + (i + r) * n + j, (float)CT_MUON_C,
                                c + r * n);
        if (i == j) c[r * n + r] += (float)CT_MUON_A;
    }
    if (i != j) m->kern->copy->transpose(rows, cols, c, n, square(m, p->c, matrix) + j * n + i, n);
}

/* Runs items on all threads where their work is worth waking them. */
static void run_items(const muon *m, int64_t items, double work, ct_cpu_body body, void *arg)
{
    if (work >= SHARED_WORK) {
        ct_cpu_for(m->dev, items, body, arg);
        return;
    }
    for (int64_t i = 0; i < items; i++) body(arg, i, 0);
}

static void run_stage(const muon *m, int64_t depth, product first, const product *second)
{
    stage s = { m, { first, second ? *second : first }, second ? 2 : 1 };
    run_items(m, s.n * m->matrices * m->pairs, (double)(s.n * m->matrices * m->side * m->side) * (double)depth,
              square_item, &s);
}

/* Steps of Newton-Schulz on squares; the number of the one that holds Q. */
static int squares(const muon *m)
{
    int a = A, b = B, q = M, free = Q, spare = R;
    const int64_t n = m->side, steps = m->call->attrs.optim.steps;
    run_stage(m, ct_max64(m->rows, m->cols), (product){ -1, -1, a, false }, NULL);
    for (int64_t k = 0; k < steps; k++) {
        const int p = k == 0 ? q : free; /* where the step's polynomial goes; the first is Q itself */
        const product join = { q, p, spare, false };
        run_stage(m, n, (product){ a, a, p, true }, NULL);
        if (k + 1 < steps) {
            run_stage(m, n, (product){ p, a, T, false }, NULL);
            run_stage(m, n, (product){ T, p, b, false }, k > 0 ? &join : NULL);
            const int swap = a;
            a = b;
            b = swap;
        } else if (k > 0) {
            run_stage(m, n, join, NULL);
        }
        if (k > 0) {
            const int swap = q;
            q = spare;
            spare = swap;
        }
    }
    return q;
}

/* ---- the update ---- */

typedef struct result { const muon *m; int q; } result;

static void result_item(void *arg, int64_t item, int thread)
{
    const result *o = arg;
    const muon *m = o->m;
    const int64_t across = ct_ceil_div(m->cols, COLS), down = ct_ceil_div(m->rows, ROWS), matrix = item / across / down;
    const int64_t i = item / across % down * ROWS, j = item % across * COLS;
    const int64_t rows = ct_min64(ROWS, m->rows - i), cols = ct_min64(COLS, m->cols - j), n = m->side;
    const float *u = m->u + matrix * m->stride, *q = square(m, o->q, matrix);
    float *c = m->room + (int64_t)thread * ROWS * COLS;
    if (m->tall) ct_cpu_sgemm(false, false, rows, cols, n, u + i * n, n, q + j, n, 0, c, cols);
    else ct_cpu_sgemm(false, false, rows, cols, n, q + i * n, n, u + j, m->cols, 0, c, cols);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = matrix * m->stride + (i + r) * m->cols + j;
        float *p = element(m, 0, at);
        m->kern->element->axpby(cols, (float)-m->coef.step, c + r * cols, (float)m->coef.keep, p);
        if (m->copy) ct_cpu_to_type(m->kern, m->copy->desc.dtype, p, cols, m->copy->data, at);
    }
}

static ct_accept muon_accept(const ct_device *dev, const ct_call *c)
{
    for (int i = 0; i < c->nin; i++) {
        const ct_dtype d = c->in[i].desc.dtype;
        if (i == 3 || !ct_present(&c->in[i]) || d == CT_F32) continue;
        if (ct_dtype_size(d) != 2) return ct_accept_no(CT_CPU_NO_TYPE);
    }
    muon m = make(dev, c);
    return ct_accept_yes(lay_out(&m, NULL));
}

static ct_status muon_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const double *state = c->in[3].data;
    if (ct_step_skipped(state)) return CT_OK;
    muon m = make(dev, c);
    lay_out(&m, scratch);
    m.coef = ct_muon_coefficients(&c->attrs.optim, state);
    m.copy = c->nin > 4 && ct_present(&c->in[4]) ? &c->in[4] : NULL;
    const double elems = (double)(m.matrices * m.rows * m.cols);
    run_items(&m, m.matrices * m.pieces.count, 16 * elems, moment_item, &m);
    run_items(&m, m.matrices * m.pieces.count, 16 * elems, norm_item, &m);
    result o = { &m, squares(&m) };
    const int64_t items = m.matrices * ct_ceil_div(m.cols, COLS) * ct_ceil_div(m.rows, ROWS);
    run_items(&m, items, elems * (double)m.side, result_item, &o);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_MUON, "cpu.blas", CT_CPU_FEWER_PRODUCTS, muon_accept, muon_run },
};
const ct_impl_set ct_cpu_muon_impls = CT_IMPL_SET(impls);
