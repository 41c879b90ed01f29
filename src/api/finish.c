/* The end of a run: the best weights scored once more, result.json, the report. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/version.h"
#include "run/run.h"
#include "task/text/text.h"

/* Puts the best weights on the device. Without a validation set, or without any usable evaluation, the last ones are
 * the best. */
static ct_status take_best(ct_run *r, const char *path)
{
    if (!r->p.best.any) return ct_checkpoint_write(&r->session, &r->meta, &r->p, false, path);
    ct_model_file m;
    ct_status st = ct_model_file_open(path, &m);
    if (st == CT_EFORMAT || st == CT_EIO) {
        ct_warn("%s: the last weights take the place of the best", ct_error_message());
        return ct_checkpoint_write(&r->session, &r->meta, &r->p, false, path);
    }
    if (st != CT_OK) return st;
    st = ct_checkpoint_load_weights(&r->session, m.st, path, "model.", false);
    if (st == CT_OK && r->has_ema) st = ct_checkpoint_load_weights(&r->session, m.st, path, "ema.", true);
    ct_model_file_close(&m);
    return st;
}

const char *ct_run_best_place(const ct_run *r, char buf[CT_BEST_PLACE])
{
    const ct_best *b = &r->p.best;
    bool whole = b->step == b->epoch * r->steps_per_epoch;
    if (whole)
        snprintf(buf, CT_BEST_PLACE, "epoch %" PRId64 ", step %" PRId64, b->epoch, b->step);
    else
        snprintf(buf, CT_BEST_PLACE, "within epoch %" PRId64 ", step %" PRId64, b->epoch + 1, b->step);
    return buf;
}

static ct_status score(ct_run *r, const ct_view *v, ct_detail *detail, ct_scores *out)
{
    return ct_evaluate(&r->session, r->eval_ema, v, r->batch, (int)r->cfg->train.workers, NULL, detail, out);
}

/* Cuts at `size` bytes without breaking a UTF-8 character. */
static void copy_text(char *dst, size_t size, const char *src)
{
    size_t n = strlen(src);
    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)src[n] & 0xC0) == 0x80) n--;
    }
    memcpy(dst, src, n);
    dst[n] = '\0';
}

/* DIR/<label>_<k>.png; a label may hold '/', a file name not. */
static char *example_path(const char *dir, const char *label, int k)
{
    char *path = ct_asprintf("%s/%s_%d.png", dir, label, k);
    if (!path) return NULL;
    for (char *p = path + strlen(dir) + 1; *p; p++)
        if (*p == '/') *p = '-';
    return path;
}

ct_status ct_run_picture(const ct_view *v, int64_t i, ct_image *out)
{
    const int64_t sample = ct_view_sample(v, i);
    const int bucket = ct_dataset_bucket_width(v->data, ct_dataset_sample_bucket(v->data, sample));
    const int h = ct_dataset_height(v->data), w = ct_dataset_sample_width(v->data, sample),
              c = ct_dataset_channels(v->data);
    const uint8_t *px = ct_dataset_pixels(v->data, sample);
    CT_TRY(ct_image_make(w, h, c, 0, out));
    for (int y = 0; y < h; y++)
        memcpy(out->px + (size_t)y * (size_t)w * (size_t)c, px + (size_t)y * (size_t)bucket * (size_t)c,
               (size_t)w * (size_t)c);
    return CT_OK;
}

/* Three samples of the validation set with their predictions. Generated pictures are written to RUN/examples, so that
 * they can be looked at. */
