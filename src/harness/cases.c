#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "harness/harness_priv.h"

static const ct_case_row *const tables[] = {
#define CT_FAMILY(rules, cases, references) cases,
#include "ops/families.def"
#undef CT_FAMILY
};

static const char *const data_names[CT_DATA_COUNT] = {
    "uniform", "ints", "ties", "large", "small", "special", "skipped", "faint"
};

const char *ct_data_name(ct_data d)
{
    return (unsigned)d < CT_DATA_COUNT ? data_names[d] : "?";
}

bool ct_data_parse(const char *s, ct_data *out)
{
    for (int d = 0; d < CT_DATA_COUNT; d++) {
        if (strcmp(s, data_names[d]) == 0) {
            *out = (ct_data)d;
            return true;
        }
    }
    return false;
}

bool ct_holds_sums(const ct_call *call, int i)
{
    const ct_domain_kind kind = ct_call_domain(call, i).kind;
    return kind == CT_DOM_STATE || kind == CT_DOM_SUMS;
}

ct_dtype ct_case_dtype(const ct_call *call)
{
    for (int pass = 0; pass < 2; pass++) { /* a step state or metric sum decides only if there is nothing else */
        for (int i = 0; i < call->nin; i++) {
            const ct_desc *d = &call->in[i].desc;
            if (ct_present(&call->in[i]) && ct_dtype_is_float(d->dtype) && (pass || !ct_holds_sums(call, i)))
                return d->dtype;
        }
        for (int i = 0; i < call->nout; i++)
            if (ct_present(&call->out[i]) && ct_dtype_is_float(call->out[i].desc.dtype)) return call->out[i].desc.dtype;
    }
    return call->in[0].desc.dtype;
}

/* Writes template `from` for type t: "T[" and "A[" become type names, "%d" the type's number. */
static ct_status expand(const char *from, ct_dtype t, char *to, size_t size)
{
    size_t n = 0;
    char number[16];
    snprintf(number, sizeof number, "%d", (int)t);
    for (const char *p = from; *p; p++) {
        const char *piece = NULL;
        bool word_start = p == from || p[-1] == '(' || p[-1] == ' ';
        if (word_start && p[0] == 'T' && p[1] == '[') piece = ct_dtype_name(t);
        if (word_start && p[0] == 'A' && p[1] == '[') piece = ct_dtype_name(ct_accum_dtype(t));
        if (p[0] == '%' && p[1] == 'd') piece = number, p++;
        size_t len = piece ? strlen(piece) : 1;
        if (n + len + 1 > size) return ct_fail(CT_EINTERNAL, "case '%s' is too long", from);
        memcpy(to + n, piece ? piece : p, len);
        n += len;
    }
    to[n] = '\0';
    return CT_OK;
}

typedef struct walk {
    ct_status (*visit)(void *user, const ct_case *c);
    void *user;
    bool op_set, data_set;
    ct_op op;
    ct_data data;
    int visited;
} walk;

/* All data patterns in `set` of one call string. */
static ct_status visit_text(walk *w, ct_case *c, unsigned set)
{
    CT_TRY(ct_call_parse(c->text, &c->call));
    if (w->op_set && c->call.op != w->op) return CT_OK;
    for (int d = 0; d < CT_DATA_COUNT; d++) {
        if (!(set >> d & 1u) || (w->data_set && (ct_data)d != w->data)) continue;
        c->data = (ct_data)d;
        w->visited++;
        CT_TRY(w->visit(w->user, c));
    }
    return CT_OK;
}

static ct_status visit_row(walk *w, ct_case *c, const ct_case_row *row)
{
    static const ct_dtype types[] = { CT_F32, CT_F64, CT_BF16, CT_F16 };
    int count = row->types == CT_TYPES_ALL ? 4 : row->types == CT_TYPES_ACCUM ? 2 : 1;
    for (int i = 0; i < count; i++) {
        CT_TRY(expand(row->text, types[i], c->text, sizeof c->text));
        CT_TRY(visit_text(w, c, row->data));
    }
    return CT_OK;
}

ct_status ct_cases_visit(const ct_selftest_opts *o, ct_status (*visit)(void *user, const ct_case *c), void *user)
{
    walk w = { .visit = visit, .user = user };
    ct_status st = CT_OK;
    if (o->op) {
        if (!ct_op_find(o->op, &w.op)) return ct_fail(CT_ECONFIG, "there is no operator '%s'", o->op);
        w.op_set = true;
    }
    if (o->data) {
        if (!ct_data_parse(o->data, &w.data)) return ct_fail(CT_EINVAL, "there is no data pattern '%s'", o->data);
        w.data_set = true;
    }
    ct_case *c = ct_calloc(1, sizeof *c, "test case");
    if (!c) return CT_ENOMEM;
    c->seed = o->seed;
    if (o->call) {
        if (strlen(o->call) >= sizeof c->text) {
            st = ct_fail(CT_EINVAL, "the call string is longer than %zu bytes", sizeof c->text - 1);
            goto fail;
        }
        strcpy(c->text, o->call);
        CT_GOTO(st, visit_text(&w, c, (1u << CT_DATA_COUNT) - 1));
    } else {
        for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
            for (const ct_case_row *row = tables[t]; row->text; row++)
                if (row->level == CT_LEVEL_QUICK || o->full) CT_GOTO(st, visit_row(&w, c, row));
    }
    if (w.visited == 0) st = ct_fail(CT_EINVAL, "no case fits the options");
fail:
    ct_free(c);
    return st;
}
