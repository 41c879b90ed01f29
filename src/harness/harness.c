#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "backends/cpu/ref/ref.h"
#include "base/alloc.h"
#include "exec/exec.h"
#include "harness/harness_priv.h"
#include "ops/math/mask_math.h"

#define GUARD 256  /* bytes on either side of a tensor: a multiple of CT_ALIGN */
#define UNSET 0xff /* byte of guards, outputs and scratch before a run: a NaN in every floating type */
#define MESSAGE 512
#define MAX_VARIANTS 64 /* of a call: more than a library has told of so far */

/* ---- host tensors ---- */

ct_status ct_host_alloc(ct_call *call)
{
    for (int i = 0; i < call->nin + call->nout; i++) {
        ct_tensor *t = i < call->nin ? &call->in[i] : &call->out[i - call->nin];
        if (!ct_present(t)) continue;
        size_t bytes = ct_desc_bytes(&t->desc);
        t->data = ct_aligned_alloc(bytes, "test tensor");
        if (!t->data) return CT_ENOMEM;
        memset(t->data, UNSET, bytes);
    }
    return CT_OK;
}

void ct_host_free(ct_call *call)
{
    for (int i = 0; i < CT_MAX_IN; i++) {
        ct_free(call->in[i].data);
        call->in[i].data = NULL;
    }
    for (int i = 0; i < CT_MAX_OUT; i++) {
        ct_free(call->out[i].data);
        call->out[i].data = NULL;
    }
}

ct_status ct_reference_run(const ct_call *host)
{
    const ct_impl *ref = ct_ref_find(host->op);
    if (!ref) return ct_fail(CT_EUNSUPPORTED, "%s has no reference", ct_op_get(host->op)->name);
    ct_accept a = ref->accept(NULL, host);
    if (!a.ok) return ct_fail(CT_EUNSUPPORTED, "%s: the reference refuses: %s", ct_op_get(host->op)->name, a.reason);
    void *scratch = ct_aligned_alloc(a.scratch, "scratch of the reference");
    if (!scratch) return CT_ENOMEM;
    memset(scratch, UNSET, a.scratch);
    ct_status st = ref->run(NULL, NULL, host, scratch);
    ct_free(scratch);
    return st;
}

/* ---- blocks of device memory with guard bands ---- */

typedef struct block {
    void *device;  /* lead + bytes + GUARD; NULL = not there */
    uint8_t *host; /* the same, before the run and again after it */
    size_t bytes;  /* of the tensor */
    size_t lead;   /* bytes before it: GUARD, or twice that */
} block;

/* The variants of a call: listing them can mean to make a plan of each, and the data patterns of a case ask again and again. */
typedef struct variant_list {
    const ct_impl *impl; /* NULL: nothing was listed yet */
    char text[CT_CALL_TEXT];
    int n;
    char name[MAX_VARIANTS][CT_VARIANT_NAME];
} variant_list;

typedef struct bench {
    const ct_backend *b;
    ct_device *dev;
    ct_stream *stream;
    const ct_selftest_opts *o;
    ct_selftest_report *report;
    variant_list *variants;
} bench;

static void block_free(const bench *t, block *k)
{
    if (k->device) t->b->free(t->dev, k->device);
    ct_free(k->host);
    *k = (block){ 0 };
}

static size_t block_size(const block *k)
{
    return k->lead + k->bytes + GUARD;
}

/* Device block holding `data`, or UNSET bytes for NULL. It stands at a multiple of CT_DEVICE_ALIGN and of no more, whatever the device
 * gives: in a plan it need not stand better either. */
static ct_status block_make(const bench *t, block *k, const void *data, size_t bytes)
{
    k->bytes = bytes;
    CT_TRY(t->b->alloc(t->dev, bytes + 3 * GUARD, "guarded block", &k->device));
    k->lead = ((uintptr_t)k->device + GUARD) % (2 * CT_DEVICE_ALIGN) ? GUARD : 2 * GUARD;
    k->host = ct_malloc(block_size(k), "guarded block");
    if (!k->host) return CT_ENOMEM;
    memset(k->host, UNSET, block_size(k));
    if (data) memcpy(k->host + k->lead, data, bytes);
    return t->b->upload(t->dev, t->stream, k->device, k->host, block_size(k));
}

static void *block_address(const block *k)
{
    return (char *)k->device + k->lead;
}

