#include "config.h"

#include "ops/ops.h"

#include <pthread.h>
#include <string.h>

/* The tables of src/ops/rules/. */
#define CT_FAMILY(rules, cases, references) extern const ct_op_rules rules[];
#include "ops/families.def"
#undef CT_FAMILY

static ct_op_info infos[CT_OP_COUNT] = {
#define CT_OP(id, opname, opfamily, imin, imax, omin, omax) [id] = { opname, opfamily, imin, imax, omin, omax, NULL },
#include "ops/ops.def"
#undef CT_OP
};

static pthread_once_t linked = PTHREAD_ONCE_INIT;

/* Joins the catalogue's rows with the rules of the family files. */
static void link_rules(void)
{
    static const ct_op_rules *const families[] = {
#define CT_FAMILY(rules, cases, references) rules,
#include "ops/families.def"
#undef CT_FAMILY
    };
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const ct_op_rules *r = families[f]; r->shape; r++) infos[r->op].rules = r;
}

const ct_op_info *ct_op_get(ct_op op)
{
    pthread_once(&linked, link_rules);
    return &infos[op];
}

bool ct_op_find(const char *name, ct_op *out)
{
    for (int op = 0; op < CT_OP_COUNT; op++) {
        if (strcmp(infos[op].name, name) == 0) {
            *out = (ct_op)op;
            return true;
        }
    }
    return false;
}

/* Every dimension at least 1, and the bytes countable. */
static ct_status check_extent(const ct_op_info *info, const char *side, int i, const ct_desc *d)
{
    char s[CT_DESC_STR];
    if (d->ndim > CT_MAX_DIMS || (unsigned)d->dtype >= (unsigned)CT_DTYPE_COUNT)
        return ct_fail(CT_EINVAL, "%s: %s %d has no valid type or %d dimensions", info->name, side, i, d->ndim);
    for (int k = 0; k < d->ndim; k++) {
        if (d->dim[k] < 1)
            return ct_fail(CT_EINVAL, "%s: %s %d is %s: dimension %d must be at least 1", info->name, side, i,
                           ct_desc_str(d, s), k);
    }
    if (ct_desc_bytes(d) > (size_t)PTRDIFF_MAX)
        return ct_fail(CT_EINVAL, "%s: %s %d is %s, which is more bytes than can be addressed", info->name, side, i,
                       ct_desc_str(d, s));
    return CT_OK;
}

ct_status ct_call_infer(ct_call *call)
{
    if ((unsigned)call->op >= (unsigned)CT_OP_COUNT)
        return ct_fail(CT_EINVAL, "operator number %d does not exist", (int)call->op);
    const ct_op_info *info = ct_op_get(call->op);
    if (call->nin < info->in_min || call->nin > info->in_max)
        return ct_fail(CT_EINVAL, "%s: %d inputs given, takes %d to %d", info->name, call->nin, info->in_min,
                       info->in_max);
    if (call->nout < info->out_min || call->nout > info->out_max)
        return ct_fail(CT_EINVAL, "%s: %d outputs wanted, gives %d to %d", info->name, call->nout, info->out_min,
                       info->out_max);
    for (int i = 0; i < call->nin; i++) {
        if (ct_present(&call->in[i]))
            CT_TRY(check_extent(info, "input", i, &call->in[i].desc));
        else if (i < info->in_min)
            return ct_fail(CT_EINVAL, "%s: input %d is absent, but not optional", info->name, i);
    }
    /* Rules may look at optional inputs without asking for nin. */
    for (int i = call->nin; i < CT_MAX_IN; i++) call->in[i] = (ct_tensor){ ct_absent_desc(), NULL };
    for (int i = 0; i < CT_MAX_OUT; i++) call->out[i].desc = ct_absent_desc();
    CT_TRY(info->rules->shape(call));
    for (int i = 0; i < call->nout; i++)
        if (ct_present(&call->out[i])) CT_TRY(check_extent(info, "output", i, &call->out[i].desc));
    return CT_OK;
}

ct_domain ct_call_domain(const ct_call *call, int i)
{
    const ct_domain *d = &ct_op_get(call->op)->rules->domain[i];
    return d->kind == CT_DOM_BY_CALL ? d->by(call) : *d;
}

double ct_call_flops(const ct_call *call)
{
    const ct_op_rules *r = ct_op_get(call->op)->rules;
    if (r->flags & CT_OPF_VIEW) return 0;
    if (r->flops) return r->flops(call);
    double n = 0;
    for (int i = 0; i < call->nout; i++)
        if (ct_present(&call->out[i])) n += (double)ct_desc_numel(&call->out[i].desc);
    return n;
}

double ct_call_bytes(const ct_call *call)
{
    const ct_op_rules *r = ct_op_get(call->op)->rules;
    if (r->flags & CT_OPF_VIEW) return 0;
    double bytes = 0;
    for (int i = 0; i < call->nin; i++) {
        if (!ct_present(&call->in[i])) continue;
        const double written = r->mutates >> i & 1u ? 1 : 0, read = r->read ? r->read(call, i) : 1;
        bytes += (double)ct_desc_bytes(&call->in[i].desc) * (read + written);
    }
    for (int i = 0; i < call->nout; i++)
        if (ct_present(&call->out[i])) bytes += (double)ct_desc_bytes(&call->out[i].desc);
    return bytes;
}