static ct_status examples(ct_run *r, const ct_detail *d, ct_train_result *res)
{
    const ct_view *v = &r->data.val;
    bool generated = ct_path_is_dir(ct_dataset_root(v->data)) == false;
    char *text = ct_malloc(ct_detail_text_size(d), "text"), *dir = NULL, *file = NULL;
    ct_status st = text ? CT_OK : CT_ENOMEM;
    if (st != CT_OK) return st;
    if (generated) {
        if (!(dir = ct_path_join(r->out, "examples"))) CT_GOTO(st, CT_ENOMEM);
        CT_GOTO(st, ct_mkdir_p(dir));
    }
    for (int k = 0; k < 3 && k < v->n; k++) {
        int64_t i = v->n < 3 ? k : k * v->n / 3, sample = ct_view_sample(v, i);
        ct_free(file);
        file = generated ? example_path(dir, ct_dataset_label_text(v->data, sample), k + 1)
                         : ct_path_join(ct_dataset_root(v->data), ct_dataset_name(v->data, sample));
        if (!file) {
            st = CT_ENOMEM;
            goto fail;
        }
        if (generated) {
            ct_image im;
            CT_GOTO(st, ct_run_picture(v, i, &im));
            st = ct_image_write_png(file, &im);
            ct_image_free(&im);
            if (st != CT_OK) goto fail;
        }
        ct_detail_text(d, &ct_text_facts(r->data.facts)->charset, i, text, ct_detail_text_size(d));
        copy_text(res->example_file[k], sizeof res->example_file[k], file);
        copy_text(res->example_label[k], sizeof res->example_label[k], ct_dataset_label_text(v->data, sample));
        copy_text(res->example_predicted[k], sizeof res->example_predicted[k], text);
        res->examples = k + 1;
    }
fail:
    ct_free(text);
    ct_free(file);
    ct_free(dir);
    return st;
}

static ct_status put_set(json_t *o, const char *key, const ct_scores *s)
{
    return ct_json_set(o, key,
                       json_pack("{s:I,s:f,s:f,s:f,s:I,s:I,s:o}", "samples", (json_int_t)s->samples, "string_accuracy",
                                 ct_scores_strings(s), "char_accuracy", ct_scores_chars(s), "cer", ct_scores_cer(s),
                                 "edits", (json_int_t)s->edits, "infeasible", (json_int_t)s->infeasible, "loss",
                                 ct_json_number(s->loss)));
}

static ct_status write_result(ct_run *r, const ct_train_result *res, const ct_scores *val, const ct_scores *test)
{
    ct_status st;
    char *path = ct_path_join(r->out, "result.json");
    json_t *o = json_object();
    if (!path) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, ct_json_set(o, "captrain_version", json_string(ct_version())));
    CT_GOTO(st, ct_json_set(o, "name", ct_json_any(r->cfg->name)));
    CT_GOTO(st, ct_json_set(o, "string_accuracy", val ? ct_json_number(res->string_accuracy) : json_null()));
    CT_GOTO(st, ct_json_set(o, "char_accuracy", val ? ct_json_number(res->char_accuracy) : json_null()));
    CT_GOTO(st, ct_json_set(o, "cer", val ? ct_json_number(res->cer) : json_null()));
    CT_GOTO(st, ct_json_set(o, "epochs", json_integer(res->epochs)));
    CT_GOTO(st, ct_json_set(o, "steps", json_integer(res->steps)));
    CT_GOTO(st, ct_json_set(o, "seconds", ct_json_number(res->seconds)));
    CT_GOTO(st, ct_json_set(o, "samples_per_s", ct_json_number(res->samples_per_s)));
    CT_GOTO(st, ct_json_set(o, "peak_bytes", json_integer(res->peak_bytes)));
    if (isfinite(ct_gauge_each(&r->gauge))) {
        CT_GOTO(st, ct_json_set(o, "joules_per_sample", ct_json_number(ct_gauge_each(&r->gauge))));
        CT_GOTO(st, ct_json_set(o, "mean_power", ct_json_number(ct_gauge_power(&r->gauge))));
    }
    CT_GOTO(st, ct_json_set(o, "weights_hash", json_string(res->weights_hash)));
    CT_GOTO(st, ct_json_set(o, "resumed_from_steps", json_incref(r->resumed)));
    CT_GOTO(st, ct_json_set(o, "stopped_early", json_boolean(r->p.stopped_early)));
    CT_GOTO(st, ct_json_set(o, "skipped_steps", json_integer((json_int_t)r->state[CT_STATE_SKIPPED])));
    if (r->p.best.any) {
        CT_GOTO(st, ct_json_set(o, "best_epoch", json_integer(r->p.best.epoch)));
        CT_GOTO(st, ct_json_set(o, "best_step", json_integer(r->p.best.step)));
    }
    if (val) CT_GOTO(st, put_set(o, "validation", val));
    if (test) CT_GOTO(st, put_set(o, "test", test));
    CT_GOTO(st, ct_json_set(o, "model", json_string(r->session.spec.model.name)));
    CT_GOTO(st, ct_json_set(o, "params", json_integer(r->session.layout.params)));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(r->session.backend->name)));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(ct_run_precision(&r->session))));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(r->session.device.threads)));
    CT_GOTO(st, ct_json_set(o, "model_file", json_string("checkpoints/best.safetensors")));
    CT_GOTO(st, ct_json_set(o, "report", json_string("report.html")));
    CT_GOTO(st, ct_json_write(path, o, 2));