/* Number of guard bytes that were overwritten; *at is the first, counted from the tensor's first byte. */
static int block_damage(const block *k, long *at)
{
    int damaged = 0;
    for (size_t i = 0; i < k->lead + GUARD; i++) {
        size_t pos = i < k->lead ? i : i + k->bytes;
        if (k->host[pos] == UNSET) continue;
        if (!damaged++) *at = (long)pos - (long)k->lead;
    }
    return damaged;
}

/* ---- one run of one implementation ---- */

typedef struct run {
    const ct_case *c;
    const ct_impl *impl;
    unsigned flags;      /* the implementation's, as far as they hold for this call */
    const ct_call *host; /* inputs before the run */
    const ct_call *want; /* inputs and outputs after the reference ran */
    bool inplace;
    double worst;
    char message[MESSAGE]; /* of the worst */
    uint64_t bits;
} run;

static void blame(run *r, double worst, const char *fmt, ...) CT_PRINTF(3, 4);

static void blame(run *r, double worst, const char *fmt, ...)
{
    if (worst <= r->worst) return;
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(r->message, sizeof r->message, "%s", r->inplace ? "in place: " : "");
    vsnprintf(r->message + n, sizeof r->message - (size_t)n, fmt, ap);
    va_end(ap);
    r->worst = worst;
}

static void hash_bytes(uint64_t *h, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) *h = (*h ^ p[i]) * 1099511628211u;
}

/* Result `output` (>= 0 output, -1-i written input i) lies in block k; the reference says `want`. */
static void check_result(run *r, const block *k, const ct_tensor *want, int output)
{
    char name[32];
    snprintf(name, sizeof name, output >= 0 ? "output %d" : "written input %d", output >= 0 ? output : -1 - output);
    ct_tensor got = { want->desc, k->host + k->lead };
    ct_bound bound = ct_tolerance(r->host, want, output, r->c->data, r->flags);
    ct_verdict v = ct_compare(&got, want, bound);
    if (v.worst > 0)
        blame(r, v.worst, "%s[%lld] is %.9g, should be %.9g: %.3g times the tolerance %.3g", name, (long long)v.at,
              v.got, v.want, v.worst, v.tolerance);
    hash_bytes(&r->bits, k->host + k->lead, k->bytes);
}

/* A mask must be that of the implementation's own y, bit for bit: how near y is to the reference's is said elsewhere. */
static void check_mask(run *r, const block *mask, const block *y)
{
    const ct_tensor *like = &r->want->out[0];
    const int64_t n = ct_desc_numel(&like->desc), cols = like->desc.dim[like->desc.ndim - 1], row = ct_mask_bytes(cols);
    const uint8_t *got = mask->host + mask->lead;
    for (int64_t m = 0; m < n / cols; m++)
        for (int64_t c = 0; c < 8 * row; c++) {
            const double v = c < cols ? ct_load(like->desc.dtype, y->host + y->lead, m * cols + c) : 0;
            if (ct_mask_at(got + m * row, c) == (v > 0)) continue;
            blame(r, INFINITY, "the mask says %d of element %lld of row %lld, which is %.9g", v <= 0, (long long)c, (long long)m, v);
            return;
        }
    hash_bytes(&r->bits, got, mask->bytes);
}

static void check_guards(run *r, const block *k, const char *what, int i)
{
    long at = 0;
    int n = k->host ? block_damage(k, &at) : 0;
    if (n)
        blame(r, INFINITY, "guard band of %s %d: %d bytes overwritten, the first at byte %ld of a tensor of %zu", what,
              i, n, at, k->bytes);
}

