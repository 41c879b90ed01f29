/* The public interface of a model kept open. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/sized.h"
#include "program/spec.h"
#include "serve/pool.h"
#include "serve/stack.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "task/reading.h"
#include "task/task.h"
#include "weights/use.h"

#define BATCH 64      /* pictures per run of the model, where nothing else is said */
#define CHUNK 256     /* pictures that are decoded at a time; clips one by one */
#define SLOTS_MAX 256

struct ct_model {
    char *path, *backend;
    ct_model_file file;
    ct_dataset_spec spec; /* geometry, as training had it */
    const ct_clip_rule *clip; /* samples are clips; NULL: pictures */
    ct_pool pool;
    int64_t batch;
    ct_option *option;    /* [noptions] copies */
    size_t noptions;
    ct_log_sink sink;
    ct_place place;       /* of a session that all are like */
    ct_model_spec model;  /* which place points to, as goal */
    ct_goal goal;
    ct_model_description about;
    char **symbol;        /* [about.symbols] */
};

struct ct_readings {
    size_t n;
    ct_reading_draft *draft; /* [n] */
};

/* ---- opening ---- */

/* The options behind another are one list; strings are copied where the list is to stay. */
static ct_status join_options(const ct_option *a, size_t na, const ct_option *b, size_t nb, bool copy, ct_option **out)
{
    ct_option *all = ct_calloc(na + nb > 0 ? na + nb : 1, sizeof *all, "options");
    *out = all;
    if (!all) return CT_ENOMEM;
    for (size_t i = 0; i < na + nb; i++) {
        all[i] = i < na ? a[i] : b[i - na];
        if (!copy) continue;
        const char *value = all[i].value;
        all[i].key = ct_strdup(all[i].key, "options");
        all[i].value = value ? ct_strdup(value, "options") : NULL;
        if (!all[i].key || (value && !all[i].value)) return CT_ENOMEM;
    }
    return CT_OK;
}

static ct_status check_options(const ct_model *m, const ct_option *option, size_t n)
{
    const ct_view nothing = { 0 };
    ct_findings *f = NULL;
    for (size_t i = 0; i < n; i++)
        if (!option[i].key) return ct_fail(CT_EINVAL, "an option without a key");
    CT_TRY(ct_options_check(m->file.task, "predict", option, n));
    const ct_status st = m->file.task->look(&m->place, &nothing, false, option, n, &f); /* looks at the values */
    m->file.task->drop(f);
    return st;
}

static ct_status list_symbols(ct_model *m)
{
    const ct_task *task = m->file.task;
    const size_t n = task->symbols ? task->symbols(m->file.facts) : 0;
    char buf[CT_SYMBOL_BYTES];
    if (!(m->symbol = ct_calloc(n > 0 ? n : 1, sizeof *m->symbol, "symbols of a model"))) return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!(m->symbol[i] = ct_strdup(task->symbol(m->file.facts, i, buf), "symbols of a model"))) return CT_ENOMEM;
        m->about.symbols = i + 1;
    }
    m->about.symbol = (const char *const *)m->symbol;
    return CT_OK;
}

static ct_status describe(ct_model *m, const ct_session *s)
{
    static const char *const rule[] = { [CT_SIZE_RESIZE] = "resize", [CT_SIZE_REFUSE] = "refuse",
                                        [CT_SIZE_FIT_HEIGHT] = "fit_height", [CT_SIZE_LETTERBOX] = "letterbox" };
    m->model = s->spec.model;
    m->goal = s->spec.goal;
    m->place = (ct_place){ .cfg = m->file.cfg, .facts = m->file.facts, .model = &m->model, .goal = &m->goal };
    if (!(m->backend = ct_strdup(s->backend->name, "name of a backend"))) return CT_ENOMEM;
    m->about = (ct_model_description){ .size = sizeof m->about,
                                       .task = m->file.task->name,
                                       .model = m->file.cfg->model.name,
                                       .backend = m->backend,
                                       .precision = ct_spec_precision_name(&s->spec),
                                       .size_rule = rule[m->spec.size_rule],
                                       .height = m->spec.height,
                                       .width = m->spec.width,
                                       .channels = m->spec.channels,
                                       .clips = m->clip != NULL };
    if (m->file.task->symbols && ct_model_head(&m->model) == CT_HEAD_POSITIONS)
        m->about.positions = (int)m->model.positions;
    return list_symbols(m);
}

