/* What happens when numbers go bad: NaN and infinity, and gradients that are exactly zero. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "run/run.h"

#define SHOWN_TENSORS 3
#define SHOWN_SAMPLES 4

static int put(char *buf, size_t size, int at, const char *text)
{
    if (at < 0 || (size_t)at >= size) return at;
    return at + snprintf(buf + at, size - (size_t)at, "%s", text);
}

/* First element of a tensor that is NaN or infinite; -1 if there is none. */
static int64_t first_bad(const ct_desc *d, const void *host)
{
    int64_t n = ct_desc_numel(d);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(ct_load(d->dtype, host, i))) return i;
    return -1;
}

/* Names the parameters whose values or gradients are bad: "the gradient of fc1.weight (element 7: nan), fc1.bias and 3
 * more". */
static ct_status bad_tensors(ct_run *r, char *buf, size_t size)
{
    ct_session *s = &r->session;
    int at = 0, found = 0;
    char item[160];
    const void *values;
    ct_arena arena = r->accumulate > 1 ? CT_ARENA_GACC : CT_ARENA_GRAD;
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        if (!t->trained) continue;
        CT_TRY(ct_session_see(s, i, arena, &values));
        int64_t bad = first_bad(&t->desc, values);
        if (bad < 0) continue;
        if (found++ >= SHOWN_TENSORS) continue;
        snprintf(item, sizeof item, "%s%s (element %" PRId64 ": %g)", found == 1 ? "the gradient of " : ", ", t->name,
                 bad, ct_load(t->desc.dtype, values, bad));
        at = put(buf, size, at, item);
    }
    if (found > SHOWN_TENSORS) {
        snprintf(item, sizeof item, " and %d more", found - SHOWN_TENSORS);
        put(buf, size, at, item);
    }
    if (found > 0) return CT_OK;
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        CT_TRY(ct_session_see(s, i, t->arena, &values));
        int64_t bad = first_bad(&t->desc, values);
        if (bad < 0) continue;
        snprintf(buf, size, "%s (element %" PRId64 ": %g)", t->name, bad, ct_load(t->desc.dtype, values, bad));
        return CT_OK;
    }
    snprintf(buf, size, "the loss, all tensors being finite");
    return CT_OK;
}

static void bad_samples(const ct_run *r, const ct_moment *m, char *buf, size_t size)
{
    int at = 0;
    buf[0] = '\0';
    for (int64_t i = 0; i < m->nids && i < SHOWN_SAMPLES; i++) {
        at = put(buf, size, at, i ? ", " : "");
        at = put(buf, size, at, ct_dataset_name(r->data.train.data, m->ids[i]));
    }
    if (m->nids > SHOWN_SAMPLES && at >= 0 && (size_t)at < size)
        snprintf(buf + at, size - (size_t)at, " and %" PRId64 " more (metrics.jsonl names all)",
                 m->nids - SHOWN_SAMPLES);
}

