#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cache.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "data/build.h"
#include "data/pictures.h"
#include "base/workers.h"

/* Part of the cache key: to be raised whenever the same files or parameters may give other pixels. */
#define DECODER_VERSION "captrain-pack-2"

/* ---- items on their way into the pack ---- */

/* With one bucket a picture goes to its place at once. With several, places are known only when all widths are: until
 * then the pictures wait one by one. */
typedef struct intake {
    ct_pack *pack;
    ct_image *waiting; /* [n], NULL with one bucket */
    const char *scratch; /* folder for what is too large for memory; NULL: none */
} intake;

static ct_status intake_open(const ct_dataset_spec *s, int64_t n, const char *scratch, ct_pack *pack, intake *in)
{
    ct_pack_shape shape = ct_fit_shape(s);
    *in = (intake){ .pack = pack, .scratch = scratch };
    CT_TRY(ct_pack_make(n, &shape, pack));
    if (shape.step == 0) return ct_pack_add_pixels(pack, scratch);
    in->waiting = ct_calloc((size_t)n, sizeof *in->waiting, "pictures");
    return in->waiting ? CT_OK : CT_ENOMEM;
}

/* Picture i, w x h pixels before it was fitted; takes its pixels over. */
static void intake_good(intake *in, int64_t i, ct_image *im, int width, int w, int h)
{
    in->pack->width[i] = width;
    in->pack->from[i][0] = w;
    in->pack->from[i][1] = h;
    if (in->waiting) in->waiting[i] = *im;
    else if (!in->pack->size) memcpy(in->pack->own_px + in->pack->at[i], im->px, ct_pack_bytes(in->pack, i));
    if (in->waiting) *im = (ct_image){ 0 };
    ct_image_free(im);
}

/* Item i is bad: the reason is the message of the last failure. */
static ct_status intake_bad(intake *in, int64_t i, const char *name)
{
    ct_pack *p = in->pack;
    if (in->waiting || p->size) p->width[i] = 0;
    else memset(p->own_px + p->at[i], 0, ct_pack_bytes(p, i));
    p->own_state[i] = CT_PACK_BAD;
    p->own_text[i] = ct_reason_dup(name);
    return p->own_text[i] ? CT_OK : CT_ENOMEM;
}

/* All items are in. */
static ct_status intake_finish(intake *in)
{
    if (!in->waiting) return CT_OK;
    CT_TRY(ct_pack_add_pixels(in->pack, in->scratch));
    for (int64_t i = 0; i < in->pack->n; i++) {
        ct_image *im = &in->waiting[i];
        if (im->px) memcpy(in->pack->own_px + in->pack->at[i], im->px, ct_pack_bytes(in->pack, i));
        ct_image_free(im);
    }
    return CT_OK;
}

static void intake_close(intake *in)
{
    for (int64_t i = 0; in->waiting && i < in->pack->n; i++) ct_image_free(&in->waiting[i]);
    ct_free(in->waiting);
    *in = (intake){ 0 };
}

/* ---- where caches lie ---- */

/* Where the pack of one key lies; what is NULL is not known, and no cache is kept. */
typedef struct cache {
    const char *key;
    char *path, *dir;
    char *lock; /* a file beside it: who makes the pack holds it */
    int held;   /* -1: not */
} cache;

static ct_status cache_find(const char *key, bool files, cache *c)
{
    c->key = key;
    int64_t most;
    CT_TRY(ct_cache_most(&most)); /* what is no limit is told before anything is decoded */
    CT_TRY(ct_cache_dir("data", &c->dir));
    if (!c->dir) return CT_OK;
    c->path = ct_asprintf("%s/%s%s" CT_PACK_SUFFIX, c->dir, key, files ? ".files" : "");
    return c->path && (c->lock = ct_asprintf("%s.lock", c->path)) ? CT_OK : CT_ENOMEM;
}

/* Looks the pack up; *hit says whether *out is filled. A damaged file is warned about and counts as a miss. */
static ct_status cache_look(const cache *c, int64_t n, const ct_dataset_spec *spec, ct_pack *out, bool *hit)
{
    *hit = false;
    if (!c->path || !ct_path_exists(c->path)) return CT_OK;
    ct_pack_shape shape = ct_fit_shape(spec);
    ct_status st = ct_pack_load(c->path, c->key, n, &shape, out);
    if (st == CT_ENOMEM) return st;
    *hit = st == CT_OK;
    if (*hit) ct_cache_used(c->path);
    else ct_warn("%s; it is made anew", ct_error_message());
    return CT_OK;
}

