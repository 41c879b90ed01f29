/* Starting from another model's weights. */
#include "config.h"

#include "weights/init.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "task/text/text.h"
#include "weights/checkpoint.h"

#define SHOWN_TENSORS 8
#define SHOWN_CHARACTERS 40
#define HEAD_TENSORS 4

/* The last layer of a model: its parameters, and how their rows are numbered, in the file and here. */
typedef struct head {
    ct_val param[HEAD_TENSORS]; /* in the session's ref_graph */
    int n;
    bool ctc;                   /* one class, the first, is the blank */
    int64_t positions, old_positions; /* 1 for CTC */
    const ct_charset *now, *old;
} head;

static int64_t classes_of(const head *h, const ct_charset *cs) { return cs->n + (h->ctc ? 1 : 0); }

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

/* Goes up from the logits to the first node that has parameters. */
static ct_status find_head(const ct_session *s, head *h)
{
    const ct_graph *g = s->ref_graph;
    ct_val v = CT_NOVAL;
    for (size_t i = 0; i < s->units; i++)
        if (s->unit[i].prog.graph == g) v = s->unit[i].prog.logits;
    h->n = 0;
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
    return h->n > 0 ? CT_OK : ct_fail(CT_EINTERNAL, "the model has no last layer");
}

static bool in_head(const head *h, ct_val v)
{
    for (int i = 0; i < h->n; i++)
        if (h->param[i] == v) return true;
    return false;
}

