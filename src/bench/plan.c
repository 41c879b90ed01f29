/* `captrain plan`: what a run would do and need, worked out without touching a tensor. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "base/text.h"
#include "formats/json.h"
#include "measure/tune.h"
#include "program/spec.h"
#include "run/receipt.h"
#include "session/memory.h"
#include "session/resident.h"
#include "task/datasets.h"

typedef struct planned {
    const ct_plan_opts *opts;
    ct_config *cfg; /* NULL with --model */
    const ct_task *task;
    ct_facts *facts; /* of the configuration; NULL: none, or nothing is known of them */
    const ct_backend *backend;
    ct_device_opts device;
    ct_choices *choices; /* of train.tune; NULL: none */
    ct_device_info info;
    char why[512]; /* why this backend */
    ct_program_spec spec;
    int64_t samples; /* training images; -1 where they were not looked at */
    int64_t steps;   /* optimizer steps per epoch; 1 where samples is -1 */
    int width;       /* of the widest source images, pixels */
    int64_t frames;  /* pictures of the longest clip; 0: not known, or samples are pictures */
    int widths;      /* how many different ones there are; 0 where they were not looked at */
    ct_layout layout;
    ct_program step, update, eval;
    ct_arenas *store;
    ct_plan *step_plan, *update_plan, *eval_plan; /* NULL: not part of it */
    ct_plan_stats stats;                          /* of the step */
    ct_resident_facts images;                     /* images 0: the data were not looked at */
    ct_resident resident;
    ct_receipt_list receipt;                      /* of all of them */
    int64_t peak;                                 /* all programs together */
    int64_t memory, fits;                         /* bytes, and the largest micro-batch whose step they hold */
} planned;

static void free_planned(planned *p)
{
    ct_receipt_list_free(&p->receipt);
    ct_plan_free(p->step_plan);
    ct_plan_free(p->update_plan);
    ct_plan_free(p->eval_plan);
    ct_arenas_free(p->store);
    ct_program_free(&p->step);
    ct_program_free(&p->update);
    ct_program_free(&p->eval);
    ct_choices_free(p->choices);
    if (p->task) p->task->forget(p->facts);
    ct_config_free(p->cfg);
}

/* ---- what is planned ---- */

/* What only the data can tell. */
static ct_status look_at_data(planned *p)
{
    ct_datasets d;
    int64_t batches;
    CT_TRY(ct_datasets_open(p->cfg, &d));
    p->samples = d.train.n;
    p->width = ct_dataset_width(d.train.data);
    p->widths = ct_dataset_buckets(d.train.data);
    p->frames = ct_spec_longest(p->cfg, &d.train);
    p->images = ct_resident_facts_of(d.train.data, p->cfg->data.resident);
    ct_status st = ct_spec_epoch_of(p->cfg, &d.train, &batches, &p->steps);
    p->facts = d.facts; /* ours now */
    d.facts = NULL;
    ct_datasets_close(&d);
    return st;
}

/* The facts, and the number of training samples: from the configuration alone where it says them, else from the data.
 */
static ct_status find_facts(planned *p)
{
    const ct_config *cfg = p->cfg;
    const ct_task *task = p->task;
    const ct_generator *g;
    int64_t batches;
    task->forget(p->facts);
    p->facts = NULL;
    p->width = (int)cfg->data.width;
    p->steps = 1;
    const ct_model_info *m = ct_model_find(cfg->model.name);
    if (!m) return CT_ECONFIG;
    const bool lengths = cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT || m->clip.multiple > 0;
    if (lengths && *cfg->data.train) return look_at_data(p);
    ct_status st = task->foresee ? task->foresee(cfg, !*cfg->data.train, &p->facts) : CT_OK;
    if (st != CT_OK) return ct_fail_context(st, "plan");
    if (task->foresee && !p->facts && *cfg->data.train) return look_at_data(p);
    CT_TRY(ct_datasets_generator(task, cfg->data.train, &g));
    if (!g) return CT_OK;
    p->samples = cfg->data.synth.count;
    p->images = (ct_resident_facts){ .key = cfg->data.resident,
                                     .drawn = cfg->data.synth.fresh,
                                     .buckets = 1,
                                     .images = p->samples,
                                     .each = cfg->data.height * cfg->data.width * cfg->data.channels };
    return ct_spec_epoch(cfg, p->samples, &batches, &p->steps);
}

