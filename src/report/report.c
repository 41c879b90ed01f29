/* report.html: one self-contained page about a run. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "formats/svg.h"
#include "report/report_html.h"
#include "run/receipt.h"

/* <tr><th>name</th><td>text</td></tr>; the text is escaped. */
static void row(FILE *f, const char *name, const char *fmt, ...) CT_PRINTF(3, 4);
static void row(FILE *f, const char *name, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fputs("<tr><th>", f);
    ct_svg_escape(f, name);
    fputs("</th><td>", f);
    ct_svg_escape(f, text);
    fputs("</td></tr>\n", f);
}

static void tile(FILE *f, bool lead, const char *value, const char *what)
{
    fprintf(f, "<div class=\"tile%s\"><b>", lead ? " lead" : "");
    ct_svg_escape(f, value);
    fputs("</b><span>", f);
    ct_svg_escape(f, what);
    fputs("</span></div>\n", f);
}

#define MAX_LEAD 4 /* metrics in large figures */

static void metric_tile(FILE *f, bool lead, const ct_metric_row *m, const double *sums, const char *set)
{
    char value[48], what[128];
    snprintf(what, sizeof what, "%s, %s", m->label, set);
    tile(f, lead, ct_metric_text(m, m->value(sums), value, sizeof value), what);
}

static void tiles(FILE *f, const ct_report *rep)
{
    const ct_train_result *res = rep->result;
    const ct_place place = ct_session_place(&rep->run->session, rep->run->cfg, rep->run->data.facts);
    const ct_metric_row *lead[MAX_LEAD];
    const int leads = rep->run->data.task->headline(&place, lead, MAX_LEAD);
    char v[64], t[32];
    fputs("<div class=\"tiles\">\n", f);
    for (int i = 0; rep->val && i < leads; i++) metric_tile(f, true, lead[i], rep->val, "validation");
    if (rep->test && leads > 0) metric_tile(f, true, lead[0], rep->test, "test");
    tile(f, false, ct_text_short((double)rep->run->session.layout.params, t, sizeof t), "parameters");
    snprintf(v, sizeof v, "%" PRId64, res->epochs);
    tile(f, false, v, res->epochs == 1 ? "epoch" : "epochs");
    tile(f, false, ct_text_duration(res->seconds, t, sizeof t), "training time");
    tile(f, false, ct_text_short(res->samples_per_s, t, sizeof t), "samples per second");
    tile(f, false, ct_text_bytes(rep->peak_bytes, t, sizeof t), "memory planned");
    fputs("</div>\n", f);
}

static void tell_row(void *user, const char *what, const char *text)
{
    row(user, what, "%s", text);
}

static void about_model(FILE *f, const ct_report *rep)
{
    const ct_session *s = &rep->run->session;
    const ct_config *cfg = rep->run->cfg;
    const ct_task *task = rep->run->data.task;
    const ct_place place = ct_session_place(s, cfg, rep->run->data.facts);
    char t[32], best[CT_BEST_PLACE], out[128];
    fputs("<div><h3>Model and training</h3><table>\n", f);
    row(f, "model", "%s", s->spec.model.name);
    row(f, "input", "%" PRId64 " x %" PRId64 " pixels, %" PRId64 " channel%s", s->spec.model.height,
        s->spec.model.width, s->spec.model.channels, s->spec.model.channels == 1 ? "" : "s");
    row(f, "output", "%s", task->outputs(&place, out, sizeof out));
    if (task->describe) task->describe(&place, tell_row, f);
    row(f, "parameters", "%s", ct_text_count(s->layout.params, t, sizeof t));
    row(f, "loss", "%s", task->loss_name(&s->spec.goal));
    row(f, "optimizer", "%s, lr %g, weight decay %g",
        s->spec.optimizer == CT_OPT_ADAMW  ? "AdamW"
        : s->spec.optimizer == CT_OPT_ADAM ? "Adam"
        : s->spec.optimizer == CT_OPT_MUON ? "Muon"
                                           : "SGD",
        s->spec.schedule.base_lr, cfg->optimizer.weight_decay);
    row(f, "batch", "%" PRId64 " x %" PRId64 " = %" PRId64 " samples per step", rep->run->batch, rep->run->accumulate,
        rep->run->batch * rep->run->accumulate);
    row(f, "steps", "%s (%" PRId64 " per epoch), %.0f skipped", ct_text_count(rep->result->steps, t, sizeof t),
        rep->run->steps_per_epoch, rep->run->state[CT_STATE_SKIPPED]);
    if (rep->run->p.best.any)
        row(f, ct_metric_keeps_last(cfg) ? "last weights" : "best weights", "%s%s", ct_run_best_place(rep->run, best),
            rep->run->eval_ema ? " (averaged)" : "");
    if (rep->run->p.stopped_early) row(f, "ended", "early: validation no longer improved");
    size_t parts = json_array_size(rep->run->resumed);
    if (parts > 0) row(f, "resumed", "%zu time%s", parts, parts == 1 ? "" : "s");
    row(f, "training time", "%s", ct_text_duration(rep->result->seconds, t, sizeof t));
    row(f, "seed", "%" PRId64, cfg->train.seed);
    row(f, "weights", "XXH3-128 %s", rep->result->weights_hash);
    fputs("</table></div>\n", f);
}

