/* Opening the data sets of a run. */
#include "config.h"

#include "task/datasets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"

static ct_size_rule size_rule(const ct_config *cfg)
{
    switch (cfg->data.size_rule) {
    case CT_CFG_SIZE_REFUSE: return CT_SIZE_REFUSE;
    case CT_CFG_SIZE_FIT_HEIGHT: return CT_SIZE_FIT_HEIGHT;
    case CT_CFG_SIZE_LETTERBOX: return CT_SIZE_LETTERBOX;
    case CT_CFG_SIZE_RESIZE: break;
    }
    return CT_SIZE_RESIZE;
}

void ct_datasets_spec(const ct_config *cfg, const ct_task *task, const char *path, ct_dataset_spec *out)
{
    ct_dataset_spec_init(out);
    out->path = path;
    out->height = (int)cfg->data.height;
    out->width = (int)cfg->data.width;
    out->channels = (int)cfg->data.channels;
    out->size_rule = size_rule(cfg);
    out->width_step = (int)cfg->data.width_step;
    out->min_width = cfg->data.min_width > 0 ? (int)cfg->data.min_width : 1;
    memcpy(out->background, cfg->data.background, sizeof out->background);
    out->max_frames = (int)cfg->data.max_frames;
    out->max_bad = cfg->data.max_bad;
    out->cache = cfg->data.cache != CT_CFG_CACHE_FALSE;
    out->keep = cfg->data.cache == CT_CFG_CACHE_FILES  ? CT_KEEP_FILES
                : cfg->data.cache == CT_CFG_CACHE_AUTO ? CT_KEEP_AUTO
                                                       : CT_KEEP_PIXELS;
    if (task->geometry) task->geometry(cfg, out);
}

/* ---- generators ---- */

static bool is_drawn(const char *path) { return strncmp(path, "synth:", 6) == 0; }

static const ct_generator *find_in(const ct_task *task, const char *name)
{
    for (int i = 0; i < task->generators; i++)
        if (strcmp(task->generator[i].name, name) == 0) return &task->generator[i];
    return NULL;
}

/* "synth:a, synth:b" */
static void list_generators(const ct_task *task, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < task->generators; i++) {
        const size_t at = strlen(buf);
        snprintf(buf + at, size - at, "%s%s", i ? ", " : "", task->generator[i].name);
    }
}

ct_status ct_datasets_generator(const ct_task *task, const char *path, const ct_generator **out)
{
    char list[512];
    const ct_task *other;
    *out = NULL;
    if (!is_drawn(path) || (*out = find_in(task, path))) return CT_OK;
    for (size_t i = 0; (other = ct_task_at(i)); i++)
        if (find_in(other, path))
            return ct_fail(CT_ECONFIG, "%s makes samples for %s models, not for %s models", path, other->name,
                           task->name);
    list_generators(task, list, sizeof list);
    if (!*list) return ct_fail(CT_ECONFIG, "'%s': there is no built-in generator for %s models", path, task->name);
    return ct_fail(CT_ECONFIG, "'%s': the built-in generator%s called %s", path, task->generators > 1 ? "s are" : " is",
                   list);
}

/* Threads that decode a data set as it is opened; nothing computes yet. */
static int decoders(const ct_config *cfg)
{
    return cfg->train.workers > 0 ? (int)cfg->train.workers : cfg->train.workers < 0 ? ct_cpus() : 1;
}

/* What a set is made of beside its path. */
typedef struct wanted {
    const ct_config *cfg;
    const ct_task *task;
    const ct_facts *facts; /* NULL: the set decides */
    int64_t first, count;  /* pictures of a generator; unused for folders */
    bool fresh;            /* others in every epoch; first does not count */
} wanted;

static ct_status open_drawn(const wanted *w, const ct_generator *g, ct_dataset **out)
{
    ct_source source;
    ct_labels *labels;
    ct_dataset_spec spec;
    CT_TRY(g->open(w->cfg, w->facts, &source, &labels));
    source.first = w->fresh ? CT_STREAM_FIRST : w->first;
    source.n = w->count;
    ct_datasets_spec(w->cfg, w->task, g->name, &spec);
    if (w->fresh) return ct_dataset_open_stream(&spec, &source, labels, out);
    return ct_dataset_open_source(&spec, &source, labels, decoders(w->cfg), out);
}

