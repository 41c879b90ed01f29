/* Inside src/harness only. */
#ifndef CT_HARNESS_HARNESS_PRIV_H
#define CT_HARNESS_HARNESS_PRIV_H

#include "base/philox.h"
#include "harness/harness.h"

#define CT_CALL_TEXT 1024 /* bytes: a call string */

/* ---- cases.c: walking the tables ---- */

typedef struct ct_case {
    ct_call call;            /* descriptors; data NULL */
    char text[CT_CALL_TEXT]; /* the call string it was parsed from */
    ct_data data;
    uint64_t seed; /* of the run */
} ct_case;

/* Calls visit(user, case) for every case the options let through; stops at the first status that is not CT_OK. */
ct_status ct_cases_visit(const ct_selftest_opts *o, ct_status (*visit)(void *user, const ct_case *c), void *user);
ct_dtype ct_case_dtype(const ct_call *call); /* of the first floating tensor that is no step state or metric sum */
bool ct_holds_sums(const ct_call *call, int i); /* input i is the step state or sums over a run */

/* ---- generate.c: data ---- */

/* Fills host memory of every present input (call->in[i].data, allocated) of the case. With `smooth`, values keep clear
 * of kinks and ties, for finite differences; attempt numbers different draws of the same case. */
void ct_generate(const ct_case *c, const ct_call *call, bool smooth, int attempt);
uint64_t ct_case_hash(const char *text, ct_data data, int attempt);

/* ---- tolerance.c ---- */

typedef struct ct_verdict {
    double worst; /* largest error as a multiple of the tolerance; inf where an error may not be at all */
    int64_t at;   /* element with the largest error */
    double got, want, tolerance;
} ct_verdict;

/* |got - want| <= absolute + relative*|want|, element by element; both 0: equal values, a NaN for a NaN. */
typedef struct ct_bound {
    double absolute, relative;
} ct_bound;

/* Bound for one result of a call with inputs `host` (host memory, before the run): output >= 0 is an output's number,
 * and -1-i stands for written input i. flags: the implementation's, as far as they hold for this call. */
ct_bound ct_tolerance(const ct_call *host, const ct_tensor *want, int output, ct_data data, unsigned flags);
ct_verdict ct_compare(const ct_tensor *got, const ct_tensor *want, ct_bound bound); /* host memory */

#define CT_FAIL_AT 10.0 /* multiples of the tolerance: above it is a failure, above 1 a warning */

/* ---- report.c ---- */

/* The row of (op, impl, dtype, of variants or not), made if there is none. NULL: out of memory. */
ct_selftest_row *ct_report_row(ct_selftest_report *r, ct_op op, const char *impl, bool variants, ct_dtype dtype, unsigned flags);
/* Counts a case: by worst (<= 1 pass, <= CT_FAIL_AT warn, else fail), and writes message and REPRO line to the log.
 * variant: which one of the implementation it was; NULL: its own choice. */
ct_status ct_report_case(ct_selftest_report *r, ct_selftest_row *row, const ct_selftest_opts *o, const ct_case *c,
                         const char *variant, double worst, const char *message);

/* ---- host copies of a call's tensors (harness.c) ---- */

/* Allocates data of all present tensors of the call (inputs and outputs); outputs are filled with 0xff bytes, NaN in
 * every floating type. */
ct_status ct_host_alloc(ct_call *call);
void ct_host_free(ct_call *call);
/* Runs the reference on host tensors; scratch is allocated for the run. */
ct_status ct_reference_run(const ct_call *host);

#endif