fail:
    json_decref(o);
    ct_free(path);
    return st;
}

ct_status ct_run_finish(ct_run *r, ct_train_result *res)
{
    ct_status st;
    ct_detail detail;
    ct_scores val, test;
    memset(&detail, 0, sizeof detail);
    bool has_val = r->data.val.data != NULL, has_test = r->data.test.data != NULL;
    char *best = ct_path_join(r->checkpoints, "best.safetensors");
    if (!best) return CT_ENOMEM;
    snprintf(res->model, sizeof res->model, "%s", best);
    snprintf(res->report, sizeof res->report, "%s/report.html", r->out);
    res->string_accuracy = res->char_accuracy = res->cer = -1;
    res->epochs = r->p.epoch;
    res->steps = r->p.step;
    res->seconds = r->p.seconds;
    res->samples_per_s = r->p.step_seconds > 0 ? (double)r->p.samples / r->p.step_seconds : 0;
    res->peak_bytes = r->peak_bytes;
    CT_GOTO(st, ct_weights_hash(&r->session, res->weights_hash));
    CT_GOTO(st, take_best(r, best));
    if (has_val) {
        CT_GOTO(st, ct_detail_for(&detail, &r->session, &r->data.val, ct_text_facts(r->data.facts)->charset.n));
        CT_GOTO(st, score(r, &r->data.val, &detail, &val));
        res->string_accuracy = ct_scores_strings(&val);
        res->char_accuracy = ct_scores_chars(&val);
        res->cer = ct_scores_cer(&val);
        if (r->p.best.any && val.strings != r->p.best.scores.strings)
            ct_warn("the best weights read %" PRId64 " strings, at step %" PRId64 " it was %" PRId64, val.strings,
                    r->p.best.step, r->p.best.scores.strings);
        CT_GOTO(st, examples(r, &detail, res));
    }
    if (has_test) {
        CT_GOTO(st, score(r, &r->data.test, NULL, &test));
        ct_info("test: strings %.2f %%, characters %.2f %% of %" PRId64 " samples", 100 * ct_scores_strings(&test),
                100 * ct_scores_chars(&test), test.samples);
    }
    CT_GOTO(st, ct_journal_event(r->journal, "end",
                                 json_pack("{s:I,s:I,s:f,s:s}", "step", (json_int_t)r->p.step, "epochs",
                                           (json_int_t)r->p.epoch, "seconds", r->p.seconds, "weights_hash",
                                           res->weights_hash)));
    ct_report rep = {
        r, res, has_val ? &detail : NULL, has_val ? &val : NULL, has_test ? &test : NULL, res->peak_bytes
    };
    CT_GOTO(st, ct_report_write(&rep));
    CT_GOTO(st, write_result(r, res, has_val ? &val : NULL, has_test ? &test : NULL));
    char t[32], place[CT_BEST_PLACE];
    if (has_val)
        ct_info("done: %" PRId64 " steps in %s; best weights (%s): strings %.2f %%, characters %.2f %%", res->steps,
                ct_text_duration(res->seconds, t, sizeof t), ct_run_best_place(r, place), 100 * res->string_accuracy,
                100 * res->char_accuracy);
    else
        ct_info("done: %" PRId64 " steps in %s; there was no validation set", res->steps,
                ct_text_duration(res->seconds, t, sizeof t));
fail:
    ct_detail_free(&detail);
    ct_free(best);
    return st;
}
