/* The configuration of a run.
 *
 * One table has one row per key: name, aliases, type, default, range, unit, who reads it and a sentence of
 * documentation. schema.c joins it of its own rows and those of the tasks (keys_text.c). The parser, --set, the error
 * messages, the resolved configuration, the help text, the man page and doc/configuration.md all come from that table.
 *
 * Consumers read plain C fields. A field has the name of its key: `train.batch_size` is cfg->train.batch_size
 * (tests/config/config_keys.sh relies on that to find keys nobody reads). After a successful load every field is within
 * the range its row states, strings are never NULL ("" = not given), and lists with n 0 have v NULL.
 * Paths are as written: relative ones belong to the working directory. */
#ifndef CT_CONFIG_CONFIG_H
#define CT_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

#define CT_CONFIG_SEPARATOR_BYTES 15 /* longest data.label_separator */

typedef struct ct_int_list { int64_t *v; size_t n; } ct_int_list;
typedef struct ct_float_list { double *v; size_t n; } ct_float_list;
typedef struct ct_str_list { char **v; size_t n; } ct_str_list;

/* Values of the enum keys, in the order of the table's value lists. */
typedef enum ct_cfg_letter_case { CT_CFG_CASE_KEEP, CT_CFG_CASE_UPPER, CT_CFG_CASE_LOWER } ct_cfg_letter_case;
typedef enum ct_cfg_label_side { CT_CFG_SIDE_BEFORE, CT_CFG_SIDE_AFTER } ct_cfg_label_side;
typedef enum ct_cfg_size_rule {
    CT_CFG_SIZE_RESIZE, CT_CFG_SIZE_REFUSE, CT_CFG_SIZE_FIT_HEIGHT, CT_CFG_SIZE_LETTERBOX
} ct_cfg_size_rule;
typedef enum ct_cfg_cache {
    CT_CFG_CACHE_AUTO, CT_CFG_CACHE_PIXELS, CT_CFG_CACHE_FILES, CT_CFG_CACHE_FALSE
} ct_cfg_cache;
typedef enum ct_cfg_resident { CT_CFG_RESIDENT_AUTO, CT_CFG_RESIDENT_TRUE, CT_CFG_RESIDENT_FALSE } ct_cfg_resident;
typedef enum ct_cfg_loss {
    CT_CFG_LOSS_AUTO, CT_CFG_LOSS_SOFTMAX, CT_CFG_LOSS_SOFT_MARGIN, CT_CFG_LOSS_CTC, CT_CFG_LOSS_SLIDER_EARLY,
    CT_CFG_LOSS_SLIDER_LATE, CT_CFG_LOSS_BASIC, CT_CFG_LOSS_TFNET
} ct_cfg_loss;
typedef enum ct_cfg_optimizer { CT_CFG_OPT_ADAMW, CT_CFG_OPT_ADAM, CT_CFG_OPT_SGD, CT_CFG_OPT_MUON } ct_cfg_optimizer;
typedef enum ct_cfg_adjust { CT_CFG_ADJUST_RMS, CT_CFG_ADJUST_ORIGINAL } ct_cfg_adjust;
typedef enum ct_cfg_schedule {
    CT_CFG_SCHED_CONSTANT,
    CT_CFG_SCHED_COSINE,
    CT_CFG_SCHED_WARMUP_COSINE,
    CT_CFG_SCHED_MULTISTEP,
    CT_CFG_SCHED_WARM_RESTARTS, CT_CFG_SCHED_ONE_CYCLE, CT_CFG_SCHED_TRIANGULAR
} ct_cfg_schedule;
typedef enum ct_cfg_lr_rule { CT_CFG_LR_NONE, CT_CFG_LR_LINEAR, CT_CFG_LR_SQRT } ct_cfg_lr_rule;
typedef enum ct_cfg_precision {
    CT_CFG_PRECISION_FP32,
    CT_CFG_PRECISION_BF16,
    CT_CFG_PRECISION_FP16,
    CT_CFG_PRECISION_TF32,
    CT_CFG_PRECISION_F64
} ct_cfg_precision;
typedef enum ct_cfg_last_batch { CT_CFG_LAST_KEEP, CT_CFG_LAST_DROP } ct_cfg_last_batch;
typedef enum ct_cfg_recompute { CT_CFG_RECOMPUTE_NONE, CT_CFG_RECOMPUTE_AUTO, CT_CFG_RECOMPUTE_ALL } ct_cfg_recompute;
typedef enum ct_cfg_word { CT_CFG_WORD_AUTO, CT_CFG_WORD_TRUE, CT_CFG_WORD_FALSE } ct_cfg_word;
typedef enum ct_cfg_mode { CT_CFG_MODE_AUTO, CT_CFG_MODE_MIN, CT_CFG_MODE_MAX } ct_cfg_mode;
typedef enum ct_cfg_nan_policy { CT_CFG_NAN_STOP, CT_CFG_NAN_SKIP } ct_cfg_nan_policy;