/* train.batch_size: auto becomes the number that a training started now would take. */
static ct_status settle_batch(planned *p)
{
    const ct_config *cfg = p->cfg;
    const char *backend = p->opts->common.backend;
    const ct_device_opts d = { .threads = p->device.threads ? p->device.threads : (int)cfg->train.threads,
                               .exact = cfg->train.exact,
                               .deterministic = cfg->train.deterministic,
                               .strict = cfg->train.strict };
    CT_TRY(ct_backend_choose(backend ? backend : cfg->train.backend, &p->backend, NULL, 0));
    CT_TRY(ct_memory_auto(p->cfg, p->facts, (int)cfg->data.height, p->width, p->frames, p->backend, &d,
                          p->samples >= 0 ? p->samples : CT_MAX_BATCH));
    return find_facts(p); /* it counted the steps of another batch */
}

static ct_status make_spec(planned *p)
{
    const ct_plan_opts *o = p->opts;
    const char *backend = o->common.backend;
    p->device.threads = o->common.threads;
    p->samples = -1;
    if (o->model) {
        if (o->nsets) return ct_fail(CT_ECONFIG, "plan: --set changes a configuration; with --model there is none");
        CT_TRY(ct_spec_from_model(o->model, o->batch, o->precision, &p->spec));
        CT_TRY(ct_spec_sizes(&p->spec, &o->sizes));
        if (o->recompute) p->spec.recompute = 0;
        CT_TRY(ct_backend_choose(backend, &p->backend, p->why, sizeof p->why));
        CT_TRY(ct_spec_device(&p->spec, p->backend, &p->device));
        ct_spec_pixels(&p->spec, p->backend);
        ct_spec_fit_device(&p->spec, p->backend, &p->device);
        return ct_spec_settle(&p->spec, p->backend, &p->device);
    }
    if (o->precision)
        return ct_fail(CT_ECONFIG, "plan: --precision goes with --model; a configuration has train.precision");
    CT_TRY(ct_config_load(o->config, o->sets, o->nsets, &p->cfg));
    const ct_config *cfg = p->cfg;
    if (o->batch > 0) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, o->batch);
        CT_TRY(ct_config_set(p->cfg, "train.batch_size", number, "--batch"));
    }
    ct_config_log_notes(cfg);
    if (!(p->task = ct_task_of(cfg->model.name))) return CT_ECONFIG;
    CT_TRY(find_facts(p));
    if (cfg->train.batch_size == 0) CT_TRY(settle_batch(p));
    CT_TRY(ct_spec_from_config(cfg, p->facts, (int)cfg->data.height, p->width, p->frames, p->steps, &p->spec));
    if (!backend) backend = cfg->train.backend;
    if (!p->device.threads) p->device.threads = (int)cfg->train.threads;
    p->device.deterministic = cfg->train.deterministic;
    p->device.exact = cfg->train.exact;
    p->device.strict = cfg->train.strict;
    CT_TRY(ct_backend_choose(backend, &p->backend, p->why, sizeof p->why));
    CT_TRY(ct_spec_device(&p->spec, p->backend, &p->device));
    if (ct_tune_is_auto(cfg)) CT_TRY(ct_tune_cached(p->backend, &p->device, &p->choices));
    else if (*cfg->train.tune) CT_TRY(ct_choices_read(cfg->train.tune, &p->choices));
    p->device.choices = p->choices;
    ct_spec_fit_device(&p->spec, p->backend, &p->device);
    CT_TRY(ct_spec_settle(&p->spec, p->backend, &p->device));
    return p->images.images ? ct_resident_decide(&p->images, &p->spec, p->backend, &p->device, &p->resident) : CT_OK;
}

/* The programs of a run on a store without memory: the step alone with --model (what `bench` runs), the update and the
 * evaluation as well for a configuration. */
