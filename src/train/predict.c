/* captrain predict: reads pictures with a model file and nothing else. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/image.h"
#include "data/label.h"
#include "train/journal.h"
#include "train/use.h"

#define BATCH 64 /* pictures per run of the model, at most */

typedef struct reader {
    ct_model_use use;
    uint8_t *px;    /* [batch,H,W,C] */
    int32_t *index; /* [batch,3] */
    size_t *file;   /* [batch] number of the file in each row */
    int32_t *pred;  /* [batch,P] */
    void *conf;     /* [batch,P] of the program's type */
    char **error;   /* [nfiles] why a file could not be read; NULL: it could */
    char **text;    /* [nfiles] what was read */
    float *prob;    /* [nfiles,P] */
    int64_t batch;
    size_t image_bytes;
} reader;

/* A picture as the model was trained to see it: the data set's rules for colour, alpha and size. */
static ct_status load(const reader *rd, const char *path, uint8_t *px)
{
    const ct_config *cfg = rd->use.file.cfg;
    ct_image im, fitted;
    ct_image_opts opts = CT_IMAGE_OPTS_DEFAULT;
    opts.channels = (int)cfg->data.channels;
    memcpy(opts.background, cfg->data.background, sizeof opts.background);
    CT_TRY(ct_image_read_file(path, &opts, &im));
    int h = (int)cfg->data.height, w = (int)cfg->data.width;
    ct_status st = CT_OK;
    if (im.h != h || im.w != w) {
        if (cfg->data.size_rule == CT_CFG_SIZE_REFUSE) {
            st = ct_fail(CT_EDATA, "%s: %dx%d pixels, the model wants %dx%d (data.size_rule refuse)", path, im.w, im.h,
                         w, h);
        } else if ((st = ct_image_resize_bilinear(&im, w, h, &fitted)) == CT_OK) {
            ct_image_free(&im);
            im = fitted;
        }
    }
    if (st == CT_OK) memcpy(px, im.px, rd->image_bytes);
    ct_image_free(&im);
    return st;
}

static ct_status run_rows(reader *rd, int64_t rows)
{
    int P = rd->use.file.positions;
    char text[CT_LABEL_BYTES];
    if (rows == 0) return CT_OK;
    /* one program serves every number of rows; those behind the last picture repeat old ones and are not looked at */
    ct_unit *u = ct_session_find(&rd->use.session, CT_PROGRAM_PREDICT, rd->batch, 1, false);
    CT_TRY(ct_plan_upload(u->plan, u->prog.src, rd->px));
    CT_TRY(ct_plan_upload(u->plan, u->prog.index, rd->index));
    CT_TRY(ct_plan_run(u->plan));
    CT_TRY(ct_plan_download(u->plan, u->prog.pred, rd->pred));
    CT_TRY(ct_plan_download(u->plan, u->prog.conf, rd->conf));
    ct_dtype type = ct_graph_desc(u->prog.graph, u->prog.conf)->dtype;
    for (int64_t i = 0; i < rows; i++) {
        size_t f = rd->file[i];
        ct_charset_decode(&rd->use.file.charset, rd->pred + i * P, P, text, sizeof text);
        if (!(rd->text[f] = ct_strdup(text, "prediction"))) return CT_ENOMEM;
        for (int k = 0; k < P; k++) rd->prob[f * (size_t)P + (size_t)k] = (float)ct_load(type, rd->conf, i * P + k);
    }
    return CT_OK;
}

static ct_status read_all(reader *rd, const ct_predict_opts *o, size_t *failed)
{
    int64_t rows = 0;
    for (size_t f = 0; f < o->nfiles; f++) {
        ct_status st = load(rd, o->files[f], rd->px + (size_t)rows * rd->image_bytes);
        if (st == CT_ENOMEM) return st;
        if (st != CT_OK) {
            if (!(rd->error[f] = ct_strdup(ct_error_message(), "message"))) return CT_ENOMEM;
            (*failed)++;
            continue;
        }
        rd->index[3 * rows] = (int32_t)rows;
        rd->index[3 * rows + 1] = (int32_t)rows;
        rd->index[3 * rows + 2] = 0;
        rd->file[rows++] = f;
        if (rows == rd->batch) {
            CT_TRY(run_rows(rd, rows));
            rows = 0;
        }
    }
    return run_rows(rd, rows);
}

static double string_probability(const reader *rd, size_t f)
{
    double p = 1;
    for (int k = 0; k < rd->use.file.positions; k++)
        p *= (double)rd->prob[f * (size_t)rd->use.file.positions + (size_t)k];
    return p;
}