/* A folder that is for certain another task's. */
static ct_status check_claim(const ct_task *task, const char *path)
{
    const ct_task *whose;
    CT_TRY(ct_task_claiming(path, task, &whose));
    if (!whose || whose == task) return CT_OK;
    return ct_fail(CT_EDATA, "%s: holds samples for %s models, not for %s models", path, whose->name, task->name);
}

static ct_status check_claims(const ct_task *task, const char *paths)
{
    char *one;
    ct_status st = CT_OK;
    for (const char *at = paths; st == CT_OK;) {
        CT_TRY(ct_paths_next(&at, &one));
        if (!one) break;
        st = check_claim(task, one);
        ct_free(one);
    }
    return st;
}

static ct_status open_set(const wanted *w, const char *path, ct_dataset **out)
{
    const ct_generator *g;
    ct_labels *labels;
    ct_dataset_spec spec;
    *out = NULL;
    CT_TRY(ct_datasets_generator(w->task, path, &g));
    if (g) return open_drawn(w, g, out);
    CT_TRY(check_claims(w->task, path));
    CT_TRY(w->task->labels(w->cfg, w->facts, &labels));
    ct_datasets_spec(w->cfg, w->task, path, &spec);
    return ct_dataset_open(&spec, labels, decoders(w->cfg), out);
}

static ct_status suits(const wanted *w, const ct_dataset *ds, const char *key)
{
    return w->task->accept ? w->task->accept(w->cfg, ds, key) : CT_OK;
}

/* ---- training, validation, test ---- */

static ct_view whole(const ct_dataset *ds)
{
    ct_view v = { ds, NULL, ct_dataset_size(ds) };
    return v;
}

static ct_status open_train(const ct_config *cfg, ct_datasets *d)
{
    const wanted w = { .cfg = cfg, .task = d->task, .count = cfg->data.synth.count, .fresh = cfg->data.synth.fresh };
    ct_status st = open_set(&w, cfg->data.train, &d->set[0]);
    if (st != CT_OK) return ct_fail_context(st, "data.train");
    CT_TRY(suits(&w, d->set[0], "data.train"));
    CT_TRY(d->task->learn(cfg, d->set[0], &d->facts));
    d->train = whole(d->set[0]);
    return CT_OK;
}

static ct_status split_train(const ct_config *cfg, ct_datasets *d)
{
    if (!(cfg->data.val_fraction > 0)) return CT_OK;
    ct_status st = ct_dataset_split(d->set[0], cfg->data.val_fraction, (uint64_t)cfg->train.seed, &d->kept, &d->held);
    if (st != CT_OK) return ct_fail_context(st, "data.val_fraction");
    d->train.index = d->kept.index;
    d->train.n = d->kept.n;
    d->val.data = d->set[0];
    d->val.index = d->held.index;
    d->val.n = d->held.n;
    return CT_OK;
}

static ct_status open_val(const ct_config *cfg, ct_datasets *d)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    const wanted w = { .cfg = cfg, .task = d->task, .facts = d->facts, .first = y->count, .count = y->val_count };
    const char *path = *cfg->data.val ? cfg->data.val : cfg->data.train;
    if (!*cfg->data.val && !is_drawn(path)) return split_train(cfg, d);
    if (is_drawn(path) && y->val_count == 0) return CT_OK;
    ct_status st = open_set(&w, path, &d->set[1]);
    if (st != CT_OK) return ct_fail_context(st, "data.val");
    CT_TRY(suits(&w, d->set[1], "data.val"));
    d->val = whole(d->set[1]);
    return CT_OK;
}

ct_status ct_datasets_open(const ct_config *cfg, ct_datasets *d)
{
    ct_status st;
    memset(d, 0, sizeof *d);
    if (!(d->task = ct_task_of(cfg->model.name))) return CT_ECONFIG;
    CT_GOTO(st, open_train(cfg, d));
    CT_GOTO(st, open_val(cfg, d));
    if (*cfg->data.test) {
        CT_GOTO(st, ct_datasets_open_scored(cfg, d->task, d->facts, cfg->data.test, &d->set[2]));
        d->test = whole(d->set[2]);
    }
    if (d->task->agree) CT_GOTO(st, d->task->agree(d->set, 3, d->facts));
fail:
    if (st != CT_OK) ct_datasets_close(d);
    return st;
}

