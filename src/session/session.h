/* A session: a model on a device, with every program its verb needs. Training, evaluation and prediction stand on it.
 *
 * Order of use: ct_session_begin, ct_session_add for each program, ct_session_ready, then run. All memory is taken in
 * ct_session_ready; nothing is allocated while steps run.
 *
 * Elastic models (ct_model_elastic) take images of any width, or clips of any number of pictures: their programs differ
 * in batch and in this length, and all share the arenas. */
#ifndef CT_SESSION_SESSION_H
#define CT_SESSION_SESSION_H

#include "config/config.h"
#include "loader/loader.h"
#include "exec/comm.h"
#include "exec/exec.h"
#include "program/program.h"
#include "session/feed.h"
#include "task/datasets.h"

/* A program at one batch size and length, and its plan. */
typedef struct ct_unit {
    ct_program_kind kind;
    int64_t batch;      /* samples, of all members of the group */
    int64_t rows;       /* of them those of this member's part, which the program computes */
    int part;           /* of this member's: ct_session_parts() */
    int64_t length;     /* of its samples: width of the source images, pixels; of clips pictures */
    bool small;         /* the model sees them as small as spec.small says; only of training programs */
    int64_t accumulate; /* micro-steps per update its gradient is scaled for */
    bool ema;           /* reads the averaged weights */
    ct_program prog;
    ct_plan *plan;
    ct_buckets buckets; /* of gradients; only where the program has an update */
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
    ct_unit *unit; /* [units]; moves while programs are added */
    size_t units, cap_units;
    const ct_graph *ref_graph; /* of an EVAL or PREDICT program: parameters by name */
    ct_tensor_ref *tensor;     /* parameters and buffers, by name */
    size_t tensors;
    void *host; /* staging, as large as the largest tensor */
    size_t host_bytes;
    const ct_dataset *resident; /* its images stay on the device, training programs read them there; NULL: none. Set
                                   before programs are added; must outlive the session */
    ct_feed *feed;              /* how batches get to a device with memory of its own; NULL: they are uploaded */
    ct_group_opts join;         /* the group of devices to train in; zeroed: alone. Set before programs are added */
    int64_t parts;              /* in which every batch is cut, a power of two and a multiple of the members, each of
                                   which computes its share of them one after another: results do not depend on
                                   their number then (program/tree.h). 0: a part for each member. Set before, too */
    int64_t bucket_bytes;       /* gradients of a group are summed in pieces of about this; 0: CT_BUCKET_BYTES. Set
                                   before, too */
    ct_group *group;            /* of one or more */
    double *counted; /* [parts][CT_METRIC_COUNT] room for what each has counted; NULL: with parts 0 */
    int32_t *len; /* [largest batch] time steps of a batch, for the upload; NULL unless the model has any */
} ct_session;

/* Starts a session. `backend` is "auto" or a name; `why` gets the reason of the choice. The strings in spec must stay
 * valid. */
ct_status ct_session_begin(ct_session *s, const ct_program_spec *spec, bool train, const char *backend,
                           const ct_device_opts *opts, char *why, size_t why_size);
/* The length that a program has where nothing else is said: spec.src_w, or of clips spec.model.frames. */
int64_t ct_session_length(const ct_session *s);
/* Parts that this member computes of every batch, at least 1. */
int ct_session_parts(const ct_session *s);
/* Threads that load batches for this session: ct_loader_workers(). */
int ct_session_workers(const ct_session *s, int64_t wanted);
/* Adds a program for a batch of samples of this length (models of fixed size: ct_session_length()) unless it is
 * there; STEP and EVAL for each of this member's parts. It computes the rows of that part (ct_share_first()) and is
 * left out where that is none and another like it is there. The first one of a training session must be STEP or
 * MICRO_FIRST. CT_EINVAL: parts that are no power of two, or that members cannot share evenly; micro-steps of parts. */
ct_status ct_session_add(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate,
                         bool ema);
/* The same for a program of training whose model sees the samples as small as spec.small says; length is theirs. Not
 * the first one. CT_ECONFIG: as ct_program_build_small(). */
