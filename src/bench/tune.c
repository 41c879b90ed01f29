/* `captrain tune`: which implementation is fastest here, for each operator call of a training. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "bench/bench.h"
#include "measure/tune.h"
#include "program/spec.h"
#include "run/run.h"

typedef struct tuning {
    const ct_tune_opts *opts;
    ct_run run; /* with a configuration: all its programs */
    const ct_backend *backend;
    ct_device_opts device_opts;
    ct_device *dev;
    ct_device_info info;
    ct_call_list calls;
    ct_choices *choices;
    ct_peaks peaks;
    json_t *rows; /* NULL: text */
    /* sums over one run of every call that has a choice */
    double first_s, fastest_s;
    size_t with_choice, other;
} tuning;

/* Every program that `train` would run with this configuration. */
static ct_status calls_of_config(tuning *t)
{
    const ct_tune_opts *o = t->opts;
    const ct_train_opts train = {
        .size = sizeof train, .common = o->common, .config = o->config, .sets = o->sets, .nsets = o->nsets
    };
    ct_session *s = &t->run.session;
    CT_TRY(ct_run_configure(&t->run, &train));
    if (*t->run.cfg->train.tune) ct_info("train.tune is not read: this measures anew");
    CT_TRY(ct_config_set(t->run.cfg, "train.tune", "", "tune"));
    if (o->exact) t->run.cfg->train.exact = true;
    if (o->deterministic) t->run.cfg->train.deterministic = true;
    CT_TRY(ct_run_build(&t->run));
    t->backend = s->backend;
    t->device_opts = s->device_opts;
    for (size_t i = 0; i < s->units; i++)
        CT_TRY(ct_call_list_add_graph(&t->calls, s->unit[i].prog.graph, CT_OP_COUNT));
    return CT_OK;
}

static ct_status calls_of_model(tuning *t)
{
    const ct_tune_opts *o = t->opts;
    ct_program_spec spec;
    ct_program p;
    ct_layout layout;
    CT_TRY(ct_spec_from_model(o->model, o->batch, o->precision, &spec));
    CT_TRY(ct_backend_choose(o->common.backend, &t->backend, NULL, 0));
    t->device_opts = (ct_device_opts){ .threads = o->common.threads,
                                       .exact = o->exact,
                                       .deterministic = o->deterministic };
    CT_TRY(ct_spec_device(&spec, t->backend, &t->device_opts));
    ct_spec_pixels(&spec, t->backend);
    ct_spec_fit_device(&spec, t->backend, &t->device_opts);
    CT_TRY(ct_program_build(&spec, CT_PROGRAM_STEP, NULL, &layout, &p));
    ct_status st = ct_call_list_add_graph(&t->calls, p.graph, CT_OP_COUNT);
    ct_program_free(&p);
    return st;
}

static ct_status tune_call(tuning *t, const ct_call_use *u, FILE *to)
{
    ct_measured m;
    CT_TRY(ct_measure_call(t->backend, t->dev, &t->device_opts, &u->call, CT_TUNE_SECONDS, &m));
    ct_status st = ct_choices_add(t->choices, u->text, m.c[m.fastest].name);
    t->with_choice++;
    t->other += m.fastest != m.first;
    t->first_s += u->count * m.c[m.first].time.best;
    t->fastest_s += u->count * m.c[m.fastest].time.best;
    if (st == CT_OK && t->rows) st = ct_measured_json(u, &m, m.fastest, &t->peaks, t->rows);
    else if (st == CT_OK) ct_measured_print(u, &m, m.fastest, &t->peaks, to);
    ct_measured_free(&m);
    return st;
}

/* Calls that can be computed in one way only are passed over: there is nothing to choose. */
static ct_status tune_all(tuning *t, FILE *to)
{
    CT_TRY(ct_choices_new(&t->choices));
    for (size_t i = 0; i < t->calls.n; i++) {
        if (ct_measure_ways(t->backend, t->dev, &t->device_opts, &t->calls.use[i].call) < 2) continue;
        CT_TRY(tune_call(t, &t->calls.use[i], to));
        fflush(to);
    }
    return CT_OK;
}

