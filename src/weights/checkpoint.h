/* Checkpoints and model files: one format (doc/formats.md).
 *
 * A file of kind "model" holds the weights (`model.NAME`, and `ema.NAME` where there is an average) and the metadata
 * that eval and predict need. Kind "checkpoint" also holds everything a bit-exact resume needs: `optim.m.NAME`,
 * `optim.v.NAME` (or `optim.momentum.NAME`), `state` f64[16], and the run's progress as JSON in the metadata.
 *
 * In RUN/checkpoints: step-NNNNNNNN.safetensors for the newest and `keep` older saves; last.safetensors, the same as
 * the newest of them (a hard link where the file system has them); best.safetensors. The order of writing (step file,
 * rename over last, removal of old ones) leaves a complete newest or previous file at every moment. */
#ifndef CT_WEIGHTS_CHECKPOINT_H
#define CT_WEIGHTS_CHECKPOINT_H

#include <stdbool.h>

#include "formats/safetensors.h"
#include "session/session.h"
#include "task/task.h"
#include "task/track.h"

/* The host's part of a run: everything that is not on the device. */
typedef struct ct_progress {
    int64_t epoch, batch; /* position: epochs complete; micro-batches done of the running one */
    int64_t step;         /* optimizer steps attempted */
    int64_t samples;      /* training samples seen */
    double seconds;       /* spent in the run, over all its parts, evaluation and saving included */
    double step_seconds;  /* of them, in training steps and waiting for their data */
    double setup_seconds; /* before them: data, plans, first weights, of all parts of the run */
    double eval_seconds;  /* of `seconds`, in scoring the validation set */
    int64_t scored;       /* step as of which it was scored last; 0: never */
    ct_arrival target;
    bool finished;        /* nothing is left to do */
    bool stopped_early;
    ct_best best;
    ct_stopper stopper;
    double sums[CT_METRIC_COUNT]; /* training metrics of the running epoch */
    int64_t bad_in_a_row;         /* steps skipped for NaN or infinity, up to now */
    int64_t journal_bytes;        /* length of metrics.jsonl when this was saved */
} ct_progress;

/* Metadata that does not change during a run. Strings are owned (ct_model_meta_free). */
typedef struct ct_model_meta {
    char *config;                    /* resolved, JSON */
    char *kernels;                   /* JSON object operator -> implementation, in programs for whole batches */
    char *choices;                   /* measured choices (exec.h), JSON; NULL: none */
    char train_key[33], val_key[33]; /* of the data; "" = none */
    const char *backend;             /* static */
    const ct_facts *facts;           /* of the task; the run's */
    bool ema; /* eval and predict take the averaged weights */
} ct_model_meta;
void ct_model_meta_free(ct_model_meta *m); /* empties */

/* Writes a file atomically: full = kind "checkpoint". */
ct_status ct_checkpoint_write(ct_session *s, const ct_model_meta *meta, const ct_progress *p, bool full,
                              const char *path);

/* Saves into DIR: step file, last.safetensors, then removes what is older than the newest and `keep` before it. */
ct_status ct_checkpoint_save(ct_session *s, const ct_model_meta *meta, const ct_progress *p, const char *dir,
                             int64_t keep);

/* Makes `to` the same file as `from`, atomically: a hard link, or a copy where links cannot be had. */
ct_status ct_checkpoint_link(const char *from, const char *to);

/* The newest usable checkpoint in DIR. Damaged ones are passed over with a warning that names them and says which one
 * is used instead. None at all: CT_OK with *st NULL. All damaged: CT_EFORMAT. *path: ct_free(). */
ct_status ct_checkpoint_newest(const char *dir, ct_safetensors **st, char **path);

/* Removes what killed processes left half-written in DIR (names with ".tmp."). The caller holds the run's lock. */
ct_status ct_checkpoint_sweep(const char *dir);

/* Puts a checkpoint's tensors and state on the device and its progress in *p. */
ct_status ct_checkpoint_restore(ct_session *s, const ct_safetensors *st, const char *path, ct_progress *p);

/* Weights that are used must be finite numbers: CT_EFORMAT naming tensor and element if one is not. */
ct_status ct_weights_finite(const ct_st_tensor *t, const char *path);
/* Loads weights by name: prefix "model." or "ema." of the file into PARAM and BUFFER, or (to_ema) into EMA and EMABUF.
 * A missing tensor or another shape is CT_EFORMAT naming it, as is a tensor of the file that the model has not, or one
 * with a number that is not finite. */
ct_status ct_checkpoint_load_weights(ct_session *s, const ct_safetensors *st, const char *path, const char *prefix,
                                     bool to_ema);

/* Facts of a task as metadata, into a file that is being written and from one that was read: CT_EFORMAT naming path and
 * key. */
ct_status ct_facts_put(ct_st_writer *w, const ct_session *s, const ct_facts *facts);
ct_status ct_facts_get(const ct_safetensors *st, const char *path, const ct_task *task, ct_facts **out);

/* XXH3-128 over the bytes of PARAM and BUFFER tensors in name order. */
ct_status ct_weights_hash(ct_session *s, char out[33]);

ct_status ct_progress_to_json(const ct_progress *p, char **out); /* ct_free() */
ct_status ct_progress_from_json(const char *text, const char *source, ct_progress *p);

/* ---- model files, as eval, predict and --init read them ---- */
typedef struct ct_model_file {
    ct_safetensors *st;
    ct_config *cfg;
    const ct_task *task;
    ct_facts *facts;
    const char *prefix; /* "model." or "ema.": the weights to use */
} ct_model_file;
/* Where the model is that a user names: the path itself, or for a run's folder the best weights in it. ct_free().
 * CT_EIO for a folder that has none. */
ct_status ct_model_path(const char *given, char **out);
/* CT_EFORMAT if the file is damaged or no captrain model. */
ct_status ct_model_file_open(const char *path, ct_model_file *out);
/* Says one thing more in a file's metadata, or instead of what it said; the tensors stay as they are. Atomically.
 * CT_EIO, CT_EFORMAT, CT_ENOMEM. */
ct_status ct_model_file_note(const char *path, const char *key, const char *value);
void ct_model_file_close(ct_model_file *m); /* empties */

#endif
