/* Times of implementations: of one call, for `captrain bench --op` and `captrain tune`, and over the case tables. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "exec/exec.h"
#include "harness/harness_priv.h"

#define CASE_SECONDS 0.05
#define LONG_RUN 1.0 /* seconds */
#define MAX_RUNS 31
#define MIN_RUNS 5
#define ROTATED ((size_t)256 << 20) /* bytes: twice the L2 of the largest card of today */

/* ---- one call ---- */

static ct_tensor *tensor(ct_call *c, int i)
{
    return i < c->nin ? &c->in[i] : &c->out[i - c->nin];
}

/* How many copies of the call's tensors are more than the device's cache. The host has one: there a step, too, finds in the cache what the
 * call before it has left. */
static int copies(const ct_backend *b, const ct_call *call)
{
    size_t bytes = 1;
    for (int i = 0; i < call->nin + call->nout; i++) {
        const ct_tensor *v = i < call->nin ? &call->in[i] : &call->out[i - call->nin];
        if (ct_present(v)) bytes += ct_desc_bytes(&v->desc);
    }
    const size_t n = ROTATED / bytes + 1;
    return !b->event_seconds ? 1 : n < MAX_RUNS + 1 ? (int)n : MAX_RUNS + 1;
}

/* Memory of one copy; its inputs are those of the first, or for that one the host's. */
static ct_status open_set(ct_timed_call *t, ct_call *set, const ct_call *host)
{
    for (int i = 0; i < set->nin + set->nout; i++) {
        ct_tensor *v = tensor(set, i);
        if (!ct_present(v)) continue;
        const size_t bytes = ct_desc_bytes(&v->desc);
        CT_TRY(t->b->alloc(t->dev, bytes, "bench tensor", &v->data));
        if (i >= set->nin) continue;
        if (set != t->set) CT_TRY(t->b->copy(t->dev, t->stream, v->data, t->set->in[i].data, bytes));
        else CT_TRY(t->b->upload(t->dev, t->stream, v->data, host->in[i].data, bytes));
    }
    return t->b->stream_sync(t->dev, t->stream); /* host memory may go */
}

ct_status ct_timed_open(const ct_backend *b, ct_device *dev, const ct_call *call, ct_timed_call *t)
{
    ct_call host = *call;
    ct_status st = CT_OK;
    *t = (ct_timed_call){ .b = b, .dev = dev, .sets = copies(b, call) };
    t->set = ct_calloc((size_t)t->sets, sizeof *t->set, "call to be timed");
    if (!t->set) return CT_ENOMEM;
    for (int i = 0; i < t->sets; i++) t->set[i] = *call;
    ct_case *c = ct_calloc(1, sizeof *c, "call to be timed");
    if (!c) {
        ct_timed_close(t);
        return CT_ENOMEM;
    }
    c->call = *call;
    c->data = CT_DATA_UNIFORM;
    c->seed = 1;
    ct_call_format(call, c->text, sizeof c->text);
    CT_GOTO(st, b->stream_create(dev, &t->stream));
    if (b->event_seconds) CT_GOTO(st, b->event_create(dev, &t->from));
    if (b->event_seconds) CT_GOTO(st, b->event_create(dev, &t->to));
    CT_GOTO(st, ct_host_alloc(&host));
    ct_generate(c, &host, false, 0);
    for (int i = 0; i < t->sets; i++) CT_GOTO(st, open_set(t, &t->set[i], &host));
fail:
    ct_host_free(&host);
    ct_free(c);
    if (st != CT_OK) ct_timed_close(t);
    return st;
}

