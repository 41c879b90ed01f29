/* Input data of a case. Every value is drawn from Philox with key = seed and a counter made of the hash of the case and
 * the number of the input, so that a case can be replayed alone. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "harness/harness_priv.h"
#include "ops/math/mask_math.h"

uint64_t ct_case_hash(const char *text, ct_data data, int attempt)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (const char *p = text; *p; p++) h = (h ^ (uint8_t)*p) * 1099511628211u;
    h = (h ^ (uint64_t)data) * 1099511628211u;
    h = (h ^ (uint64_t)attempt) * 1099511628211u;
    return h & 0xffffffffffffu; /* 48 bits: the stream and the input's number stand above */
}

typedef struct source {
    const ct_case *c;
    const ct_call *call;
    bool smooth;
    ct_rng rng;
} source;

static double scale_of(ct_data d, ct_dtype t)
{
    if (d == CT_DATA_LARGE) return t == CT_F16 ? 0x1p4 : 0x1p10;
    if (d == CT_DATA_SMALL) return t == CT_F16 ? 0x1p-4 : 0x1p-10;
    return 1;
}

/* A value of a general floating tensor. */
static double draw(source *s, ct_dtype t)
{
    if (s->smooth) { /* keeps clear of 0 */
        double v = ct_rng_uniform(&s->rng, 0.1, 1);
        return ct_rng_u32(&s->rng) & 1u ? v : -v;
    }
    switch (s->c->data) {
    case CT_DATA_INTS: return (double)ct_rng_below(&s->rng, 5) - 2;
    case CT_DATA_TIES: return ((double)ct_rng_below(&s->rng, 5) - 2) * 0.5;
    default: return ct_rng_uniform(&s->rng, -1, 1) * scale_of(s->c->data, t);
    }
}

static void put(const ct_tensor *t, int64_t i, double v)
{
    ct_store(t->desc.dtype, t->data, i, v);
}

static void fill_general(source *s, const ct_tensor *t)
{
    int64_t n = ct_desc_numel(&t->desc);
    for (int64_t i = 0; i < n; i++) put(t, i, draw(s, t->desc.dtype));
}

static void fill_range(source *s, const ct_tensor *t, double lo, double hi)
{
    int64_t n = ct_desc_numel(&t->desc);
    for (int64_t i = 0; i < n; i++) put(t, i, ct_rng_uniform(&s->rng, lo, hi));
}

static void fill_below(source *s, const ct_tensor *t, int64_t limit)
{
    int64_t n = ct_desc_numel(&t->desc);
    for (int64_t i = 0; i < n; i++) put(t, i, (double)ct_rng_below(&s->rng, (uint32_t)limit));
}

/* Puts NaN and infinities into some elements. */
static void poison(source *s, const ct_tensor *t, bool nan)
{
    int64_t n = ct_desc_numel(&t->desc), hits = n / 16 + 1;
    for (int64_t i = 0; i < hits; i++) {
        uint32_t kind = ct_rng_below(&s->rng, nan ? 3 : 2);
        put(t, (int64_t)ct_rng_below(&s->rng, (uint32_t)n), kind == 0 ? INFINITY : kind == 1 ? -INFINITY : NAN);
    }
}

static void fill_state(source *s, const ct_tensor *t)
{
    static const double scales[] = { 1, 1024, 65536 };
    double *state = t->data;
    bool special = s->c->data == CT_DATA_SPECIAL;
    memset(state, 0, CT_STATE_COUNT * sizeof *state);
    state[CT_STATE_STEP] = (double)ct_rng_below(&s->rng, 1000);
    state[CT_STATE_APPLIED] = special ? 0 : (double)ct_rng_below(&s->rng, 1000) + 1;
    state[CT_STATE_LR] = ct_rng_uniform(&s->rng, 1e-4, 1e-2);
    state[CT_STATE_LOSS_SCALE] = s->smooth ? 1 : scales[ct_rng_below(&s->rng, 3)];
    state[CT_STATE_GOOD_STEPS] = (double)ct_rng_below(&s->rng, 3);
    state[CT_STATE_SKIPPED] = (double)ct_rng_below(&s->rng, 9);
    state[CT_STATE_GRAD_NORM] = ct_rng_uniform(&s->rng, 0, 10);
    state[CT_STATE_CLIP_COEF] = ct_rng_uniform(&s->rng, 0.25, 1);
    if (s->c->data == CT_DATA_SKIPPED) state[CT_STATE_FOUND_INF] = 1;
}

