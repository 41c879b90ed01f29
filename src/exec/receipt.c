/* The precision receipt: what the calls of a plan were asked to compute in, and what they really do. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/exec.h"

ct_status ct_receipt_of(const ct_backend *b, const ct_device *dev, const ct_impl *impl, const ct_call *call, ct_receipt *out)
{
    bool wide = (impl->flags & CT_IMPL_REFERENCE) != 0;
    for (int i = 0; i < call->nin; i++) {
        if (!ct_present(&call->in[i]) || !ct_dtype_is_float(call->in[i].desc.dtype)) continue;
        wide = wide || call->in[i].desc.dtype == CT_F64; /* of the leading operand: others may be the step's state */
        break;
    }
    *out = (ct_receipt){ .math = wide ? "f64" : "fp32", .sums = wide ? "f64" : "fp32" };
    return b->receipt ? b->receipt(dev, impl, call, out) : CT_OK;
}

static bool is_heavy(ct_op op) { return (ct_op_get(op)->rules->flags & CT_OPF_HEAVY) != 0; }

static void add_type(char *types, size_t size, const ct_tensor *t)
{
    if (!ct_present(t) || !ct_dtype_is_float(t->desc.dtype)) return;
    const char *name = ct_dtype_name(t->desc.dtype);
    const size_t n = strlen(name), used = strlen(types);
    for (const char *p = types; (p = strstr(p, name)); p += n)
        if ((p == types || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' ')) return;
    if (used + n + 2 <= size) snprintf(types + used, size - used, "%s%s", used ? " " : "", name);
}

/* What was asked of an operator: heavy ones take the precision that was asked for, all others f32, or f64 where everything is. */
static const char *asked_of(const ct_receipt_list *l, ct_op op)
{
    return is_heavy(op) || strcmp(l->asked, "f64") == 0 ? l->asked : "fp32";
}

static void judge(ct_receipt_row *r, const ct_impl *impl, const ct_receipt *actual)
{
    const bool units = strcmp(r->asked, "bf16") == 0 || strcmp(r->asked, "fp16") == 0 || strcmp(r->asked, "tf32") == 0;
    r->fault[0] = '\0';
    if (!is_heavy(r->op)) return;
    if (impl->flags & CT_IMPL_REFERENCE) snprintf(r->fault, sizeof r->fault, "the reference, plain loops, is taken");
    else if (impl->flags & CT_IMPL_YARDSTICK) snprintf(r->fault, sizeof r->fault, "the yardstick, plain loops, is taken: the library refuses");
    else if (strcmp(r->math, r->asked) != 0 && !(units && actual->tensor_cores && strcmp(r->math, "fp32") == 0)) /* more than was asked for is no fault */
        snprintf(r->fault, sizeof r->fault, "%s was asked for, factors are multiplied as %s", r->asked, r->math);
    else if (units && actual->has_cores && !actual->tensor_cores)
        snprintf(r->fault, sizeof r->fault, "%s was asked for, the device's matrix units are not used", r->asked);
}

static ct_status add_engine(ct_receipt_row *r, const char *engine)
{
    if (!*engine) return CT_OK;
    for (size_t i = 0; i < r->engines; i++)
        if (strcmp(r->engine[i], engine) == 0) return CT_OK;
    CT_TRY(ct_grow(&r->engine, r->engines, &r->cap_engines, sizeof *r->engine, "engines of a receipt"));
    r->engine[r->engines] = ct_strdup(engine, "engines of a receipt");
    if (!r->engine[r->engines]) return CT_ENOMEM;
    r->engines++;
    return CT_OK;
}

/* The row of calls that are computed like this one; a new one if there is none. */
static ct_status row_of(ct_receipt_list *l, const ct_impl *impl, const char *name, const ct_call *call, const ct_receipt *actual,
                        const char *node, ct_receipt_row **out)
{
    char types[sizeof out[0]->types] = "";
    for (int i = 0; i < call->nin; i++) add_type(types, sizeof types, &call->in[i]);
    for (int i = 0; i < call->nout; i++) add_type(types, sizeof types, &call->out[i]);
    ct_receipt_row fresh = { .op = call->op, .asked = asked_of(l, call->op), .math = actual->math, .sums = actual->sums,
                             .tensor_cores = actual->tensor_cores, .transforms = actual->transforms };
    memcpy(fresh.types, types, sizeof types);
    judge(&fresh, impl, actual);
    for (size_t i = 0; i < l->n; i++) {
        ct_receipt_row *r = &l->row[i];
        if (r->op != fresh.op || r->tensor_cores != fresh.tensor_cores || r->transforms != fresh.transforms ||
            strcmp(r->impl, name) != 0 || strcmp(r->types, types) != 0 ||
            strcmp(r->math, fresh.math) != 0 || strcmp(r->sums, fresh.sums) != 0 || strcmp(r->fault, fresh.fault) != 0)
            continue;
        *out = r;
        return CT_OK;
    }
    CT_TRY(ct_grow(&l->row, l->n, &l->cap, sizeof *l->row, "receipt"));
    fresh.impl = ct_strdup(name, "receipt");
    fresh.node = ct_strdup(node, "receipt");
    if (!fresh.impl || !fresh.node) {
        ct_free(fresh.impl);
        ct_free(fresh.node);
        return CT_ENOMEM;
    }
    *out = &l->row[l->n++];
    **out = fresh;
    return CT_OK;
}

ct_status ct_receipt_list_add(ct_receipt_list *l, const ct_plan *plan)
{
    const ct_graph *g = ct_plan_graph(plan);
    const ct_arenas *s = ct_plan_store(plan);
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_impl *impl;
        const ct_call *call = ct_plan_call(plan, i, &impl);
        ct_receipt actual;
        ct_receipt_row *row = NULL;
        if (!impl) continue;
        ct_status st = ct_receipt_of(s->backend, s->device, impl, call, &actual);
        if (st != CT_OK) return ct_fail_context(st, "node '%s'", g->nodes[i].name);
        CT_TRY(row_of(l, impl, ct_plan_impl(plan, i), call, &actual, g->nodes[i].name, &row));
        row->calls++;
        CT_TRY(add_engine(row, actual.engine));
    }
    return CT_OK;
}

void ct_receipt_list_free(ct_receipt_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        ct_receipt_row *r = &l->row[i];
        for (size_t k = 0; k < r->engines; k++) ct_free(r->engine[k]);
        ct_free(r->engine);
        ct_free(r->impl);
        ct_free(r->node);
    }
    ct_free(l->row);
    *l = (ct_receipt_list){ .asked = l->asked };
}