/* Row of the file that row r takes over; -1: there is none. */
static int64_t old_row(const head *h, int64_t r)
{
    int64_t now = classes_of(h, h->now), old = classes_of(h, h->old);
    int64_t position = r / now, class = r % now;
    if (position >= h->old_positions) return -1;
    if (h->ctc && class == 0) return 0;
    int k = ct_charset_find(h->old, h->now->cp[class - (h->ctc ? 1 : 0)]);
    return k < 0 ? -1 : position * old + k + (h->ctc ? 1 : 0);
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

/* Whether a tensor of the file can be taken over: the same shape, or in the last layer the file's number of rows. */
static bool fits(const head *h, const ct_tensor_ref *t, const ct_desc *have)
{
    if (!in_head(h, t->val)) return ct_desc_same_shape(have, &t->desc);
    if (have->ndim != t->desc.ndim || have->dim[0] != h->old_positions * classes_of(h, h->old)) return false;
    for (int i = 1; i < have->ndim; i++)
        if (have->dim[i] != t->desc.dim[i]) return false;
    return t->desc.dim[0] == h->positions * classes_of(h, h->now);
}

/* Lists what is missing, misshaped or left over. */
static ct_status compare(const ct_session *s, const ct_model_file *m, const head *h, complaint *c)
{
    size_t len = strlen(m->prefix);
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        char *name = ct_asprintf("%s%s", m->prefix, t->name);
        if (!name) return CT_ENOMEM;
        const ct_st_tensor *have = ct_safetensors_find(m->st, name);
        ct_free(name);
        if (!have) CT_TRY(complain(c, t->name, "not in the file"));
        else if (!fits(h, t, &have->desc)) CT_TRY(complain_shape(c, t, &have->desc));
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

/* Tensor i from the file: whole, or row by row in the last layer. */
static ct_status copy(ct_session *s, const ct_model_file *m, const head *h, size_t i)
{
    const ct_tensor_ref *t = &s->tensor[i];
    char *name = ct_asprintf("%s%s", m->prefix, t->name);
    if (!name) return CT_ENOMEM;
    const ct_st_tensor *have = ct_safetensors_find(m->st, name);
    ct_free(name);
    if (!have) return ct_fail(CT_EINTERNAL, "tensor %s is gone", t->name);
    if (!in_head(h, t->val)) {
        ct_st_read(have, t->desc.dtype, s->host);
        return ct_session_set(s, i, t->arena, s->host);
    }
    int64_t rows = t->desc.dim[0], old_rows = have->desc.dim[0];
    size_t row = ct_desc_bytes(&t->desc) / (size_t)rows;
    char *old = ct_malloc(row * (size_t)old_rows, "last layer of the model to start from");
    if (!old) return CT_ENOMEM;
    ct_st_read(have, t->desc.dtype, old);
    ct_status st = ct_session_get(s, i, t->arena, s->host);
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = old_row(h, r);
        if (from >= 0) memcpy((char *)s->host + (size_t)r * row, old + (size_t)from * row, row);
    }
    ct_free(old);
    return st == CT_OK ? ct_session_set(s, i, t->arena, s->host) : st;
}

/* Characters of a that b has not, into buf (the first of them, with "..." behind); returns how many. */
static int without(const ct_charset *a, const ct_charset *b, char *buf, size_t size)
{
    int32_t id[SHOWN_CHARACTERS];
    int n = 0;
    for (int k = 0; k < a->n; k++) {
        if (ct_charset_find(b, a->cp[k]) >= 0) continue;
        if (n < SHOWN_CHARACTERS) id[n] = k;
        n++;
    }
    ct_charset_decode(a, id, n < SHOWN_CHARACTERS ? n : SHOWN_CHARACTERS, buf, size);
    return n;
}

static void report(const head *h, const char *path)
{
    char fresh[4 * SHOWN_CHARACTERS + 1], gone[4 * SHOWN_CHARACTERS + 1];
    int nfresh = without(h->now, h->old, fresh, sizeof fresh), ngone = without(h->old, h->now, gone, sizeof gone);
    ct_info("starting from the weights of %s", path);
    if (nfresh + ngone > 0 || !ct_charset_equal(h->now, h->old))
        ct_info("  last layer: %d characters taken over, %d new%s%s%s, %d dropped%s%s%s", h->now->n - nfresh, nfresh,
                nfresh ? " (" : "", fresh, nfresh > SHOWN_CHARACTERS ? " ...)" : nfresh ? ")" : "", ngone,
                ngone ? " (" : "", gone, ngone > SHOWN_CHARACTERS ? " ...)" : ngone ? ")" : "");
    if (h->positions != h->old_positions)
        ct_info("  last layer: %" PRId64 " positions, the model had %" PRId64 "%s", h->positions, h->old_positions,
                h->positions > h->old_positions ? "; the others are new" : "");
}

static ct_status load(ct_session *s, const ct_model_file *m, const char *path, const ct_charset *charset)
{
    const ct_model_spec old = { .name = m->cfg->model.name };
    head h = { .now = charset, .old = &ct_text_facts(m->facts)->charset };
    complaint c = { NULL, 0 };
    ct_status st;
    h.ctc = ct_model_head(&s->spec.model) == CT_HEAD_CTC;
    if ((ct_model_head(&old) == CT_HEAD_CTC) != h.ctc)
        return ct_fail(CT_ECONFIG, "%s holds a %s, which reads texts %s; model.name: %s does not", path, old.name,
                       h.ctc ? "of a fixed length" : "of any length", s->spec.model.name);
    h.positions = h.ctc ? 1 : s->spec.model.positions;
    h.old_positions = h.ctc ? 1 : ct_text_facts(m->facts)->positions;
    CT_TRY(find_head(s, &h));
    CT_GOTO(st, compare(s, m, &h, &c));
    if (c.n > 0) {
        st = ct_fail(CT_EFORMAT, "%s does not fit model.name: %s: %s%s", path, s->spec.model.name, c.text,
                     c.n > SHOWN_TENSORS ? ", ..." : "");
        goto fail;
    }
    for (size_t i = 0; i < s->tensors; i++) CT_GOTO(st, copy(s, m, &h, i));
    report(&h, path);
fail:
    ct_free(c.text);
    return st;
}

ct_status ct_init_weights(ct_session *s, const char *path, const ct_charset *charset)
{
    ct_model_file m;
    char *file;
    CT_TRY(ct_model_path(path, &file));
    ct_status st = ct_model_file_open(file, &m);
    if (st == CT_OK) {
        st = load(s, &m, file, charset);
        ct_model_file_close(&m);
    }
    ct_free(file);
    return st;
}
