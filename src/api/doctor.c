/* captrain doctor: what this machine and build offer. */
#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "api/smoke.h"
#include "base/alloc.h"
#include "base/cache.h"
#include "base/env.h"
#include "base/text.h"
#include "captrain.h"
#include "data/pack.h"
#include "exec/exec.h"
#include "exec/telemetry.h"
#include "formats/json.h"
#include "formats/lmdb.h"
#include "image/image.h"
#include "task/task.h"

/* One finding: a name, a text, and whether it is trouble. */
typedef struct finding {
    char name[48];
    char text[768];
    bool warning;
} finding;

typedef struct findings {
    finding row[256];
    size_t n;
} findings;

static void add(findings *f, bool warning, const char *name, const char *fmt, ...) CT_PRINTF(4, 5);
static void add(findings *f, bool warning, const char *name, const char *fmt, ...)
{
    if (f->n == sizeof f->row / sizeof *f->row) return;
    finding *r = &f->row[f->n++];
    va_list ap;
    snprintf(r->name, sizeof r->name, "%s", name);
    va_start(ap, fmt);
    vsnprintf(r->text, sizeof r->text, fmt, ap);
    va_end(ap);
    r->warning = warning;
}

/* The reference's losses, computed once: what the others are held against. */
static ct_status smoke_reference(ct_smoke *out)
{
    const ct_device_opts opts = { .reference = true };
    return ct_smoke_run(&ct_backend_cpu, &opts, out);
}

/* Trains for a moment. False if that went wrong. */
static bool smoke_test(findings *f, const char *name, const ct_backend *b, const ct_device_opts *opts)
{
    ct_smoke reference, s;
    double worst;
    ct_status st = smoke_reference(&reference);
    if (st == CT_OK) st = ct_smoke_run(b, opts, &s);
    if (st == CT_OK) st = ct_smoke_judge(&s, &reference, &worst);
    if (st == CT_OK)
        add(f, false, name, "OK: %d training steps in %.3f s, loss %.4f -> %.4f, within %.1e of the reference", s.steps,
            s.seconds, s.loss[0], s.loss[s.steps - 1], worst);
    else add(f, true, name, "FAILED: %s", ct_error_message());
    return st == CT_OK;
}

/* Load and power may be what has been since the reading before: where a first one does not tell the load, a second one
 * follows. */
static ct_status read_telemetry(const ct_backend *b, int index, ct_telemetry *t)
{
    const struct timespec pause = { .tv_nsec = 100000000 };
    CT_TRY(ct_telemetry_read(b, index, t));
    if (ct_telemetry_known(t->busy)) return CT_OK;
    nanosleep(&pause, NULL);
    return ct_telemetry_read(b, index, t);
}

static void look_at_telemetry(findings *f, const char *label, const ct_backend *b, int index)
{
    ct_telemetry t;
    char text[512], missing[64];
    if (!b->telemetry) return;
    if (read_telemetry(b, index, &t) != CT_OK) {
        add(f, false, label, "none: %s", ct_error_message());
        return;
    }
    ct_telemetry_text(&t, text, sizeof text);
    ct_telemetry_missing(&t, missing, sizeof missing);
    add(f, false, label, "%s%s%s", *text ? text : "nothing", *missing ? "; not told: " : "", missing);
}

/* Lines about a device: "cuda" for the first of a backend, "cuda:1" for the next. False if its smoke test failed. */
static bool look_at_device(findings *f, const char *name, const ct_backend *b, int index)
{
    char who[24], label[48];
    ct_device *dev = NULL;
    ct_device_info info;
    const ct_device_opts opts = { .index = index };
    if (index == 0) snprintf(who, sizeof who, "%.12s", name);
    else snprintf(who, sizeof who, "%.12s:%d", name, index);
    snprintf(label, sizeof label, "backend %s", who);
    if (b->open(&opts, &dev) != CT_OK || b->info(dev, &info) != CT_OK) {
        add(f, true, label, "cannot be opened: %s", ct_error_message());
        b->close(dev);
        return true;
    }
    b->close(dev);
    add(f, false, label, "%s, %d thread%s, %.1f of %.1f GiB free", info.name, info.threads,
        info.threads == 1 ? "" : "s", (double)info.memory_free / 0x1p30, (double)info.memory_total / 0x1p30);
    snprintf(label, sizeof label, "%s detail", who);
    add(f, false, label, "%s", info.detail);
    snprintf(label, sizeof label, "%s precisions", who);
    if (info.precisions[0]) add(f, false, label, "%s", info.precisions);
    snprintf(label, sizeof label, "%s telemetry", who);
    look_at_telemetry(f, label, b, index);
    snprintf(label, sizeof label, "%s speed", who);
    if (info.warning[0]) add(f, true, label, "%s", info.warning);
    snprintf(label, sizeof label, "%s smoke test", who);
    return smoke_test(f, label, b, &opts);
}