static ct_status make_plans(planned *p)
{
    const ct_program_spec part = ct_spec_of_part(&p->spec), *s = &part;
    const ct_arenas_needs needs = ct_program_needs(s, true);
    bool micro = s->accumulate > 1;
    CT_TRY(ct_program_build(s, micro ? CT_PROGRAM_MICRO_NEXT : CT_PROGRAM_STEP, NULL, &p->layout, &p->step));
    CT_TRY(ct_arenas_create(p->backend, &p->device, &p->layout, &needs, true, &p->store));
    CT_TRY(p->backend->info(p->store->device, &p->info));
    CT_TRY(ct_plan_create(p->store, p->step.graph, false, &p->step_plan));
    if (micro) {
        CT_TRY(ct_program_build(s, CT_PROGRAM_UPDATE, p->step.graph, &p->layout, &p->update));
        CT_TRY(ct_plan_create(p->store, p->update.graph, false, &p->update_plan));
    }
    if (p->cfg) {
        CT_TRY(ct_program_build(s, CT_PROGRAM_EVAL, p->step.graph, &p->layout, &p->eval));
        CT_TRY(ct_plan_create(p->store, p->eval.graph, needs.ema && p->cfg->eval.ema, &p->eval_plan));
    }
    if (s->small.steps > 0) { /* whether it can be built; the other one needs more memory */
        ct_program small;
        CT_TRY(ct_program_build_small(s, p->step.kind, p->step.graph, &p->layout, &small));
        ct_program_free(&small);
    }
    p->receipt.asked = ct_spec_precision_name(s);
    CT_TRY(ct_receipt_list_add(&p->receipt, p->step_plan));
    if (p->update_plan) CT_TRY(ct_receipt_list_add(&p->receipt, p->update_plan));
    if (p->eval_plan) CT_TRY(ct_receipt_list_add(&p->receipt, p->eval_plan));
    ct_plan_get_stats(p->step_plan, &p->stats);
    for (int a = 0; a < CT_ARENA_COUNT; a++) p->peak += (int64_t)p->store->bytes[a];
    if (p->resident.yes) p->peak += p->resident.bytes;
    return CT_OK;
}

/* ---- printing ---- */

/* Names of the chosen implementations of a plan, for the graph's printers; ct_free() the array. */
static const char **implementations(const ct_plan *plan)
{
    size_t n = ct_plan_graph(plan)->nnodes;
    const char **names = ct_calloc(n + 1, sizeof *names, "implementation names");
    for (size_t i = 0; names && i < n; i++) names[i] = ct_plan_impl(plan, i);
    return names;
}

static ct_status print_operators(const ct_plan *plan, const char *title, FILE *to)
{
    if (!plan) return CT_OK;
    const char **names = implementations(plan);
    if (!names) return CT_ENOMEM;
    fprintf(to, "%s\n", title);
    ct_graph_print(ct_plan_graph(plan), names, to);
    fputc('\n', to);
    ct_free(names);
    return CT_OK;
}

/* What is computed again in the backward pass. */
static void print_recompute(const planned *p, FILE *to)
{
    const ct_program_spec *s = &p->spec;
    int again = 0;
    for (size_t i = 0; i < p->step.graph->nnodes; i++) again += p->step.graph->nodes[i].clone_of >= 0;
    fputs("recompute      ", to);
    if (s->recompute >= 0) fputs("each block\n", to);
    else if (s->norms_kept == CT_NORMS_ALL) fputs("off, batch norms' outputs are kept: they fit\n", to);
    else if (again) fprintf(to, "off, but for what %d batch norm%s\n", again, again == 1 ? " gives" : "s give");
    else fputs("off\n", to);
}

