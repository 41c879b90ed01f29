/* captrain predict: reads pictures with a model file and nothing else. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "data/build.h"
#include "task/text/beam.h"
#include "image/image.h"
#include "run/journal.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "task/text/text.h"
#include "weights/use.h"

#define BATCH 64 /* pictures per run of the model, at most */

/* What was read in one picture. */
typedef struct reading {
    char *error; /* why the file could not be read; NULL: it could */
    char *text;
    float *prob; /* [chars] probability of each character */
    int chars;
} reading;

/* Pictures of one width, which one program reads. */
typedef struct group {
    int width;     /* pixels, padding included */
    int64_t files; /* so many pictures will come */
    int64_t batch, rows;
    uint8_t *px;         /* [batch,H,width,C] */
    int32_t *index;      /* [batch,3] */
    int32_t *true_width; /* [batch] */
    size_t *file;        /* [batch] number of the file in each row */
} group;

typedef struct reader {
    ct_model_use use;
    ct_dataset_spec spec; /* geometry, as training had it */
    ct_decoder decoder;
    ct_beam *beam; /* NULL: greedy */
    group *group;
    size_t groups, cap_groups;
    reading *reading;     /* [nfiles] */
    int32_t *pred, *text; /* [batch,P] of a batch, [P] of a picture; P = positions or time steps of the widest group */
    float *prob;          /* [P] */
    void *conf, *logits;  /* of the program's type */
} reader;

/* ---- widths ---- */

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

static group *find_group(reader *rd, int width)
{
    for (size_t i = 0; i < rd->groups; i++)
        if (rd->group[i].width == width) return &rd->group[i];
    return NULL;
}

static ct_status count_widths(reader *rd, const ct_predict_opts *o)
{
    for (size_t f = 0; f < o->nfiles; f++) {
        int width;
        CT_TRY(peek_width(rd, o->files[f], &width));
        if (width == 0) continue;
        group *g = find_group(rd, width);
        if (!g) {
            CT_TRY(ct_grow(&rd->group, rd->groups, &rd->cap_groups, sizeof *rd->group, "widths of pictures"));
            g = &rd->group[rd->groups++];
            *g = (group){ .width = width };
        }
        g->files++;
    }
    return CT_OK;
}

/* A session must have a program, even if no picture can be read. */
static ct_status add_programs(reader *rd)
{
    ct_session *s = &rd->use.session;
    if (rd->groups == 0) return ct_session_add(s, CT_PROGRAM_PREDICT, 1, s->spec.src_w, 1, false);
    for (size_t i = 0; i < rd->groups; i++) {
        group *g = &rd->group[i];
        g->batch = g->files < BATCH ? g->files : BATCH;
        CT_TRY(ct_session_add(s, CT_PROGRAM_PREDICT, g->batch, g->width, 1, false));
    }
    return CT_OK;
}

/* Memory for batches, once the programs are known. */
static ct_status reserve(reader *rd)
{
    const ct_session *s = &rd->use.session;
    size_t columns = 1, cells = 1, scores = 1;
    for (size_t i = 0; i < rd->groups; i++) {
        group *g = &rd->group[i];
        const ct_unit *u = ct_session_find(&rd->use.session, CT_PROGRAM_PREDICT, g->batch, g->width, 1, false);
        if (!u) return ct_fail(CT_EINTERNAL, "no program for pictures %d pixels wide", g->width);
        const ct_desc *pred = ct_graph_desc(u->prog.graph, u->prog.pred);
        const size_t n = (size_t)g->batch, bytes = ct_desc_bytes(ct_graph_desc(u->prog.graph, u->prog.logits));
        const size_t image = (size_t)rd->spec.height * (size_t)g->width * (size_t)rd->spec.channels;
        g->px = ct_calloc(n, image, "pictures");
        g->index = ct_calloc(n * 3, sizeof *g->index, "picture numbers");
        g->true_width = ct_calloc(n, sizeof *g->true_width, "widths of pictures");
        g->file = ct_calloc(n, sizeof *g->file, "picture numbers");
        if (!g->px || !g->index || !g->true_width || !g->file) return CT_ENOMEM;
        if ((size_t)pred->dim[1] > columns) columns = (size_t)pred->dim[1];
        if ((size_t)ct_desc_numel(pred) > cells) cells = (size_t)ct_desc_numel(pred);
        if (bytes > scores) scores = bytes;
    }
    rd->pred = ct_calloc(cells, sizeof *rd->pred, "predictions");
    rd->conf = ct_calloc(cells, sizeof(double), "confidences");
    rd->text = ct_calloc(columns, sizeof *rd->text, "predictions");
    rd->prob = ct_calloc(columns, sizeof *rd->prob, "confidences");
    if (!rd->pred || !rd->conf || !rd->text || !rd->prob) return CT_ENOMEM;
    if (rd->decoder.beam == 0) return CT_OK;
    if (!(rd->logits = ct_malloc(scores, "scores"))) return CT_ENOMEM;
    return ct_beam_new(rd->decoder.beam, s->spec.model.classes, &rd->beam);
}