/* Where several processes lose time: by one that is slow, else by what they send. */
static void group(FILE *f, const ct_run *r, int processes)
{
    double ratio;
    const int slowest = ct_run_slowest(r, true, &ratio);
    if (slowest < 0) return;
    row(f, "slowest", "process %d (%s): its own part of a step takes %.2f times as long as the fastest's%s", slowest,
        ct_peers_host(r->peers, slowest), ratio, ratio >= 1.25 ? ", and the others wait for it" : "");
    if (isnan(r->comm_s)) { /* in the devices' steps, which nobody times apart */
        row(f, "sums", "made by the devices within their steps: how long they take was not measured");
        return;
    }
    const double all = r->own[processes] + r->comm_wait_s;
    row(f, "sums", "%.3g s, of which %.3g s were waited for%s", r->comm_s, r->comm_wait_s,
        r->comm_wait_s < 0.2 * all || ratio >= 1.25
            ? ""
            : ": communication bound. A smaller group.bucket_mb begins the sums earlier, a larger train.batch_size "
              "has fewer of them");
}

static void about_data(FILE *f, const ct_report *rep)
{
    const ct_datasets *d = &rep->run->data;
    const ct_session *s = &rep->run->session;
    char t[32];
    ct_plan_stats ps;
    memset(&ps, 0, sizeof ps);
    for (size_t i = 0; i < s->units; i++) {
        ct_plan_stats x;
        ct_plan_get_stats(s->unit[i].plan, &x);
        if (x.peak_bytes > ps.peak_bytes) ps = x;
    }
    fputs("<div><h3>Data</h3><table>\n", f);
    row(f, "training", "%s samples of %s", ct_text_count(d->train.n, t, sizeof t), ct_dataset_root(d->train.data));
    if (d->val.data)
        row(f, "validation", "%s samples of %s%s", ct_text_count(d->val.n, t, sizeof t), ct_dataset_root(d->val.data),
            d->val.index ? ", held out" : "");
    if (d->test.data)
        row(f, "test", "%s samples of %s", ct_text_count(d->test.n, t, sizeof t), ct_dataset_root(d->test.data));
    if (ct_dataset_bad_count(d->train.data) > 0)
        row(f, "left out", "%s unusable samples", ct_text_count(ct_dataset_bad_count(d->train.data), t, sizeof t));
    fputs("</table><h3>Machine and memory</h3><table>\n", f);
    row(f, "device", "%s: %s, %d thread%s", s->backend->name, s->device.name, s->device.threads,
        s->device.threads == 1 ? "" : "s");
    const int processes = ct_peers_size(rep->run->peers), hosts = ct_peers_hosts(rep->run->peers);
    if (processes > 1) {
        row(f, "processes", "%d on %d machine%s, over %s", processes, hosts, hosts == 1 ? "" : "s",
            ct_peers_means(rep->run->peers));
        group(f, rep->run, processes);
    }
    if (*s->device.detail) row(f, "details", "%s", s->device.detail);
    row(f, "precision", "%s", ct_run_precision(s));
    row(f, "weights, buffers", "%s", ct_text_bytes(ps.param_bytes + ps.buffer_bytes, t, sizeof t));
    row(f, "gradients", "%s", ct_text_bytes(ps.grad_bytes, t, sizeof t));
    row(f, "optimizer", "%s", ct_text_bytes(ps.optimizer_bytes, t, sizeof t));
    if (ps.ema_bytes > 0) row(f, "average", "%s", ct_text_bytes(ps.ema_bytes, t, sizeof t));
    row(f, "activations", "%s", ct_text_bytes(ps.act_bytes, t, sizeof t));
    if (ps.unshared_bytes > 0)
        row(f, "without reuse", "%s of activations", ct_text_bytes(ps.unshared_bytes, t, sizeof t));
    row(f, "peak", "%s", ct_text_bytes(rep->peak_bytes, t, sizeof t));
    fputs("</table></div>\n", f);
}

