#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "data/build.h"
#include "data/workers.h"

/* Part of the cache key: to be raised whenever the same files or parameters may give other pixels. */
#define DECODER_VERSION "captrain-pack-1"

ct_status ct_fit_image(const ct_dataset_spec *spec, const char *name, ct_image *im)
{
    if (spec->channels == 1) ct_image_to_gray(im);
    if (im->w != spec->width || im->h != spec->height) {
        ct_image fitted;
        if (spec->size_rule == CT_SIZE_REFUSE) {
            return ct_fail(CT_EDATA, "%s: the picture is %dx%d, %dx%d is expected (size rule: refuse)", name, im->w,
                           im->h, spec->width, spec->height);
        }
        CT_TRY(ct_image_resize_bilinear(im, spec->width, spec->height, &fitted));
        ct_image_free(im);
        *im = fitted;
    }
    if (im->c == spec->channels) return CT_OK;
    ct_image rgb;
    CT_TRY(ct_image_make(im->w, im->h, 3, 0, &rgb));
    size_t n = (size_t)im->w * (size_t)im->h;
    for (size_t i = 0; i < n; i++) memset(rgb.px + 3 * i, im->px[i], 3);
    ct_image_free(im);
    *im = rgb;
    return CT_OK;
}

/* ---- where caches lie ---- */

ct_status ct_dataset_cache_dir(char **dir)
{
    const char *own = ct_env_get(CT_ENV_CACHE_DIR), *xdg = ct_env_get(CT_ENV_XDG_CACHE_HOME);
    const char *home = ct_env_get(CT_ENV_HOME);
    *dir = NULL;
    if (own) *dir = ct_asprintf("%s/data", own);
    else if (xdg && xdg[0] == '/') *dir = ct_asprintf("%s/captrain/data", xdg);
    else if (home) *dir = ct_asprintf("%s/.cache/captrain/data", home);
    else return CT_OK;
    return *dir ? CT_OK : CT_ENOMEM;
}

/* The path for `key`; *path NULL if no folder is known. */
static ct_status cache_path(const char *key, char **path)
{
    char *dir;
    *path = NULL;
    CT_TRY(ct_dataset_cache_dir(&dir));
    if (!dir) return CT_OK;
    *path = ct_asprintf("%s/%s.ctpack", dir, key);
    ct_free(dir);
    return *path ? CT_OK : CT_ENOMEM;
}

/* Looks the pack up; *hit says whether *out is filled. A damaged file is warned about and counts as a miss. */
static ct_status cache_look(const char *path, const char *key, int64_t n, const ct_dataset_spec *spec, ct_pack *out,
                            bool *hit)
{
    *hit = false;
    if (!path || !ct_path_exists(path)) return CT_OK;
    ct_status st = ct_pack_load(path, key, n, spec->height, spec->width, spec->channels, out);
    if (st == CT_ENOMEM) return st;
    *hit = st == CT_OK;
    if (!*hit) ct_warn("%s; it is made anew", ct_error_message());
    return CT_OK;
}

/* Stores a new pack and goes over to the mapped file, so that the blocks can be given back. That the cache cannot be
 * written is no failure. */
static ct_status cache_keep(const char *path, const char *key, const char *what, const ct_dataset_spec *spec,
                            ct_pack *pack)
{
    if (!path) return CT_OK;
    ct_status st = ct_pack_store(path, key, pack);
    if (st == CT_ENOMEM) return st;
    if (st != CT_OK) {
        ct_info("%s: no cache could be written (%s); the pixels stay in memory", what, ct_error_message());
        return CT_OK;
    }
    ct_pack mapped;
    st = ct_pack_load(path, key, pack->n, spec->height, spec->width, spec->channels, &mapped);
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
    ct_pack *pack;
} file_job;

/* True if the failure is about this sample only. */
static bool sample_failure(ct_status st)
{
    return st == CT_EIO || st == CT_EFORMAT || st == CT_EDATA;
}

