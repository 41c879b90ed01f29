/* Tables of `captrain bench`: times by operator, by call, and of the implementations of one call, beside the peaks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/bench.h"

/* ---- a step by operator ---- */

static int slowest_first(const void *a, const void *b)
{
    const ct_op_time *p = a, *q = b;
    return p->seconds < q->seconds ? 1 : p->seconds > q->seconds ? -1 : 0;
}

static bool same_row(const ct_op_time *t, const ct_call *call, const char *impl, const char *text)
{
    return t->op == call->op && strcmp(t->impl, impl) == 0 && (!text || strcmp(t->call, text) == 0);
}

ct_status ct_op_times_sum(const ct_plan *plan, int64_t runs, bool by_call, ct_op_times *out)
{
    const ct_graph *g = ct_plan_graph(plan);
    ct_op_time *t = ct_calloc(g->nnodes + 1, sizeof *t, "operator times");
    *out = (ct_op_times){ .row = t };
    if (!t) return CT_ENOMEM;
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_call call;
        const char *impl = ct_plan_impl(plan, i);
        char *text = NULL;
        ct_graph_call(g, i, &call);
        if (ct_op_get(call.op)->rules->flags & CT_OPF_VIEW) continue;
        if (g->nodes[i].phase == CT_PHASE_LOAD) continue; /* once, not in each step */
        if (by_call && !(text = ct_call_text(&call))) {
            ct_op_times_free(out);
            return CT_ENOMEM;
        }
        size_t k = 0;
        while (k < out->n && !same_row(&t[k], &call, impl, text)) k++;
        if (k == out->n) t[out->n++] = (ct_op_time){ .op = call.op, .impl = impl, .call = text };
        else ct_free(text);
        double s = ct_plan_seconds(plan, i) / (double)runs;
        t[k].calls++;
        t[k].seconds += s;
        t[k].flops += ct_call_flops(&call);
        t[k].bytes += ct_call_bytes(&call);
        out->seconds += s;
    }
    qsort(t, out->n, sizeof *t, slowest_first);
    return CT_OK;
}

/* A device that waits for the host between two calls tells the host's time as its own. The half more is for the
 * events. */
static bool is_host_time(const ct_op_times *t, const ct_op_time *r)
{
    return t->queue <= 0 || r->seconds <= 1.5 * r->calls * t->queue;
}

void ct_op_times_free(ct_op_times *t)
{
    for (size_t i = 0; i < t->n; i++) ct_free(t->row[i].call);
    ct_free(t->row);
    *t = (ct_op_times){ .row = NULL };
}

/* "87%", or "-" without a peak. */
static const char *percent(double rate, double peak, char buf[16])
{
    if (peak > 0) snprintf(buf, 16, "%.0f%%", 100 * rate / peak);
    else snprintf(buf, 16, "-");
    return buf;
}

void ct_peaks_print(const ct_peaks *p, FILE *to)
{
    if (p->flops > 0) fprintf(to, "peak of products %.1f GFLOP/s (the best of linear), ", 1e-9 * p->flops);
    else fputs("peak of products not known (linear has only its reference here), ", to);
    if (p->bytes > 0) fprintf(to, "of memory %.2f GB/s (add of large arrays)\n", 1e-9 * p->bytes);
    else fputs("of memory not known\n", to);
    fputs("both can be exceeded: by an algorithm that needs fewer operations than the definition counts (winograd), "
          "and by arrays that stay in "
          "the cache\n",
          to);
}

void ct_op_times_print(const ct_op_times *t, const ct_peaks *peaks, FILE *to)
{
    double sum = t->seconds > 0 ? t->seconds : 1;
    char a[16], b[16];
    fprintf(to, "%-22s %-24s %5s %9s %6s %9s %7s %8s %7s\n", "operator", "implementation", "calls", "ms", "share",
            "GFLOP/s", "of peak", "GB/s", "of peak");
    for (size_t i = 0; i < t->n; i++) {
        const ct_op_time *r = &t->row[i];
        double s = r->seconds > 0 ? r->seconds : 1e-12;
        fprintf(to, "%-22s %-24s %5d %9.3f %5.1f%% %9.1f %7s %8.2f %7s%s\n", ct_op_get(r->op)->name, r->impl,
                r->calls, 1e3 * r->seconds, 100 * r->seconds / sum, r->flops / s * 1e-9,
                percent(r->flops / s, peaks->flops, a), r->bytes / s * 1e-9, percent(r->bytes / s, peaks->bytes, b),
                t->told && t->queue > 0 && is_host_time(t, r) ? " host" : "");
        if (r->call) fprintf(to, "  %s\n", r->call);
    }
    if (t->told && t->queue > 0)
        fprintf(to,
                "ms by the device's own clock; host: no more than the %.1f us a call that the host takes to queue one, "
                "so that the device was waiting\n",
                1e6 * t->queue);
}

/* rate in 1e9 per second and its share of the peak, as o[key] and o[share_key]. */
static ct_status set_rate(json_t *o, const char *key, const char *share_key, double amount, double seconds, double peak)
{
    double rate = amount / (seconds > 0 ? seconds : 1e-12);
    CT_TRY(ct_json_set(o, key, ct_json_number(1e-9 * rate)));
    return ct_json_set(o, share_key, peak > 0 ? ct_json_number(rate / peak) : json_null());
}