/* The same, and where it is not there, once no other process is making it: of several that start together one decodes,
 * the others take what it made. */
static ct_status cache_enter(cache *c, int64_t n, const ct_dataset_spec *spec, ct_pack *out, bool *hit)
{
    bool waited = false;
    CT_TRY(cache_look(c, n, spec, out, hit));
    if (*hit || !c->path) return CT_OK;
    const ct_status st = ct_mkdir_p(c->dir);
    if (st == CT_ENOMEM) return st;
    if (st != CT_OK) return CT_OK; /* cache_keep() will say it */
    const ct_activity before = ct_crash_at(CT_AT_CACHE);
    c->held = ct_lock_enter(c->lock, &waited);
    ct_crash_at(before);
    return waited ? cache_look(c, n, spec, out, hit) : CT_OK;
}

static void cache_leave(cache *c)
{
    ct_lock_leave(c->held, c->lock);
    ct_free(c->path);
    ct_free(c->dir);
    ct_free(c->lock);
}

/* Stores a new pack and goes over to the mapped file, so that the blocks can be given back. That the cache cannot be
 * written is no failure. */
static ct_status cache_keep(const cache *c, const char *what, ct_pack *pack)
{
    if (!c->path) return CT_OK;
    ct_status st = ct_pack_store(c->path, c->key, pack);
    if (st == CT_ENOMEM) return st;
    if (st != CT_OK) {
        ct_info("%s: no cache could be written (%s); the pixels stay in memory", what, ct_error_message());
        return CT_OK;
    }
    CT_TRY(ct_cache_trim(c->dir, CT_PACK_SUFFIX));
    ct_pack mapped;
    st = ct_pack_load(c->path, c->key, pack->n, &pack->shape, &mapped);
    if (st == CT_ENOMEM) return st;
    if (st != CT_OK) return CT_OK; /* removed or damaged meanwhile: the pixels in memory are good */
    ct_pack_free(pack);
    *pack = mapped;
    return CT_OK;
}

/* ---- files ---- */

typedef struct file_job {
    ct_dataset_spec *spec;
    const char *dir;
    const char *const *name;
    char (*hash)[33];     /* [n] content digest, or "" for a file that cannot be read */
    uint64_t *size;       /* [n] bytes */
    ct_pictures *pictures;
    intake in;
} file_job;

/* True if the failure is about this sample only. */
static bool sample_failure(ct_status st)
{
    return st == CT_EIO || st == CT_EFORMAT || st == CT_EDATA;
}

/* A failure names the sample as the decoders do: without the folder. */
static ct_status read_sample(const file_job *j, int64_t i, uint8_t **data, size_t *size)
{
    ct_status st = ct_pictures_read(j->pictures, j->dir, j->name[i], data, size);
    if (!sample_failure(st)) return st;
    char *path = ct_path_join(j->dir, j->name[i]);
    if (!path) return CT_ENOMEM;
    char *why = ct_reason_dup(path);
    st = why ? ct_fail(st, "%s: %s", j->name[i], why) : CT_ENOMEM;
    ct_free(why);
    ct_free(path);
    return st;
}

static ct_status hash_item(void *user, int worker, int64_t i)
{
    file_job *j = user;
    uint8_t *data = NULL;
    size_t size = 0;
    (void)worker;
    ct_status st = read_sample(j, i, &data, &size);
    if (sample_failure(st)) {
        j->hash[i][0] = '\0';
        return CT_OK; /* its reason comes from the decoding */
    }
    CT_TRY(st);
    ct_hash_hex(data, size, j->hash[i]);
    j->size[i] = size;
    ct_free(data);
    return CT_OK;
}

static ct_status decode(const ct_dataset_spec *s, const char *name, const uint8_t *data, size_t size, ct_image *im,
                        int *width, int from[2])
{
    ct_image_opts opts = { .channels = s->channels };
    memcpy(opts.background, s->background, sizeof opts.background);
    CT_TRY(ct_image_read_mem(data, size, name, &opts, im));
    from[0] = im->w;
    from[1] = im->h;
    const ct_status st = ct_fit_image(s, name, im, width);
    if (st != CT_OK) ct_image_free(im);
    return st;
}

