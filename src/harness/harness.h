/* The operator harness: runs every implementation of every operator of a backend against the reference
 * (backends/cpu/ref) over a table of calls, and the reference's gradients against finite differences.
 *
 * It is part of the library, because `captrain selftest` runs it in the installed binary; tests/harness/check_ops.c runs it in
 * `make check`. A case is (call string, data pattern, seed); its data are a function of these three alone, so the line
 * REPRO: check_ops --seed N --impl NAME --data PATTERN --case 'call string'
 * that comes with every failure replays it.
 *
 * What is checked for each implementation that accepts a call: it runs with exactly the scratch it asked for; outputs
 * and written inputs agree with the reference within the tolerance of the operator (tolerance.c; exactly for small
 * integers where the operator allows it and for integer outputs); inputs that it must not write keep their bytes; guard
 * bands around every tensor and the scratch stay untouched; outputs and scratch are NaN before the run, so nothing can
 * be left unwritten or read before it is written; and, where the operator's rule allows the output to lie on an input,
 * the same in place. With `variants` all of it also for every variant that the backend offers of a call. */
#ifndef CT_HARNESS_HARNESS_H
#define CT_HARNESS_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "backends/backend.h"

/* What the inputs of a case hold. */
typedef enum ct_data {
    CT_DATA_UNIFORM, /* [-1,1), or the operator's own range where it needs one (variances, probabilities, ...) */
    CT_DATA_INTS,    /* small integers: sums are exact in every type, so the result must be the reference's bits */
    CT_DATA_TIES,    /* few different values: ties for maxima, many exact zeros */
    CT_DATA_LARGE,   /* magnitudes around 2^10 (f16: 2^4) */
    CT_DATA_SMALL,   /* magnitudes around 2^-10 (f16: 2^-4) */
    CT_DATA_SPECIAL, /* what is special for the operator: NaN for pools, the very first step for optimizers, ... */
    CT_DATA_SKIPPED, /* optimizers: the state says found_inf; any others: as uniform */
    CT_DATA_FAINT,   /* each element of its own magnitude, from 1 down to the least numbers of the type, normal or not */
    CT_DATA_COUNT
} ct_data;

const char *ct_data_name(ct_data d);
bool ct_data_parse(const char *s, ct_data *out);

/* One row of a case table: in `text`, T stands for the type under test and A for max(T, f32) wherever '[' follows, and
 * %d for the number of T as an attribute. */
enum ct_case_types { CT_TYPES_ALL, CT_TYPES_ACCUM, CT_TYPES_ONCE }; /* f32 f64 bf16 f16; f32 f64; text as it stands */
enum ct_case_level { CT_LEVEL_QUICK, CT_LEVEL_FULL }; /* make check; real shapes with --full and --bench */
typedef struct ct_case_row {
    const char *text; /* NULL ends a table */
    int types;        /* ct_case_types */
    unsigned data;    /* bit set of ct_data */
    int level;        /* ct_case_level */
} ct_case_row;

#define CT_D(x) (1u << CT_DATA_##x)

/* One table per family, src/harness/cases/<family>.c. */
#define CT_FAMILY(rules, cases, references) extern const ct_case_row cases[];
#include "ops/families.def"
#undef CT_FAMILY

typedef struct ct_selftest_opts {
    uint64_t seed;
    const char *op;      /* only this operator; NULL = all */
    const char *impl;    /* only implementations of this name; "NAME:VARIANT": only that variant of it; NULL = all */
    const char *call;    /* this call instead of the tables; NULL = the tables */
    const char *data;    /* only this data pattern (its name); NULL = those of the table, for `call` all */
    bool full;           /* also the large shapes */
    bool variants;       /* also every variant (backend.h) that an implementation has of a call */
    FILE *log;           /* failures and warnings go here as they come; NULL = nowhere */
    const char *program; /* what REPRO lines begin with; NULL = "check_ops" */
} ct_selftest_opts;

/* Result of one (operator, implementation, type), of the implementation's own choices or of variants. */
typedef struct ct_selftest_row {
    ct_op op;
    const char *impl; /* static: the backend's; "gradient" for finite differences */
    ct_dtype dtype;   /* of the first floating tensor of the call */
    unsigned flags;   /* ct_impl_flags */
    bool variants;    /* of variants that were named, each a case of its own */
    int cases, passed, warned, failed, refused;
    double worst;       /* largest error as a multiple of the tolerance; inf: NaN, guard band, unwanted write, error */
    const char *reason; /* first refusal, static; NULL = none */
    uint64_t bits;      /* hash of all results: equal for any number of threads where flags say DETERMINISTIC */
} ct_selftest_row;

typedef struct ct_selftest_report {
    ct_selftest_row *rows;
    size_t nrows, cap;
    int cases, passed, warned, failed, refused; /* sums */
    char *first_failure;                        /* its message; NULL = none */
} ct_selftest_report;

/* Runs the tables on a device of the backend and adds to *out (which starts zeroed). CT_OK says that the harness itself
 * worked: whether the implementations are right is out->failed. CT_EINVAL if an option names nothing. */
ct_status ct_selftest_ops(const ct_backend *b, ct_device *dev, const ct_selftest_opts *o, ct_selftest_report *out);

/* What finite differences are called where implementations have names: in rows, REPRO lines and opts.impl. With it
 * ct_selftest_ops() does nothing, with any other name ct_selftest_gradients() does nothing. */
#define CT_IMPL_GRADIENT "gradient"

/* Finite differences: for every differentiable operator, on the f64 reference, each wanted gradient that the operator's
 * rule composes against the numerical derivative along a random direction. Uses CT_DATA_UNIFORM alone. */
ct_status ct_selftest_gradients(const ct_selftest_opts *o, ct_selftest_report *out);

/* ---- times (timing.c) ---- */

/* A call on a device: memory for its tensors, inputs filled with data that suit the operator. */
typedef struct ct_timed_call {
    const ct_backend *b;
    ct_device *dev;
    ct_stream *stream;
    ct_call *set; /* [sets] the call with device addresses: each run takes the next, so that a device's cache does not have its tensors */
    int sets, next;
    ct_event *from, *to; /* NULL: the host's clock is all there is */
} ct_timed_call;

typedef struct ct_call_time {
    double best, median; /* of one run, seconds */
    int runs;
} ct_call_time;

/* `call` has descriptors only. Its data are a function of the call. CT_ENOMEM. */
ct_status ct_timed_open(const ct_backend *b, ct_device *dev, const ct_call *call, ct_timed_call *out);
/* Times an implementation that accepted the call with `scratch` bytes: one run to warm up, then at least 5 and at most
 * 31, until `seconds` are spent; of one that takes a second or more the first run is all. Waits for the device after
 * each. The time is the device's own where it has one (event_seconds), else the host's from queueing to the end of waiting. */
ct_status ct_timed_run(ct_timed_call *t, const ct_impl *impl, size_t scratch, double seconds, ct_call_time *out);
void ct_timed_close(ct_timed_call *t); /* a zeroed one is fine */

/* Median times of every implementation over the same tables: one line per call with ms, GFLOP/s and GB/s, to f. */
ct_status ct_selftest_bench(const ct_backend *b, ct_device *dev, const ct_selftest_opts *o, FILE *f);

/* Table of a report, one line per row, and a summary line. */
void ct_selftest_print(const ct_selftest_report *r, FILE *f);
void ct_selftest_report_free(ct_selftest_report *r); /* NULL and zeroed are fine */

#endif
