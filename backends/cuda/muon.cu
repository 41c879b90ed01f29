/* muon: momentum, Newton-Schulz and update of matrices of one shape, f32.
 *
 * Products are cuBLASLt's, those of the operators linear, linear_dgrad and linear_wgrad, one matrix after the other;
 * what stands between them are kernels over all matrices. Newton-Schulz stays among the squares of the shorter side, as
 * in backends/cpu/muon.c, which says why that gives the same: M = a I + b A + c A A, Q := Q M, A := (M A) M. */
#include "backends/cuda/dev.cuh"
#include "ops/math/optim_math.h"

enum { PARTS = 64 };                /* in which the squares of a matrix are summed */
enum { A, B, M, T, Q, R, SQUARES }; /* squares of the shorter side that a matrix has room for */

/* ---- kernels: blockIdx.y is the matrix; all but `normalise` do nothing in a step that does not count ---- */

struct shape {
    int64_t elems, stride; /* of a matrix; from one to the next in the arenas and in u */
    int64_t side, pitch;   /* the shorter side; from one square to the next */
};

template <typename G>
__global__ void moments(shape k, const G *g, float *m, float *u, double *sums, const double *state, ct_optim_attrs a)
{
    __shared__ double room[CT_THREADS / 32];
    if (ct_step_skipped(state)) return;
    const ct_muon_coef coef = ct_muon_coefficients(&a, state);
    const int64_t base = blockIdx.y * k.stride;
    double sum = 0;
    for (CT_EACH(i, k.elems)) {
        const float v = ct_muon_f32(&coef, ct_get(g[base + i]), m + base + i);
        u[base + i] = v;
        sum += (double)v * (double)v;
    }
    sum = ct_block_sum(sum, room);
    if (threadIdx.x == 0) sums[(int64_t)blockIdx.y * PARTS + blockIdx.x] = sum;
}

__global__ void normalise(shape k, const double *sums, float *u)
{
    const int64_t base = blockIdx.y * k.stride;
    double sum = 0;
    for (int i = 0; i < PARTS; i++) sum += sums[(int64_t)blockIdx.y * PARTS + i];
    const double norm = sqrt(sum);
    const float inv = (float)(1 / (norm > CT_MUON_EPS ? norm : CT_MUON_EPS));
    for (CT_EACH(i, k.elems)) u[base + i] *= inv;
}

/* p [side,side]: of the square of a, a I + b a + c p. */
__global__ void polynomial(shape k, const float *a, float *p)
{
    const int64_t base = blockIdx.y * k.pitch;
    for (CT_EACH(i, k.side * k.side)) {
        const float v = (float)CT_MUON_B * a[base + i] + (float)CT_MUON_C * p[base + i];
        p[base + i] = i / k.side == i % k.side ? v + (float)CT_MUON_A : v;
    }
}

__global__ void apply(shape k, float *p, const float *o, void *copy, int bf16, const double *state, ct_optim_attrs a)
{
    if (ct_step_skipped(state)) return;
    const ct_muon_coef coef = ct_muon_coefficients(&a, state);
    const float keep = (float)coef.keep, step = (float)coef.step;
    const int64_t base = blockIdx.y * k.stride;
    for (CT_EACH(i, k.elems)) {
        const float v = keep * p[base + i] - step * o[base + i];
        p[base + i] = v;
        if (copy && bf16) ct_put((ct_b16 *)copy + base + i, v);
        if (copy && !bf16) ct_put((ct_h16 *)copy + base + i, v);
    }
}

/* ---- products ---- */

struct job {
    ct_device *dev;
    ct_stream *s;
    shape k;
    int64_t matrices, rows, cols;
    void *workspace; /* of the library: the first of the scratch */
    float *u, *o;    /* [matrices][stride] what is made orthogonal, and that */
    float *square[SQUARES];
    double *sums;
};

static const ct_impl *library(ct_op op)
{
    for (size_t i = 0; i < ct_cuda_lt_impls.n; i++)
        if (ct_cuda_lt_impls.impls[i].op == op) return &ct_cuda_lt_impls.impls[i];
    return NULL;
}

