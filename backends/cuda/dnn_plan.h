/* Execution plans of cuDNN for one convolution call, through the graph ("backend") interface in C.
 *
 * A plan is made for a target: the device behind a handle, or a device described by its properties in JSON, for which no GPU is
 * needed. That is how a machine without one checks that every convolution of every model has a plan. */
#ifndef CT_CUDA_DNN_PLAN_H
#define CT_CUDA_DNN_PLAN_H

#include <cudnn.h>

#include "backends/cuda/cuda.h"

typedef struct ct_dnn_target {
    cudnnHandle_t handle;          /* of the device; NULL: planning only */
    cudnnBackendDescriptor_t prop; /* properties of a device that is not here; else NULL */
} ct_dnn_target;

typedef struct ct_dnn_plan {
    cudnnBackendDescriptor_t plan; /* owned */
    int64_t workspace;             /* bytes */
    int64_t engine;                /* cuDNN's number of the engine */
    unsigned notes;                /* its numerical notes: bit 1 << cudnnBackendNumericalNote_t */
    int tried;                     /* configurations looked at before this one */
    char name[CT_VARIANT_NAME];    /* engine and knobs by number: "eng38/k2=4/k14=3"; "" where that does not fit. Means the same plan for as
                                      long as cuDNN is the same */
} ct_dnn_plan;

/* Properties from JSON [n bytes] (what CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION gives on a machine with the card). */
ct_status ct_dnn_target_json(const char *json, size_t n, ct_dnn_target *out);
/* The device behind a handle, which stays the caller's. */
void ct_dnn_target_device(cudnnHandle_t handle, ct_dnn_target *out);
void ct_dnn_target_free(ct_dnn_target *t);

#define CT_DNN_USUAL_WORKSPACE ((int64_t)1 << 30) /* bytes: with more a plan is taken only where no other is to be had */

/* The first configuration of cuDNN's heuristics that the options allow and that can be finalised, for conv2d, conv2d_dgrad or
 * conv2d_wgrad in f32, bf16 or f16, never with sums in 16 bits, of those with a usual workspace if there is one. Engines that use matrix units come first where the type or opts->tf32 asks for
 * them: the heuristics rank a few others higher, which convert operands to f32. f32 takes one that rounds factors to TF32 only with opts->tf32; with opts->deterministic none that is not; with opts->exact no Winograd and no FFT. Not found:
 * CT_EUNSUPPORTED with the reason. */
ct_status ct_dnn_plan_make(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, ct_dnn_plan *out);

/* The one that ct_dnn_plan.name or ct_dnn_plan_variants() call so. CT_EUNSUPPORTED: no such name, not here, or not allowed. */
ct_status ct_dnn_plan_named(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, const char *name, ct_dnn_plan *out);

/* Names of configurations that the options allow and that can be planned, in the order of cuDNN's heuristics (A, B, fallback), with at most
 * CT_DNN_MAX_WORKSPACE bytes each; names[max]. Returns their number. */
#define CT_DNN_MAX_WORKSPACE ((int64_t)256 << 20)
int ct_dnn_plan_variants(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, char names[][CT_VARIANT_NAME], int max);

/* How a plan computes operands of this type. */
void ct_dnn_plan_receipt(const ct_dnn_plan *p, ct_dtype type, ct_receipt *out);
void ct_dnn_plan_free(ct_dnn_plan *p);

/* Numbers of the tensors in a plan's variant pack. */
enum { CT_DNN_X = 1, CT_DNN_W, CT_DNN_Y, CT_DNN_BIAS, CT_DNN_SUM };

#endif