/* Runs once and checks everything; what is wrong is in r->worst. Only failures of the harness itself are returned. */
static ct_status run_once(const bench *t, run *r, size_t scratch_bytes)
{
    const ct_op_rules *rules = ct_op_get(r->impl->op)->rules;
    ct_status st = CT_OK;
    block in[CT_MAX_IN] = { { 0 } }, out[CT_MAX_OUT] = { { 0 } }, scratch = { 0 };
    ct_call call = *r->host;
    for (int i = 0; i < call.nin; i++) {
        if (!ct_present(&call.in[i])) continue;
        CT_GOTO(st, block_make(t, &in[i], r->host->in[i].data, ct_desc_bytes(&call.in[i].desc)));
        call.in[i].data = block_address(&in[i]);
    }
    for (int i = 0; i < call.nout; i++) {
        if (!ct_present(&call.out[i])) continue;
        if (r->inplace && i == rules->inplace_out) {
            call.out[i].data = call.in[rules->inplace_in].data;
            continue;
        }
        CT_GOTO(st, block_make(t, &out[i], NULL, ct_desc_bytes(&call.out[i].desc)));
        call.out[i].data = block_address(&out[i]);
    }
    CT_GOTO(st, block_make(t, &scratch, NULL, scratch_bytes));
    ct_status ran = r->impl->run(t->dev, t->stream, &call, block_address(&scratch));
    if (ran == CT_OK) ran = t->b->stream_sync(t->dev, t->stream);
    if (ran != CT_OK) {
        blame(r, INFINITY, "run failed: %s: %s", ct_status_name(ran), ct_error_message());
        goto fail;
    }
    for (int i = 0; i < call.nin + call.nout; i++) {
        block *k = i < call.nin ? &in[i] : &out[i - call.nin];
        if (k->device) CT_GOTO(st, t->b->download(t->dev, t->stream, k->host, k->device, block_size(k)));
    }
    CT_GOTO(st, t->b->download(t->dev, t->stream, scratch.host, scratch.device, block_size(&scratch)));
    CT_GOTO(st, t->b->stream_sync(t->dev, t->stream));
    for (int i = 0; i < call.nout; i++) {
        if (!ct_present(&call.out[i])) continue;
        bool shared = r->inplace && i == rules->inplace_out;
        if (i > 0 && i == rules->mask_out)
            check_mask(r, &out[i], &out[0]);
        else
            check_result(r, shared ? &in[rules->inplace_in] : &out[i], &r->want->out[i], i);
        if (!shared) check_guards(r, &out[i], "output", i);
    }
    for (int i = 0; i < call.nin; i++) {
        if (!in[i].host) continue;
        check_guards(r, &in[i], "input", i);
        if (rules->mutates >> i & 1u)
            check_result(r, &in[i], &r->want->in[i], -1 - i);
        else if (!(r->inplace && i == rules->inplace_in) &&
                 memcmp(in[i].host + in[i].lead, r->host->in[i].data, in[i].bytes) != 0)
            blame(r, INFINITY, "input %d was written", i);
    }
    check_guards(r, &scratch, "scratch", 0);
fail:
    for (int i = 0; i < CT_MAX_IN; i++) block_free(t, &in[i]);
    for (int i = 0; i < CT_MAX_OUT; i++) block_free(t, &out[i]);
    block_free(t, &scratch);
    return st;
}

/* Whether the operator's rule lets its output lie on its input in this call. */
static bool can_run_inplace(const ct_call *call)
{
    const ct_op_rules *r = ct_op_get(call->op)->rules;
    if (r->inplace_out < 0 || r->inplace_out >= call->nout || r->inplace_in >= call->nin) return false;
    const ct_tensor *out = &call->out[r->inplace_out], *in = &call->in[r->inplace_in];
    return ct_present(out) && ct_present(in) && ct_desc_bytes(&out->desc) == ct_desc_bytes(&in->desc);
}

/* What is computed by which way: one implementation, by its own choice (variant NULL) or in a variant. */
typedef struct way {
    const ct_impl *impl;
    const char *variant;
} way;

/* The answer of accept() for a way, and what is done from then on; a variant that is not taken refuses. */
static ct_accept accept_way(const bench *t, const way *w, const ct_call *call)
{
    if (w->variant && (!t->b->prefer || t->b->prefer(t->dev, w->impl, call, w->variant) != CT_OK))
        return ct_accept_no("the backend does not take this variant for this call");
    return w->impl->accept(t->dev, call);
}

/* Runs a way that accepted, in place as well where that can be. The library's own name of what ran goes with what is wrong: its choice
 * is another on another device. */
static ct_status run_way(const bench *t, const way *w, size_t scratch, ct_selftest_row *row, run *r)
{
    ct_receipt how;
    CT_TRY(ct_receipt_of(t->b, t->dev, w->impl, &r->c->call, &how));
    r->flags = how.transforms ? w->impl->flags & ~(unsigned)CT_IMPL_EXACT : w->impl->flags;
    r->bits = row->bits;
    CT_TRY(run_once(t, r, scratch));
    row->bits = r->bits;
    if (can_run_inplace(&r->c->call)) {
        r->inplace = true;
        CT_TRY(run_once(t, r, scratch));
    }
    const size_t used = strlen(r->message);
    if (used > 0 && *how.engine && !w->variant) snprintf(r->message + used, sizeof r->message - used, ", by %s", how.engine);
    return CT_OK;
}