ct_status ct_build_decode(const ct_dataset_spec *spec, const char *name, const uint8_t *data, size_t size,
                          ct_image *out, int *width)
{
    int from[2];
    return decode(spec, name, data, size, out, width, from);
}

static ct_status decode_into(file_job *j, int64_t i, const uint8_t *data, size_t size)
{
    ct_image im;
    int width, from[2];
    CT_TRY(decode(j->spec, j->name[i], data, size, &im, &width, from));
    if (j->in.pack->size) memcpy(j->in.pack->own_px + j->in.pack->at[i], data, size);
    intake_good(&j->in, i, &im, width, from[0], from[1]);
    return CT_OK;
}

static ct_status decode_item(void *user, int worker, int64_t i)
{
    file_job *j = user;
    uint8_t *data = NULL;
    size_t size = 0;
    char hash[33] = "";
    (void)worker;

    ct_status st = read_sample(j, i, &data, &size);
    if (st == CT_OK) {
        ct_hash_hex(data, size, hash);
        st = decode_into(j, i, data, size);
    }
    ct_free(data);
    if (st != CT_OK && !sample_failure(st)) return st;
    if (strcmp(hash, j->hash[i]) != 0) {
        return ct_fail(CT_EIO, "%s%s%s: the file was changed while the data set was being read", j->dir,
                       *j->dir ? "/" : "", j->name[i]);
    }
    return st == CT_OK ? st : intake_bad(&j->in, i, j->name[i]);
}

/* Height and width of the first file that decodes. */
static ct_status first_size(const file_job *j, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        ct_image im;
        ct_status st = read_sample(j, i, &data, &size);
        if (st == CT_OK) st = ct_image_read_mem(data, size, j->name[i], NULL, &im);
        ct_free(data);
        if (st == CT_OK) {
            j->spec->height = im.h;
            j->spec->width = im.w;
            ct_image_free(&im);
            return CT_OK;
        }
        if (!sample_failure(st)) return st;
    }
    j->spec->height = j->spec->width = 1; /* all samples are bad, which is judged where they are counted */
    return CT_OK;
}

/* Pixels, unless they would be very many. */
static void choose_keep(ct_dataset_spec *s, int64_t n)
{
    const int64_t each = (int64_t)s->height * s->width * s->channels;
    if (s->keep == CT_KEEP_AUTO) s->keep = each > CT_KEEP_PIXELS_UP_TO / n ? CT_KEEP_FILES : CT_KEEP_PIXELS;
}

/* Room for the files, whose sizes are known. */
static ct_status open_files(file_job *j, int64_t n, const char *scratch, ct_pack *pack)
{
    ct_pack_shape shape = ct_fit_shape(j->spec);
    j->in = (intake){ .pack = pack };
    CT_TRY(ct_pack_make(n, &shape, pack));
    for (int64_t i = 0; i < n; i++) pack->size[i] = (int64_t)j->size[i];
    return ct_pack_add_pixels(pack, scratch);
}

/* What the pixels of a set depend on besides its pictures: part of the cache key. */
static void rules_text(const ct_dataset_spec *s, char buf[128])
{
    const bool fit = s->size_rule == CT_SIZE_FIT_HEIGHT;
    const int least = fit ? s->min_width : s->size_rule == CT_SIZE_LETTERBOX ? s->min_side : 0;
    snprintf(buf, 128, "%dx%dx%d rule %d step %d from %d background %d %d %d", s->height, s->width, s->channels,
             (int)s->size_rule, fit ? s->width_step : 0, least, s->background[0], s->background[1],
             s->background[2]);
}

