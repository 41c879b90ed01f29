/* Starting from another model's weights. */
#include "config.h"

#include "weights/init.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "weights/checkpoint.h"

#define SHOWN_TENSORS 8
#define HEAD_TENSORS 4

/* The last layer behind one of a model's outputs: its parameters, and how many rows they have, here and in the file. */
typedef struct head {
    const char *output;
    ct_val param[HEAD_TENSORS]; /* in the session's ref_graph */
    int n;
    ct_remap map;
} head;

typedef struct start {
    ct_session *s;
    const ct_model_file *m;
    const char *path;
    ct_place now, old;
    const ct_task *task;
    head head[CT_MODEL_OUTPUTS];
    int heads;
} start;

/* The parameter that v is, or is a cast or view of; CT_NOVAL. */
static ct_val weight_behind(const ct_graph *g, ct_val v)
{
    while (v != CT_NOVAL) {
        const ct_value *x = &g->values[v];
        if (x->arena == CT_ARENA_PARAM && x->producer < 0) return v;
        if (x->producer < 0 || g->nodes[x->producer].nin != 1) return CT_NOVAL;
        v = g->nodes[x->producer].in[0];
    }
    return CT_NOVAL;
}

/* Goes up from an output to the first node that has parameters. */
static ct_status find_head(const ct_graph *g, ct_val v, head *h)
{
    while (v != CT_NOVAL && h->n == 0) {
        int producer = g->values[v].producer;
        if (producer < 0) break;
        const ct_node *node = &g->nodes[producer];
        for (int k = 0; k < node->nin && h->n < HEAD_TENSORS; k++) {
            ct_val w = weight_behind(g, node->in[k]);
            if (w != CT_NOVAL) h->param[h->n++] = w;
        }
        v = node->in[0];
    }
    return h->n > 0 ? CT_OK : ct_fail(CT_EINTERNAL, "output '%s' of the model has no last layer", h->output);
}

static ct_status find_heads(start *t)
{
    const ct_program *p = NULL;
    for (size_t i = 0; i < t->s->units; i++)
        if (t->s->unit[i].prog.graph == t->s->ref_graph) p = &t->s->unit[i].prog;
    if (!t->task->rows) return CT_OK; /* heads are tensors like any others */
    for (int i = 0; p && i < p->ports; i++) {
        if (p->port[i].role != CT_PORT_SCORE) continue;
        head *h = &t->head[t->heads++];
        *h = (head){ .output = p->port[i].name };
        h->map = (ct_remap){ .now = &t->now, .old = &t->old, .output = h->output,
                             .rows = t->task->rows(&t->now, h->output), .old_rows = t->task->rows(&t->old, h->output) };
        CT_TRY(find_head(p->graph, p->port[i].val, h));
    }
    return t->heads > 0 ? CT_OK : ct_fail(CT_EINTERNAL, "the model has no last layer");
}

/* The head that parameter v belongs to; NULL: none. */
static const head *head_of(const start *t, ct_val v)
{
    for (int k = 0; k < t->heads; k++)
        for (int i = 0; i < t->head[k].n; i++)
            if (t->head[k].param[i] == v) return &t->head[k];
    return NULL;
}

/* ---- what does not agree ---- */

typedef struct complaint {
    char *text; /* "fc1.weight (missing), ..." */
    int n;
} complaint;

static ct_status complain(complaint *c, const char *name, const char *why)
{
    if (c->n++ >= SHOWN_TENSORS) return CT_OK;
    char *more = ct_asprintf("%s%s%s (%s)", c->text ? c->text : "", c->text ? ", " : "", name, why);
    if (!more) return CT_ENOMEM;
    ct_free(c->text);
    c->text = more;
    return CT_OK;
}

static ct_status complain_shape(complaint *c, const ct_tensor_ref *t, const ct_desc *have)
{
    char why[2 * CT_DESC_STR + 32], a[CT_DESC_STR], b[CT_DESC_STR];
    snprintf(why, sizeof why, "%s in the file, %s here", ct_desc_str(have, a), ct_desc_str(&t->desc, b));
    return complain(c, t->name, why);
}

/* Whether a tensor of the file can be taken over: the same shape, or in a last layer the file's number of rows. */
static bool fits(const start *t, const ct_tensor_ref *ref, const ct_desc *have)
{
    const head *h = head_of(t, ref->val);
    if (!h) return ct_desc_same_shape(have, &ref->desc);
    if (have->ndim != ref->desc.ndim || have->dim[0] != h->map.old_rows) return false;
    for (int i = 1; i < have->ndim; i++)
        if (have->dim[i] != ref->desc.dim[i]) return false;
    return ref->desc.dim[0] == h->map.rows;
}

/* Tensor `name` among the weights of the file that are to be used. NULL without memory or such a tensor; *st says
 * which. */