/* A mask of rows like input 0's, every second bit set on average; none behind a row's end. */
static void fill_mask(source *s, const ct_tensor *t)
{
    const ct_desc *like = &s->call->in[0].desc;
    const int64_t cols = like->dim[like->ndim - 1], row = ct_mask_bytes(cols);
    for (int64_t i = 0; i < ct_desc_numel(&t->desc) / row; i++)
        for (int64_t c = 0; c < cols; c++) ct_mask_put((uint8_t *)t->data + i * row, c, ct_rng_below(&s->rng, 2) == 1);
}

/* What maxpool2d could have given: an existing pixel of each window. */
static void fill_pool_index(source *s, const ct_tensor *t)
{
    const ct_pool_attrs *a = &s->call->attrs.pool;
    const int64_t *d = t->desc.dim;
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
        int64_t q = i / d[3] % d[2], p = i / d[3] / d[2] % d[1], r, c;
        do {
            r = ct_rng_below(&s->rng, (uint32_t)a->ker_h);
            c = ct_rng_below(&s->rng, (uint32_t)a->ker_w);
        } while (p * a->stride_h - a->pad_h + r < 0 || p * a->stride_h - a->pad_h + r >= a->in_h ||
                 q * a->stride_w - a->pad_w + c < 0 || q * a->stride_w - a->pad_w + c >= a->in_w);
        put(t, i, (double)(r * a->ker_w + c));
    }
}

/* log sum exp of the rows of logits (input 0). */
static void fill_lse(const source *s, const ct_tensor *t)
{
    const ct_tensor *x = &s->call->in[0];
    int64_t k = s->call->attrs.loss.classes, rows = ct_desc_numel(&t->desc);
    for (int64_t i = 0; i < rows; i++) {
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j < k; j++) top = fmax(top, ct_load(x->desc.dtype, x->data, i * k + j));
        for (int64_t j = 0; j < k; j++) sum += exp(ct_load(x->desc.dtype, x->data, i * k + j) - top);
        put(t, i, top + log(sum));
    }
}

/* Rows of (row of src, sample id, epoch). */
static void fill_image_index(source *s, const ct_tensor *t)
{
    uint32_t images = (uint32_t)s->call->in[0].desc.dim[0];
    for (int64_t i = 0; i < t->desc.dim[0]; i++) {
        put(t, 3 * i, ct_rng_below(&s->rng, images));
        put(t, 3 * i + 1, ct_rng_below(&s->rng, 1000000));
        put(t, 3 * i + 2, ct_rng_below(&s->rng, 100));
    }
}

/* Values further apart than any step of a finite difference, in random order: no ties. */
static void fill_distinct(source *s, const ct_tensor *t)
{
    int64_t n = ct_desc_numel(&t->desc);
    for (int64_t i = 0; i < n; i++) put(t, i, 0.01 * ((double)i - 0.5 * (double)n));
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)ct_rng_below(&s->rng, (uint32_t)i + 1);
        double a = ct_load(t->desc.dtype, t->data, i), b = ct_load(t->desc.dtype, t->data, j);
        put(t, i, b);
        put(t, j, a);
    }
}

