/* `captrain selftest --golden`: the file's steps, done here. */
#include "config.h"

#include "selftest/golden.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "selftest/each.h"

/* A model with its weights on a device, and the programs of a run. */
typedef struct session {
    const ct_golden *g;
    bool inexact;
    ct_program step, other; /* STEP or MICRO_FIRST; EVAL or UPDATE */
    ct_arenas *store;
    ct_plan *step_plan, *other_plan;
    void *ours, *theirs; /* room for the largest weight or output */
} session;

static void close_session(session *s)
{
    ct_plan_free(s->step_plan);
    ct_plan_free(s->other_plan);
    ct_arenas_free(s->store);
    ct_program_free(&s->step);
    ct_program_free(&s->other);
    ct_free(s->ours);
    ct_free(s->theirs);
}

/* Every parameter of the file must be one of the model's, whether or not the loop over the model's finds it. */
static ct_status check_names(const session *s)
{
    const ct_graph *m = s->step.graph;
    for (size_t i = 0; i < ct_safetensors_count(s->g->st); i++) {
        const char *name = ct_safetensors_at(s->g->st, i)->name;
        if (strncmp(name, "param.", 6) != 0) continue;
        ct_val v = ct_graph_find(m, name + 6);
        if (v == CT_NOVAL || !ct_graph_is_weight(m, v))
            return ct_fail(CT_EFORMAT, "%s: '%s' is no parameter of model %s", s->g->path, name, s->g->model);
    }
    return CT_OK;
}

/* The weights the file starts from. */
static ct_status load_weights(session *s)
{
    ct_graph *m = s->step.graph;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found, param = v->arena == CT_ARENA_PARAM;
        if (!ct_graph_is_weight(m, (ct_val)i)) continue;
        CT_TRY(ct_golden_read(s->g, param ? "param." : "buffer.", v, s->ours, &found));
        if (!found)
            return ct_fail(CT_EFORMAT, "%s: no tensor '%s%s'", s->g->path, param ? "param." : "buffer.", v->name);
        CT_TRY(ct_arenas_set(s->store, m, (ct_val)i, v->arena, s->ours));
    }
    return CT_OK;
}

static size_t largest_value(const ct_program *p)
{
    size_t most = 0;
    for (size_t i = 0; i < p->graph->nvalues; i++) {
        const ct_value *v = &p->graph->values[i];
        size_t bytes = ct_desc_bytes(&v->desc);
        if (ct_graph_is_weight(p->graph, (ct_val)i) && bytes > most) most = bytes;
    }
    for (int k = 0; k < p->ports; k++) {
        const size_t bytes = ct_desc_bytes(ct_graph_desc(p->graph, p->port[k].val));
        if (!ct_port_is_input(p->port[k].role) && bytes > most) most = bytes;
    }
    return most;
}

/* STEP and EVAL, or (fed) MICRO_FIRST, for the layout alone, and UPDATE. */
static ct_status open_session(const ct_golden *g, const ct_backend *b, const ct_device_opts *opts, bool fed, session *s)
{
    *s = (session){ .g = g };
    ct_layout layout;
    ct_program_spec spec = g->spec;
    spec.inspect = true; /* ReLUs are settled between the passes, in what the backward pass reads */
    ct_status st;
    if (fed) spec.accumulate = 2;
    ct_arenas_needs needs = ct_program_needs(&spec, true);
    CT_GOTO(st, ct_program_build(&spec, fed ? CT_PROGRAM_MICRO_FIRST : CT_PROGRAM_STEP, NULL, &layout, &s->step));
    CT_GOTO(st, ct_program_build(&spec, fed ? CT_PROGRAM_UPDATE : CT_PROGRAM_EVAL, s->step.graph, &layout, &s->other));
    CT_GOTO(st, ct_arenas_create(b, opts, &layout, &needs, false, &s->store));
    if (!fed) CT_GOTO(st, ct_plan_create(s->store, s->step.graph, false, &s->step_plan));
    CT_GOTO(st, ct_plan_create(s->store, s->other.graph, false, &s->other_plan));
    const size_t here = largest_value(&s->step), there = largest_value(&s->other);
    const size_t room = (here > there ? here : there) + 1;
    s->ours = ct_aligned_alloc(room, "golden tensor");
    s->theirs = ct_aligned_alloc(room, "golden tensor");
    if (!s->ours || !s->theirs) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, check_names(s));
    CT_GOTO(st, load_weights(s));
    return CT_OK;
