#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "measure/measure.h"

#define ROUNDS 3
#define SLOW 1.0 /* seconds */

/* ---- distinct calls ---- */

ct_status ct_call_list_add(ct_call_list *l, const ct_call *call)
{
    char *text = ct_call_text(call);
    if (!text) return CT_ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->use[i].text, text) != 0) continue;
        l->use[i].count++;
        ct_free(text);
        return CT_OK;
    }
    ct_status st = ct_grow(&l->use, l->n, &l->cap, sizeof *l->use, "list of calls");
    if (st != CT_OK) {
        ct_free(text);
        return st;
    }
    ct_call_use *u = &l->use[l->n++];
    *u = (ct_call_use){ .call = *call, .text = text, .count = 1 };
    for (int k = 0; k < CT_MAX_IN; k++) u->call.in[k].data = NULL;
    for (int k = 0; k < CT_MAX_OUT; k++) u->call.out[k].data = NULL;
    return CT_OK;
}

ct_status ct_call_list_add_graph(ct_call_list *l, const ct_graph *g, ct_op op)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_call call;
        ct_graph_call(g, i, &call);
        if (ct_op_get(call.op)->rules->flags & CT_OPF_VIEW) continue;
        if (op == CT_OP_COUNT || op == call.op) CT_TRY(ct_call_list_add(l, &call));
    }
    return CT_OK;
}

void ct_call_list_free(ct_call_list *l)
{
    for (size_t i = 0; i < l->n; i++) ct_free(l->use[i].text);
    ct_free(l->use);
    *l = (ct_call_list){ .use = NULL };
}

/* ---- one call ---- */

void ct_measured_free(ct_measured *m)
{
    for (size_t i = 0; i < m->n; i++) ct_free(m->c[i].name);
    ct_free(m->c);
    *m = (ct_measured){ .c = NULL };
}

/* A new candidate that nobody has asked yet; `name` is taken over, NULL is CT_ENOMEM. */
static ct_status add_candidate(ct_measured *m, const ct_impl *impl, char *name, ct_candidate **out)
{
    ct_status st = name ? ct_grow(&m->c, m->n, &m->cap, sizeof *m->c, "candidates") : CT_ENOMEM;
    if (st != CT_OK) {
        ct_free(name);
        return st;
    }
    *out = &m->c[m->n++];
    **out = (ct_candidate){ .impl = impl, .name = name };
    return CT_OK;
}

static ct_status prefer(const ct_backend *b, ct_device *dev, const ct_impl *impl, const ct_call *call,
                        const char *variant)
{
    return b->prefer ? b->prefer(dev, impl, call, *variant ? variant : NULL) : CT_OK;
}

/* The variants of an implementation that accepts. */
static ct_status list_variants(const ct_backend *b, ct_device *dev, const ct_impl *impl, const ct_call *call,
                               ct_measured *m)
{
    char names[CT_MEASURE_VARIANTS][CT_VARIANT_NAME];
    int n = b->variants ? b->variants(dev, impl, call, names, CT_MEASURE_VARIANTS) : 0;
    for (int i = 0; i < n; i++) {
        ct_candidate *c;
        char *full = ct_impl_full_name(b, impl), *name = full ? ct_asprintf("%s:%s", full, names[i]) : NULL;
        ct_free(full);
        CT_TRY(add_candidate(m, impl, name, &c));
        memcpy(c->variant, names[i], sizeof c->variant);
        if (prefer(b, dev, impl, call, c->variant) != CT_OK) {
            c->refused = "the library does not take it after all";
            continue;
        }
        ct_accept a = impl->accept(dev, call);
        c->scratch = a.scratch;
        if (!a.ok) c->refused = a.reason ? a.reason : "no reason given";
    }
    return n > 0 ? prefer(b, dev, impl, call, "") : CT_OK;
}

/* Who accepts, without timing anybody. */
static ct_status list_candidates(const ct_backend *b, ct_device *dev, const ct_device_opts *opts,
                                 const ct_call *call, ct_measured *m)
{
    const char *slow = NULL; /* why plain loops are not timed any more */
    for (const ct_impl *impl = NULL; (impl = ct_impl_next(b, call->op, impl));) {
        ct_candidate *c;
        CT_TRY(add_candidate(m, impl, ct_impl_full_name(b, impl), &c));
        c->refused = ct_impl_ruled_out(opts, impl);
        if (c->refused) continue;
        CT_TRY(prefer(b, dev, impl, call, ""));
        ct_accept a = impl->accept(dev, call);
        c->scratch = a.scratch;
        if (!a.ok) c->refused = a.reason ? a.reason : "no reason given";
        else if (slow && (impl->flags & (CT_IMPL_REFERENCE | CT_IMPL_YARDSTICK))) c->refused = slow;
        else slow = "plain loops: not timed, others accept";
        if (!c->refused) CT_TRY(list_variants(b, dev, impl, call, m));
    }
    return CT_OK;
}

