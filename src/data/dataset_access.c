/* What an open data set tells, and its split into training and validation. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "data/build.h"
#include "data/dataset_internal.h"

const ct_source *ct_dataset_stream(const ct_dataset *ds) { return ds->stream.open ? &ds->stream : NULL; }

const ct_dataset_spec *ct_dataset_spec_of(const ct_dataset *ds) { return &ds->spec; }
int64_t ct_dataset_size(const ct_dataset *ds) { return ds->n; }
int ct_dataset_height(const ct_dataset *ds) { return ds->spec.height; }
int ct_dataset_width(const ct_dataset *ds) { return ds->bucket_width[ds->n_buckets - 1]; }
int ct_dataset_channels(const ct_dataset *ds) { return ds->spec.channels; }
bool ct_dataset_packs_files(const ct_dataset *ds) { return ds->pack.size != NULL; }
bool ct_dataset_contiguous(const ct_dataset *ds) { return !ds->frames && !ds->pack.size && ds->n == ds->pack.n; }
const char *ct_dataset_name(const ct_dataset *ds, int64_t i) { return ds->name[i]; }
const char *ct_dataset_root(const ct_dataset *ds) { return ds->root; }
const char *ct_dataset_key(const ct_dataset *ds) { return ds->key; }
bool ct_dataset_was_cached(const ct_dataset *ds) { return ds->cached; }
int64_t ct_dataset_bad_count(const ct_dataset *ds) { return (int64_t)ds->n_bad; }

const uint8_t *ct_dataset_pixels(const ct_dataset *ds, int64_t i)
{
    return ct_dataset_frame_pixels(ds, i, 0);
}
const ct_clip_rule *ct_dataset_clip(const ct_dataset *ds) { return ds->frames ? &ds->labels->clip : NULL; }
int ct_dataset_frames(const ct_dataset *ds, int64_t i) { return ds->frames ? ds->frames[i] : 1; }
int ct_dataset_least_frames(const ct_dataset *ds, int64_t i) { return ds->least ? ds->least[i] : 1; }
const uint8_t *ct_dataset_frame_pixels(const ct_dataset *ds, int64_t i, int frame)
{
    return ds->pack.px && !ds->pack.size ? ds->pack.px + ds->pack.at[ds->row[i] + frame] : NULL; /* a stream has none */
}

ct_status ct_dataset_read(const ct_dataset *ds, int64_t i, int frame, uint8_t *to)
{
    const ct_pack *p = &ds->pack;
    const int64_t row = ds->row[i] + frame;
    ct_image im;
    if (!p->size) {
        memcpy(to, p->px + p->at[row], ct_pack_bytes(p, row));
        return CT_OK;
    }
    CT_TRY(ct_build_decode(&ds->spec, ds->name[i], p->px + p->at[row], (size_t)p->size[row], &im, NULL));
    memcpy(to, im.px, (size_t)im.w * (size_t)im.h * (size_t)im.c);
    ct_image_free(&im);
    return CT_OK;
}

void ct_dataset_digest(const ct_dataset *ds, int64_t i, char out[33])
{
    const ct_pack *p = &ds->pack;
    const int64_t row = ds->row[i];
    size_t bytes = 0;
    for (int k = 0; k < ct_dataset_frames(ds, i); k++) bytes += ct_pack_bytes(p, row + k);
    ct_hash_hex(p->px + p->at[row], bytes, out);
}

int ct_dataset_buckets(const ct_dataset *ds) { return ds->n_buckets; }
int ct_dataset_bucket_width(const ct_dataset *ds, int b) { return ds->bucket_width[b]; }
int64_t ct_dataset_bucket_count(const ct_dataset *ds, int b) { return ds->bucket_count[b]; }
int ct_dataset_sample_bucket(const ct_dataset *ds, int64_t i) { return ds->bucket ? ds->bucket[i] : 0; }
int64_t ct_dataset_sample_row(const ct_dataset *ds, int64_t i) { return ds->rank ? ds->rank[i] : i; }
int ct_dataset_sample_width(const ct_dataset *ds, int64_t i) { return ds->pack.width[ds->row[i]]; }

void ct_dataset_source_size(const ct_dataset *ds, int64_t i, int *w, int *h)
{
    *w = ds->pack.from[ds->row[i]][0];
    *h = ds->pack.from[ds->row[i]][1];
}

void ct_dataset_fit(const ct_dataset *ds, int64_t i, ct_fit *out)
{
    int w, h;
    ct_dataset_source_size(ds, i, &w, &h);
    ct_fit_of(&ds->spec, w, h, out);
}

const uint8_t *ct_dataset_bucket_pixels(const ct_dataset *ds, int b)
{
    return ct_dataset_pixels(ds, ds->bucket_first[b]);
}

ct_bad ct_dataset_bad(const ct_dataset *ds, int64_t i)
{
    return (ct_bad){ ds->bad[i].name, ds->bad[i].reason };
}

/* ---- split ---- */

