/* Reading and writing 16-bit storage through f32 buffers. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

void ct_cpu_to_f32(const ct_kern *k, ct_dtype d, const void *p, int64_t i, int64_t n, float *out)
{
    if (n <= 0) return;
    const void *src = ct_at(p, d, i);
    if (d == CT_F32)
        memcpy(out, src, (size_t)n * sizeof *out);
    else if (d == CT_BF16)
        k->copy->from_bf16(n, src, out);
    else
        k->copy->from_f16(n, src, out);
}

const float *ct_cpu_read(const ct_kern *k, ct_dtype d, const void *p, int64_t i, int64_t n, float *buf)
{
    if (d == CT_F32) return (const float *)p + i;
    ct_cpu_to_f32(k, d, p, i, n, buf);
    return buf;
}

float *ct_cpu_write(ct_dtype d, void *p, int64_t i, float *buf) { return d == CT_F32 ? (float *)p + i : buf; }

void ct_cpu_write_end(const ct_kern *k, ct_dtype d, void *p, int64_t i, int64_t n, const float *buf)
{
    if (d == CT_BF16)
        k->copy->to_bf16(n, buf, ct_at_mut(p, d, i));
    else if (d == CT_F16)
        k->copy->to_f16(n, buf, ct_at_mut(p, d, i));
}

void ct_cpu_to_type(const ct_kern *k, ct_dtype d, const float *x, int64_t n, void *p, int64_t i)
{
    if (d == CT_F32)
        memcpy((float *)p + i, x, (size_t)n * sizeof *x);
    else
        ct_cpu_write_end(k, d, p, i, n, x);
}
