/* Calls of the reference with the inputs that tests/harness/make_ref_values.py gives PyTorch, and what their outputs are compared by. */
#ifndef CT_TESTS_REF_FIXTURE_H
#define CT_TESTS_REF_FIXTURE_H

#include <check.h>
#include <math.h>

#include "harness/harness_priv.h"

#define RELATIVE 1e-12

static inline double element(int k, int64_t i)
{
    return (double)((37 * i + 11 * k) % 29 - 14) / 8;
}

static inline void fill(const ct_tensor *t, int k)
{
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) ct_store(t->desc.dtype, t->data, i, element(k, i));
}

static inline double project(const ct_tensor *t)
{
    double sum = 0;
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++)
        sum += ct_load(t->desc.dtype, t->data, i) * (double)(53 * i % 31 - 15) / 16;
    return sum;
}

static inline void assert_near(double got, double want, const char *what)
{
    ck_assert_msg(got == want || fabs(got - want) <= RELATIVE * (1 + fabs(want)), "%s: %.17g, should be %.17g", what,
                  got, want);
}

/* Parses the call and allocates and fills its inputs. */
static inline ct_call make(const char *text)
{
    ct_call c;
    ck_assert_msg(ct_call_parse(text, &c) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    for (int k = 0; k < c.nin; k++) {
        if (!ct_present(&c.in[k])) continue;
        if (c.in[k].desc.dtype == CT_I32)
            for (int64_t i = 0; i < ct_desc_numel(&c.in[k].desc); i++)
                ((int32_t *)c.in[k].data)[i] = (int32_t)(c.attrs.loss.classes ? 7 * i % c.attrs.loss.classes : 1);
        else
            fill(&c.in[k], k);
    }
    return c;
}

static inline void run(const ct_call *c)
{
    ck_assert_msg(ct_reference_run(c) == CT_OK, "%s", ct_error_message());
}

#endif