/* The first session, which reads one picture of the usual size: what cannot be had is known before anything is read. */
static ct_status warm(ct_model *m)
{
    ct_session probe;
    ct_pool_slot *slot;
    ct_status st = ct_model_session(&m->file, &m->pool.common, &probe);
    const ct_pool_need need = { st == CT_OK ? ct_session_length(&probe) : 0, 1 };
    if (st == CT_OK) m->clip = ct_model_clip(&probe.spec.model);
    if (st == CT_OK) st = describe(m, &probe);
    ct_session_end(&probe);
    CT_TRY(st);
    m->pool.common.backend = m->backend; /* that of the options was borrowed for the call; `auto` is settled */
    CT_TRY(check_options(m, m->option, m->noptions));
    if (m->clip) return CT_OK; /* clips have no usual length */
    CT_TRY(ct_pool_take(&m->pool, &need, 1, &slot));
    ct_pool_give(&m->pool, slot);
    return CT_OK;
}

static ct_status open_model(const char *path, const ct_model_opts *o, ct_model *m)
{
    ct_common common = o->common;
    if (!path) return ct_fail(CT_EINVAL, "ct_model_open: no path");
    if (common.threads < 0 || o->at_once < 0 || o->batch < 0 || o->batch > 1 << 20 || (o->noptions > 0 && !o->option))
        return ct_fail(CT_EINVAL, "ct_model_open: threads, at_once and batch must not be negative, a batch at most %d",
                       1 << 20);
    if (common.threads == 0) common.threads = 1;
    int slots = o->at_once > 0 ? o->at_once : ct_cpus() / common.threads;
    if (slots < 1) slots = 1;
    m->batch = o->batch > 0 ? o->batch : BATCH;
    m->noptions = o->noptions;
    CT_TRY(join_options(o->option, o->noptions, NULL, 0, true, &m->option));
    CT_TRY(ct_model_path(path, &m->path));
    CT_TRY(ct_model_file_open(m->path, &m->file));
    CT_TRY(ct_model_choose(&m->file, &common));
    ct_datasets_spec(m->file.cfg, m->file.task, NULL, &m->spec);
    CT_TRY(ct_pool_make(&m->pool, m->path, &m->file, &common, slots > SLOTS_MAX ? SLOTS_MAX : slots));
    return warm(m);
}

ct_status ct_model_open(const char *path, const ct_model_opts *given, ct_model **out)
{
    ct_model_opts o = { 0 };
    if (out) *out = NULL;
    else return ct_fail(CT_EINVAL, "ct_model_open: a null pointer");
    if (given) CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_model_opts"));
    ct_model *m = ct_calloc(1, sizeof *m, "model");
    if (!m) return CT_ENOMEM;
    m->sink = (ct_log_sink){ o.log, o.log_user, o.log ? CT_LOG_DEBUG : CT_LOG_ERROR };
    const ct_log_sink *before = ct_log_redirect(&m->sink);
    const ct_status st = open_model(path, &o, m);
    ct_log_redirect(before);
    if (st == CT_OK) *out = m;
    else ct_model_close(m);
    return st;
}

void ct_model_close(ct_model *m)
{
    if (!m) return;
    const ct_log_sink *before = ct_log_redirect(&m->sink);
    ct_pool_free(&m->pool);
    ct_model_file_close(&m->file);
    ct_log_redirect(before);
    for (size_t i = 0; i < m->about.symbols; i++) ct_free(m->symbol[i]);
    ct_free(m->symbol);
    for (size_t i = 0; m->option && i < m->noptions; i++) {
        ct_free((char *)(uintptr_t)m->option[i].key);
        ct_free((char *)(uintptr_t)m->option[i].value);
    }
    ct_free(m->option);
    ct_free(m->path);
    ct_free(m->backend);
    ct_free(m);
}

ct_status ct_model_describe(const ct_model *m, ct_model_description *out)
{
    if (!m) return ct_fail(CT_EINVAL, "ct_model_describe: a null pointer");
    return ct_sized_give(out, &m->about, sizeof m->about, "ct_model_description");
}

/* ---- reading ---- */

/* What one call of ct_model_read() or ct_model_read_clips() is about. */
typedef struct job {
    ct_model *m;
    const ct_picture *picture;  /* NULL: clips */
    const ct_picture_row *clip;
    size_t n;
    const ct_option *option;    /* [noptions] */
    size_t noptions;
    bool json;
    ct_reading_draft *draft;    /* [n] */
    size_t bad, first_bad;
} job;

static bool is_samples(ct_status st) { return st == CT_EINVAL || st == CT_EIO || st == CT_EFORMAT || st == CT_EDATA; }