static void print_summary(const tuning *t, const char *path, FILE *to)
{
    fprintf(to,
            "%zu distinct calls, %zu of them with a choice; %zu times another implementation than usual is faster\n",
            t->calls.n, t->with_choice, t->other);
    if (t->first_s > 0)
        fprintf(to, "those with a choice, each as often as it occurs: %.2f ms as usual, %.2f ms as chosen\n",
                1e3 * t->first_s, 1e3 * t->fastest_s);
    fprintf(to, "choices: %s\n", path);
}

static ct_status tune_json(tuning *t, const char *path, FILE *to)
{
    ct_status st;
    json_t *o = json_object();
    t->rows = json_array();
    CT_GOTO(st, ct_json_set(o, "calls", t->rows));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(t->backend->name)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(t->info.name)));
    CT_GOTO(st, ct_json_set(o, "threads", json_integer(t->info.threads)));
    CT_GOTO(st, ct_peaks_json(&t->peaks, o));
    CT_GOTO(st, tune_all(t, to));
    CT_GOTO(st, ct_json_set(o, "distinct_calls", json_integer((json_int_t)t->calls.n)));
    CT_GOTO(st, ct_json_set(o, "changed", json_integer((json_int_t)t->other)));
    CT_GOTO(st, ct_json_set(o, "ms_usual", ct_json_number(1e3 * t->first_s)));
    CT_GOTO(st, ct_json_set(o, "ms_chosen", ct_json_number(1e3 * t->fastest_s)));
    CT_GOTO(st, ct_json_set(o, "choices", ct_json_any(path)));
    CT_GOTO(st, ct_choices_write(t->choices, path));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(o);
    return st;
}

/* Minutes of measuring must not end in a folder that is not there. */
static ct_status check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return CT_OK;
    char *dir = ct_strndup(path, (size_t)(slash - path), "folder of the choices");
    if (!dir) return CT_ENOMEM;
    ct_status st = ct_path_is_dir(dir) ? CT_OK : ct_fail(CT_EIO, "%s: there is no folder %s", path, dir);
    ct_free(dir);
    return st;
}

static ct_status check_opts(const ct_tune_opts *o)
{
    if (o->model && (o->config || o->nsets))
        return ct_fail(CT_ECONFIG, "tune: --model stands instead of CONFIG and --set");
    if (!o->model && (o->batch || o->precision))
        return ct_fail(CT_ECONFIG, "tune: --batch and --precision belong to --model; a configuration has "
                                   "train.batch_size and train.precision");
    return CT_OK;
}

ct_status ct_run_tune(const ct_tune_opts *given, FILE *to)
{
    ct_tune_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_tune_opts"));
    const ct_tune_opts *opts = &own;
    tuning t;
    ct_status st;
    const char *path = opts->out ? opts->out : "choices.json";
    memset(&t, 0, sizeof t);
    t.opts = opts;
    CT_TRY(check_opts(opts));
    CT_TRY(check_folder(path));
    CT_GOTO(st, opts->model ? calls_of_model(&t) : calls_of_config(&t));
    CT_GOTO(st, t.backend->open(&t.device_opts, &t.dev));
    CT_GOTO(st, t.backend->info(t.dev, &t.info));
    CT_GOTO(st, ct_measure_peaks(t.backend, t.dev, &t.device_opts, CT_F32, &t.peaks));
    if (opts->json) {
        st = tune_json(&t, path, to);
        goto fail;
    }
    fprintf(to, "%s with %d thread%s (%s)\n", t.backend->name, t.info.threads, t.info.threads == 1 ? "" : "s",
            t.info.name);
    ct_peaks_print(&t.peaks, to);
    CT_GOTO(st, tune_all(&t, to));
    CT_GOTO(st, ct_choices_write(t.choices, path));
    print_summary(&t, path, to);
fail:
    if (t.backend) t.backend->close(t.dev);
    ct_choices_free(t.choices);
    ct_call_list_free(&t.calls);
    ct_run_release(&t.run);
    return st;
}