/* ---- reading ---- */

/* Keeps what row i of the batch says: n characters. */
static ct_status keep(reader *rd, reading *r, const int32_t *pred, int64_t n, const float *prob)
{
    const size_t size = 4 * (size_t)n + 1;
    r->chars = (int)n;
    r->text = ct_malloc(size, "prediction");
    r->prob = ct_calloc((size_t)(n > 0 ? n : 1), sizeof *r->prob, "confidences");
    if (!r->text || !r->prob) return CT_ENOMEM;
    ct_charset_decode(&ct_text_facts(rd->use.file.facts)->charset, pred, (int)n, r->text, size);
    for (int64_t k = 0; k < n; k++) r->prob[k] = prob[k];
    return CT_OK;
}

/* Runs the rows that have come together in a group. */
static ct_status run_rows(reader *rd, group *g)
{
    ct_session *s = &rd->use.session;
    if (g->rows == 0) return CT_OK;
    /* one program serves every number of rows; those behind the last picture repeat old ones and are not looked at */
    ct_unit *u = ct_session_find(s, CT_PROGRAM_PREDICT, g->batch, g->width, 1, false);
    const ct_desc *pred = ct_graph_desc(u->prog.graph, u->prog.pred),
                  *logits = ct_graph_desc(u->prog.graph, u->prog.logits);
    const ct_dtype type = ct_graph_desc(u->prog.graph, u->prog.conf)->dtype;
    const int64_t columns = pred->dim[1];
    CT_TRY(ct_plan_upload(u->plan, u->prog.src, g->px));
    CT_TRY(ct_plan_upload(u->plan, u->prog.index, g->index));
    CT_TRY(ct_session_upload_widths(s, u, g->true_width, g->rows));
    CT_TRY(ct_plan_run(u->plan));
    CT_TRY(ct_plan_download(u->plan, u->prog.pred, rd->pred));
    CT_TRY(ct_plan_download(u->plan, u->prog.conf, rd->conf));
    if (rd->beam) CT_TRY(ct_plan_download(u->plan, u->prog.logits, rd->logits));
    for (int64_t i = 0; i < g->rows; i++) {
        const int32_t *text = rd->pred + i * columns;
        int64_t n = ct_edit_length(text, columns);
        for (int64_t k = 0; k < n; k++) rd->prob[k] = (float)ct_load(type, rd->conf, i * columns + k);
        if (rd->beam) {
            const int64_t classes = logits->dim[2];
            CT_TRY(ct_beam_decode(rd->beam, logits->dtype, rd->logits, i * classes, g->batch * classes, s->len[i],
                                  rd->text, rd->prob, &n, NULL));
            text = rd->text;
        }
        CT_TRY(keep(rd, &rd->reading[g->file[i]], text, n, rd->prob));
    }
    g->rows = 0;
    return CT_OK;
}

/* Decodes file f as the model was trained to see it and adds it to the group of its width, *to. */
static ct_status load(reader *rd, const char *path, size_t f, group **to)
{
    ct_image im;
    ct_image_opts opts = CT_IMAGE_OPTS_DEFAULT;
    int width = 0;
    opts.channels = rd->spec.channels;
    memcpy(opts.background, rd->spec.background, sizeof opts.background);
    CT_TRY(ct_image_read_file(path, &opts, &im));
    ct_status st = ct_fit_image(&rd->spec, path, &im, &width);
    group *g = st == CT_OK ? find_group(rd, im.w) : NULL;
    if (st == CT_OK && !g) st = ct_fail(CT_EDATA, "%s: the file has changed while it was read", path);
    if (st == CT_OK) {
        const size_t bytes = (size_t)im.h * (size_t)im.w * (size_t)im.c;
        memcpy(g->px + (size_t)g->rows * bytes, im.px, bytes);
        g->index[3 * g->rows] = g->index[3 * g->rows + 1] = (int32_t)g->rows;
        g->index[3 * g->rows + 2] = 0;
        g->true_width[g->rows] = width;
        g->file[g->rows++] = f;
        *to = g;
    }
    ct_image_free(&im);
    return st;
}

static ct_status read_all(reader *rd, const ct_predict_opts *o, size_t *failed)
{
    for (size_t f = 0; f < o->nfiles; f++) {
        group *g;
        ct_status st = load(rd, o->files[f], f, &g);
        if (st == CT_ENOMEM) return st;
        if (st == CT_OK) {
            if (g->rows == g->batch) CT_TRY(run_rows(rd, g));
            continue;
        }
        if (!(rd->reading[f].error = ct_strdup(ct_error_message(), "message"))) return CT_ENOMEM;
        ++*failed;
    }
    for (size_t i = 0; i < rd->groups; i++) CT_TRY(run_rows(rd, &rd->group[i]));
    return CT_OK;
}

/* ---- output ---- */

/* The product over the characters; of an empty text 0. */
static double string_probability(const reading *r)
{
    double p = r->chars > 0 ? 1 : 0;
    for (int k = 0; k < r->chars; k++) p *= (double)r->prob[k];
    return p;
}

