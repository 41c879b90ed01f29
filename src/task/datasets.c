/* Opening the data sets of a run. */
#include "config.h"

#include "task/datasets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "models/models.h"

static ct_model_spec model_of(const ct_config *cfg)
{
    return (ct_model_spec){ .name = cfg->model.name,
                            .height = cfg->data.height,
                            .width = cfg->data.width,
                            .channels = cfg->data.channels,
                            .width_mult = cfg->model.width,
                            .hidden = cfg->model.hidden,
                            .dropout = cfg->model.dropout };
}

bool ct_datasets_sequence(const ct_config *cfg)
{
    ct_model_spec m = model_of(cfg);
    return ct_model_head(&m) == CT_HEAD_CTC;
}

/* The callback of a data set: user is the configuration. */
static int64_t time_steps(const void *user, int width)
{
    ct_model_spec m = model_of(user);
    return ct_model_steps(&m, width);
}

/* The least width that gives the model a time step; data.width if there is none, which building it will refuse. */
static int least_width(const ct_config *cfg)
{
    int w = 1;
    while (w < cfg->data.width && time_steps(cfg, w) < 1) w++;
    return w;
}

static ct_size_rule size_rule(const ct_config *cfg)
{
    switch (cfg->data.size_rule) {
    case CT_CFG_SIZE_REFUSE: return CT_SIZE_REFUSE;
    case CT_CFG_SIZE_FIT_HEIGHT: return CT_SIZE_FIT_HEIGHT;
    case CT_CFG_SIZE_RESIZE: break;
    }
    return CT_SIZE_RESIZE;
}

void ct_datasets_spec(const ct_config *cfg, const char *path, const ct_charset *charset, int positions,
                      ct_dataset_spec *out)
{
    bool ctc = ct_datasets_sequence(cfg);
    ct_dataset_spec_init(out);
    out->path = path;
    out->height = (int)cfg->data.height;
    out->width = (int)cfg->data.width;
    out->channels = (int)cfg->data.channels;
    out->size_rule = size_rule(cfg);
    out->width_step = (int)cfg->data.width_step;
    out->min_width = cfg->data.min_width > 0 ? (int)cfg->data.min_width : ctc ? least_width(cfg) : 1;
    memcpy(out->background, cfg->data.background, sizeof out->background);
    _Static_assert(CT_CONFIG_SEPARATOR_BYTES < sizeof out->label.separator, "a separator that is accepted fits");
    snprintf(out->label.separator, sizeof out->label.separator, "%s", cfg->data.label_separator);
    out->label.side = cfg->data.label_side == CT_CFG_SIDE_AFTER ? CT_LABEL_AFTER_LAST : CT_LABEL_BEFORE_FIRST;
    out->label.fold = cfg->data.letter_case == CT_CFG_CASE_UPPER   ? CT_CASE_UPPER
                      : cfg->data.letter_case == CT_CFG_CASE_LOWER ? CT_CASE_LOWER
                                                                   : CT_CASE_KEEP;
    out->charset = charset;
    out->label_len = ctc ? 0 : positions;
    out->label_max = ctc ? (int)cfg->data.length : 0;
    out->steps = ctc ? time_steps : NULL;
    out->steps_user = cfg;
    out->max_bad = cfg->data.max_bad;
    out->cache = cfg->data.cache;
}

ct_status ct_datasets_synth_params(const ct_config *cfg, ct_text_params *out)
{
    CT_TRY(ct_text_params_config(cfg, out));
    if (ct_datasets_sequence(cfg)) return CT_OK;
    if (out->length_min != out->length_max)
        return ct_fail(CT_ECONFIG,
                       "data.synth.length_min is %d, data.synth.length_max %d, but %s reads text of one length",
                       out->length_min, out->length_max, cfg->model.name);
    if (cfg->data.length > 0 && cfg->data.length != out->length_max)
        return ct_fail(CT_ECONFIG, "data.length is %lld, but data.synth.length is %d", (long long)cfg->data.length,
                       out->length_max);
    return CT_OK;
}

static bool is_synth(const char *path) { return strncmp(path, "synth:", 6) == 0; }

static int decoders(const ct_config *cfg) { return cfg->train.workers > 0 ? (int)cfg->train.workers : 1; }