fail:
    close_session(s);
    return st;
}

/* Where the file's batch has what an input reads; NULL: nowhere. */
static const void *find_input(const ct_golden *g, const ct_port *port)
{
    switch (port->role) {
    case CT_PORT_READY: return g->x;
    case CT_PORT_STEPS: return g->batch.steps;
    case CT_PORT_MASK: return g->keep;
    case CT_PORT_FIELD:
        for (int i = 0; i < g->batch.fields; i++)
            if (strcmp(g->batch.field[i].name, port->name) == 0) return g->batch.field[i].host;
        return NULL;
    default: return NULL;
    }
}

static ct_status upload_batch(ct_plan *plan, const ct_program *p, const ct_golden *g)
{
    for (int i = 0; i < p->ports; i++) {
        const ct_port *port = &p->port[i];
        if (!ct_port_is_input(port->role)) continue;
        const void *host = find_input(g, port);
        if (!host) return ct_fail(CT_EFORMAT, "%s: nothing for input '%s' of model %s", g->path, port->name, g->model);
        CT_TRY(ct_plan_upload(plan, port->val, host));
    }
    return CT_OK;
}

/* ---- comparisons ---- */

/* All weights of one kind against "<prefix><name>". Tolerance 0: printed only. */
static ct_status compare_weights(session *s, ct_golden_table *t, const char *prefix, ct_arena arena, double tolerance)
{
    const ct_graph *m = s->step.graph;
    const ct_golden *g = s->g;
    ct_arena home = arena == CT_ARENA_BUFFER ? CT_ARENA_BUFFER : CT_ARENA_PARAM;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found;
        if (!ct_graph_is_weight(m, (ct_val)i) || v->arena != home) continue;
        CT_TRY(ct_golden_read(g, prefix, v, s->theirs, &found));
        if (!found) continue; /* files of gradients alone have no weights after steps */
        CT_TRY(ct_arenas_get(s->store, m, (ct_val)i, arena, s->ours));
        double e = ct_golden_difference(v->desc.dtype, s->ours, s->theirs, ct_desc_numel(&v->desc));
        bool noise = home == CT_ARENA_PARAM && ct_golden_listed(g->zero_grad, v->name);
        CT_TRY(ct_golden_add(t, prefix, v->name, e, noise ? 0 : tolerance));
    }
    return CT_OK;
}

static double gradient_tolerance(const ct_golden *g, bool inexact, const ct_value *v)
{
    if (g->spec.model.dtype == CT_F64) return 1e-10;
    return fmax(1e-5, (inexact ? 100 : 30) * ct_golden_noise(g, v));
}

/* grad.*: there must be one exactly where the file has one. */
static ct_status compare_gradients(session *s, ct_golden_table *t)
{
    const ct_graph *m = s->step.graph;
    const ct_golden *g = s->g;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found;
        if (!ct_graph_is_weight(m, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        CT_TRY(ct_golden_read(g, "grad.", v, s->theirs, &found));
        if (!found && ct_golden_listed(g->left_out, v->name)) continue;
        bool expected = !ct_golden_listed(g->no_grad, v->name);
        if (found != expected)
            return ct_fail(CT_EFORMAT, "%s: 'grad.%s' and no_grad_params contradict each other", g->path, v->name);
        if (found != (v->grad != CT_NOVAL)) {
            CT_TRY(ct_golden_add(t, "grad.", v->name, HUGE_VAL, 1e-10)); /* a gradient here or there only */
            continue;
        }
        if (!found) continue;
        CT_TRY(ct_arenas_get(s->store, m, (ct_val)i, CT_ARENA_GRAD, s->ours));
        double e = ct_golden_difference(v->desc.dtype, s->ours, s->theirs, ct_desc_numel(&v->desc));
        bool noise = ct_golden_listed(g->zero_grad, v->name);
        CT_TRY(ct_golden_add(t, "grad.", v->name, e, noise ? 0 : gradient_tolerance(g, s->inexact, v)));
    }
    return CT_OK;
}

/* no_grad_params must still be what the file started from, bit for bit. */
static ct_status compare_untouched(session *s, ct_golden_table *t)
{
    const ct_graph *m = s->step.graph;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found;
        if (!ct_graph_is_weight(m, (ct_val)i) || !ct_golden_listed(s->g->no_grad, v->name)) continue;
        CT_TRY(ct_golden_read(s->g, "param.", v, s->theirs, &found));
        CT_TRY(ct_arenas_get(s->store, m, (ct_val)i, CT_ARENA_PARAM, s->ours));
        bool same = found && memcmp(s->ours, s->theirs, ct_desc_bytes(&v->desc)) == 0;
        CT_TRY(ct_golden_add(t, "untouched.", v->name, same ? 0 : HUGE_VAL, 1e-10));
    }
    return CT_OK;
}

