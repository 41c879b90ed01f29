/* `captrain bench` between its files: tables by operator (bench_ops.c) and of single calls (bench_call.c). */
#ifndef CT_BENCH_BENCH_H
#define CT_BENCH_BENCH_H

#include <stdio.h>

#include "captrain.h"
#include "formats/json.h"
#include "measure/measure.h"

/* ---- bench_ops.c: a step's time by operator and implementation, or by call ---- */

typedef struct ct_op_time {
    ct_op op;
    const char *impl;             /* belongs to the plan */
    char *call;                   /* owned; NULL in the table by operator */
    int calls;
    double seconds, flops, bytes; /* per step */
} ct_op_time;

typedef struct ct_op_times { /* slowest first */
    ct_op_time *row;
    size_t n;
    double seconds; /* sum */
    bool told;      /* by which clock: `queue` is right */
    double queue;   /* seconds in which the host queues a call, where times are the device's; 0: they are the host's */
} ct_op_times;

/* Sums the times of a plan that ran `runs` times with timing on. by_call: a row for each distinct call. */
ct_status ct_op_times_sum(const ct_plan *plan, int64_t runs, bool by_call, ct_op_times *out);
void ct_op_times_free(ct_op_times *t); /* empties */
void ct_op_times_print(const ct_op_times *t, const ct_peaks *peaks, FILE *to);
ct_status ct_op_times_json(const ct_op_times *t, const ct_peaks *peaks, json_t *into, const char *key);

/* "peak_gflops_per_s" and "peak_gb_per_s", null where not measured. */
ct_status ct_peaks_json(const ct_peaks *peaks, json_t *into);
void ct_peaks_print(const ct_peaks *peaks, FILE *to);

/* ---- a measured call, for bench --op and tune ---- */

/* chosen: marks this candidate (measured->n: none). */
void ct_measured_print(const ct_call_use *use, const ct_measured *m, size_t chosen, const ct_peaks *peaks, FILE *to);
ct_status ct_measured_json(const ct_call_use *use, const ct_measured *m, size_t chosen, const ct_peaks *peaks,
                           json_t *list);

/* ---- bench_call.c ---- */

/* bench --op: single calls instead of steps. */
ct_status ct_bench_calls(const ct_bench_opts *opts, const ct_backend *backend, const ct_device_opts *device, FILE *to);

#endif