/* Log-probabilities, input `t` [...,C]; with a few that are -infinity for special data. */
static void fill_logp(source *s, const ct_tensor *t)
{
    int64_t n = ct_desc_numel(&t->desc), c = t->desc.dim[t->desc.ndim - 1];
    bool special = s->c->data == CT_DATA_SPECIAL && !s->smooth;
    fill_general(s, t);
    for (int64_t i = 0; i < n; i += c) {
        double sum = 0;
        if (special)
            for (int64_t k = 0; k < c; k++) put(t, i + k, ct_rng_uniform(&s->rng, -60, 60));
        double top = -INFINITY;
        for (int64_t k = 0; k < c; k++) top = fmax(top, ct_load(t->desc.dtype, t->data, i + k));
        for (int64_t k = 0; k < c; k++) sum += exp(ct_load(t->desc.dtype, t->data, i + k) - top);
        for (int64_t k = 0; k < c; k++) {
            double v = ct_load(t->desc.dtype, t->data, i + k) - top - log(sum);
            put(t, i + k, special && ct_rng_below(&s->rng, 64) == 0 ? -INFINITY : v);
        }
    }
}

/* Texts [N,L] of `alphabet` characters: any length from 0 on, half of them full; -1 behind, and behind that anything.
 */
static void fill_texts(source *s, const ct_tensor *t, int64_t alphabet)
{
    int64_t columns = t->desc.dim[1];
    if (s->c->data == CT_DATA_TIES && alphabet > 2) alphabet = 2;
    for (int64_t i = 0; i < t->desc.dim[0]; i++) {
        int64_t len = ct_rng_below(&s->rng, 2) ? columns : (int64_t)ct_rng_below(&s->rng, (uint32_t)columns + 1);
        if (alphabet < 1) len = 0;
        for (int64_t k = 0; k < columns; k++)
            put(t, i * columns + k,
                k == len  ? -1
                : k < len ? (double)ct_rng_below(&s->rng, (uint32_t)alphabet)
                          : (double)ct_rng_below(&s->rng, 1000));
    }
}

/* What ctc_loss gives for inputs 0 to 2 of its gradient: output `which`. */
static void fill_ctc_forward(const source *s, const ct_tensor *t, int which)
{
    ct_call f = { .op = CT_OP_CTC_LOSS, .nin = 3, .nout = 3 };
    for (int i = 0; i < 3; i++) f.in[i] = s->call->in[i];
    bool ok = ct_call_infer(&f) == CT_OK;
    for (int i = 0; ok && i < 3; i++) {
        f.out[i].data = ct_aligned_alloc(ct_desc_bytes(&f.out[i].desc), "forward variables");
        ok = f.out[i].data != NULL;
    }
    ok = ok && ct_reference_run(&f) == CT_OK;
    if (ok)
        memcpy(t->data, f.out[which].data, ct_desc_bytes(&t->desc));
    else
        memset(t->data, 0xff, ct_desc_bytes(&t->desc)); /* the reference fails on the case too, and says why */
    for (int i = 0; i < 3; i++) ct_free(f.out[i].data);
}

static bool fill_ctc(source *s, int i, const ct_tensor *t)
{
    int64_t classes = s->call->in[0].desc.dim[2];
    if (i == 0) return fill_logp(s, t), true;
    if (i == 1 && s->call->op != CT_OP_CTC_GREEDY) return fill_texts(s, t, classes - 1), true;
    if (t->desc.dtype == CT_I32) { /* len */
        for (int64_t n = 0; n < t->desc.dim[0]; n++)
            put(t, n, 1 + (double)ct_rng_below(&s->rng, (uint32_t)s->call->in[0].desc.dim[0]));
        return true;
    }
    if (i == 3 || i == 4) return fill_ctc_forward(s, t, i - 2), true;
    return false;
}

static bool fill_edit_sums(source *s, int i, const ct_tensor *t)
{
    if (i < 2) return fill_texts(s, t, 4), true;
    if (i == 2) fill_range(s, t, 0, 3);
    if (i == 2) poison(s, t, false);
    if (i == 3) fill_below(s, t, 1000);
    return true;
}

static void fill_len(source *s, const ct_tensor *t, int64_t steps)
{
    for (int64_t n = 0; n < t->desc.dim[0]; n++) put(t, n, 1 + (double)ct_rng_below(&s->rng, (uint32_t)steps));
}

