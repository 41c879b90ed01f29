/* Predictions and metric sums. */
#include "backends/cuda/dev.cuh"

/* Index of the first maximum of x [classes] and its value, the same in all lanes of a warp. */
__device__ static int first_maximum(const float *x, int64_t classes, float *value)
{
    const int none = 0x7fffffff;
    float top = -INFINITY;
    int best = none;
    for (int64_t k = threadIdx.x % 32; k < classes; k += 32)
        if (x[k] > top || best == none) {
            top = x[k];
            best = (int)k;
        }
    for (int d = 16; d > 0; d >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, top, d);
        int which = __shfl_xor_sync(0xffffffffu, best, d);
        if (which != none && (best == none || other > top || (other == top && which < best))) {
            top = other;
            best = which;
        }
    }
    *value = top;
    return best;
}

/* conf = 1 / sum exp(x - max): a warp to a row. */
__global__ void argmax_rows(const float *logits, int64_t rows, int64_t classes, int32_t *pred, float *conf)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(i, rows)) {
        const float *x = logits + i * classes;
        float top, sum = 0;
        int best = first_maximum(x, classes, &top);
        for (int64_t k = lane; k < classes; k += 32) sum += expf(x[k] - top);
        sum = ct_warp_sum(sum);
        if (lane == 0) {
            pred[i] = best;
            conf[i] = 1 / sum;
        }
    }
}

static ct_accept argmax_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: logits are not f32");
}
static ct_status argmax_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_numel(&c->out[0].desc);
    CT_LAUNCH(&argmax_rows, CT_GRID1(ct_blocks(rows * 32)), CT_THREADS, s, (const float *)c->in[0].data, rows,
              c->attrs.loss.classes, (int32_t *)c->out[0].data, (float *)c->out[1].data);
    CT_LAUNCHED("argmax");
}

struct terms { const float *term[CT_MAX_IN]; }; /* by value into the kernel: the loss and what else is summed */

/* Thread 0 takes the loss, thread i > 0 term i - 1. */
__global__ void batch_kernel(terms t, int count, int64_t samples, int64_t first, double *acc)
{
    const int i = (int)threadIdx.x;
    if (i >= count) return;
    acc[i == 0 ? (int64_t)CT_METRIC_LOSS : first + i - 1] += (double)*t.term[i] * (double)samples;
    if (i > 0) return;
    acc[CT_METRIC_SAMPLES] += (double)samples;
    acc[CT_METRIC_BATCHES] += 1;
}

static ct_accept batch_sums_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: the loss is not f32");
}
static ct_status batch_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    terms t = {};
    t.term[0] = (const float *)c->in[0].data;
    for (int i = 2; i < c->nin; i++) t.term[i - 1] = (const float *)c->in[i].data;
    CT_LAUNCH(&batch_kernel, CT_GRID1(1), 32, s, t, c->nin - 1, c->attrs.sums.samples, c->attrs.sums.first,
              (double *)c->in[1].data);
    CT_LAUNCHED("batch_sums");
}

/* One block counts: batches are small beside everything else of a step. */
__global__ void sums_kernel(const int32_t *pred, const int32_t *target, int64_t samples, int64_t positions, double *acc)
{
    __shared__ double room[CT_THREADS / 32];
    double right = 0, strings = 0;
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS) {
        int64_t ok = 0;
        for (int64_t p = 0; p < positions; p++) ok += pred[n * positions + p] == target[n * positions + p];
        right += (double)ok;
        strings += ok == positions;
    }
    right = ct_block_sum(right, room);
    strings = ct_block_sum(strings, room);
    if (threadIdx.x != 0) return;
    acc[0] += strings;
    acc[1] += (double)(samples * positions);
    acc[2] += right;
}

static ct_accept metric_sums_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}
static ct_status metric_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&sums_kernel, CT_GRID1(1), CT_THREADS, s, (const int32_t *)c->in[0].data, (const int32_t *)c->in[1].data,
              d[0], d[1], (double *)c->in[2].data + c->attrs.sums.first);
    CT_LAUNCHED("metric_sums");
}

/* ---- CTC ---- */

/* A warp to a sample: its lanes share the classes of a step, lane 0 merges repeats. */
__global__ void greedy(const float *logp, const int32_t *lens, int32_t *pred, float *conf, int64_t steps, int64_t samples,
                       int64_t classes)
{
    int lane = (int)threadIdx.x % 32;
    for (CT_EACH_WARP(n, samples)) {
        int64_t len = lens ? lens[n] : steps, chars = 0;
        int before = 0;
        float most = 0;
        for (int64_t t = 0; t < len && t < steps; t++) {
            float top;
            int best = first_maximum(logp + (t * samples + n) * classes, classes, &top);
            if (best != 0 && lane == 0) {
                if (best != before) chars++;
                most = best != before || top > most ? top : most;
                pred[n * steps + chars - 1] = best - 1;
                conf[n * steps + chars - 1] = expf(most);
            }
            before = best;
        }
        for (; lane == 0 && chars < steps; chars++) {
            pred[n * steps + chars] = -1;
            conf[n * steps + chars] = 0;
        }
    }
}