/* The file's tensor f, for a value of desc d, into `theirs`: maps are [N,C,H,W] there; else only the
 * shape may differ. */
static ct_status read_aside(const session *s, const ct_st_tensor *f, const char *name, const ct_desc *d, void *theirs)
{
    const ct_desc nchw = ct_desc4(d->dtype, d->dim[0], d->ndim == 4 ? d->dim[3] : 0, d->dim[1], d->dim[2]);
    const bool map = d->ndim == 4 && f->desc.ndim == 4;
    const size_t e = ct_dtype_size(d->dtype);
    char a[CT_DESC_STR], b[CT_DESC_STR];
    if (map ? !ct_desc_same_shape(&f->desc, &nchw) : ct_desc_numel(&f->desc) != ct_desc_numel(d))
        return ct_fail(CT_EFORMAT, "%s: '%s' is %s, but the model gives %s", s->g->path, name, ct_desc_str(&f->desc, a),
                       ct_desc_str(d, b));
    ct_st_read(f, d->dtype, theirs);
    if (!map || d->dim[3] == 1) return CT_OK;
    char *from = ct_malloc(ct_desc_bytes(d), "golden tensor"), *to = theirs;
    if (!from) return CT_ENOMEM;
    memcpy(from, theirs, ct_desc_bytes(d));
    const int64_t c = d->dim[3], pixels = d->dim[1] * d->dim[2];
    for (int64_t n = 0; n < d->dim[0]; n++)
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t k = 0; k < c; k++)
                memcpy(to + (size_t)((n * pixels + p) * c + k) * e, from + (size_t)((n * c + k) * pixels + p) * e, e);
    ct_free(from);
    return CT_OK;
}

/* One output of the model against the file's tensor "<prefix><name>", where the file has it. */
static ct_status compare_score(session *s, ct_golden_table *t, ct_plan *plan, const ct_program *p, const ct_port *port,
                               const char *name, double tolerance)
{
    const ct_goal *goal = &s->g->spec.goal;
    const ct_st_tensor *f = ct_safetensors_find(s->g->st, name);
    if (!f) return CT_OK;
    const ct_desc *d = ct_graph_desc(p->graph, port->val);
    CT_TRY(read_aside(s, f, name, d, s->theirs));
    if (goal->task->golden_score) goal->task->golden_score(goal, port->name, d, s->theirs);
    CT_TRY(ct_plan_download(plan, port->val, s->ours));
    return ct_golden_add(t, "", name, ct_golden_difference(d->dtype, s->ours, s->theirs, ct_desc_numel(d)), tolerance);
}

/* ---- what the file says of a task's own values: aux.term.<term> and aux.<result> ---- */

/* The port that gives what the file calls `name`; NULL: there is none. */
static const ct_port *find_aside(const ct_program *p, const char *name)
{
    static const char term[] = "aux.term.";
    const size_t n = sizeof term - 1;
    for (int i = 0; i < p->ports; i++) {
        const ct_port *port = &p->port[i];
        if (port->role == CT_PORT_TERM && strncmp(name, term, n) == 0 && strcmp(name + n, port->name) == 0) return port;
        if (port->role == CT_PORT_RESULT && strcmp(name, port->name) == 0) return port;
        if (port->role == CT_PORT_LOSS && strcmp(name, "aux.term.total") == 0) return port;
    }
    return NULL;
}