static ct_status set_rates(json_t *o, double flops, double bytes, double seconds, const ct_peaks *peaks)
{
    CT_TRY(set_rate(o, "gflops_per_s", "of_peak_flops", flops, seconds, peaks->flops));
    return set_rate(o, "gb_per_s", "of_peak_bytes", bytes, seconds, peaks->bytes);
}

ct_status ct_op_times_json(const ct_op_times *t, const ct_peaks *peaks, json_t *into, const char *key)
{
    double sum = t->seconds > 0 ? t->seconds : 1;
    json_t *list = json_array();
    CT_TRY(ct_json_set(into, key, list)); /* into owns it from here on */
    for (size_t i = 0; i < t->n; i++) {
        const ct_op_time *r = &t->row[i];
        json_t *o = json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "op", ct_op_get(r->op)->name, "impl", r->impl,
                              "calls", r->calls, "ms", 1e3 * r->seconds, "flops", r->flops, "bytes", r->bytes, "share",
                              r->seconds / sum);
        if (json_array_append_new(list, o) != 0) return ct_fail(CT_ENOMEM, "out of memory: operator times");
        CT_TRY(set_rates(o, r->flops, r->bytes, r->seconds, peaks));
        if (r->call) CT_TRY(ct_json_set(o, "call", json_string(r->call)));
        if (t->told) CT_TRY(ct_json_set(o, "clock", json_string(is_host_time(t, r) ? "host" : "device")));
    }
    return CT_OK;
}

ct_status ct_peaks_json(const ct_peaks *p, json_t *into)
{
    CT_TRY(ct_json_set(into, "peak_gflops_per_s", p->flops > 0 ? ct_json_number(1e-9 * p->flops) : json_null()));
    return ct_json_set(into, "peak_gb_per_s", p->bytes > 0 ? ct_json_number(1e-9 * p->bytes) : json_null());
}

/* ---- one call ---- */

void ct_measured_print(const ct_call_use *use, const ct_measured *m, size_t chosen, const ct_peaks *peaks, FILE *to)
{
    double flops = ct_call_flops(&use->call), bytes = ct_call_bytes(&use->call);
    char a[16], b[16];
    fprintf(to, "%s", use->text);
    if (use->count > 1) fprintf(to, "  (%d times)", use->count);
    fputc('\n', to);
    for (size_t i = 0; i < m->n; i++) {
        const ct_candidate *c = &m->c[i];
        if (c->refused) {
            fprintf(to, "  %-24s %s\n", c->name, c->refused);
            continue;
        }
        double s = c->time.best > 0 ? c->time.best : 1e-12;
        fprintf(to,
                "  %-24s %10.4f ms (median %.4f) %9.1f GFLOP/s %5s of peak %8.2f GB/s %5s of peak, %.2f MB scratch%s\n",
                c->name, 1e3 * c->time.best, 1e3 * c->time.median, flops / s * 1e-9,
                percent(flops / s, peaks->flops, a), bytes / s * 1e-9, percent(bytes / s, peaks->bytes, b),
                (double)c->scratch * 1e-6, i == chosen ? " <- chosen" : "");
    }
}

static ct_status json_candidate(const ct_call_use *use, const ct_candidate *c, bool chosen, const ct_peaks *peaks,
                                json_t *o)
{
    CT_TRY(ct_json_set(o, "impl", json_string(c->name)));
    if (c->refused) return ct_json_set(o, "refused", json_string(c->refused));
    CT_TRY(ct_json_set(o, "ms", ct_json_number(1e3 * c->time.best)));
    CT_TRY(ct_json_set(o, "ms_median", ct_json_number(1e3 * c->time.median)));
    CT_TRY(ct_json_set(o, "runs", json_integer(c->time.runs)));
    CT_TRY(set_rates(o, ct_call_flops(&use->call), ct_call_bytes(&use->call), c->time.best, peaks));
    CT_TRY(ct_json_set(o, "scratch_bytes", json_integer((json_int_t)c->scratch)));
    return ct_json_set(o, "chosen", json_boolean(chosen));
}

ct_status ct_measured_json(const ct_call_use *use, const ct_measured *m, size_t chosen, const ct_peaks *peaks,
                           json_t *list)
{
    json_t *row = json_object(), *impls = json_array();
    if (json_array_append_new(list, row) != 0) {
        json_decref(impls);
        return ct_fail(CT_ENOMEM, "out of memory: measured calls");
    }
    CT_TRY(ct_json_set(row, "impls", impls)); /* list owns row, row owns impls */
    CT_TRY(ct_json_set(row, "call", json_string(use->text)));
    CT_TRY(ct_json_set(row, "count", json_integer(use->count)));
    CT_TRY(ct_json_set(row, "flops", ct_json_number(ct_call_flops(&use->call))));
    CT_TRY(ct_json_set(row, "bytes", ct_json_number(ct_call_bytes(&use->call))));
    for (size_t i = 0; i < m->n; i++) {
        json_t *o = json_object();
        if (json_array_append_new(impls, o) != 0) return ct_fail(CT_ENOMEM, "out of memory: measured calls");
        CT_TRY(json_candidate(use, &m->c[i], i == chosen, peaks, o));
    }
    return CT_OK;
}
