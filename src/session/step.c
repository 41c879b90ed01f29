/* Running: a batch goes through its programs part for part; what they count comes back. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "program/tree.h"
#include "session/parts.h"

/* ---- running ---- */

/* Every part of a step finds the running statistics that the first one found: a copy of them waits behind the sums. */
static ct_status begin_part(ct_session *s, const ct_unit *u)
{
    const ct_arenas *a = s->store;
    const size_t bytes = a->bytes[CT_ARENA_BUFFER];
    if (ct_session_parts(s) == 1 || bytes == 0) return CT_OK;
    if (u->kind != CT_PROGRAM_STEP && u->kind != CT_PROGRAM_PART) return CT_OK;
    void *kept = (char *)a->base[CT_ARENA_MEANS] + a->bytes[CT_ARENA_MEANS] - bytes, *now = a->base[CT_ARENA_BUFFER];
    return u->part == 0 ? a->backend->copy(a->device, a->stream, kept, now, bytes)
                        : a->backend->copy(a->device, a->stream, now, kept, bytes);
}

ct_status ct_session_run(ct_session *s, ct_unit *u)
{
    CT_TRY(begin_part(s, u));
    const bool all = u->batch >= ct_group_size(s->group); /* nobody is without rows */
    return u->buckets.bucket ? ct_group_step(s->group, u->plan, &u->buckets, all) : ct_plan_run(u->plan);
}

ct_status ct_session_idle(ct_session *s, ct_program_kind kind, int part)
{
    const ct_arenas *a = s->store;
    ct_unit *u = NULL;
    kind = ct_session_kind(s, kind, part);
    for (size_t i = 0; i < s->units && !u; i++)
        if (s->unit[i].kind == kind && s->unit[i].part == part) u = &s->unit[i];
    if (!u) return ct_fail(CT_EINTERNAL, "a member without rows, and without a program of its kind");
    CT_TRY(begin_part(s, u));
    if (kind == CT_PROGRAM_STEP) return ct_group_idle_step(s->group, u->plan, &u->buckets, u->prog.settle);
    CT_TRY(a->backend->clear(a->device, a->stream, a->base[CT_ARENA_GRAD], a->bytes[CT_ARENA_GRAD]));
    return ct_group_idle_nodes(s->group, u->plan, u->prog.settle, 0, u->prog.update);
}

ct_status ct_session_train(ct_session *s, ct_program_kind kind, const ct_loader *l, const ct_batch *b,
                           int64_t accumulate, bool small)
{
    for (int part = 0; part < ct_session_parts(s); part++) {
        ct_batch rows;
        ct_loader_part(l, b, part, &rows);
        if (rows.n == 0) {
            CT_TRY(ct_session_idle(s, kind, part));
            continue;
        }
        ct_unit *u = ct_session_like(s, &(ct_unit){ .kind = kind, .batch = b->all, .length = b->length,
                                                    .accumulate = accumulate, .small = small, .part = part });
        if (!u)
            return ct_fail(CT_EINTERNAL, "no training program for %d of %d samples of length %d, groups of %" PRId64,
                           rows.n, b->all, b->length, accumulate);
        CT_TRY(ct_session_upload(s, u, &rows));
        CT_TRY(ct_session_run(s, u));
    }
    return CT_OK;
}

/* ---- counting ---- */

ct_status ct_session_metrics_clear(ct_session *s)
{
    const ct_arenas *a = s->store;
    return a->backend->clear(a->device, a->stream, a->base[CT_ARENA_METRIC], a->bytes[CT_ARENA_METRIC]);
}

/* What each part has counted is summed on the host by the same tree as gradients. */
static ct_status sum_parts(ct_session *s, double sums[CT_METRIC_COUNT])
{
    double mine[CT_METRIC_COUNT];
    const int parts = ct_session_parts(s);
    CT_TRY(ct_arenas_get_metric_rows(s->store, s->counted, true));
    ct_tree_sum(s->counted, parts, CT_METRIC_COUNT);
    memcpy(mine, s->counted, sizeof mine);
    CT_TRY(ct_group_gather(s->group, mine, sizeof mine, s->counted));
    ct_tree_sum(s->counted, ct_group_size(s->group), CT_METRIC_COUNT);
    memcpy(sums, s->counted, sizeof mine);
    return CT_OK;
}

ct_status ct_session_metrics(ct_session *s, double sums[CT_METRIC_COUNT])
{
    if (s->counted) return sum_parts(s, sums);
    CT_TRY(ct_group_metrics(s->group));
    CT_TRY(ct_group_wait(s->group));
    return ct_arenas_get_metrics(s->store, sums, true);
}
