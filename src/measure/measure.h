/* Measuring operator calls on a device: what `bench --ops`, `bench --op` and `tune` share. */
#ifndef CT_MEASURE_MEASURE_H
#define CT_MEASURE_MEASURE_H

#include "exec/exec.h"
#include "harness/harness.h"

/* ---- distinct calls of programs ---- */

typedef struct ct_call_use {
    ct_call call; /* descriptors only */
    char *text;   /* ct_call_format() */
    int count;    /* how often it occurs */
} ct_call_use;

typedef struct ct_call_list { /* starts zeroed */
    ct_call_use *use;
    size_t n, cap;
} ct_call_list;

ct_status ct_call_list_add(ct_call_list *l, const ct_call *call);
/* All nodes of a graph but views; `op` CT_OP_COUNT: of any operator. */
ct_status ct_call_list_add_graph(ct_call_list *l, const ct_graph *g, ct_op op);
void ct_call_list_free(ct_call_list *l); /* empties */

/* ---- one call, every implementation ---- */

typedef struct ct_candidate {
    const ct_impl *impl;
    char *name;          /* full: "cpu.indirect", with a variant "cuda.dnn:eng38/k2=4" */
    char variant[CT_VARIANT_NAME]; /* "": what the backend takes of itself */
    const char *refused; /* why it was not timed; NULL: it was */
    size_t scratch;      /* bytes */
    ct_call_time time;
} ct_candidate;

typedef struct ct_measured {
    ct_candidate *c; /* [n] in the table's order; behind an implementation its variants */
    size_t n, cap;
    size_t first;    /* the one that is taken without choices: the first that was timed; n if there is none */
    size_t fastest;  /* by best time; a lead over `first` below CT_MEASURE_MARGIN does not count */
} ct_measured;

enum { CT_MEASURE_VARIANTS = 10 };
#define CT_MEASURE_MARGIN 0.02 /* share of the time of `first` */

/* Times every implementation that accepts and that opts do not rule out, each in all its variants (at most
 * CT_MEASURE_VARIANTS), for about `seconds` each, in turns. References are timed only where nothing else accepts: of a
 * large call they take minutes. The device is left with its own choice of variant. */
ct_status ct_measure_call(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                          double seconds, ct_measured *out);
void ct_measured_free(ct_measured *m); /* empties */
/* How many ways there are to compute a call without the reference: implementations, and one more for each that has
 * variants. */
int ct_measure_ways(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call);

/* ---- what the device can do at most ---- */

typedef struct ct_peaks {
    double flops; /* per second: the best square matrix product, operator linear, side 256 to 2048; 0 = no fast one */
    double bytes; /* per second: y = a + b of 16 Mi elements (f32: 3 x 64 MiB), counted as two reads and a write */
} ct_peaks;

/* Measured with the implementations dispatch takes, in type `dtype`, best of several runs. Takes about a second. */
ct_status ct_measure_peaks(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, ct_dtype dtype,
                           ct_peaks *out);

#endif
