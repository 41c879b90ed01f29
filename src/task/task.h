/* What a run is about. A task is one const table: how its samples get their labels, which heads, losses and predictions
 * its programs have, what is counted and how that becomes numbers a person reads, what a model file carries beside
 * weights. Everything above knows tasks by this table alone; a task knows nothing above it. A model names the task it
 * serves (ct_model_info.task).
 *
 * A task lives in src/task/<name>/ and is listed in registry.c; HACKING.md says how to add one.
 *
 * Facts are what the training data decided and the model file carries: for texts the characters and how many positions
 * there are. They are the task's own struct; others hold a pointer to it. */
#ifndef CT_TASK_TASK_H
#define CT_TASK_TASK_H

#include <stdio.h>

#include "base/philox.h"
#include "captrain.h"
#include "config/config.h"
#include "data/dataset.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/models.h"
#include "ops/ops.h"
#include "task/parts.h"
#include "task/reading.h"

typedef struct ct_facts ct_facts;
typedef struct ct_findings ct_findings;
typedef struct ct_place ct_place;

/* Samples of a data set that take part. */
typedef struct ct_view {
    const ct_dataset *data; /* NULL: there is no such set */
    const int64_t *index;   /* [n] sample numbers, NULL: all */
    int64_t n;
} ct_view;

static inline int64_t ct_view_sample(const ct_view *v, int64_t i) { return v->index ? v->index[i] : i; }

/* CT_ECONFIG naming the first option that `task` does not have for this verb, and the ones it has. */
ct_status ct_options_check(const ct_task *task, const char *verb, const ct_option *option, size_t n);
/* The value of an option, the last one of its key; NULL if it is not given. */
const char *ct_option_find(const ct_option *option, size_t n, const char *key);

/* ---- metrics ---- */

/* A number made of the metric sums (ops.h: CT_METRIC_*; a task's own slots begin at CT_METRIC_FIRST). */
typedef struct ct_metric_row {
    const char *key;        /* "rmse_px": in files, eval.select_by, --json; 1 to 40 of a-z 0-9 _ */
    const char *label;      /* "strings right": for people */
    const char *curve;      /* "strings": its name in a plot */
    const char *unit;       /* "%": people see 100 times the number; "px", "": as it is */
    const char *plot;       /* title of the report's plot it is drawn in, "Accuracy"; NULL: none */
    const char *rest;       /* title of a plot that shows 1 - value: what is left to gain near 100 %; NULL: none */
    bool smaller_is_better;
    bool training;          /* its plot shows it for training steps, too */
    bool brief;             /* told in messages of one line */
    bool exact;             /* the same weights give the same number: another one is worth a warning */
    /* NAN where nothing was scored. */
    double (*value)(const double sums[CT_METRIC_COUNT]);
} ct_metric_row;

/* A count that is told beside the metrics. */
typedef struct ct_count_row {
    const char *key;        /* "infeasible" */
    int slot;               /* of the sums */
    bool rare;              /* told only where it is not 0 */
} ct_count_row;

/* ---- generators ---- */

typedef struct ct_generator {
    const char *name, *doc; /* "synth:text": what data.train and others may say */
    /* A source of pictures (first and n are the caller's to fill in) that owns what it needs, see ct_source.release,
     * and a reader for its labels. facts: of the model that will read them; NULL: the configuration decides. CT_ECONFIG
     * naming the key. */
    ct_status (*open)(const ct_config *cfg, const ct_facts *facts, ct_source *source, ct_labels **labels);
} ct_generator;

/* An option of a verb that only this task has. */
typedef struct ct_task_option {
    const char *verbs;      /* "eval predict": blank separated */
    const char *key;        /* "beam_width": as ct_option has it */
    const char *name, *arg; /* "--beam-width", "N"; arg NULL: a flag, its value is "true" */
    const char *doc;
} ct_task_option;

/* ---- scoring ---- */

/* What a program gave for a batch, on the host. Pointers are valid during the call. */
typedef struct ct_outcome {
    int64_t n;               /* rows that are samples; the program's batch may be larger */
    int64_t batch;           /* of the program */
    const int64_t *place;    /* [n] place of each row in the view */
    const int64_t *sample;   /* [n] number of each row in the data set */
    const int32_t *steps;    /* [n] valid time steps; NULL for models without */
    int outputs;
    struct {
        const char *name;    /* as the program's port */
        ct_desc desc;
        const void *host;
    } output[CT_PARTS_MAX];
} ct_outcome;