/* Sample i of the job to the stack. */
static ct_status add(const job *j, size_t i, ct_stack *stack)
{
    char name[32];
    const void *given;
    ct_picture_row row;
    if (j->picture) {
        CT_TRY(ct_sized_at(j->picture, i, "ct_picture", &given));
        snprintf(name, sizeof name, "picture %zu", i);
        return ct_stack_add(stack, given, 1, name);
    }
    CT_TRY(ct_sized_at(j->clip, i, "ct_picture_row", &given));
    CT_TRY(ct_sized_take(&row, sizeof row, given, "ct_picture_row"));
    snprintf(name, sizeof name, "clip %zu", i);
    return ct_stack_add(stack, row.picture, row.pictures, row.name ? row.name : name);
}

/* Samples first .. first+n-1, as far as they can be used, to the stack: place[k] is the number of the k-th there. */
static ct_status gather(job *j, size_t first, size_t n, ct_stack *stack, size_t *place)
{
    for (size_t i = first; i < first + n; i++) {
        const ct_status st = add(j, i, stack);
        if (st == CT_OK) {
            place[stack->n - 1] = i;
            continue;
        }
        if (!is_samples(st)) return st;
        if (j->bad++ == 0) j->first_bad = i;
        CT_TRY(ct_reading_refuse(&j->draft[i], st));
    }
    return CT_OK;
}

/* The text of what `predict --json` says of sample i. */
static ct_status put_json(const ct_findings *f, int64_t i, ct_reading_draft *d)
{
    json_t *row = json_object();
    ct_status st = row ? f->task->predict_json(f, i, row) : ct_fail(CT_ENOMEM, "out of memory writing predictions");
    if (st == CT_OK && !(d->json = ct_json_text(row, 0))) st = CT_ENOMEM;
    json_decref(row);
    return st;
}

/* Runs the model over the set in session s; sample k is reading place[k]. */
static ct_status compute(job *j, ct_session *s, const ct_dataset *ds, const size_t *place)
{
    ct_model *m = j->m;
    const ct_task *task = m->file.task;
    const ct_view view = { ds, NULL, ct_dataset_size(ds) };
    const ct_place where = ct_session_place(s, m->file.cfg, m->file.facts);
    double sums[CT_METRIC_COUNT];
    ct_findings *f = NULL;
    ct_status st = task->look(&where, &view, false, j->option, j->noptions, &f);
    if (st == CT_OK && task->locate) st = task->locate(f);
    if (st == CT_OK) st = ct_evaluate(s, false, &view, m->clip ? 1 : m->batch, 0, NULL, f, sums);
    for (int64_t k = 0; st == CT_OK && k < view.n; k++) {
        ct_reading_draft *d = &j->draft[place[k]];
        char why[256];
        if (task->unread && task->unread(f, k, why, sizeof why)) {
            if (j->bad++ == 0 || place[k] < j->first_bad) j->first_bad = place[k];
            st = ct_reading_refuse(d, ct_fail(CT_EDATA, "%s: %s", ct_dataset_name(ds, k), why));
            continue;
        }
        st = task->reading(f, k, d);
        if (st == CT_OK && j->json) st = put_json(f, k, d);
    }
    task->drop(f);
    return st;
}

static ct_status read_set(job *j, const ct_dataset *ds, const size_t *place)
{
    ct_pool_need *need;
    ct_pool_slot *slot;
    size_t n;
    ct_status st = ct_pool_needs(ds, j->m->clip, j->m->batch, &need, &n);
    if (st == CT_OK) st = ct_pool_take(&j->m->pool, need, n, &slot);
    ct_free(need);
    CT_TRY(st);
    st = compute(j, &slot->session, ds, place);
    ct_pool_give(&j->m->pool, slot);
    return st;
}

static ct_status read_chunk(job *j, size_t first, size_t n)
{
    ct_stack stack = { 0 };
    ct_dataset *ds = NULL;
    size_t *place = ct_calloc(n, sizeof *place, "pictures");
    ct_status st = place ? ct_stack_make(&stack, &j->m->spec, (int64_t)n) : CT_ENOMEM;
    if (st == CT_OK) st = gather(j, first, n, &stack, place);
    if (st == CT_OK && stack.n > 0) {
        st = ct_stack_open(&stack, j->m->clip, &ds);
        if (st == CT_OK) st = read_set(j, ds, place);
    }
    ct_dataset_close(ds);
    ct_stack_free(&stack);
    ct_free(place);
    return st;
}