/* Values of gates [...,4H]: i, f, g, o; those of g may be negative. Special: one in four is saturated. */
static void fill_gates(source *s, const ct_tensor *t)
{
    int64_t width = t->desc.dim[3];
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
        bool signed_one = i % width / (width / 4) == 2;
        double v = ct_rng_uniform(&s->rng, signed_one ? -1 : 0, 1);
        bool saturated = s->c->data == CT_DATA_SPECIAL && ct_rng_below(&s->rng, 4) == 0;
        put(t, i, saturated ? nearbyint(v) : v);
    }
}

/* y [T,N,...] or gates and cell [D,T,N,...] as lstm leaves them: 0 behind a sample's last step. */
static void zero_behind(const ct_tensor *t, const ct_tensor *len)
{
    int lead = t->desc.ndim - 3;
    int64_t steps = t->desc.dim[lead], samples = t->desc.dim[lead + 1], width = t->desc.dim[lead + 2];
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
        int64_t n = i / width % samples, step = i / width / samples % steps;
        if ((double)step >= ct_load(CT_I32, len->data, n)) put(t, i, 0);
    }
}

/* Input i of lstm: xg, w_hh, b_hh, xg_r, w_hh_r, b_hh_r, len. Weights as they are drawn: larger ones make the
 * recurrence chaotic, and rounding errors grow from step to step. */
static bool fill_lstm(source *s, int i, const ct_tensor *t)
{
    double limit = 1 / sqrt((double)s->call->in[1].desc.dim[1]);
    if (i == 6) return fill_len(s, t, s->call->in[0].desc.dim[0]), true;
    if (i % 3 == 1) return fill_range(s, t, -limit, limit), true;
    if (i % 3 == 0 && s->c->data == CT_DATA_SPECIAL && !s->smooth) return fill_range(s, t, -60, 60), true;
    return false;
}

/* Input i of lstm_bwd: dy, y, gates, cell, w_hh, w_hh_r, len. */
static bool fill_lstm_bwd(source *s, int i, const ct_tensor *t)
{
    double limit = 1 / sqrt((double)s->call->in[4].desc.dim[1]);
    if (i == 2) return fill_gates(s, t), true;
    if (i == 3 && s->c->data == CT_DATA_SPECIAL) return fill_range(s, t, -3, 3), true;
    if (i == 4 || i == 5) return fill_range(s, t, -limit, limit), true;
    if (i != 6) return false;
    fill_len(s, t, s->call->in[0].desc.dim[0]);
    for (int k = 1; k < 4; k++) zero_behind(&s->call->in[k], t);
    return true;
}