/* fresh: first does not count, the pictures are others in every epoch. */
static ct_status open_synth(const ct_config *cfg, const char *path, bool fresh, int64_t first, int64_t count,
                            const ct_charset *charset, ct_dataset **out)
{
    if (strcmp(path, CT_SYNTH_TEXT) != 0)
        return ct_fail(CT_ECONFIG, "'%s': the built-in generator is called " CT_SYNTH_TEXT, path);
    ct_text_params p;
    CT_TRY(ct_datasets_synth_params(cfg, &p));
    if (charset && !*cfg->data.charset) {
        /* the classes come from the training labels: nothing else may be drawn */
        if (strlen(charset->utf8) >= sizeof p.charset)
            return ct_fail(CT_ECONFIG, "the charset of the training labels is longer than %zu bytes, which is all the "
                           "generator takes", sizeof p.charset - 1);
        snprintf(p.charset, sizeof p.charset, "%s", charset->utf8);
    }
    ct_dataset_spec spec;
    ct_datasets_spec(cfg, path, charset, p.length_max, &spec);
    if (fresh) return ct_synth_text_stream(&p, (uint64_t)cfg->data.synth.seed, count, &spec, out);
    return ct_synth_text_dataset(&p, (uint64_t)cfg->data.synth.seed, first, count, &spec, decoders(cfg), out);
}

/* Labels have a column per position; generated ones of another length would be read as something else. */
static ct_status synth_length(const ct_config *cfg, const char *path, int positions)
{
    ct_text_params p;
    if (ct_datasets_sequence(cfg)) return CT_OK;
    CT_TRY(ct_datasets_synth_params(cfg, &p));
    if (p.length_max == positions) return CT_OK;
    return ct_fail(CT_ECONFIG, "%s makes labels of %d characters (data.synth.length), the model reads %d", path,
                   p.length_max, positions);
}

static ct_status open_folder(const ct_config *cfg, const char *path, const ct_charset *charset, int positions,
                             ct_dataset **out)
{
    ct_dataset_spec spec;
    ct_datasets_spec(cfg, path, charset, positions, &spec);
    return ct_dataset_open(&spec, decoders(cfg), out);
}

/* The model has a fixed number of positions: a shorter label would leave some without a class. */
static ct_status same_length(const ct_config *cfg, const ct_dataset *ds, const char *key)
{
    int len = ct_dataset_label_len(ds);
    int64_t n = ct_dataset_size(ds);
    if (ct_datasets_sequence(cfg) || ct_dataset_stream(ds)) return CT_OK;
    for (int64_t i = 0; i < n; i++) {
        int k = ct_dataset_sample_chars(ds, i);
        if (k == len) continue;
        return ct_fail(
            CT_EDATA,
            "%s: label '%s' of %s/%s has %d characters, others have %d: a fixed-length model needs labels of one "
                       "length (data.length)",
            key, ct_dataset_text(ds, i), ct_dataset_root(ds), ct_dataset_name(ds, i), k, len);
    }
    return CT_OK;
}

static ct_view whole(const ct_dataset *ds)
{
    ct_view v = { ds, NULL, ct_dataset_size(ds) };
    return v;
}

static ct_status open_train(const ct_config *cfg, const ct_charset *given, ct_datasets *d)
{
    ct_status st = is_synth(cfg->data.train)
                       ? open_synth(cfg, cfg->data.train, cfg->data.synth.fresh, 0, cfg->data.synth.count, given, &d->set[0])
                       : open_folder(cfg, cfg->data.train, given, (int)cfg->data.length, &d->set[0]);
    if (st != CT_OK) return ct_fail_context(st, "data.train");
    CT_TRY(same_length(cfg, d->set[0], "data.train"));
    CT_TRY(ct_charset_copy(ct_dataset_charset(d->set[0]), &d->charset));
    d->positions = ct_dataset_label_len(d->set[0]);
    d->train = whole(d->set[0]);
    return CT_OK;
}

static ct_status open_val(const ct_config *cfg, ct_datasets *d)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    ct_status st;
    if (is_synth(cfg->data.val) || (!*cfg->data.val && is_synth(cfg->data.train))) {
        if (y->val_count == 0) return CT_OK;
        CT_TRY(synth_length(cfg, CT_SYNTH_TEXT, d->positions));
        st = open_synth(cfg, *cfg->data.val ? cfg->data.val : cfg->data.train, false, y->count, y->val_count, &d->charset,
                        &d->set[1]);
    } else if (*cfg->data.val) {
        st = open_folder(cfg, cfg->data.val, &d->charset, d->positions, &d->set[1]);
    } else {
        if (!(cfg->data.val_fraction > 0)) return CT_OK;
        st = ct_split(d->train.n, cfg->data.val_fraction, (uint64_t)cfg->train.seed, &d->kept, &d->held);
        if (st != CT_OK) return ct_fail_context(st, "data.val_fraction");
        d->train.index = d->kept.index;
        d->train.n = d->kept.n;
        d->val.data = d->set[0];
        d->val.index = d->held.index;
        d->val.n = d->held.n;
        return CT_OK;
    }
    if (st != CT_OK) return ct_fail_context(st, "data.val");
    CT_TRY(same_length(cfg, d->set[1], "data.val"));
    d->val = whole(d->set[1]);
    return CT_OK;
}

