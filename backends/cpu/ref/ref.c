#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <string.h>

void ct_ref_load(const ct_tensor *t, int64_t first, int64_t n, double *buf)
{
    switch (t->desc.dtype) {
    case CT_F32: {
        const float *p = (const float *)t->data + first;
        for (int64_t i = 0; i < n; i++) buf[i] = (double)p[i];
        break;
    }
    case CT_F64: memmove(buf, (const double *)t->data + first, (size_t)n * sizeof *buf); break;
    case CT_BF16: {
        const uint16_t *p = (const uint16_t *)t->data + first;
        for (int64_t i = 0; i < n; i++) buf[i] = (double)ct_bf16_to_f32(p[i]);
        break;
    }
    default:
        for (int64_t i = 0; i < n; i++) buf[i] = ct_load(t->desc.dtype, t->data, first + i);
        break;
    }
}

void ct_ref_store(const ct_tensor *t, int64_t first, int64_t n, const double *buf)
{
    switch (t->desc.dtype) {
    case CT_F32: {
        float *p = (float *)t->data + first;
        for (int64_t i = 0; i < n; i++) p[i] = (float)buf[i];
        break;
    }
    case CT_F64: memmove((double *)t->data + first, buf, (size_t)n * sizeof *buf); break;
    default:
        for (int64_t i = 0; i < n; i++) ct_store(t->desc.dtype, t->data, first + i, buf[i]);
        break;
    }
}

size_t ct_ref_scratch(const ct_tensor *t)
{
    if (!ct_present(t) || t->desc.dtype == CT_F64) return 0;
    return (size_t)ct_desc_numel(&t->desc) * sizeof(double);
}

const double *ct_ref_in(const ct_tensor *t, double **scratch)
{
    if (t->desc.dtype == CT_F64) return t->data;
    int64_t n = ct_desc_numel(&t->desc);
    double *room = *scratch;
    *scratch += n;
    ct_ref_load(t, 0, n, room);
    return room;
}

double *ct_ref_out(const ct_tensor *t, double **scratch)
{
    if (t->desc.dtype == CT_F64) return t->data;
    double *room = *scratch;
    *scratch += ct_desc_numel(&t->desc);
    return room;
}

void ct_ref_flush(const ct_tensor *t, const double *values)
{
    if (t->data != (const void *)values) ct_ref_store(t, 0, ct_desc_numel(&t->desc), values);
}

int64_t ct_ref_cols(const ct_tensor *t)
{
    return t->desc.ndim > 0 ? t->desc.dim[t->desc.ndim - 1] : 1;
}

int64_t ct_ref_rows(const ct_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < t->desc.ndim; i++) n *= t->desc.dim[i];
    return n;
}

const char *ct_ref_all_float(const ct_call *call)
{
    for (int i = 0; i < call->nin; i++)
        if (ct_present(&call->in[i]) && !ct_dtype_is_float(call->in[i].desc.dtype))
            return "an input is not floating point";
    for (int i = 0; i < call->nout; i++)
        if (ct_present(&call->out[i]) && !ct_dtype_is_float(call->out[i].desc.dtype))
            return "an output is not floating point";
    return NULL;
}

bool ct_ref_is_state(const ct_tensor *t)
{
    return ct_present(t) && t->desc.dtype == CT_F64 && ct_desc_numel(&t->desc) == CT_STATE_COUNT;
}

const ct_impl *ct_ref_find(ct_op op)
{
    static const ct_impl_set *const sets[] = {
#define CT_FAMILY(rules, cases, references) &references,
#include "ops/families.def"
#undef CT_FAMILY
    };
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++)
        for (size_t i = 0; i < sets[k]->n; i++)
            if (sets[k]->impls[i].op == op) return &sets[k]->impls[i];
    return NULL;
}
