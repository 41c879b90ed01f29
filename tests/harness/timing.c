/* Times of every implementation over the case tables: the harness's other use of the same calls. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/harness/harness_priv.h"

#define MIN_SECONDS 0.05
#define MAX_RUNS 31
#define MIN_RUNS 5

typedef struct timing {
    const ct_backend *b;
    ct_device *dev;
    ct_stream *stream;
    const ct_selftest_opts *o;
    FILE *f;
} timing;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median time of one run, seconds. */
static ct_status median(const timing *t, const ct_impl *impl, const ct_call *call, void *scratch, double *out)
{
    double times[MAX_RUNS], total = 0;
    int n = 0;
    CT_TRY(impl->run(t->dev, t->stream, call, scratch)); /* warm caches and pages */
    CT_TRY(t->b->stream_sync(t->dev, t->stream));
    while (n < MAX_RUNS && (n < MIN_RUNS || total < MIN_SECONDS)) {
        double start = ct_now();
        CT_TRY(impl->run(t->dev, t->stream, call, scratch));
        CT_TRY(t->b->stream_sync(t->dev, t->stream));
        times[n] = ct_now() - start;
        total += times[n++];
    }
    qsort(times, (size_t)n, sizeof times[0], by_value);
    *out = times[n / 2];
    return CT_OK;
}

static ct_status time_case(void *user, const ct_case *c)
{
    const timing *t = user;
    ct_call host = c->call, call = c->call;
    void *scratch = NULL;
    ct_status st = CT_OK;
    if (c->data != CT_DATA_UNIFORM || (ct_op_get(c->call.op)->rules->flags & CT_OPF_VIEW)) return CT_OK;
    CT_GOTO(st, ct_host_alloc(&host));
    ct_generate(c, &host, false, 0);
    for (int i = 0; i < call.nin + call.nout; i++) {
        ct_tensor *v = i < call.nin ? &call.in[i] : &call.out[i - call.nin];
        if (!ct_present(v)) continue;
        CT_GOTO(st, t->b->alloc(t->dev, ct_desc_bytes(&v->desc), "bench tensor", &v->data));
        if (i < call.nin)
            CT_GOTO(st, t->b->upload(t->dev, t->stream, v->data, host.in[i].data, ct_desc_bytes(&v->desc)));
    }
    fprintf(t->f, "%s\n", c->text);
    for (size_t i = 0; i < t->b->nimpls; i++) {
        const ct_impl *impl = &t->b->impls[i];
        if (impl->op != call.op || (t->o->impl && strcmp(t->o->impl, impl->name) != 0)) continue;
        ct_accept a = impl->accept(t->dev, &c->call);
        if (!a.ok) {
            fprintf(t->f, "  %-18s refused: %s\n", impl->name, a.reason);
            continue;
        }
        double seconds;
        CT_GOTO(st, t->b->alloc(t->dev, a.scratch ? a.scratch : 1, "bench scratch", &scratch));
        CT_GOTO(st, median(t, impl, &call, scratch, &seconds));
        t->b->free(t->dev, scratch);
        scratch = NULL;
        fprintf(t->f, "  %-18s %10.4f ms %9.2f GFLOP/s %9.2f GB/s %12zu bytes of scratch\n", impl->name, seconds * 1e3,
                ct_call_flops(&call) / seconds * 1e-9, ct_call_bytes(&call) / seconds * 1e-9, a.scratch);
    }
fail:
    for (int i = 0; i < call.nin; i++)
        if (call.in[i].data) t->b->free(t->dev, call.in[i].data);
    for (int i = 0; i < call.nout; i++)
        if (call.out[i].data) t->b->free(t->dev, call.out[i].data);
    if (scratch) t->b->free(t->dev, scratch);
    ct_host_free(&host);
    return st;
}

ct_status ct_selftest_bench(const ct_backend *b, ct_device *dev, const ct_selftest_opts *o, FILE *f)
{
    timing t = { .b = b, .dev = dev, .o = o, .f = f };
    CT_TRY(b->stream_create(dev, &t.stream));
    ct_status st = ct_cases_visit(o, time_case, &t);
    b->stream_destroy(dev, t.stream);
    return st;
}