ct_status ct_datasets_open_scored(const ct_config *cfg, const ct_task *task, const ct_facts *facts, const char *path,
                                  ct_dataset **out)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    const wanted w = { .cfg = cfg, .task = task, .facts = facts, .first = y->count + y->val_count,
                       .count = y->val_count > 0 ? y->val_count : 1000 };
    CT_TRY(open_set(&w, path, out));
    ct_status st = suits(&w, *out, path);
    if (st == CT_OK) return CT_OK;
    ct_dataset_close(*out);
    *out = NULL;
    return st;
}

void ct_datasets_close(ct_datasets *d)
{
    if (!d) return;
    for (int i = 0; i < 3; i++) ct_dataset_close(d->set[i]);
    ct_subset_free(&d->kept);
    ct_subset_free(&d->held);
    if (d->task) d->task->forget(d->facts);
    memset(d, 0, sizeof *d);
}

/* ---- pictures and labels of views ---- */

typedef struct picture {
    char hash[33]; /* of the pixels with their padding, or of the files */
    int width;     /* true width, pixels */
    int64_t i;
} picture;

static int by_pixels(const void *a, const void *b)
{
    const picture *x = a, *y = b;
    int c = memcmp(x->hash, y->hash, sizeof x->hash);
    return c ? c : x->width - y->width;
}

static picture picture_of(const ct_dataset *ds, int64_t i)
{
    picture p = { .width = ct_dataset_sample_width(ds, i), .i = i };
    ct_dataset_digest(ds, i, p.hash);
    return p;
}

ct_status ct_datasets_shared(const ct_view *a, const ct_view *b, int64_t *shared)
{
    *shared = 0;
    if (!a->data || !b->data || ct_dataset_stream(a->data) || ct_dataset_stream(b->data)) return CT_OK;
    picture *p = ct_calloc((size_t)a->n + 1, sizeof *p, "picture hashes");
    if (!p) return CT_ENOMEM;
    for (int64_t i = 0; i < a->n; i++) p[i] = picture_of(a->data, ct_view_sample(a, i));
    qsort(p, (size_t)a->n, sizeof *p, by_pixels);
    for (int64_t i = 0; i < b->n; i++) {
        picture key = picture_of(b->data, ct_view_sample(b, i));
        const picture *hit = bsearch(&key, p, (size_t)a->n, sizeof *p, by_pixels);
        if (!hit) continue;
        if ((*shared)++ < 5)
            ct_warn("validation image %s is also a training image (%s)", ct_dataset_name(b->data, key.i),
                    ct_dataset_name(a->data, hit->i));
    }
    if (*shared > 0)
        ct_warn("%lld of %lld validation images are also in the training set: validation flatters the model",
                (long long)*shared, (long long)b->n);
    ct_free(p);
    return CT_OK;
}

/* Bytes of a field that count for the key. What i32 fields have of -1 at their end does not: their shapes depend on
 * the other sets. */
static size_t key_bytes(const ct_field *f, const void *row)
{
    const int32_t *id = row;
    int64_t n = ct_field_elems(f);
    if (f->dtype == CT_I32)
        while (n > 0 && id[n - 1] == -1) n--;
    return (size_t)n * ct_dtype_size(f->dtype);
}

ct_status ct_view_key(const ct_view *v, char out[33])
{
    if (!v->data) {
        snprintf(out, 33, "%s", "");
        return CT_OK;
    }
    /* 33 bytes of the pixels' key, then each sample's number and fields, a -1 behind each field, hashed as one block */
    int fields;
    const ct_field *field = ct_dataset_fields(v->data, &fields);
    size_t each = sizeof(int64_t);
    for (int k = 0; k < fields; k++) each += ct_field_bytes(&field[k]) + sizeof(int32_t);
    uint8_t *block = ct_calloc(33 + (size_t)v->n * each, 1, "data set key");
    uint8_t *p = block;
    if (!block) return CT_ENOMEM;
    snprintf((char *)p, 33, "%s", ct_dataset_key(v->data));
    p += 33;
    for (int64_t i = 0; i < v->n; i++) {
        const int64_t sample = ct_view_sample(v, i);
        memcpy(p, &sample, sizeof sample);
        p += sizeof sample;
        for (int k = 0; k < fields; k++) {
            const int32_t end = -1;
            const void *row = ct_dataset_field(v->data, k, sample);
            const size_t bytes = key_bytes(&field[k], row);
            memcpy(p, row, bytes);
            memcpy(p + bytes, &end, sizeof end);
            p += bytes + sizeof end;
        }
    }
    ct_hash_hex(block, (size_t)(p - block), out);
    ct_free(block);
    return CT_OK;
}