ct_status ct_session_add_small(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate);
/* What evaluating a view in batches of `batch` needs: for every length a full and a shorter last program. Fields have
 * the shape that the view's data set gives them (ct_task.fit), which must be that of programs added before. */
ct_status ct_session_add_eval(ct_session *s, const ct_view *view, int64_t batch, bool ema);
/* Makes the plans, then allocates the arenas. CT_ENOMEM if they need more than the device has free: as ct_memory_take()
 * says it. */
ct_status ct_session_ready(ct_session *s);
/* Joins the group: ct_session_ready() does for who is alone. Several have to know first that all are ready. */
ct_status ct_session_join(ct_session *s);
void ct_session_end(ct_session *s); /* empties; NULL and a zeroed session are fine */

/* NULL if it was not added. The parts of a STEP in front of the last are of kind PART, and found as STEP. */
ct_unit *ct_session_find(ct_session *s, ct_program_kind kind, int64_t batch, int64_t length, int64_t accumulate,
                         bool ema, int part);
/* The one like a unit of which kind, batch, length, accumulate, ema, small and part are filled in. */
ct_unit *ct_session_like(ct_session *s, const ct_unit *like);
/* The smallest unit of kind PREDICT for so many samples of this length, at least 1; NULL. One program serves every
 * number of rows up to its batch. */
ct_unit *ct_session_predictor(ct_session *s, int64_t length, int64_t rows);

/* Sends a batch of the loader to a unit of its size (PREDICT: or larger; rows behind the batch's hold anything): pixels
 * unless they are resident, index, the fields the program has, time steps where the model has them. The batch may be
 * changed when this returns. */
ct_status ct_session_upload(ct_session *s, ct_unit *u, const ct_batch *b);
/* Runs a unit: a micro-step, a part of a step or of scoring, or a step or update together with the group. Parts of a
 * batch are run in their order. */
ct_status ct_session_run(ct_session *s, ct_unit *u);
/* What a member does in a step or micro-step of this kind for a part that has no row of the batch: it adds zeros to the
 * gradients, and goes on as if it had drawn. */
ct_status ct_session_idle(ct_session *s, ct_program_kind kind, int part);
/* A batch of the loader through training units of this kind, part for part; small: through those of
 * ct_session_add_small(). CT_EINTERNAL: one is not there. */
ct_status ct_session_train(ct_session *s, ct_program_kind kind, const ct_loader *l, const ct_batch *b,
                           int64_t accumulate, bool small);

/* What all members have counted since it was asked last, and starts counting anew. All must ask at the same place. */
ct_status ct_session_metrics(ct_session *s, double sums[CT_METRIC_COUNT]);
/* Starts counting anew; nobody is asked. */
ct_status ct_session_metrics_clear(ct_session *s);

/* Copies tensor i of `arena` to or from host memory. */
ct_status ct_session_get(ct_session *s, size_t i, ct_arena arena, void *host);
ct_status ct_session_set(ct_session *s, size_t i, ct_arena arena, const void *host);
/* Its bytes [at, at + bytes). */
ct_status ct_session_set_part(ct_session *s, size_t i, ct_arena arena, size_t at, const void *host, size_t bytes);
/* Tensor i of `arena` to be read: where it lies, if the host reads the device's memory, else a copy at s->host. Good
 * until the next one is asked for, or anything runs. */
ct_status ct_session_see(ct_session *s, size_t i, ct_arena arena, const void **p);
/* Behind setting up: the pages of s->host, which are as many as the largest tensor has, go back to the system until it
 * is written again. */
void ct_session_rest(ct_session *s);

/* Bytes on the device: all arenas, the shared ones as large as the largest plan wants them. */
int64_t ct_session_peak(const ct_session *s);
/* Names of the implementations chosen for each operator, as a JSON object {"conv2d": "cpu.indirect", ...}: several are
 * joined by " + ". whole: of programs for the largest batch of their kind alone, which all members have alike; how many
 * rows of a shorter last batch each of them has, and what is chosen for so many, depends on their number. ct_free();
 * NULL with a message. */
char *ct_session_kernels(const ct_session *s, bool whole);

#endif