static void print_memory(const planned *p, FILE *to)
{
    char a[32], b[32], c[32];
    const ct_plan_stats *t = &p->stats;
    int64_t act = (int64_t)p->store->bytes[CT_ARENA_ACT], input = (int64_t)p->store->bytes[CT_ARENA_INPUT];
    fprintf(to, "weights        %s (and %s of running statistics)\n", ct_text_megabytes(t->param_bytes, a, sizeof a),
            ct_text_megabytes(t->buffer_bytes, b, sizeof b));
    fprintf(to, "gradients      %s\n", ct_text_megabytes(t->grad_bytes, a, sizeof a));
    fprintf(to, "optimizer      %s\n", ct_text_megabytes(t->optimizer_bytes, a, sizeof a));
    if (t->ema_bytes) fprintf(to, "average        %s\n", ct_text_megabytes(t->ema_bytes, a, sizeof a));
    fprintf(to, "activations    %s (the step's lower bound is %s; without sharing memory %s)\n",
            ct_text_megabytes(act, a, sizeof a), ct_text_megabytes(t->lower_bound, b, sizeof b),
            ct_text_megabytes(t->unshared_bytes, c, sizeof c));
    fprintf(to, "inputs         %s\n", ct_text_megabytes(input, a, sizeof a));
    if (p->images.images)
        fprintf(to, "resident       %s (%s)\n",
                p->resident.yes ? ct_text_megabytes(p->resident.bytes, a, sizeof a) : "no images", p->resident.why);
    fprintf(to, "peak           %s (%" PRId64 " bytes)\n", ct_text_megabytes(p->peak, a, sizeof a), p->peak);
    if (p->memory <= 0) fputs("micro-batch    not known: the device does not tell how much memory it has\n", to);
    else fprintf(to, "micro-batch    at most %" PRId64 "%s in %s\n", p->fits,
            p->fits == CT_MAX_BATCH ? " (the largest there is)" : "", ct_text_megabytes(p->memory, a, sizeof a));
}

/* Channels of the images as the first convolutions read them; nothing where they are as many as the model has. */
static void print_padding(const planned *p, FILE *to)
{
    const ct_graph *g = p->step.graph;
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        if (n->op != CT_OP_CONV2D || n->attrs.conv.data_c == 0) continue;
        fprintf(to, "channels       %" PRId64 " padded with zeros to %" PRId64 " for %s (not counted as FLOPs)\n",
                n->attrs.conv.data_c, ct_graph_desc(g, n->in[0])->dim[3], n->name);
    }
}

/* Parameters whose gradients are left out; nothing where there are none. */
static void print_still(const planned *p, FILE *to)
{
    int n = 0;
    for (size_t v = 0; v < p->step.graph->nvalues; v++) n += p->step.graph->values[v].still;
    if (n > 0)
        fprintf(to, "still          %d biases in front of batch norms: their gradients are zero and not computed\n", n);
}

static ct_status print_text(const planned *p, FILE *to)
{
    const ct_program_spec *s = &p->spec;
    CT_TRY(print_operators(p->step_plan, s->accumulate > 1 ? "micro-step" : "training step", to));
    CT_TRY(print_operators(p->update_plan, "update", to));
    CT_TRY(print_operators(p->eval_plan, "evaluation", to));
    const ct_place place = { .cfg = p->cfg, .facts = p->facts, .model = &s->model, .goal = &s->goal };
    char out[128];
    fprintf(to, "model          %s, %" PRId64 " parameters, %" PRId64 "x%" PRId64 "x%" PRId64 " pixels, %s\n",
            s->model.name, p->layout.params, s->model.height, s->model.width, s->model.channels,
            s->goal.task->outputs(&place, out, sizeof out));
    if (s->small.steps > 0) {
        ct_program_spec small = *s;
        ct_program_shrink(&small);
        fprintf(to, "smaller        %" PRId64 "x%" PRId64 " pixels in the first %" PRId64 " steps (train.progressive); "
                "shown are others\n", small.model.height, small.model.width, small.small.steps);
    }
    if (p->widths > 1)
        fprintf(
            to,
            "widths         %d, programs are made for each; shown here is the widest, which needs the most memory\n",
            p->widths);
    fprintf(to, "device         %s, %d thread%s, %s (%s)\n", p->info.name, p->info.threads,
            p->info.threads == 1 ? "" : "s", p->backend->name, p->why);
    fprintf(to, "precision      %s\n", ct_spec_precision_name(s));
    print_padding(p, to);
    print_still(p, to);
    fprintf(to, "batch          %" PRId64 " x %" PRId64 " micro-step%s = %" PRId64 " effective\n", s->batch,
            s->accumulate, s->accumulate > 1 ? "s" : "", ct_spec_effective_batch(s));
    if (s->parts > 1)
        fprintf(to,
                "parts          %" PRId64 " of %" PRId64
                " samples, shown is the last; one process computes all of them, %" PRId64 " one each\n",
                s->parts, s->batch / s->parts, s->parts);
    fprintf(to, "learning rate  %g", s->schedule.base_lr);
    if (p->cfg) fprintf(to, " (optimizer.lr %g after schedule.lr_rule)", p->cfg->optimizer.lr);
    fputc('\n', to);
    print_recompute(p, to);
    if (p->samples >= 0)
        fprintf(to, "images         %" PRId64 " to train on, %" PRId64 " steps in all\n", p->samples,
                s->schedule.total_steps);
    print_memory(p, to);
    fprintf(to, "\nprecision receipt (%s was asked for)\n", p->receipt.asked);
    ct_receipt_print(&p->receipt, "", to);
    if (p->cfg && p->cfg->train.strict) {
        const bool good = ct_receipt_strict(&p->receipt) == CT_OK;
        fprintf(to, "strict         %s\n", good ? "everything heavy is computed as asked" : ct_error_message());
    }
    return CT_OK;
}