typedef enum ct_cfg_fuse {
    CT_CFG_FUSE_AUTO, CT_CFG_FUSE_WEIGHTED, CT_CFG_FUSE_ADD, CT_CFG_FUSE_ATTENTION
} ct_cfg_fuse;

typedef enum ct_cfg_init { CT_CFG_INIT_DEFAULT, CT_CFG_INIT_DIRAC } ct_cfg_init;
typedef struct ct_cfg_model {
    char *name;                /* builder: ct_model_find() */
    double width;              /* multiplier of every channel count */
    int64_t hidden;            /* units of the hidden layer or of an LSTM; 0 = the model's own */
    double dropout;            /* probability in [0,1); -1 = the model's own */
    ct_cfg_fuse fuse;          /* how a neck joins two maps; auto = the model's own */
    ct_cfg_init init;          /* how weights start */
    int64_t classes;           /* outputs of a classifier (resnet bench); 0 = 1000 */
} ct_cfg_model;

typedef struct ct_cfg_synth {  /* used by data.train, data.val, data.test = "synth:..." */
    char *style;               /* name of a generator style */
    int64_t count;             /* training images, indices [0, count) */
    int64_t val_count;         /* validation images, indices [count, count + val_count) */
    int64_t seed;
    int64_t length;            /* characters per image */
    int64_t length_min, length_max; /* characters, drawn uniformly; 0 = length */
    ct_str_list fonts;         /* file names or paths; n 0 = the style's */
    ct_float_list sizes;       /* pixels per em at height 60; n 0 = the style's */
    ct_str_list styles, without_styles; /* names of styles of slider pictures; n 0: all, none */
    ct_str_list confusions;    /* kinds of slider pictures, each as often as it stands here; n 0: the usual shares */
    char *backgrounds;         /* folder; "" = they are drawn */
    int64_t width, height;     /* pixels of slider pictures; 0 = by lot */
    int64_t words, signers, glosses_min, glosses_max; /* gestures */
    bool fresh;                /* training images are new in every epoch, drawn when they are needed */
} ct_cfg_synth;

typedef struct ct_cfg_data {
    char *train, *val, *test;  /* folder, or "synth:text"; "" = none */
    double val_fraction;       /* share of data.train held out when data.val is "" */
    char *labels, *root;       /* label file of train; what names in label files are relative to; "" = found */
    char *train_labels, *val_labels, *test_labels; /* label files of clips; "" = found by the folders' names */
    char *vocab;               /* "all", "train" or a file of words */
    int64_t max_frames;        /* of a clip; 0 = all */
    int64_t frames_step;       /* frames: lengths of batches of clips are multiples of it */
    char *charset;             /* UTF-8, the classes in order; "" = from the labels */
    int64_t length;            /* characters per label, CTC: at most; 0 = from the labels */
    ct_cfg_letter_case letter_case;
    char *label_separator;     /* "" = the whole stem is the label */
    ct_cfg_label_side label_side;
    int64_t height, width;     /* pixels */
    int64_t crop;              /* pixels: side of the square of each image that the model sees; 0 = all of it */
    int64_t channels;          /* 1 (gray) or 3 (RGB) */
    ct_cfg_size_rule size_rule;
    int64_t width_step;        /* fit_height: widths of the buckets, pixels */
    int64_t min_width;         /* fit_height: pixels; 0 = what the model needs */
    uint8_t background[3];     /* RGB 0..255 put behind transparent pixels */
    int64_t max_bad;           /* unusable samples tolerated (they are listed) */
    ct_cfg_cache cache;        /* what is kept in the cache directory */
    ct_cfg_resident resident;  /* training images stay in the device's memory */
    ct_float_list mean, std;   /* of pixels scaled to [0,1]: x = (px/255 - mean) / std; n is 1 or channels */
    ct_cfg_synth synth;
} ct_cfg_data;

