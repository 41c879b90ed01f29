#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/workers.h"
#include "synth/text_internal.h"

/* ---- as a data set ---- */

static ct_status source_open(const void *user, void **state)
{
    ct_text_pen *pen = NULL;
    ct_status st = ct_text_pen_open(user, &pen);
    *state = pen;
    return st;
}

static ct_status source_render(void *state, int64_t index, ct_image *out, char label[CT_LABEL_BYTES])
{
    return ct_text_pen_draw(state, index, out, label);
}

static void source_close(void *state)
{
    ct_text_pen_close(state);
}

void ct_synth_text_source(const ct_text_gen *g, int64_t first, int64_t count, ct_source *out)
{
    *out = (ct_source){ .name = "synth:text", .first = first, .n = count, .user = g,
                        .open = source_open, .render = source_render, .close = source_close };
    memcpy(out->key, g->key, sizeof out->key);
}

ct_status ct_synth_text_dataset(const ct_text_params *p, uint64_t seed, int64_t first, int64_t count,
                                const ct_dataset_spec *spec, int workers, ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_text_gen *g = NULL;
    ct_dataset_spec own;
    ct_source src;

    *out = NULL;
    if (spec) own = *spec;
    else ct_dataset_spec_init(&own);
    CT_GOTO(st, ct_text_gen_open(p, seed, &g));
    own.width = p->width;
    own.height = p->height;
    own.channels = p->channels;
    own.charset = &g->charset;
    own.label_len = p->length_min == p->length_max ? p->length_min : 0;
    ct_synth_text_source(g, first, count, &src);
    st = ct_dataset_open_source(&own, &src, workers, out);
fail:
    ct_text_gen_close(g);
    return st;
}

static void release_generator(const void *user)
{
    ct_text_gen_close((ct_text_gen *)(uintptr_t)user);
}

ct_status ct_synth_text_stream(const ct_text_params *p, uint64_t seed, int64_t count, const ct_dataset_spec *spec,
                               ct_dataset **out)
{
    ct_status st = CT_OK;
    ct_text_gen *g = NULL;
    ct_dataset_spec own;
    ct_source src;

    *out = NULL;
    if (spec) own = *spec;
    else ct_dataset_spec_init(&own);
    CT_GOTO(st, ct_text_gen_open(p, seed, &g));
    own.width = p->width;
    own.height = p->height;
    own.channels = p->channels;
    own.charset = &g->charset;
    own.label_len = p->length_min == p->length_max ? p->length_min : 0;
    own.label_max = p->length_max;
    ct_synth_text_source(g, CT_SYNTH_STREAM_FIRST, count, &src);
    src.release = release_generator;
    CT_GOTO(st, ct_dataset_open_stream(&own, &src, out));
    g = NULL; /* the set's now */
    if (spec && spec->label_max > p->length_max) st = ct_dataset_set_columns(*out, spec->label_max);
    if (st == CT_OK) return CT_OK;
    ct_dataset_close(*out);
    *out = NULL;
fail:
    ct_text_gen_close(g);
    return st;
}

/* ---- as files ---- */

typedef struct write_job {
    const ct_text_gen *g;
    ct_text_pen **pen; /* [threads] */
    const char *dir;
    int digits;
} write_job;

/* Writes a file under a temporary name and renames it, so that an interrupted run leaves no broken picture behind. Not
 * flushed to the disk one by one: these files can be made again. */
static ct_status write_file(const char *path, const uint8_t *data, size_t size)
{
    char *tmp = ct_asprintf("%s.tmp", path);
    if (!tmp) return CT_ENOMEM;
    ct_status st = CT_OK;
    FILE *f = fopen(tmp, "wbe");
    bool made = f != NULL;
    bool bad = !f || fwrite(data, 1, size, f) != size;
    if (bad) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (f && fclose(f) != 0 && !bad) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (st == CT_OK && rename(tmp, path) != 0) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (st != CT_OK && made) unlink(tmp);
    ct_free(tmp);
    return st;
}

static ct_status write_item(void *user, int worker, int64_t i)
{
    write_job *j = user;
    ct_status st = CT_OK;
    ct_image im = { 0 };
    char label[CT_LABEL_BYTES], *path = NULL;
    uint8_t *data = NULL;
    size_t size;

    if (!j->pen[worker]) CT_TRY(ct_text_pen_open(j->g, &j->pen[worker]));
    CT_GOTO(st, ct_text_pen_draw(j->pen[worker], i, &im, label));
    CT_GOTO(st, ct_image_encode_png(&im, &data, &size));
    path = ct_asprintf("%s/%s_%0*" PRId64 ".png", j->dir, label, j->digits, i);
    if (!path) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, write_file(path, data, size));
fail:
    ct_image_free(&im);
    ct_free(data);
    ct_free(path);
    return st;
}

/* Makes the folder, or finds out that it is empty. */
static ct_status prepare_dir(const char *dir, bool overwrite)
{
    CT_TRY(ct_mkdir_p(dir));
    DIR *d = opendir(dir);
    if (!d) return ct_fail(CT_EIO, "%s: cannot open the folder: %s", dir, strerror(errno));
    bool empty = true;
    for (struct dirent *e; empty && (e = readdir(d));) {
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    }
    closedir(d);
    if (!empty && !overwrite) return ct_fail(CT_EIO, "%s: the folder is not empty", dir);
    return CT_OK;
}

/* Labels become file names and are cut at '_' when they are read. */
static ct_status check_names(const ct_text_gen *g)
{
    if (ct_charset_find(&g->charset, '/') >= 0) {
        return ct_fail(CT_ECONFIG, "the charset holds '/', which no file name can");
    }
    if (ct_charset_find(&g->charset, '_') >= 0) {
        return ct_fail(CT_ECONFIG, "the charset holds '_', which stands between label and number in the file names");
    }
    if (ct_charset_find(&g->charset, '.') >= 0) {
        return ct_fail(CT_ECONFIG, "the charset holds '.', which may hide the file");
    }
    return CT_OK;
}

ct_status ct_synth_text_write(const ct_text_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                              int threads)
{
    ct_status st = CT_OK;
    ct_text_gen *g = NULL;
    write_job j = { .dir = dir, .digits = 6 };

    if (count < 1) return ct_fail(CT_EINVAL, "no pictures are asked for (count %" PRId64 ")", count);
    if (threads < 1) threads = 1;
    CT_GOTO(st, ct_text_gen_open(p, seed, &g));
    CT_GOTO(st, check_names(g));
    CT_GOTO(st, prepare_dir(dir, overwrite));
    for (int64_t v = count - 1; v >= 1000000; v /= 10) j.digits++;
    j.g = g;
    j.pen = ct_calloc((size_t)threads, sizeof *j.pen, "text generator");
    if (!j.pen) {
        st = CT_ENOMEM;
        goto fail;
    }
    st = ct_parallel_for(count, threads, write_item, &j);
fail:
    for (int i = 0; j.pen && i < threads; i++) ct_text_pen_close(j.pen[i]);
    ct_free(j.pen);
    ct_text_gen_close(g);
    return st;
}
