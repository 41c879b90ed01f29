/* Execution plans of cuDNN for one convolution call, through the graph ("backend") interface in C.
 *
 * A plan is made for a target: the device behind a handle, or a device described by its properties in JSON, for which no GPU is
 * needed. That is how a machine without one checks that every convolution of every model has a plan. */
#ifndef CT_CUDA_DNN_PLAN_H
#define CT_CUDA_DNN_PLAN_H

#include <cudnn.h>

#include "backends/cuda/cuda.h"

typedef struct ct_dnn_target {
    cudnnHandle_t handle;          /* NULL: planning only */
    cudnnBackendDescriptor_t prop; /* device properties; NULL with cuDNN before 9.8, which plans by the handle */
} ct_dnn_target;

typedef struct ct_dnn_plan {
    cudnnBackendDescriptor_t plan; /* owned */
    int64_t workspace;             /* bytes */
    int64_t engine;                /* cuDNN's number of the engine */
    int tried;                     /* configurations looked at before this one */
} ct_dnn_plan;

/* Properties from JSON [n bytes] (what CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION gives on a machine with the card). */
ct_status ct_dnn_target_json(const char *json, size_t n, ct_dnn_target *out);
/* Properties of the device behind a handle, which stays the caller's. */
ct_status ct_dnn_target_device(cudnnHandle_t handle, ct_dnn_target *out);
void ct_dnn_target_free(ct_dnn_target *t);

/* The first configuration of cuDNN's heuristics that the options allow and that can be finalised, for conv2d, conv2d_dgrad or
 * conv2d_wgrad in f32, bf16 or f16 with f32 sums. f32 never takes an engine that rounds its inputs (TF32); with
 * opts->deterministic none that is not; with opts->exact no Winograd and no FFT. Not found: CT_EUNSUPPORTED with the reason. */
ct_status ct_dnn_plan_make(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, ct_dnn_plan *out);
void ct_dnn_plan_free(ct_dnn_plan *p);

/* Numbers of the tensors in a plan's variant pack. */
enum { CT_DNN_X = 1, CT_DNN_W, CT_DNN_Y, CT_DNN_BIAS, CT_DNN_SUM };

#endif