static ct_status add_operators(json_t *list, const ct_plan *plan, const char *program)
{
    if (!plan) return CT_OK;
    const ct_graph *g = ct_plan_graph(plan);
    char shape[CT_DESC_STR], *text = NULL;
    ct_status st = CT_OK;
    for (size_t i = 0; i < g->nnodes && st == CT_OK; i++) {
        const ct_node *n = &g->nodes[i];
        ct_call call;
        ct_graph_call(g, i, &call);
        int len = ct_call_format(&call, NULL, 0);
        text = ct_malloc((size_t)len + 1, "text of a call");
        json_t *o = json_object();
        if (!text) st = CT_ENOMEM;
        else ct_call_format(&call, text, (size_t)len + 1);
        if (st == CT_OK) st = ct_json_set(o, "program", json_string(program));
        if (st == CT_OK) st = ct_json_set(o, "name", json_string(n->name));
        if (st == CT_OK) st = ct_json_set(o, "op", json_string(ct_op_get(n->op)->name));
        if (st == CT_OK) st = ct_json_set(o, "phase", json_string(ct_phase_name(n->phase)));
        if (st == CT_OK)
            st = ct_json_set(o, "result",
                             n->nout && n->out[0] != CT_NOVAL
                                 ? json_string(ct_desc_str(ct_graph_desc(g, n->out[0]), shape))
                                 : json_null());
        if (st == CT_OK) st = ct_json_set(o, "call", json_string(text));
        if (st == CT_OK) st = ct_json_set(o, "flops", ct_json_number(ct_call_flops(&call)));
        if (st == CT_OK) st = ct_json_set(o, "bytes", ct_json_number(ct_call_bytes(&call)));
        if (st == CT_OK) st = ct_json_set(o, "impl", json_string(ct_plan_impl(plan, i)));
        if (json_array_append_new(list, o) != 0 && st == CT_OK) st = ct_fail(CT_ENOMEM, "out of memory: operators");
        ct_free(text);
    }
    return st;
}

static ct_status set_int(json_t *o, const char *key, int64_t v)
{
    return ct_json_set(o, key, json_integer(v));
}

static ct_status json_arenas(const planned *p, json_t *o)
{
    json_t *arenas = json_object();
    const ct_plan_stats *t = &p->stats;
    CT_TRY(ct_json_set(o, "arena_bytes", arenas)); /* o owns it from here on */
    CT_TRY(set_int(arenas, "weights", t->param_bytes));
    CT_TRY(set_int(arenas, "buffers", t->buffer_bytes));
    CT_TRY(set_int(arenas, "gradients", t->grad_bytes));
    CT_TRY(set_int(arenas, "optimizer", t->optimizer_bytes));
    CT_TRY(set_int(arenas, "ema", t->ema_bytes));
    CT_TRY(set_int(arenas, "activations", (int64_t)p->store->bytes[CT_ARENA_ACT]));
    CT_TRY(set_int(arenas, "images", p->resident.yes ? p->resident.bytes : 0));
    return set_int(arenas, "inputs", (int64_t)p->store->bytes[CT_ARENA_INPUT]);
}