void ct_timed_close(ct_timed_call *t)
{
    for (int k = 0; k < t->sets && t->set; k++) {
        for (int i = 0; i < t->set[k].nin + t->set[k].nout; i++) {
            ct_tensor *v = tensor(&t->set[k], i);
            if (v->data) t->b->free(t->dev, v->data);
        }
    }
    ct_free(t->set);
    if (t->from) t->b->event_destroy(t->dev, t->from);
    if (t->to) t->b->event_destroy(t->dev, t->to);
    if (t->stream) t->b->stream_destroy(t->dev, t->stream);
    *t = (ct_timed_call){ .b = NULL };
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static ct_status one_run(ct_timed_call *t, const ct_impl *impl, void *scratch, double *seconds)
{
    double start = ct_now();
    if (t->to) CT_TRY(t->b->event_record(t->dev, t->from, t->stream));
    CT_TRY(impl->run(t->dev, t->stream, &t->set[t->next++ % t->sets], scratch));
    if (t->to) CT_TRY(t->b->event_record(t->dev, t->to, t->stream));
    CT_TRY(t->b->stream_sync(t->dev, t->stream));
    *seconds = ct_now() - start;
    return t->to ? t->b->event_seconds(t->dev, t->from, t->to, seconds) : CT_OK;
}

ct_status ct_timed_run(ct_timed_call *t, const ct_impl *impl, size_t scratch_bytes, double seconds, ct_call_time *out)
{
    double times[MAX_RUNS], total = 0;
    int n = 0;
    void *scratch = NULL;
    ct_status st;
    CT_TRY(t->b->alloc(t->dev, scratch_bytes ? scratch_bytes : 1, "bench scratch", &scratch));
    CT_GOTO(st, one_run(t, impl, scratch, &times[0])); /* warms caches and pages */
    if (times[0] >= LONG_RUN) n = 1;
    while (n < MAX_RUNS && (n < MIN_RUNS || total < seconds) && !(n == 1 && times[0] >= LONG_RUN)) {
        CT_GOTO(st, one_run(t, impl, scratch, &times[n]));
        total += times[n++];
    }
    qsort(times, (size_t)n, sizeof times[0], by_value);
    *out = (ct_call_time){ .best = times[0], .median = times[n / 2], .runs = n };
fail:
    t->b->free(t->dev, scratch);
    return st;
}

/* ---- the case tables ---- */

typedef struct timing {
    const ct_backend *b;
    ct_device *dev;
    const ct_selftest_opts *o;
    FILE *f;
} timing;

static ct_status time_case(void *user, const ct_case *c)
{
    const timing *t = user;
    ct_timed_call timed;
    ct_status st = CT_OK;
    if (c->data != CT_DATA_UNIFORM || (ct_op_get(c->call.op)->rules->flags & CT_OPF_VIEW)) return CT_OK;
    CT_TRY(ct_timed_open(t->b, t->dev, &c->call, &timed));
    fprintf(t->f, "%s\n", c->text);
    for (const ct_impl *impl = NULL; (impl = ct_impl_next(t->b, c->call.op, impl));) {
        if (t->o->impl && strcmp(t->o->impl, impl->name) != 0) continue;
        ct_accept a = impl->accept(t->dev, &c->call);
        if (!a.ok) {
            fprintf(t->f, "  %-18s refused: %s\n", impl->name, a.reason);
            continue;
        }
        ct_call_time time;
        CT_GOTO(st, ct_timed_run(&timed, impl, a.scratch, CASE_SECONDS, &time));
        fprintf(t->f, "  %-18s %10.4f ms %9.2f GFLOP/s %9.2f GB/s %12zu bytes of scratch\n", impl->name,
                time.median * 1e3, ct_call_flops(&c->call) / time.median * 1e-9,
                ct_call_bytes(&c->call) / time.median * 1e-9, a.scratch);
    }
fail:
    ct_timed_close(&timed);
    return st;
}

ct_status ct_selftest_bench(const ct_backend *b, ct_device *dev, const ct_selftest_opts *o, FILE *f)
{
    timing t = { .b = b, .dev = dev, .o = o, .f = f };
    return ct_cases_visit(o, time_case, &t);
}