/* What a scoring pass collects beside the sums. A task's own struct begins with it. */
struct ct_findings {
    const ct_task *task;
    ct_view view;            /* what is scored; its data set must outlive the findings */
    bool labels;             /* false: predictions only */
    const char *want[CT_PARTS_MAX]; /* names of the outputs it looks at, NULL behind the last */
};

/* What a session is, as far as tasks care. */
struct ct_place {
    const ct_config *cfg;    /* NULL for a model of the catalogue alone */
    const ct_facts *facts;
    const ct_model_spec *model;
    const ct_goal *goal;
};

/* ---- files for other programs ---- */

/* An output of a model in such a file. */
typedef struct ct_leaving_output {
    const char *name;   /* in the file: "scores" */
    const char *output; /* in the model's row: "logits" */
    bool rows;          /* scores of symbols, which are given as [N,T,K] with CTC, else as [N,P,K]. false: as the model
                           has them, maps as [N,C,H,W] */
    bool where_read;    /* it means something only where something is found: a proof looks there alone (differs()) */
} ct_leaving_output;

/* How models of a task leave for programs that know nothing of us (export --format onnx). */
typedef struct ct_leaving {
    const char *decoder; /* property "decoder": how scores are read. NULL: "ctc" or "positions", as the model's head */
    ct_leaving_output output[CT_MODEL_OUTPUTS]; /* all that reading takes; name NULL behind the last */
    /* Further properties beside those that write() of the task gives. NULL: none. */
    ct_status (*write)(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value), void *user);
    /* What the model reads in sample i that the file does not, beyond the text and the points of reading(): half a
     * sentence, in buf. NULL: nothing. NULL: there is no more. */
    const char *(*differs)(const ct_findings *model, const ct_findings *file, int64_t i, char *buf, size_t size);
} ct_leaving;

/* ---- golden files ---- */

/* The fields of a golden file's batch (src/selftest), as the task reads them from the file's tensors. */
typedef struct ct_golden_batch {
    int64_t n;                           /* samples: given */
    struct {
        const char *name;                /* as ct_parts_field() */
        void *host;                      /* [n, ...] ct_free() */
        ct_dtype dtype;
        int64_t elems;
    } field[CT_PARTS_MAX];
    int fields;
    int32_t *steps;                      /* [n] valid time steps, ct_free(); NULL for models without */
} ct_golden_batch;

/* golden_labels.c: for the tasks whose models have time steps (CT_HEAD_CTC). */

/* Field "target" of b, its first, i32 of so many elements; NULL without memory. */
int32_t *ct_golden_target(ct_golden_batch *b, int64_t elems);
/* input.target [N,L] of classes 1.. with input.target_lens [N] -> field "target" of classes from 0 on, -1 behind a
 * shorter label, and L as the model's positions; input.out_lens [N] -> time steps; the file's tensor `output` [T,N,C]
 * says how many classes the model has. CT_EFORMAT naming path and tensor. */
ct_status ct_golden_sequences(const char *path, const ct_safetensors *st, const char *output, ct_model_spec *model,
                              ct_golden_batch *b);
/* In place: x [...,C] less log(sum of exp(x)) over its row of classes. */
void ct_golden_log_softmax(const ct_desc *d, void *x);

/* ---- captrain init ---- */

typedef struct ct_seen_size { int width, height; int64_t n; } ct_seen_size;

/* What was seen of the samples that a configuration is to be written for. */
typedef struct ct_seen {
    int64_t samples;          /* that will be trained with */
    const ct_seen_size *size; /* [sizes] of the pictures, most frequent first; pixels */
    size_t sizes;
    bool coloured;            /* some picture is not gray alone */
    const char *labels;       /* a label file that was named; NULL: found */
    const ct_labels *reader;  /* the task's own, which learnt from the samples, */
    const ct_survey *survey;  /* and what it counted; NULL: it counts nothing */
} ct_seen;