typedef struct ct_cfg_augment { /* every number but two is a half range drawn uniformly; 0 = off */
    double probability;        /* share of the training samples that are augmented */
    int64_t shift;             /* pixels, both directions */
    double scale;              /* factor in [1 - scale, 1 + scale] */
    double rotate;             /* degrees */
    double shear;              /* horizontal shear factor, tan of the angle */
    double noise;              /* largest standard deviation of Gaussian noise, in units of the pixel range [0,1] */
    double blur;               /* largest standard deviation of a Gaussian blur, pixels */
    double brightness;         /* added, in units of the pixel range [0,1] */
    double contrast;           /* factor in [1 - contrast, 1 + contrast] about the mean */
    double tempo;              /* clips are longer or shorter by up to this share */
    double flip;               /* chance of being mirrored left for right, whatever probability says */
} ct_cfg_augment;

typedef struct ct_cfg_focal { double alpha, beta, pos_threshold, eps; } ct_cfg_focal;
typedef struct ct_cfg_offset { double beta; bool around; } ct_cfg_offset;
typedef struct ct_cfg_hard_negative {
    double margin;             /* -1 = as loss.name says */
    char *reduction;
} ct_cfg_hard_negative;
typedef struct ct_cfg_angle { double pos_threshold; } ct_cfg_angle;
typedef struct ct_cfg_padding_bce {
    ct_cfg_word enabled;
    double max_loss_per_pixel;
} ct_cfg_padding_bce;
typedef struct ct_cfg_y_axis {
    ct_cfg_word enabled;
    double tau;
    bool log_stretch;
    double row_ce_weight, emd_weight;
} ct_cfg_y_axis;
typedef struct ct_cfg_weights { /* -1 = as loss.name says */
    double heatmap, offset, hard_negative, angle, padding_bce, y_axis;
} ct_cfg_weights;

typedef struct ct_cfg_loss_keys {
    ct_cfg_loss name;
    double label_smoothing;    /* in [0,1) */
    ct_float_list ctc_weights; /* five; these and what follows: models of sign language */
    double kd_weight, kd_temperature;
    bool kd_mask, kd_detach;
    ct_cfg_focal focal;        /* these and what follows: slider models */
    ct_cfg_offset offset;
    ct_cfg_hard_negative hard_negative;
    ct_cfg_angle angle;
    ct_cfg_padding_bce padding_bce;
    ct_cfg_y_axis y_axis;
    ct_cfg_word use_angle, use_hard_negative;
    ct_cfg_weights weights;
} ct_cfg_loss_keys;

typedef struct ct_cfg_letterbox {
    ct_int_list target_size;   /* [width, height]; n 0 = data.width, data.height */
    int64_t fill_value;        /* -1 = data.background */
} ct_cfg_letterbox;
typedef struct ct_cfg_coordinate {
    int64_t downsample;        /* pixels per cell */
    bool align;
} ct_cfg_coordinate;
typedef struct ct_cfg_heatmap { double sigma; } ct_cfg_heatmap;
typedef struct ct_cfg_data_split { bool stratify_by_image; } ct_cfg_data_split;

typedef struct ct_cfg_muon {
    double momentum;
    bool nesterov;
    int64_t steps;             /* of Newton-Schulz */
    double lr_factor;          /* of the matrices' rate */
    ct_cfg_adjust adjust_lr;   /* factor by a matrix's shape */
    bool first, last;          /* whether it takes the first and the last matrices, too */
} ct_cfg_muon;

typedef struct ct_cfg_optimizer_keys {
    ct_cfg_optimizer name;
    double lr;                 /* before schedule.lr_rule */
    ct_float_list betas;       /* exactly two, each in [0,1) */
    double eps;
    double weight_decay;
    double momentum;           /* sgd */
    bool nesterov;             /* sgd */
    bool decay_norm_bias;      /* true: normalisation parameters and biases are decayed, too */
    double clip_grad_norm;     /* global L2; 0 = off */
    double ema_decay;          /* per update; 0 = off */
    ct_cfg_muon muon;
    ct_str_list groups;        /* rules: program/groups.h */
} ct_cfg_optimizer_keys;

