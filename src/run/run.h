/* A training run: what setup, loop, resume and report share. Private to this room. */
#ifndef CT_RUN_RUN_H
#define CT_RUN_RUN_H

#include <stdio.h>

#include "captrain.h"
#include "config/config.h"
#include "group/peers.h"
#include "loader/loader.h"
#include "run/bar.h"
#include "run/gauge.h"
#include "run/journal.h"
#include "session/evaluate.h"
#include "session/readback.h"
#include "session/resident.h"
#include "session/session.h"
#include "task/calibration.h"
#include "task/datasets.h"
#include "weights/checkpoint.h"

/* Sums since the last "step" event. */
typedef struct ct_window {
    double sums[CT_METRIC_COUNT];
    int64_t steps, samples;
    double started; /* ct_now() */
    double wait;    /* seconds waited for data */
} ct_window;

/* Where the run stood when the device's numbers were asked for. */
typedef struct ct_moment {
    int64_t step;          /* optimizer steps so far */
    double epochs, time;   /* with fraction; ct_now() */
    const int32_t *ids;    /* [nids] sample numbers of that step */
    int64_t nids;
} ct_moment;

/* What processes tell each other at each step. */
typedef struct ct_word {
    int stop;     /* signal; 0: none */
    double own_s; /* as in ct_run */
} ct_word;

typedef struct ct_run {
    ct_peers *peers; /* the processes that train together; NULL: one alone */
    bool lead;       /* the first of them, or alone: it writes RUN */
    bool told;       /* what failed is told by another process */
    int stop;        /* signal that all processes know of; 0: none */
    ct_word *word;   /* [processes] what each said last; NULL: one alone */
    double own_s;    /* seconds of the last step that this process loaded and computed, and did not wait for others */
    double *own;     /* [2 x processes] sums of those of each: since the last "step" event, and in this part */
    ct_config *cfg;
    char *out, *checkpoints; /* directories */
    FILE *log;               /* run.log; of processes behind the first ranks/NNNN.log */
    FILE *shared_log;        /* theirs: run.log, for warnings */
    int dir;                 /* the directory itself, open as long as the run goes on; -1 */
    ct_datasets data;
    ct_session session;
    ct_choices *choices;      /* measured implementations; NULL: none. Outlives the session */
    ct_safetensors *from;     /* checkpoint that a resume continues, until it is restored; NULL: none */
    char *from_path;
    ct_model_meta meta;
    ct_progress p;
    ct_journal *journal;
    ct_bar bar;
    ct_loader *loader;
    char why[256]; /* how the backend was chosen */

    ct_resident resident; /* whether images stay on the device, and why */
    int64_t batch, accumulate;
    int64_t batches;         /* micro-batches per epoch */
    int64_t steps_per_epoch; /* optimizer steps */
    int64_t total_steps;     /* of the whole run, at most */
    const ct_metric_row *select; /* of eval.select_by */
    const char *term[CT_PARTS_MAX]; /* names of the loss's terms */
    int terms;
    bool has_ema, eval_ema;
    bool fp16;
    int64_t peak_bytes;     /* planned */
    int64_t readback_every; /* steps */

    ct_window window;
    ct_gauge gauge;         /* what the device tells */
    double state[CT_STATE_COUNT]; /* as of the last read-back */
    int64_t read_step;            /* step of the last read-back */
    double last_loss;             /* of the last window that was read */
    double pace_seconds, pace_steps; /* of late: sums in which what is past counts for less and less */
    int32_t *ids;                 /* [a step] sample numbers of the running step */
    int64_t nids;
    ct_readback *readback; /* reads while steps go on; NULL: the device's numbers are at hand, or members of a group
                              have to add theirs */
    bool asked;            /* an answer is on its way: for asked_window, as of asked_at */
    ct_window asked_window;
    ct_moment asked_at;
    int32_t *asked_ids; /* [a step] */
    double comm_s, comm_wait_s;       /* seconds that sums over the processes took in this part of the run, and that
                                         were waited for; NAN at its end if nobody knows */
    double began;                     /* ct_now() when the call that runs it began */
    double part_started;              /* ct_now() when this part of the run began, less p.seconds */
    ct_target target;                 /* of train.target */
    int64_t saved_epoch, saved_batch; /* position of the last checkpoint written by this process; -1 */
    json_t *resumed;                  /* steps the run was resumed from, all parts */
    json_t *resumed_with;             /* processes of each part, the first included */
} ct_run;