void ct_subset_free(ct_subset *s)
{
    if (!s) return;
    ct_free(s->index);
    *s = (ct_subset){ 0 };
}

ct_status ct_split(int64_t n, double fraction, uint64_t seed, ct_subset *kept, ct_subset *held)
{
    *kept = *held = (ct_subset){ 0 };
    if (!(fraction >= 0.0 && fraction < 1.0) || n < 0) {
        return ct_fail(CT_EINVAL, "a split of %" PRId64 " samples needs a fraction in [0,1), not %g", n, fraction);
    }
    if (fraction > 0.0 && n < 2) {
        return ct_fail(CT_EINVAL, "%s cannot be split into training and validation",
                       n == 1 ? "a single sample" : "a set without samples");
    }
    int64_t out = llround((double)n * fraction);
    if (fraction > 0.0 && out < 1) out = 1;
    if (fraction > 0.0 && out > n - 1) out = n - 1;
    int64_t *perm = ct_calloc((size_t)(n > 0 ? n : 1), sizeof *perm, "split");
    uint8_t *is_held = ct_calloc((size_t)(n > 0 ? n : 1), 1, "split");
    kept->index = ct_calloc((size_t)(n - out > 0 ? n - out : 1), sizeof *kept->index, "split");
    held->index = ct_calloc((size_t)(out > 0 ? out : 1), sizeof *held->index, "split");
    ct_status st = perm && is_held && kept->index && held->index ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) {
        if (out > 0) ct_rng_permutation(seed, CT_RNG_SPLIT, 0, n, perm);
        for (int64_t i = 0; i < out; i++) is_held[perm[i]] = 1;
        for (int64_t i = 0; i < n; i++) {
            if (is_held[i]) held->index[held->n++] = i;
            else kept->index[kept->n++] = i;
        }
    } else {
        ct_subset_free(kept);
        ct_subset_free(held);
    }
    ct_free(perm);
    ct_free(is_held);
    return st;
}

/* A sample and the group it belongs to. */
typedef struct member {
    int64_t group, sample;
} member;

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Members by group, those alone in groups of their own behind the others. *groups: how many there are; group becomes
 * the number among them. */
static void number_groups(member *m, int64_t n, int64_t *groups)
{
    int64_t last = -1;
    *groups = 0;
    qsort(m, (size_t)n, sizeof *m, by_group);
    for (int64_t i = 0; i < n; i++) {
        const bool same = i > 0 && m[i].group == last && last != INT64_MAX;
        last = m[i].group;
        if (!same) ++*groups;
        m[i].group = *groups - 1;
    }
}

/* Sorts the samples by the side their groups are on. is_held [groups]. */
static ct_status part(const member *m, int64_t n, const uint8_t *is_held, ct_subset *kept, ct_subset *held)
{
    uint8_t *side = ct_calloc((size_t)n, 1, "split");
    kept->index = ct_calloc((size_t)n, sizeof *kept->index, "split");
    held->index = ct_calloc((size_t)n, sizeof *held->index, "split");
    if (!side || !kept->index || !held->index) {
        ct_free(side);
        return CT_ENOMEM;
    }
    for (int64_t i = 0; i < n; i++) side[m[i].sample] = is_held[m[i].group];
    for (int64_t i = 0; i < n; i++) {
        ct_subset *to = side[i] ? held : kept;
        to->index[to->n++] = i;
    }
    ct_free(side);
    return CT_OK;
}

ct_status ct_dataset_split(const ct_dataset *ds, double fraction, uint64_t seed, ct_subset *kept, ct_subset *held)
{
    const ct_labels *l = ds->labels;
    const int64_t n = ds->n;
    int64_t groups;
    ct_subset stay = { 0 }, go = { 0 };
    ct_status st = CT_OK;
    *kept = *held = (ct_subset){ 0 };
    if (!l->ops->group || fraction == 0 || n < 2) return ct_split(n, fraction, seed, kept, held);
    member *m = ct_calloc((size_t)n, sizeof *m, "split");
    uint8_t *is_held = ct_calloc((size_t)n, 1, "split");
    if (!m || !is_held) CT_GOTO(st, CT_ENOMEM);
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = l->ops->group(l, ds->name[i], ds->text[i]);
        m[i] = (member){ g < 0 ? INT64_MAX : g, i };
    }
    number_groups(m, n, &groups);
    if (groups < 2)
        CT_GOTO(st, ct_fail(CT_EDATA, "%s: all %" PRId64 " samples belong together, so they cannot be split "
                            "into training and validation", ds->root, n));
    CT_GOTO(st, ct_split(groups, fraction, seed, &stay, &go));
    for (int64_t i = 0; i < go.n; i++) is_held[go.index[i]] = 1;
    st = part(m, n, is_held, kept, held);
fail:
    if (st != CT_OK) {
        ct_subset_free(kept);
        ct_subset_free(held);
    }
    ct_subset_free(&stay);
    ct_subset_free(&go);
    ct_free(m);
    ct_free(is_held);
    return st;
}