typedef struct ct_cfg_schedule_keys {
    ct_cfg_schedule name;
    double warmup_epochs;      /* warmup_cosine */
    double min_lr;             /* cosine, warmup_cosine, warm_restarts; before lr_rule */
    ct_int_list milestones;    /* multistep: epochs, strictly rising, at most 8 */
    double gamma;              /* multistep: factor at each milestone */
    double t0;                 /* warm_restarts: epochs of the first cycle */
    double t_mult;             /* warm_restarts: factor of the next cycle's length, a whole number */
    double pct_start;          /* one_cycle, triangular: share of the steps before the peak */
    double div_factor, final_div_factor; /* peak : first rate, first : last */
    ct_cfg_lr_rule lr_rule;    /* lr * (effective batch / reference_batch)^(1 or 1/2) */
    int64_t reference_batch;   /* samples */
} ct_cfg_schedule_keys;

typedef struct ct_cfg_progressive {
    double epochs;             /* so long the model sees smaller pictures; 0: never */
    double width, height;      /* factors of their sides, in [0.5, 1]; not both 1 where epochs > 0 */
} ct_cfg_progressive;

typedef struct ct_cfg_train {
    int64_t batch_size;        /* samples per micro-step; 0 = auto, until ct_memory_auto() has decided */
    int64_t batch_per_process; /* samples of each process of a group in batch_size's place; 0: batch_size is all
                                  processes' */
    int64_t parts;             /* in which a batch is cut, the same for any number of processes; 0: one for each of
                                  them */
    bool sync_norm;            /* batch norms see the samples of all processes */
    int64_t epochs;
    int64_t steps;             /* stop after this many optimizer steps; 0 = epochs alone decide */
    int64_t seed;
    int64_t workers;           /* loader threads; 0 = the training thread loads; -1 = auto: ct_loader_workers() */
    ct_cfg_precision precision;
    int64_t accumulate;        /* micro-steps per optimizer step */
    ct_cfg_last_batch last_batch;
    ct_cfg_recompute recompute;
    bool deterministic;
    bool exact;
    bool strict;
    bool graph;
    char *tune;
    int64_t threads;           /* compute threads; 0 = all cores the process may use */
    char *backend;             /* auto, cpu, cuda */
    ct_cfg_nan_policy nan_policy;
    int64_t nan_limit;         /* skip: this many skipped steps in a row stop the run */
    double loss_scale;         /* fp16: first value of the dynamic loss scale */
    int64_t loss_scale_growth; /* fp16: good steps before the scale doubles */
    ct_str_list freeze;        /* patterns of parameters that are not trained */
    ct_cfg_progressive progressive;
    char *target;              /* "METRIC=VALUE" that ends training; "" = none */
} ct_cfg_train;

typedef struct ct_cfg_visualization {
    int64_t num_best_samples, num_worst_samples, num_heatmap_samples;
    bool save_predictions, save_heatmaps;
} ct_cfg_visualization;

typedef struct ct_cfg_eval {
    int64_t every_epochs;
    int64_t every_steps;       /* optimizer steps; 0 = at the end of epochs alone */
    char *select_by;           /* metric of the task; "auto" until ct_metric_settle() has asked the task */
    bool ema;                  /* evaluate (and select) the EMA weights when optimizer.ema_decay > 0 */
    ct_cfg_visualization visualization;
} ct_cfg_eval;

typedef struct ct_cfg_second_guard {
    char *metric;              /* of the task; "" = no guard */
    ct_cfg_mode mode;          /* must be the metric's own */
    double min_delta;
} ct_cfg_second_guard;

typedef struct ct_cfg_early_stopping {
    bool enabled;
    int64_t patience;          /* evaluations without improvement */
    int64_t min_epochs;        /* never stop before */
    double min_delta;          /* smaller improvements do not count */
    ct_cfg_second_guard second_guard;
} ct_cfg_early_stopping;

typedef struct ct_cfg_checkpoint {
    int64_t every_steps;       /* optimizer steps; 0 = off */
    int64_t every_epochs;      /* 0 = off; the end of the run is always saved */
    int64_t keep;              /* last K besides last.safetensors and best.safetensors */
} ct_cfg_checkpoint;