/* Digest of the geometry, the rules and every file's name, size and contents. */
static ct_status files_key(const file_job *j, int64_t n, char key[33])
{
    size_t size = 256;
    for (int64_t i = 0; i < n; i++) size += strlen(j->name[i]) + 64;
    char *text = ct_malloc(size, "cache key");
    if (!text) return CT_ENOMEM;
    char rules[128];
    rules_text(j->spec, rules);
    size_t at = (size_t)snprintf(text, 256, "%s files %" PRId64 " %s\n", DECODER_VERSION, n, rules);
    for (int64_t i = 0; i < n; i++) {
        size_t name = strlen(j->name[i]) + 1; /* with its NUL: names may hold anything else */
        memcpy(text + at, j->name[i], name);
        at += name;
        at += (size_t)snprintf(text + at, 64, "%" PRIu64 " %s\n", j->size[i], j->hash[i]);
    }
    ct_hash_hex(text, at, key);
    ct_free(text);
    return CT_OK;
}

ct_status ct_build_files(ct_dataset_spec *spec, const char *dir, const char *const *name, int64_t n, int workers,
                         ct_pack *out, char key[33], bool *cached)
{
    ct_status st = CT_OK;
    cache kept = { .held = -1 };
    double start = ct_now();
    file_job j = { .spec = spec, .dir = dir, .name = name };
    char doing[256];
    ct_pace pace;

    *out = (ct_pack){ 0 };
    *cached = false;
    j.hash = ct_calloc((size_t)n, sizeof *j.hash, "content digests");
    j.size = ct_calloc((size_t)n, sizeof *j.size, "file sizes");
    if (!j.hash || !j.size) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_pictures_open(&j.pictures));
    if (spec->height == 0) CT_GOTO(st, first_size(&j, n));
    choose_keep(spec, n);
    snprintf(doing, sizeof doing, "reading the files%s%s", *dir ? " of " : "", dir);
    pace = ct_pace_begin(doing, n);
    CT_GOTO(st, ct_parallel_for(n, workers, hash_item, &j, &pace));
    CT_GOTO(st, files_key(&j, n, key));
    double hashed = ct_now();
    if (spec->cache) CT_GOTO(st, cache_find(key, spec->keep == CT_KEEP_FILES, &kept));
    CT_GOTO(st, cache_enter(&kept, n, spec, out, cached));
    if (!*cached) {
        CT_GOTO(st, spec->keep == CT_KEEP_FILES ? open_files(&j, n, kept.dir, out)
                                                : intake_open(spec, n, kept.dir, out, &j.in));
        const ct_activity before = ct_crash_at(CT_AT_CACHE);
        snprintf(doing, sizeof doing, "decoding the pictures%s%s", *dir ? " of " : "", dir);
        pace = ct_pace_begin(doing, n);
        st = ct_parallel_for(n, workers, decode_item, &j, &pace);
        ct_crash_at(before);
        if (st != CT_OK) goto fail;
        CT_GOTO(st, intake_finish(&j.in));
        CT_GOTO(st, cache_keep(&kept, dir, out));
    }
    ct_log_topic_line(CT_TOPIC_LOADER, "%s: %" PRId64 " files, %.2f s reading, %.2f s %s, key %s", dir, n,
                      hashed - start, ct_now() - hashed, *cached ? "mapping the cache" : "decoding", key);
fail:
    intake_close(&j.in);
    cache_leave(&kept);
    ct_pictures_close(j.pictures);
    ct_free(j.hash);
    ct_free(j.size);
    if (st != CT_OK) ct_pack_free(out);
    return st;
}

/* ---- generators ---- */

typedef struct source_job {
    ct_dataset_spec *spec;
    const ct_source *src;
    int64_t *first; /* [n + 1] first item of each clip, and how many there are; NULL: pictures */
    void **state; /* [workers], made by the worker that needs it first */
    intake in;
} source_job;

int ct_source_frames(const ct_dataset_spec *spec, const ct_source *src, int64_t i)
{
    const int all = src->clip ? src->clip->frames(src->user, src->first + i) : 1;
    return spec->max_frames > 0 && spec->max_frames < all ? spec->max_frames : all;
}

static ct_status number_frames(source_job *j, int64_t *items)
{
    const int64_t n = j->src->n;
    *items = n;
    if (!j->src->clip) return CT_OK;
    if (!(j->first = ct_calloc((size_t)n + 1, sizeof *j->first, "drawn clips"))) return CT_ENOMEM;
    for (int64_t i = 0; i < n; i++) j->first[i + 1] = j->first[i] + ct_source_frames(j->spec, j->src, i);
    *items = j->first[n];
    return CT_OK;
}

