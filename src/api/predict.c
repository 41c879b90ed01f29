/* captrain predict: an evaluation of pictures without labels, with a model file and nothing else. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "task/task.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/text.h"
#include "captrain.h"
#include "data/build.h"
#include "data/scan.h"
#include "image/image.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "weights/use.h"

#define BATCH 64    /* pictures per run of the model, at most; clips one by one */
#define CHUNK 1024  /* pictures that are in memory at a time, at most */
#define CLIP_CHUNK 8 /* clips */

/* Samples of one length, which one program reads: pictures of one width, clips of like length. */
typedef struct group {
    int length;    /* pixels, padding included; of clips pictures, copies included */
    int64_t files; /* so many will come */
} group;

typedef struct file_list {
    char **path;
    size_t n, cap;
} file_list;

typedef struct reader {
    const ct_predict_opts *o;
    ct_model_use use;
    ct_dataset_spec spec; /* geometry, as training had it */
    const ct_clip_rule *clip; /* samples are folders of frames; NULL: pictures */
    size_t batch, chunk;      /* samples */
    file_list list;
    group *group;
    size_t groups, cap_groups;
    int workers;
    json_t *all;          /* rows, with --json */
    FILE *to;
    size_t failed;
} reader;

/* ---- what to read: of a folder all pictures in it, or it is a clip ---- */

static ct_status add_folder(file_list *l, const char *folder)
{
    char **name;
    size_t n, i = 0;
    ct_status st;
    CT_TRY(ct_scan_pictures(folder, &name, &n));
    for (; i < n; i++) {
        CT_GOTO(st, ct_grow(&l->path, l->n, &l->cap, sizeof *l->path, "files to read"));
        l->path[l->n++] = name[i];
    }
    st = CT_OK;
fail:
    for (; i < n; i++) ct_free(name[i]);
    ct_free(name);
    return st;
}

static ct_status list_files(reader *rd)
{
    const ct_predict_opts *o = rd->o;
    file_list *l = &rd->list;
    for (size_t f = 0; f < o->nfiles; f++) {
        if (!rd->clip && ct_path_is_dir(o->files[f])) {
            CT_TRY(add_folder(l, o->files[f]));
            continue;
        }
        CT_TRY(ct_grow(&l->path, l->n, &l->cap, sizeof *l->path, "files to read"));
        if (!(l->path[l->n] = ct_strdup(o->files[f], "file to read"))) return CT_ENOMEM;
        l->n++;
    }
    return CT_OK;
}

/* ---- lengths ---- */

/* The width a picture will have for the model, from its header. 0: the file cannot be read, which is told later. */
static ct_status peek_width(const reader *rd, const char *path, int *width)
{
    uint8_t *data;
    size_t size;
    int w, h;
    *width = rd->spec.width;
    if (rd->spec.size_rule != CT_SIZE_FIT_HEIGHT) return CT_OK;
    *width = 0;
    ct_status st = ct_file_read(path, CT_IMAGE_MAX_FILE, &data, &size);
    if (st == CT_OK) {
        st = ct_image_peek_mem(data, size, path, &w, &h);
        ct_free(data);
    }
    if (st == CT_OK) *width = ct_fit_bucket(&rd->spec, ct_fit_width(&rd->spec, w, h));
    return st == CT_ENOMEM ? st : CT_OK;
}

/* The pictures that a clip will be for the model. 0: it cannot be read, which is told later. */
static ct_status peek_frames(const reader *rd, const char *path, int *pictures)
{
    char **name;
    int64_t n;
    ct_status st = ct_scan_frames(path, &name, &n);
    *pictures = 0;
    if (st != CT_OK) return st == CT_ENOMEM ? st : CT_OK;
    for (int64_t i = 0; i < n; i++) ct_free(name[i]);
    ct_free(name);
    if (rd->spec.max_frames > 0 && n > rd->spec.max_frames) n = rd->spec.max_frames;
    *pictures = (int)ct_clip_padded(rd->clip, n);
    return CT_OK;
}

static ct_status count_lengths(reader *rd)
{
    for (size_t f = 0; f < rd->list.n; f++) {
        int length;
        size_t k = 0;
        CT_TRY(rd->clip ? peek_frames(rd, rd->list.path[f], &length) : peek_width(rd, rd->list.path[f], &length));
        if (length == 0) continue;
        while (k < rd->groups && rd->group[k].length != length) k++;
        if (k == rd->groups) {
            CT_TRY(ct_grow(&rd->group, rd->groups, &rd->cap_groups, sizeof *rd->group, "lengths of samples"));
            rd->group[rd->groups++] = (group){ .length = length };
        }
        rd->group[k].files++;
    }
    return CT_OK;
}

/* A session must have a program, even if nothing can be read. */
static ct_status add_programs(reader *rd)
{
    ct_session *s = &rd->use.session;
    const int64_t most = (int64_t)rd->batch;
    if (rd->groups == 0) return ct_session_add(s, CT_PROGRAM_PREDICT, 1, ct_session_length(s), 1, false);
    for (size_t i = 0; i < rd->groups; i++) {
        const group *g = &rd->group[i];
        CT_TRY(ct_session_add(s, CT_PROGRAM_PREDICT, g->files < most ? g->files : most, g->length, 1, false));
    }
    return CT_OK;
}

/* ---- reading ---- */

static ct_status put_json(reader *rd, const ct_findings *f, const char *path, int64_t i, const char *error)
{
    json_t *row = json_object();
    if (json_array_append_new(rd->all, row) != 0) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    CT_TRY(ct_json_set(row, "file", ct_json_any(path)));
    return error ? ct_json_set(row, "error", ct_json_any(error)) : f->task->predict_json(f, i, row);
}