/* Greatest difference of two blocks of n numbers. */
static double greatest_difference(ct_dtype d, const void *a, const void *b, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(ct_load(d, a, i) - ct_load(d, b, i)));
    return most;
}

/* Places that were read off maps are compared in pixels, all else as other tensors are. */
static ct_status compare_aside(session *s, ct_golden_table *t, ct_plan *plan, const ct_program *p,
                               const ct_st_tensor *f, double tolerance)
{
    const bool decoded = strstr(f->name, "decode") != NULL || strstr(f->name, "_conf") != NULL;
    const bool exact = s->g->spec.model.dtype == CT_F64;
    const ct_port *port = find_aside(p, f->name);
    if (!port)
        return ct_fail(CT_EFORMAT, "%s: nothing of model %s is compared with '%s'", s->g->path, s->g->model, f->name);
    const ct_desc *d = ct_graph_desc(p->graph, port->val);
    CT_TRY(read_aside(s, f, f->name, d, s->theirs));
    CT_TRY(ct_plan_download(plan, port->val, s->ours));
    const int64_t n = ct_desc_numel(d);
    if (decoded)
        return ct_golden_add(t, "", f->name, greatest_difference(d->dtype, s->ours, s->theirs, n), exact ? 1e-6 : 0);
    return ct_golden_add(t, "", f->name, ct_golden_difference(d->dtype, s->ours, s->theirs, n), tolerance);
}

/* later: what the evaluation after the third step gives; else what the first step gave. */
static ct_status compare_asides(session *s, ct_golden_table *t, bool later, double tolerance)
{
    static const char aux[] = "aux.", then[] = "aux.eval3_";
    for (size_t i = 0; i < ct_safetensors_count(s->g->st); i++) {
        const ct_st_tensor *f = ct_safetensors_at(s->g->st, i);
        if (strncmp(f->name, aux, sizeof aux - 1) != 0 || strcmp(f->name, "aux.dropout_keep") == 0 ||
            (strncmp(f->name, then, sizeof then - 1) == 0) != later)
            continue;
        CT_TRY(compare_aside(s, t, later ? s->other_plan : s->step_plan, later ? &s->other : &s->step, f, tolerance));
    }
    return CT_OK;
}

static ct_status compare_scores(session *s, ct_golden_table *t, ct_plan *plan, const ct_program *p, const char *prefix,
                                double tolerance)
{
    for (int i = 0; i < p->ports; i++) {
        if (p->port[i].role != CT_PORT_SCORE) continue;
        char *name = ct_asprintf("%s%s", prefix, p->port[i].name);
        if (!name) return CT_ENOMEM;
        ct_status st = compare_score(s, t, plan, p, &p->port[i], name, tolerance);
        ct_free(name);
        CT_TRY(st);
    }
    return CT_OK;
}

/* Whether the file has outputs in evaluation mode after the third step. */
static bool has_eval(const session *s)
{
    for (size_t i = 0; i < ct_safetensors_count(s->g->st); i++)
        if (strncmp(ct_safetensors_at(s->g->st, i)->name, "eval3.", 6) == 0) return true;
    return false;
}

/* Element i of the file's tensor `name` against the loss of the step just done. */
static ct_status compare_loss(session *s, ct_golden_table *t, const char *name, int64_t i, double tolerance)
{
    char label[32];
    double ours = 0;
    const ct_st_tensor *f = ct_safetensors_find(s->g->st, name);
    if (!f || ct_desc_numel(&f->desc) <= i) return CT_OK;
    double theirs[8] = { 0 };
    if (ct_desc_numel(&f->desc) > 8) return ct_fail(CT_EFORMAT, "%s: '%s' has more than 8 elements", s->g->path, name);
    ct_st_read(f, CT_F64, theirs);
    const ct_val loss = ct_program_role(&s->step, CT_PORT_LOSS);
    CT_TRY(ct_plan_download(s->step_plan, loss, &ours));
    ct_dtype d = ct_graph_desc(s->step.graph, loss)->dtype;
    ours = ct_load(d, &ours, 0);
    snprintf(label, sizeof label, strcmp(name, "loss") == 0 ? "%s" : "%s[%d]", name, (int)i);
    double e = theirs[i] != 0 ? fabs(ours - theirs[i]) / fabs(theirs[i]) : fabs(ours);
    return ct_golden_add(t, "", label, e, tolerance);
}