static ct_status json_smaller(const ct_program_spec *s, json_t *o)
{
    json_t *smaller = json_object();
    ct_program_spec small = *s;
    ct_program_shrink(&small);
    CT_TRY(ct_json_set(o, "smaller", smaller)); /* o owns it from here on */
    CT_TRY(set_int(smaller, "height", small.model.height));
    CT_TRY(set_int(smaller, "width", small.model.width));
    return set_int(smaller, "steps", small.small.steps);
}

static ct_status print_json(const planned *p, FILE *to)
{
    const ct_program_spec *s = &p->spec;
    ct_status st;
    json_t *o = json_object(), *list;
    CT_GOTO(st, ct_json_set(o, "model", json_string(s->model.name)));
    CT_GOTO(st, set_int(o, "params", p->layout.params));
    CT_GOTO(st, set_int(o, "peak_bytes", p->peak));
    CT_GOTO(st, json_arenas(p, o));
    CT_GOTO(st, set_int(o, "activations_lower_bound", p->stats.lower_bound));
    CT_GOTO(st, set_int(o, "activations_unshared", p->stats.unshared_bytes));
    CT_GOTO(st, set_int(o, "batch", s->batch));
    CT_GOTO(st, set_int(o, "accumulate", s->accumulate));
    CT_GOTO(st, set_int(o, "parts", s->parts > 1 ? s->parts : 1));
    CT_GOTO(st, set_int(o, "effective_batch", ct_spec_effective_batch(s)));
    CT_GOTO(st, set_int(o, "largest_batch", p->fits));
    CT_GOTO(st, set_int(o, "largest_batch_memory", p->memory));
    CT_GOTO(st, ct_json_set(o, "lr", ct_json_number(s->schedule.base_lr)));
    const ct_model_spec *m = &s->model;
    if (ct_model_elastic(m)) CT_GOTO(st, set_int(o, "time_steps", ct_model_steps(m, ct_model_length(m))));
    if (s->small.steps > 0) CT_GOTO(st, json_smaller(s, o));
    if (p->widths > 0) CT_GOTO(st, set_int(o, "widths", p->widths));
    if (ct_model_clip(m)) CT_GOTO(st, set_int(o, "frames", m->frames));
    if (p->samples >= 0) {
        CT_GOTO(st, set_int(o, "samples", p->samples));
        CT_GOTO(st, set_int(o, "steps", s->schedule.total_steps));
    }
    const int64_t runs = s->accumulate * (s->parts > 1 ? s->parts : 1); /* of this program in a step */
    CT_GOTO(st, ct_json_set(o, "flops_per_step", ct_json_number(p->stats.flops * (double)runs)));
    CT_GOTO(st, ct_json_set(o, "recompute", json_boolean(s->recompute >= 0)));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(ct_spec_precision_name(s))));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(p->backend->name)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(p->info.name)));
    CT_GOTO(st, set_int(o, "threads", p->info.threads));
    list = json_array();
    CT_GOTO(st, ct_json_set(o, "operators", list));
    CT_GOTO(st, add_operators(list, p->step_plan, s->accumulate > 1 ? "micro" : "step"));
    CT_GOTO(st, add_operators(list, p->update_plan, "update"));
    CT_GOTO(st, add_operators(list, p->eval_plan, "eval"));
    CT_GOTO(st, ct_receipt_json(&p->receipt, o));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(o);
    return st;
}

ct_status ct_run_plan(const ct_plan_opts *given, FILE *to)
{
    ct_plan_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_plan_opts"));
    const ct_plan_opts *opts = &own;
    planned p = { .opts = opts };
    ct_status st;
    CT_GOTO(st, make_spec(&p));
    CT_GOTO(st, make_plans(&p));
    p.memory = opts->memory > 0 ? opts->memory : (int64_t)p.info.memory_total;
    CT_GOTO(st, ct_memory_largest(&p.spec, p.backend, &p.device, CT_MAX_BATCH, p.memory, 0, &p.fits));
    st = opts->json ? print_json(&p, to) : print_text(&p, to);
fail:
    free_planned(&p);
    return st;
}