static const ct_st_tensor *find(const ct_model_file *m, const char *name, ct_status *st)
{
    char *full = ct_asprintf("%s%s", m->prefix, name);
    *st = full ? CT_OK : CT_ENOMEM;
    const ct_st_tensor *have = full ? ct_safetensors_find(m->st, full) : NULL;
    ct_free(full);
    return have;
}

/* Lists what is missing, misshaped or left over. */
static ct_status compare(const start *t, complaint *c)
{
    const ct_session *s = t->s;
    const ct_model_file *m = t->m;
    const size_t len = strlen(m->prefix);
    ct_status st;
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *ref = &s->tensor[i];
        const ct_st_tensor *have = find(m, ref->name, &st);
        CT_TRY(st);
        if (!have) CT_TRY(complain(c, ref->name, "not in the file"));
        else if (!fits(t, ref, &have->desc)) CT_TRY(complain_shape(c, ref, &have->desc));
    }
    for (size_t i = 0; i < ct_safetensors_count(m->st); i++) {
        const char *name = ct_safetensors_at(m->st, i)->name;
        if (strncmp(name, m->prefix, len) != 0) continue;
        bool known = false;
        for (size_t k = 0; k < s->tensors && !known; k++) known = strcmp(s->tensor[k].name, name + len) == 0;
        if (!known) CT_TRY(complain(c, name + len, "only in the file"));
    }
    return CT_OK;
}

/* ---- copying ---- */

/* Tensor i from the file: whole, or row by row in a last layer. */
static ct_status copy(const start *t, size_t i)
{
    ct_session *s = t->s;
    const ct_tensor_ref *ref = &s->tensor[i];
    const head *h = head_of(t, ref->val);
    ct_status st;
    const ct_st_tensor *have = find(t->m, ref->name, &st);
    CT_TRY(st);
    if (!have) return ct_fail(CT_EINTERNAL, "tensor %s is gone", ref->name);
    CT_TRY(ct_weights_finite(have, t->path));
    if (!h) {
        ct_st_read(have, ref->desc.dtype, s->host);
        return ct_session_set(s, i, ref->arena, s->host);
    }
    int64_t rows = ref->desc.dim[0], old_rows = have->desc.dim[0];
    size_t row = ct_desc_bytes(&ref->desc) / (size_t)rows;
    char *old = ct_malloc(row * (size_t)old_rows, "last layer of the model to start from");
    if (!old) return CT_ENOMEM;
    ct_st_read(have, ref->desc.dtype, old);
    st = ct_session_get(s, i, ref->arena, s->host);
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = t->task->old_row(&h->map, r);
        if (from >= 0) memcpy((char *)s->host + (size_t)r * row, old + (size_t)from * row, row);
    }
    ct_free(old);
    return st == CT_OK ? ct_session_set(s, i, ref->arena, s->host) : st;
}

static ct_status load(start *t)
{
    complaint c = { NULL, 0 };
    ct_status st;
    CT_TRY(find_heads(t));
    CT_GOTO(st, compare(t, &c));
    if (c.n > 0) {
        st = ct_fail(CT_EFORMAT, "%s does not fit model.name: %s: %s%s", t->path, t->s->spec.model.name, c.text,
                     c.n > SHOWN_TENSORS ? ", ..." : "");
        goto fail;
    }
    for (size_t i = 0; i < t->s->tensors; i++) CT_GOTO(st, copy(t, i));
    ct_info("starting from the weights of %s", t->path);
    if (t->task->remapped) t->task->remapped(&t->now, &t->old);
fail:
    ct_free(c.text);
    return st;
}

/* Both models, as their task sees them. */
static ct_status load_file(ct_session *s, const ct_model_file *m, const char *path, const ct_config *cfg,
                           const ct_facts *facts)
{
    const ct_model_spec old = { .name = m->cfg->model.name };
    const ct_goal goal = { .task = m->task };
    start t = { .s = s, .m = m, .path = path, .task = s->spec.goal.task };
    t.now = (ct_place){ .cfg = cfg, .facts = facts, .model = &s->spec.model, .goal = &s->spec.goal };
    t.old = (ct_place){ .cfg = m->cfg, .facts = m->facts, .model = &old, .goal = &goal };
    if (m->task != t.task)
        return ct_fail(CT_ECONFIG, "%s holds a %s, a model of the task %s; model.name: %s is one of the task %s", path,
                       old.name, m->task->name, s->spec.model.name, t.task->name);
    if (t.task->related) CT_TRY(t.task->related(path, &t.now, &t.old));
    return load(&t);
}

ct_status ct_init_weights(ct_session *s, const char *path, const ct_config *cfg, const ct_facts *facts)
{
    ct_model_file m;
    char *file;
    CT_TRY(ct_model_path(path, &file));
    ct_status st = ct_model_file_open(file, &m);
    if (st == CT_OK) {
        st = load_file(s, &m, file, cfg, facts);
        ct_model_file_close(&m);
    }
    ct_free(file);
    return st;
}