static ct_status print_json(const reader *rd, const ct_predict_opts *o, FILE *to)
{
    ct_status st = CT_OK;
    char *text = NULL;
    json_t *all = json_array();
    if (!all) return ct_fail(CT_ENOMEM, "out of memory writing predictions");
    for (size_t f = 0; f < o->nfiles; f++) {
        json_t *row = json_object(), *chars;
        if (json_array_append_new(all, row) != 0) {
            st = ct_fail(CT_ENOMEM, "out of memory writing predictions");
            goto fail;
        }
        CT_GOTO(st, ct_json_set(row, "file", ct_json_any(o->files[f])));
        if (rd->error[f]) {
            CT_GOTO(st, ct_json_set(row, "error", ct_json_any(rd->error[f])));
            continue;
        }
        CT_GOTO(st, ct_json_set(row, "text", json_string(rd->text[f])));
        CT_GOTO(st, ct_json_set(row, "confidence", ct_json_number(string_probability(rd, f))));
        CT_GOTO(st, ct_json_set(row, "char_confidence", chars = json_array()));
        for (int k = 0; k < rd->use.file.positions; k++)
            json_array_append_new(chars,
                                  ct_json_number((double)rd->prob[f * (size_t)rd->use.file.positions + (size_t)k]));
    }
    if (!(text = ct_json_text(all, 2))) CT_GOTO(st, CT_ENOMEM);
    fprintf(to, "%s\n", text);
fail:
    ct_free(text);
    json_decref(all);
    return st;
}

static void print_lines(const reader *rd, const ct_predict_opts *o, FILE *to)
{
    for (size_t f = 0; f < o->nfiles; f++) {
        if (rd->error[f])
            ct_error("%s", rd->error[f]);
        else
            fprintf(to, "%s\t%s\t%.4f\n", o->files[f], rd->text[f], string_probability(rd, f));
    }
}

static ct_status reserve(reader *rd, size_t nfiles)
{
    const ct_config *cfg = rd->use.file.cfg;
    size_t P = (size_t)rd->use.file.positions, n;
    rd->batch = nfiles < BATCH ? (int64_t)nfiles : BATCH;
    n = (size_t)rd->batch;
    rd->image_bytes = (size_t)(cfg->data.height * cfg->data.width * cfg->data.channels);
    rd->px = ct_calloc(n, rd->image_bytes, "pictures");
    rd->index = ct_calloc(n * 3, sizeof *rd->index, "picture numbers");
    rd->file = ct_calloc(n, sizeof *rd->file, "picture numbers");
    rd->pred = ct_calloc(n * P, sizeof *rd->pred, "predictions");
    rd->conf = ct_calloc(n * P, sizeof(double), "confidences");
    rd->error = ct_calloc(nfiles, sizeof *rd->error, "messages");
    rd->text = ct_calloc(nfiles, sizeof *rd->text, "predictions");
    rd->prob = ct_calloc(nfiles * P, sizeof *rd->prob, "confidences");
    bool ok = rd->px && rd->index && rd->file && rd->pred && rd->conf && rd->error && rd->text && rd->prob;
    return ok ? CT_OK : CT_ENOMEM;
}

static void release(reader *rd, size_t nfiles)
{
    for (size_t f = 0; f < nfiles; f++) {
        if (rd->error) ct_free(rd->error[f]);
        if (rd->text) ct_free(rd->text[f]);
    }
    ct_free(rd->px);
    ct_free(rd->index);
    ct_free(rd->file);
    ct_free(rd->pred);
    ct_free(rd->conf);
    ct_free(rd->error);
    ct_free(rd->text);
    ct_free(rd->prob);
    ct_model_use_end(&rd->use);
}

ct_status ct_run_predict(const ct_predict_opts *o, FILE *to)
{
    ct_status st;
    reader rd;
    size_t failed = 0;
    memset(&rd, 0, sizeof rd);
    if (!o->model || o->nfiles == 0) return ct_fail(CT_EINVAL, "predict: needs a model file and at least one picture");
    CT_GOTO(st, ct_model_use_begin(&rd.use, o->model, &o->common));
    CT_GOTO(st, reserve(&rd, o->nfiles));
    CT_GOTO(st, ct_session_add(&rd.use.session, CT_PROGRAM_PREDICT, rd.batch, 1, false));
    CT_GOTO(st, ct_model_use_ready(&rd.use));
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
