/* A session: a model on a device, with every program its verb needs. Training, evaluation and prediction stand on it.
 *
 * Order of use: ct_session_begin, ct_session_add for each program, ct_session_ready, then run. All memory is taken in
 * ct_session_ready; nothing is allocated while steps run. */
#ifndef CT_TRAIN_SESSION_H
#define CT_TRAIN_SESSION_H

#include "config/config.h"
#include "exec/exec.h"
#include "train/program.h"

#define CT_SESSION_MAX_UNITS 16

/* A program at one batch size, and its plan. */
typedef struct ct_unit {
    ct_program_kind kind;
    int64_t batch;      /* samples */
    int64_t accumulate; /* micro-steps per update its gradient is scaled for */
    bool ema;           /* reads the averaged weights */
    ct_program prog;
    ct_plan *plan;
} ct_unit;

/* A parameter or buffer of the model. */
typedef struct ct_tensor_ref {
    const char *name; /* belongs to the graph */
    ct_val val;       /* in session->ref_graph */
    ct_arena arena;   /* CT_ARENA_PARAM or CT_ARENA_BUFFER */
    ct_desc desc;
    bool trained; /* lies below layout.train_elems: has a gradient */
} ct_tensor_ref;

typedef struct ct_session {
    ct_program_spec spec;
    bool train;
    const ct_backend *backend;
    ct_device_opts device_opts;
    ct_device_info device;
    ct_arenas *store;
    ct_layout layout;
    ct_unit unit[CT_SESSION_MAX_UNITS];
    size_t units;
    const ct_graph *ref_graph; /* of an EVAL or PREDICT program: parameters by name */
    ct_tensor_ref *tensor;     /* parameters and buffers, by name */
    size_t tensors;
    void *host; /* staging, as large as the largest tensor */
    size_t host_bytes;
} ct_session;

/* Starts a session. `backend` is "auto" or a name; `why` gets the reason of the choice. The strings in spec must stay
 * valid. */
ct_status ct_session_begin(ct_session *s, const ct_program_spec *spec, bool train, const char *backend,
                           const ct_device_opts *opts, char *why, size_t why_size);
/* Adds a program unless it is there. The first one of a training session must be STEP or MICRO_FIRST. */
ct_status ct_session_add(ct_session *s, ct_program_kind kind, int64_t batch, int64_t accumulate, bool ema);
/* What evaluating n samples in batches of `batch` needs: a full and a shorter last program. */
ct_status ct_session_add_eval(ct_session *s, int64_t n, int64_t batch, bool ema);
/* Allocates the arenas and makes the plans. */
ct_status ct_session_ready(ct_session *s);
void ct_session_end(ct_session *s); /* empties; NULL and a zeroed session are fine */

/* NULL if it was not added. */
ct_unit *ct_session_find(ct_session *s, ct_program_kind kind, int64_t batch, int64_t accumulate, bool ema);

/* Copies tensor i of `arena` to or from host memory. */
ct_status ct_session_get(ct_session *s, size_t i, ct_arena arena, void *host);
ct_status ct_session_set(ct_session *s, size_t i, ct_arena arena, const void *host);

/* Bytes on the device: all arenas, the shared ones as large as the largest plan wants them. */
int64_t ct_session_peak(const ct_session *s);
/* Names of the implementations chosen for each operator, as a JSON object {"conv2d": "cpu.im2col", ...}: several are
 * joined by " + ". ct_free(); NULL with a message. */
char *ct_session_kernels(const ct_session *s);

#endif