/* The clip that item i belongs to. */
static int64_t clip_of(const source_job *j, int64_t i)
{
    int64_t low = 0, high = j->src->n; /* first[low] <= i < first[high] */
    while (high - low > 1) {
        const int64_t mid = low + (high - low) / 2;
        if (j->first[mid] <= i) low = mid;
        else high = mid;
    }
    return low;
}

/* Item i: a picture with its label, or a frame, the first of a clip with the label. */
static ct_status render(const source_job *j, int worker, int64_t i, ct_image *im, char **label)
{
    const ct_source *src = j->src;
    if (!j->state[worker]) CT_TRY(src->open(src->user, &j->state[worker]));
    if (!src->clip) return src->render(j->state[worker], src->first + i, im, label);
    const int64_t c = clip_of(j, i), index = src->first + c, k = i - j->first[c];
    const int all = src->clip->frames(src->user, index), most = (int)(j->first[c + 1] - j->first[c]);
    if (k > 0) *label = ct_strdup("", "label");
    else CT_TRY(src->clip->label(src->user, index, label));
    if (!*label) return CT_ENOMEM;
    return src->clip->frame(j->state[worker], index, (int)ct_clip_thin(all, most, k), im);
}

static ct_status source_item(void *user, int worker, int64_t i)
{
    source_job *j = user;
    ct_image im = { 0 };
    int width = 0;
    ct_status st = render(j, worker, i, &im, &j->in.pack->own_text[i]);
    const int w = im.w, h = im.h;
    if (st == CT_OK) st = ct_fit_image(j->spec, "picture", &im, &width);
    if (st == CT_OK) intake_good(&j->in, i, &im, width, w, h);
    ct_image_free(&im);
    const int64_t sample = j->first ? clip_of(j, i) : i;
    return st == CT_OK ? st : ct_fail_context(st, "%s/%" PRId64, j->src->name, j->src->first + sample);
}

ct_status ct_build_source(ct_dataset_spec *spec, const ct_source *src, int workers, ct_pack *out, char key[33],
                          bool *cached)
{
    ct_status st = CT_OK;
    cache kept = { .held = -1 };
    char text[512], rules[128];
    source_job j = { .spec = spec, .src = src };
    int64_t items = 0;

    *out = (ct_pack){ 0 };
    *cached = false;
    spec->keep = CT_KEEP_PIXELS; /* there are no files */
    if (workers < 1) workers = 1;
    j.state = ct_calloc((size_t)workers, sizeof *j.state, "generator states");
    if (!j.state) return CT_ENOMEM;
    CT_GOTO(st, number_frames(&j, &items));
    if (spec->height == 0) {
        ct_image im = { 0 };
        char *label = NULL;
        CT_GOTO(st, render(&j, 0, 0, &im, &label));
        ct_free(label);
        spec->height = im.h;
        spec->width = im.w;
        ct_image_free(&im);
    }
    rules_text(spec, rules);
    int len = snprintf(text, sizeof text, "%s source %s %" PRId64 "+%" PRId64 " %s", DECODER_VERSION, src->key,
                       src->first, src->n, rules);
    if (src->clip) len += snprintf(text + len, sizeof text - (size_t)len, " frames %d", spec->max_frames);
    ct_hash_hex(text, (size_t)len, key);
    if (spec->cache && src->key[0]) CT_GOTO(st, cache_find(key, false, &kept));
    CT_GOTO(st, cache_enter(&kept, items, spec, out, cached));
    if (!*cached) {
        CT_GOTO(st, intake_open(spec, items, kept.dir, out, &j.in));
        const ct_activity before = ct_crash_at(CT_AT_CACHE);
        ct_pace pace = ct_pace_begin("drawing pictures", items);
        st = ct_parallel_for(items, workers, source_item, &j, &pace);
        ct_crash_at(before);
        if (st != CT_OK) goto fail;
        CT_GOTO(st, intake_finish(&j.in));
        CT_GOTO(st, cache_keep(&kept, src->name, out));
    }
fail:
    intake_close(&j.in);
    for (int i = 0; i < workers; i++) {
        if (j.state[i]) src->close(j.state[i]);
    }
    cache_leave(&kept);
    ct_free(j.state);
    ct_free(j.first);
    if (st != CT_OK) ct_pack_free(out);
    return st;
}