/* The file counts the batches each norm has seen; here that is the step counter. */
static ct_status compare_counts(session *s, ct_golden_table *t, const char *prefix)
{
    double state[CT_STATE_COUNT];
    CT_TRY(ct_arenas_get_state(s->store, state));
    const char *tail = ".num_batches_tracked";
    for (size_t i = 0; i < ct_safetensors_count(s->g->st); i++) {
        const ct_st_tensor *f = ct_safetensors_at(s->g->st, i);
        size_t len = strlen(f->name), np = strlen(prefix);
        if (strncmp(f->name, prefix, np) != 0 || len < strlen(tail) || strcmp(f->name + len - strlen(tail), tail) != 0)
            continue;
        if (ct_desc_numel(&f->desc) != 1) return ct_fail(CT_EFORMAT, "%s: '%s' is not one number", s->g->path, f->name);
        char *start_name = ct_asprintf("buffer.%s", f->name + np);
        if (!start_name) return CT_ENOMEM;
        const ct_st_tensor *start = ct_safetensors_find(s->g->st, start_name);
        ct_free(start_name);
        double then = 0, now = 0;
        if (start && ct_desc_numel(&start->desc) == 1) ct_st_read(start, CT_F64, &then);
        ct_st_read(f, CT_F64, &now);
        CT_TRY(ct_golden_add(t, "", f->name, fabs(then + state[CT_STATE_STEP] - now), 1e-10));
    }
    return CT_OK;
}

/* ---- runs ---- */

/* A block of n numbers in f64; NULL without memory. */
static double *widened(const void *from, int64_t n)
{
    double *to = ct_calloc((size_t)n + 1, sizeof *to, "golden batch");
    for (int64_t i = 0; to && i < n; i++) to[i] = ((const float *)from)[i];
    return to;
}

static void unwiden(const ct_golden *g, ct_golden *wide)
{
    ct_free(wide->x);
    for (int k = 0; k < wide->batch.fields; k++)
        if (wide->batch.field[k].host != g->batch.field[k].host) ct_free(wide->batch.field[k].host);
}

/* The batch of an f32 file in f64, with the specification to match. Shares all else with g: unwiden(). */
static ct_status widen(const ct_golden *g, ct_golden *out)
{
    const ct_model_spec *m = &g->spec.model;
    *out = *g;
    out->spec.model.dtype = out->spec.compute = CT_F64;
    out->x = widened(g->x, g->spec.batch * m->frames * m->height * m->width * m->channels);
    bool fine = out->x != NULL;
    for (int k = 0; k < g->batch.fields; k++) {
        if (g->batch.field[k].dtype != CT_F32) continue;
        out->batch.field[k].host = widened(g->batch.field[k].host, g->batch.field[k].elems);
        out->batch.field[k].dtype = CT_F64;
        fine &= out->batch.field[k].host != NULL;
    }
    if (fine) return CT_OK;
    unwiden(g, out);
    return CT_ENOMEM;
}

/* The forward pass of s has run: settles its ties by the same pass on the f64 reference. */
static ct_status settle_ties(session *s, const ct_common *common, ct_golden_ties *ties)
{
    ct_golden wide;
    session ref = { 0 };
    const ct_backend *b;
    const ct_device_opts opts = { .threads = common->threads, .exact = true, .reference = true };
    CT_TRY(ct_backend_load("cpu", &b));
    CT_TRY(widen(s->g, &wide));
    ct_status st = open_session(&wide, b, &opts, false, &ref);
    if (st != CT_OK) goto fail;
    CT_GOTO(st, upload_batch(ref.step_plan, &ref.step, &wide));
    CT_GOTO(st, ct_plan_run_nodes(ref.step_plan, 0, ct_golden_forward_end(ref.step.graph)));
    st = ct_golden_settle(s->step_plan, ref.step_plan, s->inexact, ties);
    close_session(&ref);
fail:
    if (st != CT_OK && ref.store) close_session(&ref);
    unwiden(s->g, &wide);
    return st;
}