int ct_measure_ways(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call)
{
    char name[1][CT_VARIANT_NAME];
    int n = 0;
    const unsigned loops = CT_IMPL_REFERENCE | CT_IMPL_YARDSTICK;
    for (const ct_impl *m = NULL; (m = ct_impl_next(b, call->op, m));) {
        if ((m->flags & loops) || ct_impl_ruled_out(opts, m) || !m->accept(dev, call).ok) continue;
        n += 1 + (b->variants && b->variants(dev, m, call, name, 1) > 0);
    }
    return n;
}

/* One of several rounds in which all candidates take their turns, so that what else the machine does slows all of them
 * alike. The best time of all rounds counts, and the lowest median. */
static ct_status time_once_more(ct_timed_call *t, ct_candidate *c, double seconds)
{
    ct_call_time now;
    if (c->time.best >= SLOW) return CT_OK; /* once is enough */
    CT_TRY(prefer(t->b, t->dev, c->impl, t->set, c->variant));
    CT_TRY(ct_timed_run(t, c->impl, c->scratch, seconds, &now));
    bool first = c->time.runs == 0;
    if (first || now.best < c->time.best) c->time.best = now.best;
    if (first || now.median < c->time.median) c->time.median = now.median;
    c->time.runs += now.runs;
    return CT_OK;
}

static void rank(ct_measured *m)
{
    m->first = m->n;
    for (size_t i = 0; i < m->n; i++) {
        if (m->c[i].refused) continue;
        if (m->first == m->n) m->first = m->fastest = i;
        if (m->c[i].time.best < m->c[m->fastest].time.best) m->fastest = i;
    }
    if (m->first == m->n) m->fastest = m->n;
    else if (m->c[m->fastest].time.best > (1 - CT_MEASURE_MARGIN) * m->c[m->first].time.best) m->fastest = m->first;
}

ct_status ct_measure_call(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                          double seconds, ct_measured *out)
{
    ct_timed_call t = { .b = NULL };
    ct_status st;
    *out = (ct_measured){ .c = NULL };
    CT_GOTO(st, list_candidates(b, dev, opts, call, out));
    CT_GOTO(st, ct_timed_open(b, dev, call, &t));
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < out->n; i++) {
            if (out->c[i].refused) continue;
            st = time_once_more(&t, &out->c[i], seconds / ROUNDS);
            if (st == CT_EBACKEND && *out->c[i].variant) out->c[i].refused = "it failed when it was run";
            else if (st != CT_OK) goto fail;
        }
    for (size_t i = 0; i < out->n; i++)
        if (*out->c[i].variant) CT_GOTO(st, prefer(b, dev, out->c[i].impl, call, ""));
    rank(out);
    ct_timed_close(&t);
    return CT_OK;
fail:
    ct_timed_close(&t);
    ct_measured_free(out);
    return st;
}

/* ---- peaks ---- */

/* Best time of the implementation dispatch takes for a call given as text; 0 where that is a reference. */
static ct_status best_time(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const char *text,
                           ct_call *call, double *seconds)
{
    ct_choice choice;
    ct_timed_call t;
    ct_call_time time;
    *seconds = 0;
    CT_TRY(ct_call_parse(text, call));
    CT_TRY(ct_dispatch(b, dev, opts, call, &choice));
    if (choice.impl->flags & CT_IMPL_REFERENCE) return CT_OK;
    CT_TRY(ct_timed_open(b, dev, call, &t));
    ct_status st = ct_timed_run(&t, choice.impl, choice.scratch, 0.2, &time);
    ct_timed_close(&t);
    if (st == CT_OK) *seconds = time.best;
    return st;
}

ct_status ct_measure_peaks(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, ct_dtype dtype,
                           ct_peaks *out)
{
    const char *type = ct_dtype_name(dtype);
    const double patience = 0.5; /* seconds for one product */
    char text[128];
    ct_call call;
    double seconds;
    *out = (ct_peaks){ 0, 0 };
    for (int n = 256; n <= 2048; n *= 2) {
        snprintf(text, sizeof text, "linear(%s[%d,%d], %s[%d,%d], -)", type, n, n, type, n, n);
        CT_TRY(best_time(b, dev, opts, text, &call, &seconds));
        if (seconds == 0) break;
        double rate = ct_call_flops(&call) / seconds;
        if (rate > out->flops) out->flops = rate;
        if (8 * seconds > patience) break;
    }
    snprintf(text, sizeof text, "add(%s[%d], %s[%d])", type, 1 << 24, type, 1 << 24);
    CT_TRY(best_time(b, dev, opts, text, &call, &seconds));
    if (seconds > 0) out->bytes = ct_call_bytes(&call) / seconds;
    return CT_OK;
}
