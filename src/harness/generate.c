/* Input data of a case: of what kind each input is says its domain in the operator's rules (ops/ops.h), and here each
 * kind is drawn. Every value comes from Philox with key = seed and a counter made of the hash of the case and the number
 * of the input, so that a case can be replayed alone. */
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

/* A number of [-1,1) times a power of two, every second time: 1 and more below the least number that is normal. */
static double faint(source *s, ct_dtype t)
{
    const uint32_t range = t == CT_F64 ? 1060 : t == CT_F16 ? 24 : 148;
    const double v = ct_rng_uniform(&s->rng, -1, 1);
    return ct_rng_u32(&s->rng) & 1u ? v : ldexp(v, -(int)ct_rng_below(&s->rng, range));
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
    case CT_DATA_FAINT: return faint(s, t);
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

/* Numbers in [0,1], both ends among them. */
static void fill_share(source *s, const ct_tensor *t)
{
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
        const uint32_t kind = ct_rng_below(&s->rng, 4);
        put(t, i, kind < 2 ? kind : ct_rng_uniform(&s->rng, 0, 1));
    }
}

static void fill_value(const ct_tensor *t, double v)
{
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) put(t, i, v);
}

/* Puts NaN, infinities or both into some elements. */
static void poison(source *s, const ct_tensor *t, const ct_domain *d)
{
    int64_t n = ct_desc_numel(&t->desc), hits = n / 16 + 1;
    for (int64_t i = 0; i < hits; i++) {
        uint32_t kind = d->poison == CT_POISON_ABSENT ? 2 : ct_rng_below(&s->rng, d->poison == CT_POISON_NAN ? 3 : 2);
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

/* Rows of (row of src, sample id, epoch), or of these and the frame. */
static void fill_image_index(source *s, const ct_tensor *t)
{
    const uint32_t below[] = { (uint32_t)s->call->in[0].desc.dim[0], 1000000, 100, 300 };
    const int64_t columns = t->desc.dim[1];
    for (int64_t i = 0; i < t->desc.dim[0]; i++)
        for (int64_t k = 0; k < columns; k++) put(t, columns * i + k, ct_rng_below(&s->rng, below[k]));
}

/* Boxes about the middle of the pictures of input 0 [M,H,W,C]; ties: their edges are those of pixels. Special: one in
 * four reaches beyond the picture, one is empty, one holds a NaN. */
static void fill_boxes(source *s, const ct_tensor *t)
{
    const int64_t *d = s->call->in[0].desc.dim;
    for (int64_t i = 0; i < t->desc.dim[0]; i++) {
        const uint32_t kind = s->c->data == CT_DATA_SPECIAL ? ct_rng_below(&s->rng, 4) : 3;
        for (int k = 0; k < 4; k++) {
            const double size = (double)d[k % 2 ? 1 : 2], half = 0.5 * size;
            double v = k < 2 ? ct_rng_uniform(&s->rng, 0, half) : ct_rng_uniform(&s->rng, half, size);
            if (s->c->data == CT_DATA_TIES) v = nearbyint(v);
            if (kind == 0) v += k < 2 ? -size : size;
            put(t, 4 * i + k, kind == 1 ? size - v : v);
        }
        if (kind == 2) put(t, 4 * i + ct_rng_below(&s->rng, 4), NAN);
    }
}

/* Places [...,2] within [lo, hi]. Special: one in four has a NaN. */
static void fill_points(source *s, const ct_tensor *t, double lo, double hi)
{
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
        double v = ct_rng_uniform(&s->rng, lo, hi);
        if (s->c->data == CT_DATA_TIES) v = 2 * nearbyint(0.5 * v);
        put(t, i, s->c->data == CT_DATA_SPECIAL && ct_rng_below(&s->rng, 8) == 0 ? NAN : v);
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

/* What the forward operator gives for the same attributes and as many of the inputs, from `first` on, as it takes. */
static void fill_forward(const source *s, const ct_tensor *t, ct_op of, int first, int output)
{
    ct_call f = { .op = of, .nin = ct_op_get(of)->in_max, .nout = ct_op_get(of)->out_max, .attrs = s->call->attrs };
    for (int i = 0; i < f.nin; i++) f.in[i] = s->call->in[first + i];
    bool ok = ct_call_infer(&f) == CT_OK;
    for (int i = 0; ok && i < f.nout; i++) {
        if (!ct_present(&f.out[i])) continue;
        f.out[i].data = ct_aligned_alloc(ct_desc_bytes(&f.out[i].desc), "what the forward operator gives");
        ok = f.out[i].data != NULL;
    }
    ok = ok && ct_reference_run(&f) == CT_OK;
    if (ok)
        memcpy(t->data, f.out[output].data, ct_desc_bytes(&t->desc));
    else
        memset(t->data, 0xff, ct_desc_bytes(&t->desc)); /* the reference fails on the case too, and says why */
    for (int i = 0; i < f.nout; i++) ct_free(f.out[i].data);
}

/* Valid steps of each sample: any number from 1 on. */
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

static void fill(source *s, const ct_tensor *t, const ct_domain *d)
{
    switch (d->kind) {
    case CT_DOM_UNSAID:
    case CT_DOM_BY_CALL:
    case CT_DOM_ANY: fill_general(s, t); break;
    case CT_DOM_COMPARED: s->smooth ? fill_distinct(s, t) : fill_general(s, t); break;
    case CT_DOM_RANGE: fill_range(s, t, d->lo, d->hi); break;
    case CT_DOM_SHARE: fill_share(s, t); break;
    case CT_DOM_ONE: fill_value(t, 1); break;
    case CT_DOM_ABSENT: fill_value(t, NAN); break;
    case CT_DOM_BELOW: fill_below(s, t, (int64_t)d->hi); break;
    case CT_DOM_ZERO: memset(t->data, 0, ct_desc_bytes(&t->desc)); break;
    case CT_DOM_STATE: fill_state(s, t); break;
    case CT_DOM_SUMS: fill_below(s, t, 1000); break;
    case CT_DOM_LOGP: fill_logp(s, t); break;
    case CT_DOM_TEXT: fill_texts(s, t, (int64_t)d->hi); break;
    case CT_DOM_LEN: fill_len(s, t, s->call->in[0].desc.dim[0]); break;
    case CT_DOM_BITS: fill_mask(s, t); break;
    case CT_DOM_GATES: fill_gates(s, t); break;
    case CT_DOM_PLACES: fill_pool_index(s, t); break;
    case CT_DOM_ROWS: fill_image_index(s, t); break;
    case CT_DOM_BOXES: fill_boxes(s, t); break;
    case CT_DOM_POINTS: fill_points(s, t, d->lo, d->hi); break;
    case CT_DOM_FORWARD: fill_forward(s, t, d->of, d->first, d->output); break;
    }
    if (d->poison != CT_POISON_NONE) poison(s, t, d);
}

/* Zeros in the channels of pictures and filters that are there to fill up vectors: a convolution may leave them out. */
static void zero_padding(const ct_call *call)
{
    const bool conv = call->op == CT_OP_CONV2D || call->op == CT_OP_CONV2D_DGRAD || call->op == CT_OP_CONV2D_WGRAD;
    const int64_t data = conv ? call->attrs.conv.data_c : 0;
    for (int i = 0; data && i < 2; i++) {
        if (i == (call->op == CT_OP_CONV2D_DGRAD ? 0 : call->op == CT_OP_CONV2D_WGRAD ? 1 : -1)) continue; /* dy */
        const int64_t channels = call->in[i].desc.dim[3], n = ct_desc_numel(&call->in[i].desc);
        for (int64_t e = 0; e < n; e++)
            if (e % channels >= data) put(&call->in[i], e, 0);
    }
}

void ct_generate(const ct_case *c, const ct_call *call, bool smooth, int attempt)
{
    uint64_t hash = ct_case_hash(c->text, c->data, attempt);
    const ct_op_rules *rules = ct_op_get(call->op)->rules;
    const ct_tensor *len = NULL;
    for (int i = 0; i < call->nin; i++) {
        const ct_tensor *t = &call->in[i];
        if (!ct_present(t)) continue;
        source s = { .c = c, .call = call, .smooth = smooth };
        ct_rng_init(&s.rng, c->seed, CT_RNG_TEST, (uint64_t)i << 48 | hash);
        ct_domain d = ct_call_domain(call, i);
        if (c->data == CT_DATA_SPECIAL && d.special) d = *d.special;
        if (rules->read && rules->read(call, i) == 0)
            memset(t->data, 0xff, ct_desc_bytes(&t->desc)); /* NaN: it must not be read */
        else
            fill(&s, t, &d);
        if (d.kind == CT_DOM_LEN) len = t;
    }
    for (int i = 0; len && i < call->nin; i++)
        if (ct_present(&call->in[i]) && ct_call_domain(call, i).ends) zero_behind(&call->in[i], len);
    zero_padding(call);
}