static ct_status put_line(reader *rd, const ct_findings *f, const char *path, int64_t i, const char *error)
{
    if (error) {
        ct_error("%s: %s", path, error);
        return CT_OK;
    }
    ct_text_put(rd->to, path, false);
    fputc('\t', rd->to);
    CT_TRY(f->task->predict_text(f, i, rd->to));
    fputc('\n', rd->to);
    return CT_OK;
}

/* Tells what was found in the n samples of a chunk, in their order: good and bad ones keep it in the set, too. */
static ct_status tell(reader *rd, const char *const *path, size_t n, const ct_dataset *ds, const ct_findings *f)
{
    int64_t good = 0, bad = 0;
    for (size_t k = 0; k < n; k++) {
        const bool fine = good < ct_dataset_size(ds) && strcmp(ct_dataset_name(ds, good), path[k]) == 0;
        if (!fine && bad == ct_dataset_bad_count(ds))
            return ct_fail(CT_EINTERNAL, "%s: was neither read nor refused", path[k]);
        const char *error = fine ? NULL : ct_dataset_bad(ds, bad++).reason;
        rd->failed += error != NULL;
        CT_TRY(rd->all ? put_json(rd, f, path[k], good, error) : put_line(rd, f, path[k], good, error));
        good += fine;
    }
    return CT_OK;
}

/* Every length has its program, unless a file has become another one since it was looked at. */
static ct_status check_lengths(reader *rd, const ct_dataset *ds)
{
    for (int64_t i = 0; i < ct_dataset_size(ds); i++) {
        const int64_t length = rd->clip ? ct_clip_padded(rd->clip, ct_dataset_frames(ds, i))
                                        : ct_dataset_bucket_width(ds, ct_dataset_sample_bucket(ds, i));
        if (!ct_session_predictor(&rd->use.session, length))
            return ct_fail(CT_EDATA, "%s: has changed while it was read", ct_dataset_name(ds, i));
    }
    return CT_OK;
}

static ct_status read_chunk(reader *rd, const char *const *path, size_t n)
{
    const ct_model_file *file = &rd->use.file;
    ct_session *s = &rd->use.session;
    ct_dataset *ds = NULL;
    ct_findings *f = NULL;
    ct_labels *none;
    ct_status st;
    double sums[CT_METRIC_COUNT];
    CT_TRY(ct_labels_none(rd->clip, &none));
    CT_TRY(ct_dataset_open_files(&rd->spec, none, path, (int64_t)n, rd->workers, &ds));
    const ct_view view = { ds, NULL, ct_dataset_size(ds) };
    const ct_place place = ct_session_place(s, file->cfg, file->facts);
    CT_GOTO(st, file->task->look(&place, &view, false, rd->o->option, rd->o->noptions, &f));
    CT_GOTO(st, check_lengths(rd, ds));
    if (view.n > 0) CT_GOTO(st, ct_evaluate(s, false, &view, (int64_t)rd->batch, 0, NULL, f, sums));
    st = tell(rd, path, n, ds, f);
fail:
    file->task->drop(f);
    ct_dataset_close(ds);
    return st;
}

static ct_status prepare(reader *rd)
{
    const ct_predict_opts *o = rd->o;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    rd->workers = o->common.threads > 0 ? o->common.threads : cores > 0 ? (int)cores : 1;
    CT_TRY(ct_model_use_begin(&rd->use, o->model, &o->common));
    CT_TRY(ct_options_check(rd->use.file.task, "predict", o->option, o->noptions));
    ct_datasets_spec(rd->use.file.cfg, rd->use.file.task, NULL, &rd->spec);
    rd->spec.cache = false;
    rd->clip = ct_model_clip(&rd->use.session.spec.model);
    rd->batch = rd->clip ? 1 : BATCH;
    rd->chunk = rd->clip ? CLIP_CHUNK : CHUNK;
    CT_TRY(list_files(rd));
    CT_TRY(count_lengths(rd));
    CT_TRY(add_programs(rd));
    if (o->json && !(rd->all = json_array())) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    return ct_model_use_ready(&rd->use);
}

static ct_status predict(const ct_predict_opts *o, FILE *to)
{
    ct_status st;
    reader rd = { .o = o, .to = to };
    CT_GOTO(st, prepare(&rd));
    for (size_t f = 0; f < rd.list.n; f += rd.chunk)
        CT_GOTO(st, read_chunk(&rd, (const char *const *)rd.list.path + f,
                               rd.list.n - f < rd.chunk ? rd.list.n - f : rd.chunk));
    if (rd.all) CT_GOTO(st, ct_json_print(rd.all, 2, to));
    if (fflush(to) != 0 || ferror(to)) st = ct_fail(CT_EIO, "predict: the result cannot be written");
    else if (rd.failed > 0) st = ct_fail(CT_EDATA, "%zu of %zu %s could not be read", rd.failed, rd.list.n,
                                           rd.clip ? "clips" : "pictures");
fail:
    json_decref(rd.all);
    ct_free(rd.group);
    for (size_t f = 0; f < rd.list.n; f++) ct_free(rd.list.path[f]);
    ct_free(rd.list.path);
    ct_model_use_end(&rd.use);
    return st;
}

ct_status ct_run_predict(const ct_predict_opts *given, FILE *to)
{
    ct_predict_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_predict_opts"));
    if (!own.model || own.nfiles == 0)
        return ct_fail(CT_EINVAL, "predict: needs a model file and at least one picture");
    return predict(&own, to);
}