/* The first step, with its ties settled between forward and backward pass where `common` is given (f32). */
static ct_status first_step(session *s, const ct_common *common, ct_golden_ties *ties)
{
    size_t forward = ct_golden_forward_end(s->step.graph);
    CT_TRY(upload_batch(s->step_plan, &s->step, s->g));
    CT_TRY(ct_plan_run_nodes(s->step_plan, 0, forward));
    if (common) CT_TRY(settle_ties(s, common, ties));
    return ct_plan_run_nodes(s->step_plan, forward, s->step.graph->nnodes);
}

/* Parameters whose gradient is rounding noise go the file's way: AdamW divides that noise by its eps, and no other
 * arithmetic repeats what comes of it, but the running means behind such a bias and outputs of evaluation show it. To
 * what the file has under `prefix`, or, if `other` is given, to the middle between both: after the second step. */
static ct_status lead_noise(session *s, const char *prefix, const char *other)
{
    const ct_graph *m = s->step.graph;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found;
        if (v->arena != CT_ARENA_PARAM || !ct_golden_listed(s->g->zero_grad, v->name)) continue;
        CT_TRY(ct_golden_read(s->g, prefix, v, s->ours, &found));
        if (found && other) CT_TRY(ct_golden_read(s->g, other, v, s->theirs, &found));
        if (!found) continue;
        for (int64_t k = 0; other && k < ct_desc_numel(&v->desc); k++)
            ct_store(v->desc.dtype, s->ours, k,
                     (ct_load(v->desc.dtype, s->ours, k) + ct_load(v->desc.dtype, s->theirs, k)) / 2);
        CT_TRY(ct_arenas_set(s->store, m, (ct_val)i, CT_ARENA_PARAM, s->ours));
    }
    return CT_OK;
}

/* What follows the first step: comparisons, two more steps, and an evaluation. A tolerance of 0 prints without judging;
 * param1_tol 0 leaves param1 to run_fed(). */
static ct_status run_steps(session *s, ct_golden_table *t, double loss_tol, double score_tol, double param1_tol,
                           double buffer1_tol, double later_tol)
{
    CT_TRY(compare_loss(s, t, "loss", 0, loss_tol));
    CT_TRY(compare_scores(s, t, s->step_plan, &s->step, "output.", score_tol));
    CT_TRY(compare_asides(s, t, false, s->g->spec.model.dtype == CT_F64 ? 1e-10 : 1e-5));
    CT_TRY(compare_gradients(s, t));
    if (param1_tol > 0) CT_TRY(compare_weights(s, t, "param1.", CT_ARENA_PARAM, param1_tol));
    CT_TRY(compare_weights(s, t, "buffer1.", CT_ARENA_BUFFER, buffer1_tol));
    CT_TRY(compare_counts(s, t, "buffer1."));
    CT_TRY(compare_untouched(s, t));
    if (!has_eval(s)) return CT_OK;
    CT_TRY(lead_noise(s, "param1.", NULL));
    for (int64_t i = 1; i < 3; i++) {
        if (i == 2) CT_TRY(lead_noise(s, "param1.", "param3."));
        CT_TRY(upload_batch(s->step_plan, &s->step, s->g));
        CT_TRY(ct_plan_run(s->step_plan));
        CT_TRY(compare_loss(s, t, "losses", i, later_tol));
    }
    CT_TRY(compare_weights(s, t, "param3.", CT_ARENA_PARAM, later_tol));
    CT_TRY(compare_weights(s, t, "buffer3.", CT_ARENA_BUFFER, later_tol));
    CT_TRY(compare_counts(s, t, "buffer3."));
    CT_TRY(lead_noise(s, "param3.", NULL));
    CT_TRY(upload_batch(s->other_plan, &s->other, s->g));
    CT_TRY(ct_plan_run(s->other_plan));
    CT_TRY(compare_scores(s, t, s->other_plan, &s->other, "eval3.", later_tol));
    return compare_asides(s, t, true, later_tol);
}