/* Takes a key, its value as --set has it, and why, as a sentence without a full stop. All are copied. */
typedef ct_status ct_propose_put(void *user, const char *key, const char *value, const char *why);
/* common.c: train.batch_size and train.epochs for about so many optimizer steps in all, within so many epochs. */
ct_status ct_propose_length(const ct_seen *seen, int64_t batch, int64_t steps, int64_t least, int64_t most,
                            ct_propose_put *put, void *user);

/* ---- the table ---- */

/* Rows that differ between two models in what a head's numbers mean: for --init. */
typedef struct ct_remap {
    const ct_place *now, *old;
    const char *output;      /* the model output whose last layer it is: "logits" */
    int64_t rows, old_rows;  /* of its tensors' first dimension */
} ct_remap;

/* A line of a table: what, and how it is. */
typedef void ct_tell(void *user, const char *what, const char *text);
/* Something that ought to be on the machine: what, and where it is, or where it is missing how to get it. */
typedef void ct_need(void *user, bool missing, const char *what, const char *text);

struct ct_task {
    const char *name, *doc;           /* "text" */
    const ct_metric_row *metric;      /* [metrics] */
    const ct_count_row *count;        /* [counts] */
    const ct_generator *generator;    /* [generators] */
    const ct_task_option *option;     /* [options] */
    int metrics, counts, generators, options;
    const char *const *in_facts; /* configuration keys whose effect is part of the facts: a resume compares facts
                                    instead; NULL behind the last. NULL: none */
    const char *one_way; /* why a mirrored picture would have another label, as half a sentence: "mirrored characters
                            are other characters"; augment.flip is refused with it. NULL: mirrored is fine */
    const char *select; /* key of the metric that chooses the best weights unless eval.select_by says another */

    /* -- data; nothing here knows a device -- */
    /* A reader for the labels of a folder. facts NULL: the folder decides (training). Strings stay cfg's. */
    ct_status (*labels)(const ct_config *cfg, const ct_facts *facts, ct_labels **out);
    /* Whether a folder holds samples of this task for certain, by its names alone: another task's model then refuses
     * it. Fails for want of memory only. NULL: nobody can tell. */
    ct_status (*claims)(const char *path, bool *yes);
    /* What options of eval say about the folder that is scored, into the configuration it is opened by. NULL: nothing.
     */
    ct_status (*scored)(ct_config *cfg, const char *path, const ct_option *option, size_t options);
    /* What the keys of the task ask of the pictures' geometry, over what the data.* keys say. NULL: nothing. */
    void (*geometry)(const ct_config *cfg, ct_dataset_spec *spec);
    /* Whether an opened set as a whole suits the model; `key` names it in messages ("data.train"). NULL: any does. */
    ct_status (*accept)(const ct_config *cfg, const ct_dataset *set, const char *key);
    /* Facts from the training set. */
    ct_status (*learn)(const ct_config *cfg, const ct_dataset *train, ct_facts **out);
    /* Facts as far as the configuration decides them without data; *out NULL where only the data can tell. With `must`,
     * that is CT_ECONFIG naming the keys that are open. NULL: the task has no facts. */
    ct_status (*foresee)(const ct_config *cfg, bool must, ct_facts **out);
    /* All sets of a run (NULL: none) get fields of the same shape, so that one program fits; facts follow. NULL: they
     * always have. */
    ct_status (*agree)(ct_dataset *const *set, int n, ct_facts *facts);
    void (*forget)(ct_facts *facts);  /* NULL is fine */
    /* Whether facts mean the same for a model. If not, *why says what differs: "there are 12 words, it has 11". */
    bool (*same)(const ct_facts *now, const ct_facts *then, char *why, size_t size);