/* The names of all samples of the step; NULL without memory. */
static json_t *all_samples(const ct_run *r, const ct_moment *m)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < m->nids; i++) {
        if (json_array_append_new(list, ct_json_any(ct_dataset_name(r->data.train.data, m->ids[i]))) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}

static ct_status log_numeric(ct_run *r, const ct_moment *at, double loss, const char *tensor)
{
    ct_status st;
    json_t *o = json_object();
    CT_GOTO(st, ct_json_set(o, "step", json_integer(at->step)));
    CT_GOTO(st, ct_json_set(o, "loss", ct_json_number(loss)));
    CT_GOTO(st, ct_json_set(o, "tensor", json_string(tensor)));
    CT_GOTO(st, ct_json_set(o, "samples", all_samples(r, at)));
    CT_GOTO(st, ct_json_set(o, "skipped", json_integer((json_int_t)r->state[CT_STATE_SKIPPED])));
    return ct_journal_event(r->journal, "numeric", o);
fail:
    json_decref(o);
    return st;
}

ct_status ct_run_judge(ct_run *r, const ct_moment *at, int64_t skipped, double loss)
{
    if (isnan(loss)) loss = NAN; /* without a sign in messages */
    bool bad_loss = !isfinite(loss), last_bad = r->state[CT_STATE_LAST_INF] != 0;
    /* With fp16, gradients that overflow only say that the loss scale is too large, as long as it can fall. */
    bool scaling = r->fp16 && !bad_loss && r->state[CT_STATE_LOSS_SCALE] >= 1;
    if ((skipped == 0 && !bad_loss) || scaling) {
        if (!last_bad) r->p.bad_in_a_row = 0;
        return CT_OK;
    }
    int64_t bad = skipped > 0 ? skipped : 1;
    r->p.bad_in_a_row = last_bad || bad_loss ? r->p.bad_in_a_row + bad : 0;
    char tensor[640], samples[1200];
    CT_TRY(bad_tensors(r, tensor, sizeof tensor));
    bad_samples(r, at, samples, sizeof samples);
    CT_TRY(log_numeric(r, at, loss, tensor));
    bool stop = r->cfg->train.nan_policy == CT_CFG_NAN_STOP;
    if (stop || r->p.bad_in_a_row >= r->cfg->train.nan_limit)
        return ct_fail(CT_ENUMERIC, "step %" PRId64 ": NaN or infinity (loss %g) in %s; samples: %s; %s%s", at->step,
                       loss, tensor, samples, stop ? "" : "train.nan_limit steps in a row; ",
                       "the last good checkpoint is kept");
    ct_warn("step %" PRId64 " skipped: NaN or infinity (loss %g) in %s; samples: %s (%" PRId64
            " in a row, %.0f in total)",
            at->step, loss, tensor, samples, r->p.bad_in_a_row, r->state[CT_STATE_SKIPPED]);
    return CT_OK;
}

/* Whether the training program computes a parameter's gradient at all. */
static bool is_still(const ct_session *s, const char *name)
{
    for (size_t i = 0; i < s->units; i++) {
        const ct_graph *g = s->unit[i].prog.graph;
        const ct_val v = ct_graph_find(g, name);
        if (v != CT_NOVAL && g->values[v].still) return true;
    }
    return false;
}

/* Branches whose norm starts at 0 have no gradient before an update was made, and fp16 makes none while its loss scale
 * falls. */
static int64_t awake(const ct_run *r) { return r->fp16 ? 20 : 2; }

ct_status ct_run_zero_gradients(ct_run *r)
{
    if (r->p.step != awake(r)) return CT_OK;
    ct_session *s = &r->session;
    char list[512];
    int at = 0, found = 0;
    ct_arena arena = r->accumulate > 1 ? CT_ARENA_GACC : CT_ARENA_GRAD;
    list[0] = '\0';
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        if (t->arena != CT_ARENA_PARAM || ct_name_matches_any(s->spec.freeze, s->spec.freezes, t->name)) continue;
        if (is_still(s, t->name)) continue;
        bool zero = true;
        if (t->trained) {
            const void *values;
            CT_TRY(ct_session_see(s, i, arena, &values));
            int64_t n = ct_desc_numel(&t->desc);
            for (int64_t k = 0; k < n && zero; k++) zero = ct_load(t->desc.dtype, values, k) == 0;
        }
        if (!zero) continue;
        if (found++ >= 8) continue;
        at = put(list, sizeof list, at, found > 1 ? ", " : "");
        at = put(list, sizeof list, at, t->name);
        if (!t->trained) at = put(list, sizeof list, at, " (no path to the loss)");
    }
    if (found == 0 || !r->lead) return CT_OK; /* sums are everyone's */
    ct_warn("%d parameter%s had a gradient of exactly zero in step %" PRId64 ": %s%s", found, found == 1 ? "" : "s",
            r->p.step, list, found > 8 ? ", ..." : "");
    return ct_journal_event(r->journal, "zero_gradient",
                            json_pack("{s:I,s:i,s:s}", "step", (json_int_t)r->p.step, "parameters", found, "names",
                                      list));
}
