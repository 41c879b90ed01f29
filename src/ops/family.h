/* Inside src/ops only: helpers for the rules in the family files. Each of these gives one array of rules to ops.c, which
 * is named in families.def and ends with a row whose shape is NULL. */
#ifndef CT_OPS_RULES_FAMILY_H
#define CT_OPS_RULES_FAMILY_H

#include <stddef.h>

#include "ops/ops.h"

#define CT_FAMILY(rules, cases, references) extern const ct_op_rules rules[];
#include "ops/families.def"
#undef CT_FAMILY

/* ---- attribute fields: `part` is the member of ct_attrs, `field` the member of that struct ---- */
#define CT_FIELD_INT(part, field) { #field, offsetof(ct_attrs, part.field), false, 0, 0 }
#define CT_FIELD_REAL(part, field) { #field, offsetof(ct_attrs, part.field), true, 0, 0 }
/* Arrays; `number` is the member that says how many of their elements count. */
#define CT_FIELD_LENGTH(part, field) \
    ((int)(sizeof(((ct_attrs *)0)->part.field) / sizeof(((ct_attrs *)0)->part.field[0])))
#define CT_FIELD_INTS(part, field, number) \
    { #field, offsetof(ct_attrs, part.field), false, CT_FIELD_LENGTH(part, field), offsetof(ct_attrs, part.number) }
#define CT_FIELD_REALS(part, field, number) \
    { #field, offsetof(ct_attrs, part.field), true, CT_FIELD_LENGTH(part, field), offsetof(ct_attrs, part.number) }
#define CT_FIELD_END { NULL, 0, false, 0, 0 }

/* ---- domains of inputs ---- */
#define CT_IS(k) { .kind = CT_DOM_##k }
#define CT_ANY CT_IS(ANY)
#define CT_RANGE(from, to) { .kind = CT_DOM_RANGE, .lo = (from), .hi = (to) }
#define CT_BELOW(n) { .kind = CT_DOM_BELOW, .hi = (n) }
#define CT_BY_CALL(f) { .kind = CT_DOM_BY_CALL, .by = (f) }
#define CT_OUTPUT(number, op) { .kind = CT_DOM_FORWARD, .of = (op), .output = (number) }
#define CT_OUTPUT_FROM(input, op) { .kind = CT_DOM_FORWARD, .of = (op), .first = (input) } /* its first output */
#define CT_ANY_OR(domain) { .kind = CT_DOM_ANY, .special = &(domain) } /* `domain` in cases of special data */

extern const ct_domain ct_domain_nan;  /* any numbers, some of them infinite or NaN */
extern const ct_domain ct_domain_wide; /* [-60, 60): exp of them alone is large */
ct_domain ct_domain_class(const ct_call *c); /* class ids below attribute `classes` of the losses */

/* ---- typical sizes of sums of n terms ---- */
double ct_typical_products(int output, double n, const double rms[CT_MAX_IN]); /* elements of input 0 times input 1's */
double ct_typical_sum(int output, double n, const double rms[CT_MAX_IN]);      /* elements of input 0 */
double ct_typical_mean(int output, double n, const double rms[CT_MAX_IN]);     /* their mean: as large as they are */

/* ---- shape rules: checks of input i, called `name` in messages. All give CT_EINVAL with operator, tensor and
 * dimension ---- */

/* Records "<operator>: <message>" and returns CT_EINVAL. */
ct_status ct_rule_fail(const ct_call *c, const char *fmt, ...) CT_PRINTF(2, 3);

ct_status ct_rule_ndim(const ct_call *c, int i, const char *name, int ndim);           /* has exactly ndim dimensions */
ct_status ct_rule_ndim_least(const ct_call *c, int i, const char *name, int ndim); /* has at least ndim dimensions */
ct_status ct_rule_dim(const ct_call *c, int i, const char *name, int d, int64_t want); /* dim[d] == want */
ct_status ct_rule_float(const ct_call *c, int i, const char *name);                    /* any floating type */
ct_status ct_rule_accum(const ct_call *c, int i, const char *name);                    /* f32 or f64 */
ct_status ct_rule_dtype(const ct_call *c, int i, const char *name, ct_dtype want);
ct_status ct_rule_same_shape(const ct_call *c, int i, const char *name, int j, const char *other);
ct_status ct_rule_same(const ct_call *c, int i, const char *name, int j, const char *other); /* type and shape */
ct_status ct_rule_desc(const ct_call *c, int i, const char *name, ct_desc want);       /* of this type and shape */
ct_status ct_rule_vector(const ct_call *c, int i, const char *name, ct_dtype dtype, int64_t n); /* dtype[n] */
ct_status ct_rule_state(const ct_call *c, int i); /* f64[CT_STATE_COUNT] */

/* Attribute `name` with value v must lie in [lo, hi]. */
ct_status ct_rule_int(const ct_call *c, const char *name, int64_t v, int64_t lo, int64_t hi);
ct_status ct_rule_real(const ct_call *c, const char *name, double v, double lo, double hi); /* NaN is outside */

/* A floating attribute type (f32, f64, bf16, f16), or with accum only f32 and f64. */
ct_status ct_rule_attr_float(const ct_call *c, const char *name, int64_t dtype, bool accum);

/* Output size of a window of `ker` taps `dil` apart, moved by `stride` over `in` pixels with `pad` more on each side:
 * floor((in + 2 pad - dil (ker-1) - 1) / stride) + 1. All arguments must be within [0, CT_RULE_MAX_EXTENT]. `what` is
 * "h" or "w". */
#define CT_RULE_MAX_EXTENT ((int64_t)1 << 31)
ct_status ct_rule_window(const ct_call *c, const char *what, int64_t in, int64_t ker, int64_t stride, int64_t pad,
                         int64_t dil, int64_t *out);

/* Product of all dimensions but the last. */
int64_t ct_rows(const ct_desc *d);
int64_t ct_last_dim(const ct_desc *d);

/* Sets output i. */
void ct_rule_out(ct_call *c, int i, ct_desc d);

/* ---- gradient rules ---- */

/* Emits an operator with one output into *out. */
ct_status ct_grad_emit1(const ct_grad_ctx *g, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, ct_val *out);

#endif