/* ---- setup.c ---- */
/* Configuration with the options of the call on top of it. */
ct_status ct_run_configure(ct_run *r, const ct_train_opts *opts);
/* Run directory, lock, run.log. A directory that holds a run already is CT_ECONFIG without `resume`. */
ct_status ct_run_directory(ct_run *r, const ct_train_opts *opts);
/* Data sets, session, programs, metadata. */
ct_status ct_run_build(ct_run *r);
/* Initial weights: drawn, or from model file `init`. */
ct_status ct_run_start(ct_run *r, const char *init);
/* The table that is printed before training starts. */
void ct_run_describe(const ct_run *r);
/* Name of the precision in effect: "fp32", "bf16", "fp16", "f64". */
const char *ct_run_precision(const ct_session *s);
void ct_run_release(ct_run *r);

/* CT_EIO, saying what is lost, if the run directory has been removed or replaced since the run began. */
ct_status ct_run_directory_there(const ct_run *r);

/* ---- together.c ---- */
/* Meets the other processes of this run, if there are any; `st`: how the configuration was read, which must have
 * gone well at all of them. Fills r->peers and r->lead; what was asked for by process becomes train.batch_size. */
ct_status ct_run_meet(ct_run *r, ct_status st);
/* All take RUN from the first; the others' messages go to RUN/ranks/NNNN.log, and their warnings to RUN/run.log,
 * too. `st`: how the first fared with its directory. */
ct_status ct_run_follow(ct_run *r, ct_status st);
/* Before the first step: version, configuration, data, implementations and position must be the same everywhere.
 * CT_ECONFIG naming the first difference, and whose it is. `st`: how each fared with its set-up. */
ct_status ct_run_agree(ct_run *r, ct_status st);
/* Whether to stop: a signal that one of the processes got, r->stop at all of them behind the same step. */
ct_status ct_run_stops(ct_run *r);
/* The process whose own part of the steps took longest (since the last "step" event; with `all` in this part of the
 * run), and how many times as long as that of the fastest; -1: nothing was measured, or one is alone. */
int ct_run_slowest(const ct_run *r, bool all, double *ratio);
/* Parts from the others, after a run that ended with `st`. */
void ct_run_part(ct_run *r, ct_status st);

/* ---- resume.c ---- */
/* Finds the checkpoint a resume will continue (r->from stays NULL if there is none, and the directory does not tell of
 * one that was saved: that is CT_EFORMAT) and takes the choices of
 * implementations it was trained with. Before ct_run_build. */
ct_status ct_run_look_back(ct_run *r);
/* Restores that checkpoint. A configuration that would train differently is CT_ECONFIG naming the keys. */
ct_status ct_run_resume(ct_run *r);
/* The keys in which two configurations differ so that training would go on differently: "optimizer.lr (0.001 -> 0.1),
 * ..." in *list (ct_free()), NULL if there are none. */
ct_status ct_resume_conflicts(const ct_config *old, const ct_config *now, bool same_schedule, char **list);

/* ---- loop.c ---- */
/* Trains to the end, or until a signal (CT_ESIGNAL, after saving). */
ct_status ct_run_loop(ct_run *r);
/* True if the limits of the configuration say that nothing is left to train. */
bool ct_run_complete(const ct_run *r);

/* ---- numeric.c ---- */
/* Judges the state as of `at` that was read back (`skipped` steps since the read-back before, `loss` of this one) by
 * train.nan_policy. CT_ENUMERIC names step, tensor and samples. */
ct_status ct_run_judge(ct_run *r, const ct_moment *at, int64_t skipped, double loss);
/* After every step; looks once, after the first update or a little later: parameters whose gradient is exactly zero, or
 * that no gradient reaches, are named in a warning. */
ct_status ct_run_zero_gradients(ct_run *r);

/* ---- pictures.c ---- */
/* For TensorBoard, where it is told anything: what the first samples look like to the model in the first epoch; and the
 * pictures that the best weights read wrongly, the surest first. Few of each, and small. */
ct_status ct_run_show_augmented(ct_run *r);
ct_status ct_run_show_wrong(ct_run *r, const ct_findings *f);

/* ---- place.c ---- */
/* When the best weights were reached: "epoch 3, step 120", or "within epoch 1, step 7" for an evaluation in the middle
 * of one. Gives buf. */
#define CT_BEST_PLACE 64
const char *ct_run_best_place(const ct_run *r, char buf[CT_BEST_PLACE]);

/* ---- finish.c ---- */
/* Scores the best weights, writes result.json and report.html, fills *result. */
ct_status ct_run_finish(ct_run *r, ct_train_result *result);
/* ---- report.c ---- */
typedef struct ct_report {
    const ct_run *run;
    const ct_train_result *result;
    const ct_findings *findings; /* of the best weights on the validation set; NULL without one */
    const double *val, *test;    /* metric sums; NULL without such a set */
    int64_t peak_bytes;
    const ct_calibration *calibration; /* of the confidences; NULL: there is none */
} ct_report;
/* Writes RUN/report.html, atomically. */
ct_status ct_report_write(const ct_report *rep);

#endif