static ct_status test_way(const bench *t, const way *w, const ct_case *c, const ct_call *host, const ct_call *want)
{
    ct_selftest_row *row = ct_report_row(t->report, w->impl->op, w->impl->name, w->variant != NULL, ct_case_dtype(&c->call),
                                         w->impl->flags);
    run r = { .c = c, .impl = w->impl, .host = host, .want = want };
    if (!row) return CT_ENOMEM;
    ct_accept a = accept_way(t, w, &c->call);
    ct_status st = a.ok ? run_way(t, w, a.scratch, row, &r) : CT_OK;
    if (w->variant && t->b->prefer) {
        const ct_status back = t->b->prefer(t->dev, w->impl, &c->call, NULL);
        if (st == CT_OK) st = back;
    }
    if (st != CT_OK) return st;
    if (a.ok) return ct_report_case(t->report, row, t->o, c, w->variant, r.worst, r.message);
    row->refused++, t->report->refused++;
    if (!row->reason) row->reason = a.reason ? a.reason : "(no reason given)";
    return CT_OK;
}

/* Every variant of an implementation that accepts the case. */
static ct_status test_variants(const bench *t, const ct_case *c, const ct_impl *impl, const ct_call *host, const ct_call *want)
{
    variant_list *l = t->variants;
    if (!t->b->variants || !impl->accept(t->dev, &c->call).ok) return CT_OK;
    if (l->impl != impl || strcmp(l->text, c->text) != 0) {
        l->n = t->b->variants(t->dev, impl, &c->call, l->name, MAX_VARIANTS);
        l->impl = impl;
        memcpy(l->text, c->text, sizeof l->text);
    }
    for (int i = 0; i < l->n; i++) CT_TRY(test_way(t, &(way){ impl, l->name[i] }, c, host, want));
    return CT_OK;
}

/* Whether opts.impl, "NAME" or "NAME:VARIANT", lets an implementation through; *variant: the one that it names, NULL: none. */
static bool is_wanted(const char *given, const char *impl, const char **variant)
{
    const size_t n = strlen(impl);
    *variant = NULL;
    if (!given) return true;
    if (strncmp(given, impl, n) != 0 || (given[n] && given[n] != ':')) return false;
    if (given[n]) *variant = given + n + 1;
    return true;
}

/* Reference, then every implementation of the operator. */
static ct_status test_case(void *user, const ct_case *c)
{
    const bench *t = user;
    ct_status st = CT_OK;
    if (ct_op_get(c->call.op)->rules->flags & CT_OPF_VIEW) return CT_OK;
    ct_call host = c->call, want = c->call;
    CT_GOTO(st, ct_host_alloc(&host));
    CT_GOTO(st, ct_host_alloc(&want));
    ct_generate(c, &host, false, 0);
    for (int i = 0; i < host.nin; i++)
        if (ct_present(&host.in[i])) memcpy(want.in[i].data, host.in[i].data, ct_desc_bytes(&host.in[i].desc));
    st = ct_reference_run(&want);
    if (st != CT_OK) {
        ct_fail_context(st, "reference, '%s'", c->text);
        goto fail;
    }
    for (const ct_impl *impl = NULL; (impl = ct_impl_next(t->b, c->call.op, impl));) {
        way w = { impl, NULL };
        if (!is_wanted(t->o->impl, impl->name, &w.variant)) continue;
        CT_GOTO(st, test_way(t, &w, c, &host, &want));
        if (t->o->variants && !w.variant) CT_GOTO(st, test_variants(t, c, impl, &host, &want));
    }
fail:
    ct_host_free(&host);
    ct_host_free(&want);
    return st;
}

/* Whether the backend has an implementation that opts.impl names. */
static bool is_known(const ct_backend *b, const char *given)
{
    const char *variant;
    for (size_t k = 0; k < b->nsets; k++)
        for (size_t i = 0; i < b->sets[k]->n; i++)
            if (is_wanted(given, b->sets[k]->impls[i].name, &variant)) return true;
    return false;
}

ct_status ct_selftest_ops(const ct_backend *b, ct_device *dev, const ct_selftest_opts *o, ct_selftest_report *out)
{
    bench t = { .b = b, .dev = dev, .o = o, .report = out };
    if (o->impl && strcmp(o->impl, CT_IMPL_GRADIENT) == 0) return CT_OK;
    if (o->impl && !is_known(b, o->impl)) return ct_fail(CT_EINVAL, "backend %s has no implementation '%s'", b->name, o->impl);
    t.variants = ct_calloc(1, sizeof *t.variants, "variants of a call");
    if (!t.variants) return CT_ENOMEM;
    ct_status st = b->stream_create(dev, &t.stream);
    if (st == CT_OK) {
        st = ct_cases_visit(o, test_case, &t);
        b->stream_destroy(dev, t.stream);
    }
    ct_free(t.variants);
    return st;
}
