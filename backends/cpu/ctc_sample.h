/* One sample of a CTC call, as the reference and the tuned implementation see it. */
#ifndef CT_CPU_CTC_SAMPLE_H
#define CT_CPU_CTC_SAMPLE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"

/* A label of n characters is spread to 2n+1 states: a blank before, between and after them. */
typedef struct ct_ctc_sample {
    int64_t len, states;  /* time steps, 1 <= len <= T; S = 2n+1 */
    const int32_t *label; /* [n] */
    bool possible;        /* len >= characters + equal neighbours */
} ct_ctc_sample;

/* Sample n of a ctc_loss or ctc_loss_bwd call. CT_EDATA: its length or a character is out of range. */
static inline ct_status ct_ctc_sample_open(const ct_call *call, int64_t n, ct_ctc_sample *out)
{
    const int64_t steps = call->in[0].desc.dim[0], classes = call->in[0].desc.dim[2];
    const int64_t columns = call->in[1].desc.dim[1];
    const char *name = ct_op_get(call->op)->name;
    const int32_t *label = (const int32_t *)call->in[1].data + n * columns;
    const int64_t len = ct_present(&call->in[2]) ? ((const int32_t *)call->in[2].data)[n] : steps;
    int64_t count = 0, needed = 0;
    *out = (ct_ctc_sample){ .label = label };
    if (len < 1 || len > steps)
        return ct_fail(CT_EDATA, "%s: sample %" PRId64 " of the batch has %" PRId64 " time steps, not 1 to %" PRId64,
                       name, n, len, steps);
    for (; count < columns && label[count] != -1; count++) {
        if (label[count] < 0 || label[count] >= classes - 1)
            return ct_fail(CT_EDATA,
                           "%s: character %" PRId64 " of sample %" PRId64 " of the batch is %" PRId32
                           ", not one of %" PRId64,
                           name, count, n, label[count], classes - 1);
        needed += count > 0 && label[count] == label[count - 1] ? 2 : 1;
    }
    *out = (ct_ctc_sample){ .len = len, .states = 2 * count + 1, .label = label, .possible = len >= needed };
    return CT_OK;
}

/* Class of state s: the blank is 0, character k is k+1. */
static inline int64_t ct_ctc_class(const ct_ctc_sample *g, int64_t s) { return s % 2 ? g->label[s / 2] + 1 : 0; }

/* Whether a path may go from s-2 to s: to a character that differs from the one before. */
static inline bool ct_ctc_may_skip(const ct_ctc_sample *g, int64_t s)
{
    return s % 2 == 1 && s >= 3 && g->label[s / 2] != g->label[s / 2 - 1];
}

/* States that can be reached by step t and from which the end can still be reached: first <= s < end. */
static inline int64_t ct_ctc_first(const ct_ctc_sample *g, int64_t t)
{
    const int64_t s = g->states - 2 * (g->len - t);
    return s > 0 ? s : 0;
}
static inline int64_t ct_ctc_end(const ct_ctc_sample *g, int64_t t)
{
    return 2 * t + 2 < g->states ? 2 * t + 2 : g->states;
}

#endif
