/* Order, batches and shapes of an epoch. */
#include "config.h"

#include "loader/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"

void ct_loader_order(const ct_loader_spec *spec, int64_t n, int64_t epoch, int64_t *out)
{
    if (spec->shuffle) {
        ct_rng_permutation(spec->seed, CT_RNG_SHUFFLE, (uint64_t)epoch, n, out);
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = i;
    }
    if (spec->index) {
        for (int64_t i = 0; i < n; i++) out[i] = spec->index[out[i]];
    }
}

int64_t ct_loader_samples(const ct_loader_spec *s) { return s->index ? s->n : ct_dataset_size(s->data); }

/* ---- kinds ---- */

/* Frames that make a kind of clips longer than the one before. */
static int step_of(const ct_loader_spec *s, const ct_clip_rule *clip)
{
    return s->frames_step > clip->multiple ? s->frames_step : clip->multiple;
}

int ct_loader_kind(const ct_loader_spec *s, int64_t sample)
{
    const ct_clip_rule *clip = ct_dataset_clip(s->data);
    if (!clip) return ct_dataset_sample_bucket(s->data, sample);
    return (ct_dataset_frames(s->data, sample) - 1) / step_of(s, clip);
}

static int kinds_of(const ct_loader_spec *s)
{
    int most = 0;
    if (!ct_dataset_clip(s->data)) return ct_dataset_buckets(s->data);
    const int64_t n = ct_loader_samples(s);
    for (int64_t i = 0; i < n; i++) {
        const int kind = ct_loader_kind(s, s->index ? s->index[i] : i);
        if (kind > most) most = kind;
    }
    return most + 1;
}

int64_t ct_loader_pictures(const ct_loader_spec *s, int64_t own)
{
    const ct_clip_rule *clip = ct_dataset_clip(s->data);
    const int step = step_of(s, clip);
    return (own - clip->extra + step - 1) / step * step + clip->extra;
}

ct_tempo ct_loader_tempo(const ct_loader_spec *s)
{
    return (ct_tempo){ .seed = s->seed, .range = s->tempo, .clip = ct_dataset_clip(s->data) };
}

int64_t ct_loader_least(const ct_loader_spec *s, int64_t i)
{
    const ct_tempo t = ct_loader_tempo(s);
    const int frames = ct_tempo_shortest(&t, ct_dataset_frames(s->data, i), ct_dataset_least_frames(s->data, i));
    return ct_loader_pictures(s, ct_clip_padded(t.clip, frames));
}

int64_t ct_loader_most(const ct_loader_spec *s, int64_t i)
{
    const ct_tempo t = ct_loader_tempo(s);
    const int frames = ct_tempo_longest(&t, ct_dataset_frames(s->data, i), ct_dataset_least_frames(s->data, i));
    return ct_loader_pictures(s, ct_clip_padded(t.clip, frames));
}

int64_t ct_loader_longest(const ct_loader_spec *s)
{
    int64_t longest = 0;
    if (!ct_dataset_clip(s->data)) return 0;
    const int64_t n = ct_loader_samples(s);
    for (int64_t i = 0; i < n; i++) {
        const int64_t most = ct_loader_most(s, s->index ? s->index[i] : i);
        if (most > longest) longest = most;
    }
    return longest;
}

/* ---- batches ---- */

int64_t ct_loader_batches_of(const ct_loader_spec *s, int64_t n)
{
    return s->drop_last ? n / s->batch : n / s->batch + (n % s->batch != 0);
}

void ct_tally_free(ct_tally *t)
{
    ct_free(t->count);
    ct_free(t->first);
    *t = (ct_tally){ 0 };
}

ct_status ct_tally_make(const ct_loader_spec *s, ct_tally *t)
{
    *t = (ct_tally){ .kinds = kinds_of(s) };
    t->count = ct_calloc((size_t)t->kinds, sizeof *t->count, "loader buckets");
    t->first = ct_calloc((size_t)t->kinds, sizeof *t->first, "loader buckets");
    if (!t->count || !t->first) {
        ct_tally_free(t);
        return CT_ENOMEM;
    }
    int64_t n = ct_loader_samples(s);
    for (int64_t i = 0; i < n; i++) t->count[ct_loader_kind(s, s->index ? s->index[i] : i)]++;
    for (int b = 0; b < t->kinds; b++) {
        t->first[b] = t->batches;
        t->batches += ct_loader_batches_of(s, t->count[b]);
    }
    return CT_OK;
}

void ct_schedule_epoch(const ct_loader_spec *s, int64_t n, const ct_tally *t, int64_t epoch, ct_schedule *plan)
{
    plan->epoch = epoch;
    ct_loader_order(s, n, epoch, t->kinds > 1 ? plan->walk : plan->order);
    if (t->kinds == 1) return;

    int64_t next = 0, at = 0;
    memset(plan->seen, 0, (size_t)t->kinds * sizeof *plan->seen);
    for (int64_t i = 0; i < n; i++) {
        int b = ct_loader_kind(s, plan->walk[i]);
        if (++plan->seen[b] % s->batch != 0) continue;
        plan->start[next] = at;
        at += s->batch;
        plan->place[t->first[b] + plan->seen[b] / s->batch - 1] = next++;
    }
    for (int b = 0; b < t->kinds && !s->drop_last; b++) {
        int64_t rest = t->count[b] % s->batch;
        if (rest == 0) continue;
        plan->start[next] = at;
        at += rest;
        plan->place[t->first[b] + t->count[b] / s->batch] = next++;
    }
    plan->start[next] = at;

    memset(plan->seen, 0, (size_t)t->kinds * sizeof *plan->seen);
    for (int64_t i = 0; i < n; i++) {
        int b = ct_loader_kind(s, plan->walk[i]);
        int64_t k = plan->seen[b]++, j = k / s->batch;
        if (j >= ct_loader_batches_of(s, t->count[b])) continue; /* of a short batch that is dropped */
        plan->order[plan->start[plan->place[t->first[b] + j]] + k % s->batch] = plan->walk[i];
    }
}

ct_status ct_schedule_make(int64_t n, const ct_tally *t, ct_schedule *plan)
{
    *plan = (ct_schedule){ .epoch = -1 };
    plan->order = ct_malloc((size_t)n * sizeof *plan->order, "sample order");
    if (!plan->order) return CT_ENOMEM;
    if (t->kinds == 1) return CT_OK;
    plan->walk = ct_malloc((size_t)n * sizeof *plan->walk, "sample order");
    plan->start = ct_malloc((size_t)(t->batches + 1) * sizeof *plan->start, "sample order");
    plan->place = ct_malloc((size_t)t->batches * sizeof *plan->place, "sample order");
    plan->seen = ct_malloc((size_t)t->kinds * sizeof *plan->seen, "sample order");
    return plan->walk && plan->start && plan->place && plan->seen ? CT_OK : CT_ENOMEM;
}

void ct_schedule_free(ct_schedule *plan)
{
    ct_free(plan->order);
    ct_free(plan->walk);
    ct_free(plan->start);
    ct_free(plan->place);
    ct_free(plan->seen);
}