/* Input i of the operator, where it is not just any numbers. False: it is. */
static bool fill_particular(source *s, int i, const ct_tensor *t)
{
    const ct_attrs *a = &s->call->attrs;
    bool special = s->c->data == CT_DATA_SPECIAL;
    switch (s->call->op) {
    case CT_OP_BATCHNORM:
    case CT_OP_BATCHNORM_INFER:
        if (i == 0 && special && !s->smooth) { /* far from 0: a one-pass variance would cancel */
            fill_range(s, t, 30, 32);
            return true;
        }
        if (i == 1) return fill_range(s, t, 0.5, 1.5), true;
        if (i == 4) return fill_range(s, t, 0.1, 2), true;
        return false;
    case CT_OP_BATCHNORM_BWD:
        if (i == 2 || i == 4) return fill_range(s, t, 0.5, 1.5), true;
        if (i == 5) return fill_mask(s, t), true;
        return false;
    case CT_OP_ACTIVATION_BWD:
        if (i == 1 && a->act.kind == CT_ACT_SIGMOID) return fill_range(s, t, 0, 1), true;
        if (i == 1 && a->act.kind == CT_ACT_TANH) return fill_range(s, t, -1, 1), true;
        return false;
    case CT_OP_DROPOUT_APPLY:
        if (i == 1) return fill_below(s, t, 2), true;
        return false;
    case CT_OP_MAXPOOL2D:
        if (s->smooth) return fill_distinct(s, t), true;
        fill_general(s, t);
        if (special) poison(s, t, true);
        return true;
    case CT_OP_MAXPOOL2D_BWD:
        if (i == 1) return fill_pool_index(s, t), true;
        return false;
    case CT_OP_SOFTMAX_XENT:
    case CT_OP_SOFTMAX_XENT_BWD:
    case CT_OP_SOFT_MARGIN:
    case CT_OP_SOFT_MARGIN_BWD:
        if (i == 0 && special && !s->smooth) return fill_range(s, t, -60, 60), true; /* exp of it alone is large */
        if (i == 1) return fill_below(s, t, a->loss.classes), true;
        if (i == 2 && s->call->op == CT_OP_SOFTMAX_XENT_BWD) return fill_lse(s, t), true;
        return false;
    case CT_OP_LSTM: return fill_lstm(s, i, t);
    case CT_OP_LSTM_BWD: return fill_lstm_bwd(s, i, t);
    case CT_OP_BATCH_SUMS:
        if (i == 1) return fill_below(s, t, 1000), true;
        return fill_range(s, t, 0, 3), true;
    case CT_OP_METRIC_SUMS:
        if (i < 2) return fill_below(s, t, 2), true;
        return fill_below(s, t, 1000), true;
    case CT_OP_LOG_SOFTMAX:
        if (special && !s->smooth) return fill_range(s, t, -60, 60), true;
        return false;
    case CT_OP_LOG_SOFTMAX_BWD:
        if (i == 1) return fill_logp(s, t), true;
        return false;
    case CT_OP_CTC_LOSS:
    case CT_OP_CTC_LOSS_BWD:
    case CT_OP_CTC_GREEDY: return fill_ctc(s, i, t);
    case CT_OP_EDIT_SUMS: return fill_edit_sums(s, i, t);
    case CT_OP_GRAD_NORM:
        if (i == 0) {
            fill_general(s, t);
            if (special) poison(s, t, true);
            return true;
        }
        return false;
    case CT_OP_ADAMW: /* special: the moments Adam starts from */
        if ((i == 2 || i == 3) && special) return memset(t->data, 0, ct_desc_bytes(&t->desc)), true;
        if (i == 3) return fill_range(s, t, 0.01, 1), true;
        return false;
    case CT_OP_SGD:
        if (i == 2 && special) { /* at the first step the buffer may hold anything */
            fill_general(s, t);
            poison(s, t, true);
            return true;
        }
        return false;
    case CT_OP_ACCUMULATE:
        if (i == 1 && a->scale.beta == 0) {
            memset(t->data, 0xff, ct_desc_bytes(&t->desc)); /* must not be read */
            return true;
        }
        return false;
    case CT_OP_CAST:
    case CT_OP_FIT_CHANNELS:
        fill_general(s, t);
        if (special) poison(s, t, true);
        return true;
    case CT_OP_PREPROCESS:
        if (i == 0) return fill_below(s, t, 256), true;
        return fill_image_index(s, t), true;
    case CT_OP_MOVE_POINTS:
        if (i == 1) return fill_image_index(s, t), true;
        fill_range(s, t, -10, 60);
        if (special) poison(s, t, true);
        return true;
    default: return false;
    }
}

static bool is_state(const ct_tensor *t)
{
    return t->desc.dtype == CT_F64 && t->desc.ndim == 1 && t->desc.dim[0] == CT_STATE_COUNT;
}

void ct_generate(const ct_case *c, const ct_call *call, bool smooth, int attempt)
{
    uint64_t hash = ct_case_hash(c->text, c->data, attempt);
    const ct_op_info *info = ct_op_get(call->op);
    for (int i = 0; i < call->nin; i++) {
        const ct_tensor *t = &call->in[i];
        if (!ct_present(t)) continue;
        source s = { .c = c, .call = call, .smooth = smooth };
        ct_rng_init(&s.rng, c->seed, CT_RNG_TEST, (uint64_t)i << 48 | hash);
        /* By the catalogue's convention a state is the last input of optimizer operators and the first of two others.
         */
        bool state_op = strcmp(info->family, "optim") == 0
                            ? i == call->nin - 1
                            : call->op == CT_OP_DROPOUT_MASK || call->op == CT_OP_LOSS_SEED;
        if (state_op && is_state(t))
            fill_state(&s, t);
        else if (!fill_particular(&s, i, t))
            fill_general(&s, t);
    }
}