/* What is wrong with the call as a whole. */
static ct_status check_job(const job *j)
{
    const ct_model *m = j->m;
    const size_t size = j->picture ? j->picture->size : j->clip ? j->clip->size : 0;
    if (j->n == 0) return ct_fail(CT_EINVAL, "no pictures are asked for");
    if (j->n > INT32_MAX) return ct_fail(CT_EINVAL, "%zu pictures are more than one call reads", j->n);
    if (j->picture && m->clip)
        return ct_fail(CT_EINVAL, "%s: %s reads clips, not single pictures: ct_model_read_clips()", m->path,
                       m->about.model);
    if (j->clip && !m->clip)
        return ct_fail(CT_EINVAL, "%s: %s reads single pictures, not clips: ct_model_read()", m->path, m->about.model);
    if (size >= sizeof size) return CT_OK;
    return ct_fail(CT_EINVAL, "a list of pictures: its first member has a size of %zu; it must be sizeof(%s)", size,
                   j->picture ? "ct_picture" : "ct_picture_row");
}

static ct_status judge(const job *j)
{
    if (j->bad == 0) return CT_OK;
    const char *why = j->draft[j->first_bad].error;
    if (j->n == 1) return ct_fail(CT_EDATA, "%s", why);
    return ct_fail(CT_EDATA, "%zu of %zu %s could not be read; the first: %s", j->bad, j->n,
                   j->picture ? "pictures" : "clips", why);
}

static ct_status run_job(job *j, const ct_read_opts *given, ct_readings *r)
{
    ct_read_opts o = { 0 };
    ct_option *all = NULL;
    ct_status st = CT_OK;
    const size_t chunk = j->m->clip ? 1 : CHUNK;
    if (given) CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_read_opts"));
    CT_TRY(check_job(j));
    if (o.noptions > 0 && !o.option) return ct_fail(CT_EINVAL, "ct_read_opts: %zu options, but no list", o.noptions);
    j->option = j->m->option;
    j->noptions = j->m->noptions;
    if (o.noptions > 0) {
        CT_GOTO(st, join_options(j->m->option, j->m->noptions, o.option, o.noptions, false, &all));
        j->option = all;
        j->noptions += o.noptions;
        CT_GOTO(st, check_options(j->m, all, j->noptions));
    }
    j->json = o.json;
    if (!(r->draft = ct_calloc(j->n, sizeof *r->draft, "readings"))) CT_GOTO(st, CT_ENOMEM);
    j->draft = r->draft;
    r->n = j->n;
    for (size_t i = 0; i < j->n; i += chunk) CT_GOTO(st, read_chunk(j, i, j->n - i < chunk ? j->n - i : chunk));
    for (size_t i = 0; i < r->n; i++) ct_reading_seal(&r->draft[i]);
    st = judge(j);
    ct_free(all);
    return st;
fail:
    ct_free(all);
    for (size_t i = 0; i < r->n; i++) ct_reading_free(&r->draft[i]);
    r->n = 0; /* nothing to hand out */
    return st;
}

static ct_status read_job(job *j, const ct_read_opts *opts, ct_readings **out)
{
    if (out) *out = NULL;
    if (!out || !j->m || (!j->picture && !j->clip)) return ct_fail(CT_EINVAL, "ct_model_read: a null pointer");
    ct_readings *r = ct_calloc(1, sizeof *r, "readings");
    if (!r) return CT_ENOMEM;
    const ct_log_sink *before = ct_log_redirect(&j->m->sink);
    const ct_status st = run_job(j, opts, r);
    ct_log_redirect(before);
    if (r->n > 0) *out = r;
    else ct_readings_free(r);
    return st;
}

ct_status ct_model_read(ct_model *m, const ct_picture *picture, size_t n, const ct_read_opts *opts, ct_readings **out)
{
    job j = { .m = m, .picture = picture, .n = n };
    return read_job(&j, opts, out);
}

ct_status ct_model_read_clips(ct_model *m, const ct_picture_row *clip, size_t n, const ct_read_opts *opts,
                              ct_readings **out)
{
    job j = { .m = m, .clip = clip, .n = n };
    return read_job(&j, opts, out);
}

size_t ct_readings_count(const ct_readings *r)
{
    return r ? r->n : 0;
}

const ct_reading *ct_readings_at(const ct_readings *r, size_t i)
{
    return r && i < r->n ? &r->draft[i].out : NULL;
}

void ct_readings_free(ct_readings *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->n; i++) ct_reading_free(&r->draft[i]);
    ct_free(r->draft);
    ct_free(r);
}