    /* -- files -- */
    /* Facts, and how outputs are decoded, as metadata of a model file: calls put for each pair. */
    ct_status (*write)(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value), void *user);
    /* And back: get returns a value or NULL. CT_EFORMAT naming `path` and the key. */
    ct_status (*read)(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                      ct_facts **out);
    /* Further files of a run's folder `dir`, written before its first step. CT_EIO. NULL: none. */
    ct_status (*files)(const ct_place *p, const char *dir);
    /* For --init: may the weights of `old` start a model of `now`? CT_ECONFIG naming `path` if their heads are of
     * different kinds. NULL: always. */
    ct_status (*related)(const char *path, const ct_place *now, const ct_place *old);
    /* Row of the old head that row r of the head takes over; -1: none, it stays as drawn. NULL: heads must be the same.
     */
    int64_t (*old_row)(const ct_remap *m, int64_t r);
    /* How many rows a head of such a model has. */
    int64_t (*rows)(const ct_place *p, const char *output);
    /* Says in the log what was taken over. NULL: nothing to say. */
    void (*remapped)(const ct_place *now, const ct_place *old);

    /* -- programs -- */
    /* The model's outputs and the loss, from configuration and facts: fields of *model beyond geometry, *goal but its
     * task. CT_ECONFIG for keys that would have no effect, or that the model cannot have. */
    ct_status (*specify)(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal);
    /* The same for a model of the catalogue alone. loss: name of --loss; NULL: the model's usual one. */
    ct_status (*usual)(const char *loss, ct_model_spec *model, ct_goal *goal);
    /* What of the model's specification follows from a set that is to be scored. NULL: nothing. */
    void (*fit)(ct_model_spec *model, const ct_dataset *set);
    /* Fields, losses, predictions and sums behind the model's outputs: see task/parts.h. */
    ct_status (*build)(ct_parts *p);
    /* Name of a goal's loss: "softmax". */
    const char *(*loss_name)(const ct_goal *goal);
    /* Rows for "model" and for the report: what goes in and comes out of it, the characters, ... */
    void (*describe)(const ct_place *p, ct_tell *tell, void *user);
    /* One line: "4 x 36 classes". Gives buf. */
    char *(*outputs)(const ct_place *p, char *buf, size_t size);
    /* Something for field `name` [batch, ...] to bench and profile with: a function of nothing but the rng's state. */
    ct_status (*random)(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host);

    /* The labels of golden file `path`: what follows for *model (outputs) and *goal, and the fields. What was put into
     * *b stays the caller's on failure. CT_EFORMAT naming path and tensor. NULL: the task has no golden files. */
    ct_status (*golden)(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                        ct_golden_batch *b);
    /* The file's output `name`, of desc d, in place to what our programs give under that name. NULL: it is the same. */
    void (*golden_score)(const ct_goal *goal, const char *name, const ct_desc *d, void *theirs);

    /* -- scoring -- */
    /* Findings for a view; options are those of the verb, unknown ones have been refused. labels false: predict. */
    ct_status (*look)(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                      ct_findings **out);
    ct_status (*collect)(ct_findings *f, const ct_outcome *o);
    /* All is collected. sums: what the device counted; CT_EINTERNAL where the findings say otherwise; where they count
     * differently by design (another decoder) they replace it. NULL sums: predictions only. */
    ct_status (*settle)(ct_findings *f, double sums[CT_METRIC_COUNT]);
    void (*drop)(ct_findings *f);     /* NULL is fine */
    /* `captrain eval` beside samples, metrics, loss: more members, and the whole table behind the number of samples. */
    ct_status (*eval_json)(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
    ct_status (*eval_text)(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to);
    /* `captrain predict`: sample i of the view, as JSON members or as what stands behind its name and a tab. */
    ct_status (*predict_json)(const ct_findings *f, int64_t i, json_t *into);
    ct_status (*predict_text)(const ct_findings *f, int64_t i, FILE *to);
    /* Calibration. The findings, which have seen nothing yet, are to keep what nll() wants of the samples at places 0,
     * *every, 2 * *every.. of the view, *every being at least what it is on entry; with labels. NULL, as the next two:
     * none. */
    ct_status (*keep)(ct_findings *f, int64_t *every);
    /* The sum of ct_calibration_cost() of what is right of the kept samples, scores divided by a temperature. */
    double (*cost)(const ct_findings *f, double temperature);
    /* From now on facts are those of a model of this temperature; findings that are begun later go by it. Written with
     * them, as "temperature". */
    void (*temper)(ct_facts *facts, double temperature);
    /* How sure sample i is read, 0..1: what `predict --reject-below` goes by; and the members of predict_json that are
     * the answer, which are null where it is rejected, NULL behind the last. NULL both: nothing can be rejected. */
    double (*confidence)(const ct_findings *f, int64_t i);
    const char *const *answer;
    /* Why sample i has no reading, though its picture is fine: what options ask for leaves none. Gives buf; NULL: it
     * has one. NULL: they all have. */
    const char *(*unread)(const ct_findings *f, int64_t i, char *buf, size_t size);
    /* For programs that call the library. The findings, which have seen nothing yet, are to keep what reading() wants
     * beyond what predict tells, such as where a symbol stands. NULL: there is no more. */
    ct_status (*locate)(ct_findings *f);
    /* Sample i of the view. */
    ct_status (*reading)(const ct_findings *f, int64_t i, ct_reading_draft *into);
    /* What a model can read: how many symbols, and the text of symbol i (buf may hold it). NULL both: it reads none. */
    size_t (*symbols)(const ct_facts *facts);
    const char *(*symbol)(const ct_facts *facts, size_t i, char buf[CT_SYMBOL_BYTES]);
    /* Members of "validation" and "test" in result.json beside samples and metrics. NULL: none. */
    ct_status (*result)(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
    /* Sample i in short: its label and what was predicted, for the end of a training. CT_ENOMEM; ct_free() both. */
    ct_status (*example)(const ct_findings *f, int64_t i, char **label, char **predicted);
    /* Whether sample i was read without an error. */
    bool (*right)(const ct_findings *f, int64_t i);
    /* Metrics for the large figures of the report, best first; returns how many (at most max). */
    int (*headline)(const ct_place *p, const ct_metric_row *out[], int max);
    /* Sections of report.html about the errors of the best weights. gallery: pictures to show at most. */
    ct_status (*report)(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to);

    /* -- verbs -- */
    /* `captrain gen`: options beside --out, --count, --seed, --threads, --force. NULL: the task has no generator for
     * files. */
    ct_status (*generate)(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                          int threads, bool force, FILE *to);
    /* `captrain fit-style`: a style of the task's generator that looks like given pictures. NULL: there are none. */
    ct_status (*fit_style)(const ct_fit_style_opts *o, FILE *to);
    /* Options of `generate` that draw what a model of this configuration and these facts reads, through `put`, before
     * those that are given. NULL: the task's pictures do not depend on a model. */
    ct_status (*like)(const ct_config *cfg, const ct_facts *facts,
                      ct_status (*put)(void *user, const char *key, const char *value), void *user);
    /* `captrain init`: the keys of a configuration that trains with such samples, but for where they are and how they
     * are split; those of a section one after another. CT_EDATA where no model suits them. NULL: the task has none. */
    ct_status (*propose)(const ct_seen *seen, ct_propose_put *put, void *user);
    /* What of the machine the task needs beside the program, for `captrain doctor`. NULL: nothing. */
    void (*needs)(ct_need *tell, void *user);
    /* Models as ONNX. NULL: those of the task do not leave. */
    const ct_leaving *leaving;
    /* A file that ddddocr wants beside an ONNX file of such a model (export --for): its name and contents,
     * ct_free() both. NULL: it has no use for such models. */
    ct_status (*beside)(const ct_place *p, char **name, char **text);
    /* Facts for import-torch from the configuration and the options of the verb, which may change the configuration. */
    ct_status (*given)(ct_config *cfg, const ct_option *option, size_t options, ct_facts **out);
};

/* The task of a model, or by its own name. NULL with a message for an unknown one. */
const ct_task *ct_task_of(const char *model);
const ct_task *ct_task_find(const char *name);
/* The task whose samples a folder holds for certain, `first` (may be NULL) being asked first; *out NULL: nobody can
 * tell. CT_ENOMEM. */
ct_status ct_task_claiming(const char *path, const ct_task *first, const ct_task **out);
/* Task i of all, NULL behind the last. */
const ct_task *ct_task_at(size_t i);
/* A program may add a task of its own, which must stay valid, behind its models (ct_model_add): these become values of
 * model.name, its generators of data.train. Before anything else is called. CT_EINVAL where a name is taken. */
ct_status ct_task_add(const ct_task *task);
/* The metric that every task has. */
extern const ct_metric_row ct_metric_loss;

#endif