/* One program trains and scores: all sets get as many columns as the longest label of any. */
static ct_status same_columns(ct_datasets *d)
{
    for (int i = 0; i < 3; i++) {
        if (d->set[i] && ct_dataset_label_len(d->set[i]) > d->positions) d->positions = ct_dataset_label_len(d->set[i]);
    }
    for (int i = 0; i < 3; i++) {
        if (d->set[i]) CT_TRY(ct_dataset_set_columns(d->set[i], d->positions));
    }
    return CT_OK;
}

ct_status ct_datasets_open(const ct_config *cfg, ct_datasets *d)
{
    ct_status st;
    ct_charset given;
    memset(d, 0, sizeof *d);
    memset(&given, 0, sizeof given);
    if (*cfg->data.charset) {
        st = ct_charset_parse(cfg->data.charset, &given);
        if (st != CT_OK) return ct_fail_context(st, "data.charset");
    }
    CT_GOTO(st, open_train(cfg, given.n ? &given : NULL, d));
    CT_GOTO(st, open_val(cfg, d));
    if (*cfg->data.test) {
        CT_GOTO(st, ct_datasets_open_scored(cfg, cfg->data.test, &d->charset, d->positions, &d->set[2]));
        d->test = whole(d->set[2]);
    }
    CT_GOTO(st, same_columns(d));
fail:
    ct_charset_free(&given);
    if (st != CT_OK) ct_datasets_close(d);
    return st;
}

ct_status ct_datasets_open_scored(const ct_config *cfg, const char *path, const ct_charset *charset, int positions,
                                  ct_dataset **out)
{
    *out = NULL;
    if (is_synth(path)) {
        const ct_cfg_synth *y = &cfg->data.synth;
        CT_TRY(synth_length(cfg, path, positions));
        CT_TRY(open_synth(cfg, path, false, y->count + y->val_count, y->val_count > 0 ? y->val_count : 1000, charset, out));
    } else {
        CT_TRY(open_folder(cfg, path, charset, positions, out));
    }
    ct_status st = same_length(cfg, *out, path);
    if (st == CT_OK && ct_dataset_label_len(*out) < positions) st = ct_dataset_set_columns(*out, positions);
    if (st != CT_OK) {
        ct_dataset_close(*out);
        *out = NULL;
    }
    return st;
}

void ct_datasets_close(ct_datasets *d)
{
    if (!d) return;
    for (int i = 0; i < 3; i++) ct_dataset_close(d->set[i]);
    ct_subset_free(&d->kept);
    ct_subset_free(&d->held);
    ct_charset_free(&d->charset);
    memset(d, 0, sizeof *d);
}

typedef struct picture {
    char hash[33]; /* of the pixels with their padding */
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
    int w = ct_dataset_bucket_width(ds, ct_dataset_sample_bucket(ds, i));
    ct_hash_hex(ct_dataset_pixels(ds, i),
                (size_t)ct_dataset_height(ds) * (size_t)w * (size_t)ct_dataset_channels(ds), p.hash);
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

ct_status ct_view_key(const ct_view *v, char out[33])
{
    if (!v->data) {
        snprintf(out, 33, "%s", "");
        return CT_OK;
    }
    /* 33 bytes of the pixels' key, then sample numbers and labels, each with a -1 behind it, hashed as one block. The
     * columns of the labels do not count: they depend on the other sets. */
    const size_t columns = (size_t)ct_dataset_label_len(v->data) + 1;
    uint8_t *block = ct_calloc(33 + (size_t)v->n * (sizeof(int64_t) + columns * sizeof(int32_t)), 1, "data set key");
    uint8_t *p = block;
    if (!block) return CT_ENOMEM;
    snprintf((char *)p, 33, "%s", ct_dataset_key(v->data));
    p += 33;
    for (int64_t i = 0; i < v->n; i++) {
        const int32_t end = -1;
        int64_t k = ct_view_sample(v, i);
        size_t bytes = (size_t)ct_dataset_sample_chars(v->data, k) * sizeof end;
        memcpy(p, &k, sizeof k);
        p += sizeof k;
        memcpy(p, ct_dataset_labels(v->data, k), bytes);
        p += bytes;
        memcpy(p, &end, sizeof end);
        p += sizeof end;
    }
    ct_hash_hex(block, (size_t)(p - block), out);
    ct_free(block);
    return CT_OK;
}