/* A failure names the sample as the decoders do: without the folder. */
static ct_status read_sample(const file_job *j, int64_t i, uint8_t **data, size_t *size)
{
    char *path = ct_path_join(j->dir, j->name[i]);
    if (!path) return CT_ENOMEM;
    ct_status st = ct_file_read(path, CT_IMAGE_MAX_FILE, data, size);
    if (sample_failure(st)) {
        char *why = ct_reason_dup(path);
        st = why ? ct_fail(st, "%s: %s", j->name[i], why) : CT_ENOMEM;
        ct_free(why);
    }
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

static ct_status decode_into(const file_job *j, int64_t i, const uint8_t *data, size_t size)
{
    const ct_dataset_spec *s = j->spec;
    ct_image_opts opts = { .channels = s->channels };
    ct_image im;
    memcpy(opts.background, s->background, sizeof opts.background);
    CT_TRY(ct_image_read_mem(data, size, j->name[i], &opts, &im));
    ct_status st = ct_fit_image(s, j->name[i], &im);
    size_t bytes = (size_t)s->height * (size_t)s->width * (size_t)s->channels;
    if (st == CT_OK) memcpy(j->pack->own_px + (size_t)i * bytes, im.px, bytes);
    ct_image_free(&im);
    return st;
}

static ct_status decode_item(void *user, int worker, int64_t i)
{
    file_job *j = user;
    const ct_dataset_spec *s = j->spec;
    uint8_t *data = NULL;
    size_t size = 0, bytes = (size_t)s->height * (size_t)s->width * (size_t)s->channels;
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
        return ct_fail(CT_EIO, "%s/%s: the file was changed while the data set was being read", j->dir, j->name[i]);
    }
    if (st == CT_OK) return st;
    memset(j->pack->own_px + (size_t)i * bytes, 0, bytes);
    j->pack->own_state[i] = CT_PACK_BAD;
    j->pack->own_text[i] = ct_reason_dup(j->name[i]);
    return j->pack->own_text[i] ? CT_OK : CT_ENOMEM;
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

/* Digest of the geometry, the rules and every file's name, size and contents. */
static ct_status files_key(const file_job *j, int64_t n, char key[33])
{
    const ct_dataset_spec *s = j->spec;
    size_t size = 256;
    for (int64_t i = 0; i < n; i++) size += strlen(j->name[i]) + 64;
    char *text = ct_malloc(size, "cache key");
    if (!text) return CT_ENOMEM;
    int len = snprintf(text, 256, "%s files %" PRId64 " %dx%dx%d rule %d background %d %d %d\n", DECODER_VERSION, n,
                       s->height, s->width, s->channels, (int)s->size_rule, s->background[0], s->background[1],
                       s->background[2]);
    size_t at = (size_t)len;
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
    char *path = NULL;
    double start = ct_now();
    file_job j = { .spec = spec, .dir = dir, .name = name, .pack = out };

    *out = (ct_pack){ 0 };
    *cached = false;
    j.hash = ct_calloc((size_t)n, sizeof *j.hash, "content digests");
    j.size = ct_calloc((size_t)n, sizeof *j.size, "file sizes");
    if (!j.hash || !j.size) {
        st = CT_ENOMEM;
        goto fail;
    }
    if (spec->height == 0) CT_GOTO(st, first_size(&j, n));
    CT_GOTO(st, ct_parallel_for(n, workers, hash_item, &j));
    CT_GOTO(st, files_key(&j, n, key));
    double hashed = ct_now();
    if (spec->cache) CT_GOTO(st, cache_path(key, &path));
    CT_GOTO(st, cache_look(path, key, n, spec, out, cached));
    if (!*cached) {
        CT_GOTO(st, ct_pack_make(n, spec->height, spec->width, spec->channels, out));
        CT_GOTO(st, ct_parallel_for(n, workers, decode_item, &j));
        CT_GOTO(st, cache_keep(path, key, dir, spec, out));
    }
    ct_log_topic_line(CT_TOPIC_LOADER, "%s: %" PRId64 " files, %.2f s reading, %.2f s %s, key %s", dir, n,
                      hashed - start, ct_now() - hashed, *cached ? "mapping the cache" : "decoding", key);
fail:
    ct_free(j.hash);
    ct_free(j.size);
    ct_free(path);
    if (st != CT_OK) ct_pack_free(out);
    return st;
}

/* ---- generators ---- */

typedef struct source_job {
    ct_dataset_spec *spec;
    const ct_source *src;
    void **state; /* [workers], made by the worker that needs it first */
    ct_pack *pack;
} source_job;

static ct_status render(const source_job *j, int worker, int64_t i, ct_image *im, char label[CT_LABEL_BYTES])
{
    if (!j->state[worker]) CT_TRY(j->src->open(j->src->user, &j->state[worker]));
    return j->src->render(j->state[worker], j->src->first + i, im, label);
}

static ct_status source_item(void *user, int worker, int64_t i)
{
    source_job *j = user;
    ct_image im = { 0 };
    char label[CT_LABEL_BYTES];
    ct_status st = render(j, worker, i, &im, label);
    if (st == CT_OK) st = ct_fit_image(j->spec, "picture", &im);
    if (st == CT_OK) {
        size_t bytes = (size_t)im.h * (size_t)im.w * (size_t)im.c;
        memcpy(j->pack->own_px + (size_t)i * bytes, im.px, bytes);
        j->pack->own_text[i] = ct_strdup(label, "label");
        if (!j->pack->own_text[i]) st = CT_ENOMEM;
    }
    ct_image_free(&im);
    return st == CT_OK ? st : ct_fail_context(st, "%s/%" PRId64, j->src->name, j->src->first + i);
}

ct_status ct_build_source(ct_dataset_spec *spec, const ct_source *src, int workers, ct_pack *out, char key[33],
                          bool *cached)
{
    ct_status st = CT_OK;
    char *path = NULL, text[256];
    source_job j = { .spec = spec, .src = src, .pack = out };

    *out = (ct_pack){ 0 };
    *cached = false;
    if (workers < 1) workers = 1;
    j.state = ct_calloc((size_t)workers, sizeof *j.state, "generator states");
    if (!j.state) return CT_ENOMEM;
    if (spec->height == 0) {
        ct_image im = { 0 };
        char label[CT_LABEL_BYTES];
        CT_GOTO(st, render(&j, 0, 0, &im, label));
        spec->height = im.h;
        spec->width = im.w;
        ct_image_free(&im);
    }
    int len = snprintf(text, sizeof text, "%s source %s %" PRId64 "+%" PRId64 " %dx%dx%d rule %d", DECODER_VERSION,
                       src->key, src->first, src->n, spec->height, spec->width, spec->channels, (int)spec->size_rule);
    ct_hash_hex(text, (size_t)len, key);
    if (spec->cache && src->key[0]) CT_GOTO(st, cache_path(key, &path));
    CT_GOTO(st, cache_look(path, key, src->n, spec, out, cached));
    if (!*cached) {
        CT_GOTO(st, ct_pack_make(src->n, spec->height, spec->width, spec->channels, out));
        CT_GOTO(st, ct_parallel_for(src->n, workers, source_item, &j));
        CT_GOTO(st, cache_keep(path, key, src->name, spec, out));
    }
fail:
    for (int i = 0; i < workers; i++) {
        if (j.state[i]) src->close(j.state[i]);
    }
    ct_free(j.state);
    ct_free(path);
    if (st != CT_OK) ct_pack_free(out);
    return st;
}