static ct_status print_json(const reader *rd, const ct_predict_opts *o, FILE *to)
{
    ct_status st = CT_OK;
    json_t *all = json_array();
    if (!all) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    for (size_t f = 0; f < o->nfiles; f++) {
        const reading *r = &rd->reading[f];
        json_t *row = json_object(), *chars;
        if (json_array_append_new(all, row) != 0) {
            st = ct_fail(CT_ENOMEM, "out of memory writing predictions");
            goto fail;
        }
        CT_GOTO(st, ct_json_set(row, "file", ct_json_any(o->files[f])));
        if (r->error) {
            CT_GOTO(st, ct_json_set(row, "error", ct_json_any(r->error)));
            continue;
        }
        CT_GOTO(st, ct_json_set(row, "text", json_string(r->text)));
        CT_GOTO(st, ct_json_set(row, "confidence", ct_json_number(string_probability(r))));
        CT_GOTO(st, ct_json_set(row, "char_confidence", chars = json_array()));
        for (int k = 0; k < r->chars; k++) json_array_append_new(chars, ct_json_number((double)r->prob[k]));
    }
    st = ct_json_print(all, 2, to);
fail:
    json_decref(all);
    return st;
}

static void print_lines(const reader *rd, const ct_predict_opts *o, FILE *to)
{
    for (size_t f = 0; f < o->nfiles; f++) {
        const reading *r = &rd->reading[f];
        if (r->error)
            ct_error("%s", r->error);
        else
            fprintf(to, "%s\t%s\t%.4f\n", o->files[f], r->text, string_probability(r));
    }
}

static void release(reader *rd, size_t nfiles)
{
    for (size_t f = 0; rd->reading && f < nfiles; f++) {
        ct_free(rd->reading[f].error);
        ct_free(rd->reading[f].text);
        ct_free(rd->reading[f].prob);
    }
    for (size_t i = 0; i < rd->groups; i++) {
        ct_free(rd->group[i].px);
        ct_free(rd->group[i].index);
        ct_free(rd->group[i].true_width);
        ct_free(rd->group[i].file);
    }
    ct_free(rd->group);
    ct_free(rd->reading);
    ct_free(rd->pred);
    ct_free(rd->text);
    ct_free(rd->prob);
    ct_free(rd->conf);
    ct_free(rd->logits);
    ct_beam_free(rd->beam);
    ct_model_use_end(&rd->use);
}

static ct_status predict(const ct_predict_opts *o, FILE *to)
{
    ct_status st;
    reader rd;
    size_t failed = 0;
    memset(&rd, 0, sizeof rd);
    CT_GOTO(st, ct_model_use_begin(&rd.use, o->model, &o->common));
    const ct_model_spec *model = &rd.use.session.spec.model;
    CT_GOTO(st, ct_decoder_parse(o->decoder, o->beam_width, model->name, ct_model_head(model), &rd.decoder));
    ct_datasets_spec(rd.use.file.cfg, rd.use.file.task, NULL, &rd.spec);
    if (!(rd.reading = ct_calloc(o->nfiles, sizeof *rd.reading, "predictions"))) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, count_widths(&rd, o));
    CT_GOTO(st, add_programs(&rd));
    CT_GOTO(st, ct_model_use_ready(&rd.use));
    CT_GOTO(st, reserve(&rd));
    CT_GOTO(st, read_all(&rd, o, &failed));
    if (o->json)
        CT_GOTO(st, print_json(&rd, o, to));
    else
        print_lines(&rd, o, to);
    if (fflush(to) != 0 || ferror(to))
        st = ct_fail(CT_EIO, "predict: the result cannot be written");
    else if (failed > 0)
        st = ct_fail(CT_EDATA, "%zu of %zu pictures could not be read", failed, o->nfiles);
fail:
    release(&rd, o->nfiles);
    return st;
}

/* The files to read: of a folder all pictures in it. */
typedef struct file_list {
    char **path;
    size_t n, cap;
} file_list;

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

static ct_status list_files(const ct_predict_opts *o, file_list *l)
{
    for (size_t f = 0; f < o->nfiles; f++) {
        if (ct_path_is_dir(o->files[f])) {
            CT_TRY(add_folder(l, o->files[f]));
            continue;
        }
        CT_TRY(ct_grow(&l->path, l->n, &l->cap, sizeof *l->path, "files to read"));
        if (!(l->path[l->n] = ct_strdup(o->files[f], "file to read"))) return CT_ENOMEM;
        l->n++;
    }
    return CT_OK;
}

ct_status ct_run_predict(const ct_predict_opts *o, FILE *to)
{
    file_list l = { 0 };
    if (!o->model || o->nfiles == 0) return ct_fail(CT_EINVAL, "predict: needs a model file and at least one picture");
    ct_status st = list_files(o, &l);
    if (st == CT_OK) {
        ct_predict_opts all = *o;
        all.files = (const char *const *)l.path;
        all.nfiles = l.n;
        st = predict(&all, to);
    }
    for (size_t f = 0; f < l.n; f++) ct_free(l.path[f]);
    ct_free(l.path);
    return st;
}