typedef struct ct_cfg_group {
    char *engine;              /* auto, mpi, nccl */
    int64_t port;              /* 0: see ct_meeting */
    double deadline;           /* seconds that a process waits for the others in a step */
    int64_t bucket_mb;         /* megabytes of gradients that are summed in one call */
} ct_cfg_group;

typedef struct ct_cfg_log { int64_t interval_steps; bool tensorboard; } ct_cfg_log;
typedef struct ct_cfg_report { int64_t gallery; } ct_cfg_report; /* wrong predictions shown in report.html */

typedef struct ct_config_info ct_config_info; /* where each value came from, and the notes */

typedef struct ct_config {
    char *name;                /* of the run: runs/<date>-<name> */
    ct_cfg_model model;
    ct_cfg_data data;
    ct_cfg_letterbox letterbox;
    ct_cfg_coordinate coordinate;
    ct_cfg_heatmap heatmap;
    ct_cfg_data_split data_split;
    ct_cfg_augment augment;
    ct_cfg_loss_keys loss;
    ct_cfg_optimizer_keys optimizer;
    ct_cfg_schedule_keys schedule;
    ct_cfg_train train;
    ct_cfg_eval eval;
    ct_cfg_early_stopping early_stopping;
    ct_cfg_checkpoint checkpoint;
    ct_cfg_group group;
    ct_cfg_log log;
    ct_cfg_report report;
    ct_config_info *info;      /* private */
} ct_config;

/* ---- reading ---- */

/* Reads `config` (a YAML or JSON file, the folder of a run, which keeps one, or the
 * name of a shipped example such as "quickstart"; NULL = the built-in
 * quickstart), then applies sets[0..nsets): "key=value" strings of --set, later ones over earlier ones, then checks
 * keys against each other. All problems (at most 10 listed) are in one CT_ECONFIG message, one a line:
 *   file.yaml:12:9: optimizer.lr: must be between 0 and 100 (got -1)
 *   --set train.batch_sise=4: unknown key 'train.batch_sise'; did you mean 'train.batch_size'?
 * Other errors: CT_EIO (the file cannot be read), CT_ENOMEM. *out is owned by the caller (ct_config_free), NULL on
 * failure. */
ct_status ct_config_load(const char *config, const char *const *sets, size_t nsets, ct_config **out);

/* The same for text in memory; `source` names it in messages. size bytes, need not be terminated. */
ct_status ct_config_parse(const char *text, size_t size, const char *source, const char *const *sets, size_t nsets,
                          ct_config **out);

/* Every key at its default. */
ct_status ct_config_defaults(ct_config **out);

/* Changes one key of a loaded configuration (for command line options such as --threads) and checks everything
 * again. `origin` names the option in messages. On failure cfg is unchanged. */
ct_status ct_config_set(ct_config *cfg, const char *key, const char *value, const char *origin);

/* An own copy, e.g. to change where others hold pointers into cfg. CT_ENOMEM. */
ct_status ct_config_clone(const ct_config *cfg, ct_config **out);

void ct_config_free(ct_config *cfg); /* NULL is fine */

/* Things a person should be told once: keys of other programs that have no meaning here, and keys that have no
 * effect in this combination. The string belongs to cfg. */
size_t ct_config_note_count(const ct_config *cfg);
const char *ct_config_note(const ct_config *cfg, size_t i);
void ct_config_log_notes(const ct_config *cfg); /* all of them, as lines of the log */

/* True if the key (or an alias of it) was given, as opposed to having its default. False for unknown keys. */
bool ct_config_is_set(const ct_config *cfg, const char *key);

/* Where the key was given, "file.yaml:3:5" or "--set k=v"; NULL: nowhere, or an unknown key. The string belongs to
 * cfg. */
const char *ct_config_origin(const ct_config *cfg, const char *key);
/* The place to blame: where `key`, or else `other` (may be NULL), was given; "configuration" if neither was. */
const char *ct_config_place(const ct_config *cfg, const char *key, const char *other);

/* The value of a key as it would be written in YAML, e.g. "64", "[0.9, 0.999]"; ct_free(). NULL (with a message)
 * for an unknown key or without memory. */