/* How many of a backend's devices fail their smoke test. */
static int look_at_backend(findings *f, const char *name)
{
    char label[48];
    const ct_backend *b;
    int failed = 0;
    if (ct_backend_load(name, &b) != CT_OK) {
        snprintf(label, sizeof label, "backend %s", name);
        add(f, false, label, "not available: %s", ct_error_message());
        return 0;
    }
    const int n = b->device_count();
    for (int i = 0; i < n; i++) failed += !look_at_device(f, name, b, i);
    return failed;
}

static void need(void *user, bool missing, const char *what, const char *text) { add(user, missing, what, "%s", text); }

static void look_at_needs(findings *f)
{
    const ct_task *task;
    for (size_t i = 0; (task = ct_task_at(i)); i++)
        if (task->needs) task->needs(need, f);
}

static void look_at_cache(findings *f)
{
    char *dir, used[32], limit[32];
    int64_t most;
    if (ct_cache_most(&most) != CT_OK || ct_cache_dir("data", &dir) != CT_OK) {
        add(f, true, "cache directory", "%s", ct_error_message());
        return;
    }
    if (dir)
        add(f, false, "cache directory", "%s: %s of packed data; %s (CAPTRAIN_CACHE_GB) are kept", dir,
            ct_text_bytes(ct_cache_bytes(dir, CT_PACK_SUFFIX), used, sizeof used),
            most > 0 ? ct_text_bytes(most, limit, sizeof limit) : "all");
    else add(f, false, "cache directory", "none: CAPTRAIN_CACHE_DIR and HOME are not set; decoded images are not kept");
    ct_free(dir);
}

static void look_at_environment(findings *f)
{
    const ct_env_row *row = ct_env_table();
    for (int i = 0; i < CT_ENV_COUNT; i++) {
        const char *v = ct_env_get((ct_env)i);
        if (v && i != CT_ENV_HOME) add(f, false, "environment", "%s=%s", row[i].name, v);
    }
}

static ct_status print_json(const findings *f, FILE *to)
{
    json_t *all = json_array();
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < f->n; i++)
        ok = json_array_append_new(all, json_pack("{s:s, s:o, s:b}", "name", f->row[i].name, "text",
                                                  ct_json_any(f->row[i].text), "warning", f->row[i].warning)) == 0;
    json_t *top = ok ? json_pack("{s:s, s:O}", "version", ct_version(), "findings", all) : NULL;
    ok = top && ct_json_print(top, 2, to) == CT_OK && !ferror(to);
    json_decref(top);
    json_decref(all);
    return ok ? CT_OK : ct_fail(CT_EIO, "doctor: the JSON could not be written");
}

ct_status ct_run_doctor(bool json, FILE *to)
{
    findings *f = ct_calloc(1, sizeof *f, "doctor");
    if (!f) return CT_ENOMEM;
    add(f, false, "captrain", "%s", ct_version());
#ifdef __VERSION__
    add(f, false, "compiler", "%s", __VERSION__);
#endif
#ifdef _OPENMP
    add(f, false, "OpenMP", "yes (%d)", _OPENMP);
#else
    add(f, false, "OpenMP", "no: every operator runs on one thread");
#endif
    add(f, false, "databases", "%s", ct_lmdb_built() ? "LMDB" : "not LMDB: built without liblmdb");
    add(f, false, "pictures", "PNG, JPEG, BMP, %s", ct_webp_there() ? "WebP" : "not WebP: built without libwebp");
    int failed = 0;
    for (size_t i = 0; i < ct_backend_count(); i++) failed += look_at_backend(f, ct_backend_name(i));
    const ct_backend *chosen;
    char why[512];
    if (ct_backend_choose("auto", &chosen, why, sizeof why) == CT_OK) add(f, false, "auto takes", "%s", why);
    else add(f, true, "auto takes", "nothing: %s", ct_error_message());
    look_at_needs(f);
    look_at_cache(f);
    look_at_environment(f);
    ct_status st = CT_OK;
    if (json) {
        st = print_json(f, to);
    } else {
        for (size_t i = 0; i < f->n; i++) {
            fprintf(to, "%-16s %s", f->row[i].name, f->row[i].warning ? "WARNING: " : "");
            ct_text_put(to, f->row[i].text, true);
            fputc('\n', to);
        }
    }
    ct_free(f);
    if (st == CT_OK && failed > 0)
        st = ct_fail(CT_EINTERNAL, "doctor: %d device%s failed the smoke test, see above", failed,
                     failed == 1 ? "" : "s");
    return st;
}