static ct_tensor matrix(int64_t rows, int64_t cols, float *data)
{
    ct_tensor t;
    t.desc.dtype = CT_F32;
    t.desc.ndim = 2;
    t.desc.dim[0] = rows;
    t.desc.dim[1] = cols;
    t.data = data;
    return t;
}

/* The call of one of the three products of a linear layer: x w', dy w, dy' x. */
static ct_call call_of(ct_op op, ct_tensor first, ct_tensor second)
{
    ct_call c = {};
    c.op = op;
    c.nin = 2;
    c.nout = 1;
    c.in[0] = first;
    c.in[1] = second;
    return c;
}

static ct_call gram(const job *j, float *u)
{
    const ct_tensor x = matrix(j->rows, j->cols, u);
    return call_of(j->rows > j->cols ? CT_OP_LINEAR_WGRAD : CT_OP_LINEAR, x, x);
}
static ct_call squares(const job *j, float *a, float *b)
{
    return call_of(CT_OP_LINEAR, matrix(j->k.side, j->k.side, a), matrix(j->k.side, j->k.side, b));
}
static ct_call last(const job *j, float *q, float *u)
{
    const ct_tensor square = matrix(j->k.side, j->k.side, q), x = matrix(j->rows, j->cols, u);
    return j->rows > j->cols ? call_of(CT_OP_LINEAR_DGRAD, x, square) : call_of(CT_OP_LINEAR_DGRAD, square, x);
}

static ct_status multiply(const job *j, ct_call c, int64_t rows, int64_t cols, float *out)
{
    c.out[0] = matrix(rows, cols, out);
    return library(c.op)->run(j->dev, j->s, &c, j->workspace);
}

/* Squares c = a b of all matrices, by their numbers. */
static ct_status product(const job *j, int a, int b, int c)
{
    for (int64_t i = 0; i < j->matrices; i++) {
        const int64_t at = i * j->k.pitch;
        CT_TRY(multiply(j, squares(j, j->square[a] + at, j->square[b] + at), j->k.side, j->k.side, j->square[c] + at));
    }
    return CT_OK;
}

/* Newton-Schulz on squares; *number is that of Q. */
static ct_status newton_schulz(const job *j, int64_t steps, int *number)
{
    int a = A, b = B, q = M, free = Q, spare = R;
    for (int64_t i = 0; i < j->matrices; i++)
        CT_TRY(multiply(j, gram(j, j->u + i * j->k.stride), j->k.side, j->k.side, j->square[a] + i * j->k.pitch));
    for (int64_t k = 0; k < steps; k++) {
        const int p = k == 0 ? q : free; /* where the step's polynomial goes; the first is Q itself */
        CT_TRY(product(j, a, a, p));
        CT_LAUNCH(&polynomial, CT_GRID2(ct_blocks(j->k.side * j->k.side), j->matrices), CT_THREADS, j->s, j->k,
                  (const float *)j->square[a], j->square[p]);
        if (k + 1 < steps) {
            CT_TRY(product(j, p, a, T));
            CT_TRY(product(j, T, p, b));
            const int swap = a;
            a = b;
            b = swap;
        }
        if (k > 0) {
            CT_TRY(product(j, q, p, spare));
            const int swap = q;
            q = spare;
            spare = swap;
        }
    }
    *number = q;
    return CT_OK;
}

/* ---- the operator ---- */

static job job_of(const ct_device *dev, const ct_call *c)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    job j = {};
    j.dev = (ct_device *)dev;
    j.rows = a->rows;
    j.cols = a->cols;
    j.k.elems = a->rows * a->cols;
    j.k.stride = a->stride;
    j.k.side = a->rows < a->cols ? a->rows : a->cols;
    j.k.pitch = (int64_t)(ct_cuda_align((size_t)(j.k.side * j.k.side) * sizeof(float)) / sizeof(float));
    j.matrices = ct_cuda_numel(&c->in[0].desc) / a->stride;
    return j;
}