char *ct_config_value(const ct_config *cfg, const char *key);
/* The value of a key that is true or false, or a number and not a word in its place; of the former 0 or 1. False where
 * it is anything else, and for an unknown key. */
bool ct_config_number(const ct_config *cfg, const char *key, double *out);

/* ---- writing: the resolved configuration; reading it back gives an equal struct ---- */

/* Blocks for ct_free(); NULL with CT_ENOMEM recorded. */
char *ct_config_yaml(const ct_config *cfg, bool comments); /* every key, in table order */
char *ct_config_json(const ct_config *cfg);                /* one line, nested objects */
bool ct_config_equal(const ct_config *a, const ct_config *b); /* all fields; origins and notes do not count */

/* ---- shipped examples ---- */

/* The path of a shipped example: `name` is "quickstart", "examples/quickstart.yaml" or "quickstart.yaml"; looked for
 * in CAPTRAIN_DATADIR/examples, the installed data directory and the source tree. NULL if there is none.
 * Returns a block for ct_free(). */
char *ct_config_find_example(const char *name);

/* The built-in configuration: the text of examples/quickstart.yaml as compiled in, NUL terminated. */
extern const char ct_config_quickstart[];

/* ---- the table ---- */

typedef enum ct_key_type {
    CT_KEY_BOOL,       /* bool */
    CT_KEY_INT,        /* int64_t */
    CT_KEY_FLOAT,      /* double */
    CT_KEY_ENUM,       /* an enum above, stored as int: index into values */
    CT_KEY_CHOICE,     /* char *, one of values */
    CT_KEY_STRING,     /* char * */
    CT_KEY_PATH,       /* char * */
    CT_KEY_COLOR,      /* uint8_t[3] */
    CT_KEY_INT_LIST,   /* ct_int_list */
    CT_KEY_FLOAT_LIST, /* ct_float_list */
    CT_KEY_STR_LIST,   /* ct_str_list */
    CT_KEY_TYPE_COUNT
} ct_key_type;

typedef enum ct_key_class {
    CT_CLASS_KEY,    /* has a field */
    CT_CLASS_MERGED, /* another way of writing a key (train.amp): translated when read, never written */
    CT_CLASS_NOTED   /* a key of other programs without meaning here: accepted, and a note says why. May end in ".*" */
} ct_key_class;

typedef struct ct_config_row {
    const char *name;      /* "train.batch_size" */
    const char *aliases;   /* "train.batch train.bs": other names, blank separated; NULL = none */
    ct_key_class cls;
    ct_key_type type;
    size_t offset;         /* of the field in ct_config; of a merged key in ct_config_info */
    const char *def;       /* default, as one would write it */
    double min, max;       /* of numbers and list elements; equal to -+HUGE_VAL where open */
    bool min_open, max_open; /* the bound itself is not allowed */
    int list_min, list_max;/* elements of a list */
    const char *word;      /* of an integer: may be written instead of a number, and is kept as min - 1; NULL = none */
    const char *values;    /* enum and choice: "adamw adam sgd", blank separated; a synonym follows as "cuda=gpu". Of a
                              path: names that mean no file */
    const char *unit;      /* "samples", "epochs", "pixels"; "" = none */
    const char *reader;    /* who reads it: "model", "loader", "trainer", ... */
    const char *doc;       /* one or two sentences; for noted keys: why it has no meaning */
} ct_config_row;

size_t ct_config_row_count(void);
const ct_config_row *ct_config_row_at(size_t i);           /* row i of the table; NULL behind the last */
const ct_config_row *ct_config_find_row(const char *key);  /* by name or alias, noted keys too; NULL if unknown */
const char *ct_config_nearest_key(const char *key);        /* whose name or alias has the least edit distance */
const char *ct_key_type_name(ct_key_type t);               /* "int", "list of floats", ... */
/* "between 1 and 65536", "above 0 and at most 16". Returns buf. */
const char *ct_config_range_text(const ct_config_row *row, char buf[128]);
/* Name i of a row with values ("adamw") into buf; false if i is out of range. */
bool ct_config_value_name(const ct_config_row *row, int i, char *buf, size_t size);
/* One more value of a row that keeps it as text, which must stay valid: for what is added to the program's own tables
 * (ct_task_add). CT_EINVAL. */
ct_status ct_config_add_value(const char *key, const char *value);

#endif
