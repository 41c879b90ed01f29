/* What an open data set tells, and its split into training and validation. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "data/dataset_internal.h"

const ct_source *ct_dataset_stream(const ct_dataset *ds) { return ds->stream.render ? &ds->stream : NULL; }

int64_t ct_dataset_size(const ct_dataset *ds) { return ds->n; }
int ct_dataset_height(const ct_dataset *ds) { return ds->spec.height; }
int ct_dataset_width(const ct_dataset *ds) { return ds->bucket_width[ds->n_buckets - 1]; }
int ct_dataset_channels(const ct_dataset *ds) { return ds->spec.channels; }
bool ct_dataset_contiguous(const ct_dataset *ds) { return ds->n == ds->pack.n; }
const char *ct_dataset_name(const ct_dataset *ds, int64_t i) { return ds->name[i]; }
const char *ct_dataset_root(const ct_dataset *ds) { return ds->root; }
const char *ct_dataset_key(const ct_dataset *ds) { return ds->key; }
bool ct_dataset_was_cached(const ct_dataset *ds) { return ds->cached; }
int64_t ct_dataset_bad_count(const ct_dataset *ds) { return (int64_t)ds->n_bad; }

const uint8_t *ct_dataset_pixels(const ct_dataset *ds, int64_t i)
{
    return ds->pack.px ? ds->pack.px + ds->pack.at[ds->row[i]] : NULL; /* a stream has none */
}
int ct_dataset_buckets(const ct_dataset *ds) { return ds->n_buckets; }
int ct_dataset_bucket_width(const ct_dataset *ds, int b) { return ds->bucket_width[b]; }
int64_t ct_dataset_bucket_count(const ct_dataset *ds, int b) { return ds->bucket_count[b]; }
int ct_dataset_sample_bucket(const ct_dataset *ds, int64_t i) { return ds->bucket ? ds->bucket[i] : 0; }
int64_t ct_dataset_sample_row(const ct_dataset *ds, int64_t i) { return ds->rank ? ds->rank[i] : i; }
int ct_dataset_sample_width(const ct_dataset *ds, int64_t i) { return ds->pack.width[ds->row[i]]; }

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