static ct_accept ctc_greedy_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return c->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("cuda: log-probabilities are not f32");
}
static ct_status ctc_greedy_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    CT_LAUNCH(&greedy, CT_GRID1(ct_blocks(d[1] * 32)), CT_THREADS, s, (const float *)c->in[0].data,
              ct_cuda_has(c, 1) ? (const int32_t *)c->in[1].data : (const int32_t *)NULL, (int32_t *)c->out[0].data,
              (float *)c->out[1].data, d[0], d[1], d[2]);
    CT_LAUNCHED("ctc_greedy");
}

/* Characters before the first -1 of at most n. */
__device__ static inline int64_t text_length(const int32_t *text, int64_t n)
{
    int64_t len = 0;
    while (len < n && text[len] != -1) len++;
    return len;
}

/* Levenshtein distance of prediction a and label b, and how many of the edits are substitutions, row by row of the table:
 * row[j] is the distance between the characters of a so far and the first j of b. Of equal ways the one that, from the
 * right, prefers a pair to a deletion and a deletion to an insertion. row [2*(nb+1)]. */
__device__ static int64_t edit_distance(const int32_t *a, int64_t na, const int32_t *b, int64_t nb, int32_t *row,
                                        int64_t *substitutions)
{
    int32_t *changes = row + nb + 1;
    for (int64_t j = 0; j <= nb; j++) {
        row[j] = (int32_t)j;
        changes[j] = 0;
    }
    for (int64_t i = 1; i <= na; i++) {
        int32_t corner = row[0], before = changes[0];
        row[0] = (int32_t)i;
        for (int64_t j = 1; j <= nb; j++) {
            const int32_t differ = a[i - 1] != b[j - 1], drop = row[j - 1] + 1, insert = row[j] + 1;
            int32_t best = corner + differ, way = before + differ;
            corner = row[j];
            before = changes[j];
            if (drop < best) best = drop, way = changes[j - 1];
            if (insert < best) best = insert, way = before;
            row[j] = best;
            changes[j] = way;
        }
    }
    *substitutions = changes[nb];
    return row[nb];
}

/* A thread to a sample; one block, so that the sums need no second kernel. rows [samples, 2*(columns+1)] is room. */
__global__ void edit_kernel(const int32_t *pred, const int32_t *target, const float *nll, int64_t samples,
                            int64_t width, int64_t columns, int32_t *rows, double *acc)
{
    enum { NUMBERS = 9 };
    __shared__ double room[CT_THREADS / 32];
    double sum[NUMBERS] = { 0 };
    for (int64_t n = threadIdx.x; n < samples; n += CT_THREADS) {
        const int32_t *text = pred + n * width, *label = target + n * columns;
        const int64_t chars = text_length(label, columns), read = text_length(text, width);
        int64_t changes;
        const int64_t edits = edit_distance(text, read, label, chars, rows + n * 2 * (columns + 1), &changes);
        const int64_t drops = (edits - changes + chars - read) / 2; /* drops - insertions = chars - read */
        sum[0] += edits == 0;
        sum[1] += (double)chars;
        sum[2] += (double)(chars > edits ? chars - edits : 0);
        sum[3] += (double)edits;
        sum[4] += nll && nll[n] == INFINITY;
        sum[5] += (double)edits / (double)(chars > 0 ? chars : 1);
        sum[6] += (double)changes;
        sum[7] += (double)drops;
        sum[8] += (double)(edits - changes - drops);
    }
    for (int k = 0; k < NUMBERS; k++) {
        const double all = ct_block_sum(sum[k], room);
        if (threadIdx.x == 0) acc[k] += all;
    }
}

static ct_accept edit_sums_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 2) && c->in[2].desc.dtype != CT_F32) return ct_accept_no("cuda: nll is not f32");
    return ct_accept_yes((size_t)(c->in[1].desc.dim[0] * 2 * (c->in[1].desc.dim[1] + 1)) * sizeof(int32_t));
}
static ct_status edit_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_LAUNCH(&edit_kernel, CT_GRID1(1), CT_THREADS, s, (const int32_t *)c->in[0].data, (const int32_t *)c->in[1].data,
              ct_cuda_has(c, 2) ? (const float *)c->in[2].data : (const float *)NULL, c->in[0].desc.dim[0],
              c->in[0].desc.dim[1], c->in[1].desc.dim[1], (int32_t *)scratch,
              (double *)c->in[3].data + c->attrs.sums.first);
    CT_LAUNCHED("edit_sums");
}

static const ct_impl impls[] = {
    { CT_OP_ARGMAX, "cuda.kernel", CT_CUDA_TUNED, argmax_accept, argmax_run },
    { CT_OP_BATCH_SUMS, "cuda.kernel", CT_CUDA_TUNED, batch_sums_accept, batch_sums_run },
    { CT_OP_METRIC_SUMS, "cuda.kernel", CT_CUDA_TUNED, metric_sums_accept, metric_sums_run },
    { CT_OP_CTC_GREEDY, "cuda.kernel", CT_CUDA_TUNED, ctc_greedy_accept, ctc_greedy_run },
    { CT_OP_EDIT_SUMS, "cuda.kernel", CT_CUDA_TUNED, edit_sums_accept, edit_sums_run },
};
CT_CUDA_SET(metric)