/* Divides the scratch, of which the library has `workspace` bytes; the bytes of all. */
static size_t lay_out(job *j, size_t workspace, char *base)
{
    const size_t whole = ct_cuda_align((size_t)(j->matrices * j->k.stride) * sizeof(float));
    const size_t squares = ct_cuda_align((size_t)(j->matrices * j->k.pitch) * sizeof(float));
    size_t used = ct_cuda_align(workspace);
    j->workspace = base;
    j->u = (float *)(base + used);
    j->o = (float *)(base + used + whole);
    used += 2 * whole;
    for (int i = 0; i < SQUARES; i++) {
        j->square[i] = (float *)(base + used);
        used += squares;
    }
    j->sums = (double *)(base + used);
    return used + (size_t)(j->matrices * PARTS) * sizeof(double);
}

/* Most that the library asks for; false where it has no algorithm for one of the products. */
static bool workspace_of(const job *j, size_t *bytes)
{
    const ct_call calls[3] = { gram(j, NULL), squares(j, NULL, NULL), last(j, NULL, NULL) };
    *bytes = 0;
    for (int i = 0; i < 3; i++) {
        const ct_impl *m = library(calls[i].op);
        const ct_accept a = m ? m->accept(j->dev, &calls[i]) : ct_accept_no("");
        if (!a.ok) return false;
        if (a.scratch > *bytes) *bytes = a.scratch;
    }
    return true;
}

static ct_accept muon_accept(const ct_device *dev, const ct_call *c)
{
    for (int i = 0; i < c->nin; i++) {
        const ct_dtype d = c->in[i].desc.dtype;
        if (i == 3 || c->in[i].desc.ndim < 0 || d == CT_F32) continue;
        if ((d != CT_BF16 && d != CT_F16) || (i != 1 && i != 4))
            return ct_accept_no("cuda: optimizer ranges are f32, or gradients and copies in 16 bits");
    }
    job j = job_of(dev, c);
    size_t workspace;
    if (j.matrices > 65535) return ct_accept_no("cuda: more matrices than a grid has rows");
    if (j.k.stride % 4 != 0 && j.matrices > 1) return ct_accept_no("cuda: matrices do not lie at multiples of 16 bytes");
    if (!workspace_of(&j, &workspace)) return ct_accept_no("cuBLASLt has no algorithm for products of these matrices");
    return ct_accept_yes(lay_out(&j, workspace, NULL));
}

static ct_status muon_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    const ct_optim_attrs *a = &c->attrs.optim;
    const double *state = (const double *)c->in[3].data;
    job j = job_of(dev, c);
    size_t workspace;
    int q;
    if (!workspace_of(&j, &workspace)) return ct_core->fail(CT_EINTERNAL, "muon: products run that were not accepted");
    lay_out(&j, workspace, (char *)scratch);
    j.s = s;
    const bool copies = c->nin > 4 && c->in[4].desc.ndim >= 0;
    CT_BY_TYPE(c->in[1].desc.dtype,
               CT_LAUNCH(&moments<T>, CT_GRID2(PARTS, j.matrices), CT_THREADS, s, j.k, (const T *)c->in[1].data,
                         (float *)c->in[2].data, j.u, j.sums, state, *a););
    CT_LAUNCH(&normalise, CT_GRID2(ct_blocks(j.k.elems), j.matrices), CT_THREADS, s, j.k, (const double *)j.sums, j.u);
    CT_TRY(newton_schulz(&j, a->steps, &q));
    for (int64_t i = 0; i < j.matrices; i++)
        CT_TRY(multiply(&j, last(&j, j.square[q] + i * j.k.pitch, j.u + i * j.k.stride), j.rows, j.cols,
                        j.o + i * j.k.stride));
    CT_LAUNCH(&apply, CT_GRID2(ct_blocks(j.k.elems), j.matrices), CT_THREADS, s, j.k, (float *)c->in[0].data,
              (const float *)j.o, copies ? c->in[4].data : (void *)NULL, copies && c->in[4].desc.dtype == CT_BF16 ? 1 : 0,
              state, *a);
    CT_LAUNCHED("muon");
}

static const ct_impl impls[] = {
    { CT_OP_MUON, "cuda.lt", CT_IMPL_DETERMINISTIC, muon_accept, muon_run },
};
CT_CUDA_SET(muon)