/* One AdamW update from the file's own gradients. */
static ct_status run_fed(session *s, ct_golden_table *t)
{
    const ct_graph *m = s->step.graph;
    for (size_t i = 0; i < m->nvalues; i++) {
        const ct_value *v = &m->values[i];
        bool found;
        if (!ct_graph_is_weight(m, (ct_val)i) || v->arena != CT_ARENA_PARAM || v->grad == CT_NOVAL) continue;
        CT_TRY(ct_golden_read(s->g, "grad.", v, s->theirs, &found));
        if (found) CT_TRY(ct_arenas_set(s->store, m, (ct_val)i, CT_ARENA_GACC, s->theirs));
    }
    CT_TRY(ct_plan_run(s->other_plan));
    return compare_weights(s, t, "param1.", CT_ARENA_PARAM, 1e-6);
}

static ct_status run_on(const ct_golden *g, const ct_backend *b, const ct_common *common, bool inexact,
                        ct_golden_table *t, ct_golden_ties *ties)
{
    session s;
    bool f64 = g->spec.model.dtype == CT_F64;
    const ct_device_opts opts = { .threads = common->threads, .exact = !inexact, .reference = f64 };
    CT_TRY(open_session(g, b, &opts, false, &s));
    s.inexact = inexact;
    ct_status st = first_step(&s, f64 ? NULL : common, ties);
    if (st == CT_OK)
        st = f64 ? run_steps(&s, t, 1e-10, 1e-10, 1e-8, 1e-8, 1e-8) : run_steps(&s, t, 1e-5, 1e-3, 0, 1e-5, 0);
    close_session(&s);
    if (st != CT_OK || f64) return st;
    CT_TRY(open_session(g, b, &opts, true, &s));
    st = run_fed(&s, t);
    close_session(&s);
    return st;
}

typedef struct checking {
    const ct_golden *g;
    const ct_common *common;
    bool inexact;
    FILE *to;
} checking;

static ct_status check_backend(void *user, const ct_backend *b)
{
    const checking *c = user;
    const ct_golden *g = c->g;
    const bool inexact = c->inexact;
    FILE *to = c->to;
    ct_golden_table t = { NULL, 0, 0 };
    ct_golden_ties ties = { 0, 0 };
    ct_status st = run_on(g, b, c->common, inexact, &t, &ties);
    if (st != CT_OK) goto fail;
    bool f64 = g->spec.model.dtype == CT_F64;
    fprintf(to, "%s: %s, %" PRId64 " samples of %" PRId64 "x%" PRId64 "x%" PRId64 ", on %s\n", g->path, g->model,
            g->spec.batch, g->spec.model.height, g->spec.model.width, g->spec.model.channels,
            f64 ? "the reference in f64" : b->name);
    if (inexact) fputs("with implementations that trade accuracy for speed\n", to);
    size_t beyond = ct_golden_print(&t, to);
    if (ties.settled)
        fprintf(to,
                "%" PRId64 " of %" PRId64
                " decisions of ReLU and max-pool lie within rounding of a tie and were settled as in f64\n",
                ties.settled, ties.decisions);
    fprintf(to, "%zu comparisons, %zu beyond tolerance\n", t.n, beyond);
    if (beyond)
        st = ct_fail(CT_EINTERNAL,
                     "%s: %zu of %zu comparisons on %s are beyond tolerance; worst: %s differs by %.3g, allowed %.3g",
                     g->path, beyond, t.n, f64 ? "the reference" : b->name, t.rows[0].name, t.rows[0].error,
                     t.rows[0].tolerance);
fail:
    ct_golden_table_free(&t);
    return st;
}

ct_status ct_golden_check(const char *path, const ct_common *common, bool inexact, FILE *to)
{
    ct_golden g;
    CT_TRY(ct_golden_open(path, &g));
    ct_status st;
    const bool f64 = g.spec.model.dtype == CT_F64;
    checking c = { &g, common, inexact, to };
    if (f64 && inexact)
        st = ct_fail(CT_EINVAL, "%s: an f64 file is compared with the reference, which is exact", path);
    else /* the reference lives in cpu */
        st = ct_backend_each(f64 ? "cpu" : common->backend, to, check_backend, &c);
    ct_golden_close(&g);
    return st;
}