static ct_status kernels(FILE *f, const ct_report *rep)
{
    json_t *o, *v;
    const char *key;
    char *text = ct_session_kernels(&rep->run->session, false);
    if (!text) return CT_ENOMEM;
    const ct_status st = ct_json_parse(text, strlen(text), "kernels", &o);
    ct_free(text);
    CT_TRY(st);
    fputs(
        "<section><h2>Operators</h2><p class=\"none\">Chosen implementation of each operator.</p>"
          "<div class=\"cols\"><table>\n",
        f);
    size_t n = json_object_size(o), i = 0;
    json_object_foreach (o, key, v) {
        if (i++ == (n + 1) / 2) fputs("</table><table>\n", f);
        row(f, key, "%s", json_string_value(v));
    }
    fputs("</table></div></section>\n", f);
    json_decref(o);
    return CT_OK;
}

static ct_status page(FILE *f, const ct_report *rep)
{
    const ct_config *cfg = rep->run->cfg;
    /* The byte order mark says UTF-8, wherever the file is opened from. */
    fputs("\xef\xbb\xbf<!DOCTYPE html>\n<html lang=\"en\"><head>"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>", f);
    ct_svg_escape(f, cfg->name);
    fprintf(f, " \xe2\x80\x93 captrain</title><style>%s</style></head><body><main>\n<header><h1>", ct_report_style);
    ct_svg_escape(f, cfg->name);
    fputs("</h1><p>", f);
    ct_svg_escape(f, rep->run->out);
    fprintf(f, " \xc2\xb7 captrain %s</p></header>\n", ct_version());
    tiles(f, rep);
    CT_TRY(ct_report_curves(f, rep));
    CT_TRY(ct_report_device(f, rep));
    const ct_task *task = rep->run->data.task;
    if (rep->findings && task->report) CT_TRY(task->report(rep->findings, rep->val, cfg->report.gallery, f));
    CT_TRY(ct_report_samples(f, rep));
    fputs("<section><h2>Summary</h2><div class=\"cols\">\n", f);
    about_model(f, rep);
    about_data(f, rep);
    fputs("</div></section>\n", f);
    CT_TRY(kernels(f, rep));
    CT_TRY(ct_receipt_html(rep->run, f));
    char *yaml = ct_config_yaml(cfg, false);
    if (!yaml) return CT_ENOMEM;
    fputs("<section><h2>Configuration</h2><details><summary>every key</summary><pre>", f);
    ct_svg_escape(f, yaml);
    fputs("</pre></details></section>\n</main></body></html>\n", f);
    ct_free(yaml);
    return CT_OK;
}

ct_status ct_report_write(const ct_report *rep)
{
    ct_printed to;
    char *path = ct_path_join(rep->run->out, "report.html");
    if (!path) return CT_ENOMEM;
    ct_status st = ct_printed_open(&to, path);
    if (st == CT_OK) st = ct_printed_close(&to, page(to.f, rep));
    ct_free(path);
    return st;
}
