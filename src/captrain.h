/* captrain: a trainer for CAPTCHA-type vision models. The public interface of libcaptrain, one function for each verb of the
 * program; see captrain(1). This is the only installed header.
 *
 * Conventions. Functions return CT_OK or a failure code; ct_error_message() then holds one message naming the file, key, line,
 * sample or tensor at fault. Structs of options and results begin with their own size, which tells the library what its caller was compiled
 * with; the rest starts zeroed: 0, NULL and false are the defaults. So
 *     ct_eval_opts o = { .size = sizeof o, .model = "RUN", .data = "DIR" };
 * Members that later versions add stand behind those of today: a program goes on working with a newer library, and with an older one as long
 * as it leaves at 0 what that one does not know. Strings are UTF-8 and borrowed for the call unless said otherwise. Sizes are bytes, images are pixels, times are seconds.
 *
 * Threads. The verbs, ct_run_*(), share the log and, for training, the signal handlers: one of them at a time per process. A model
 * that is kept open, ct_model_*(), shares nothing with others and may be used from any number of threads at once, beside a verb, too. */
#ifndef CAPTRAIN_H
#define CAPTRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ct_status {
    CT_OK = 0,
    CT_ENOMEM,       /* memory could not be had */
    CT_EINVAL,       /* an argument or a combination of arguments has no meaning */
    CT_EIO,          /* a file or directory could not be read or written */
    CT_EFORMAT,      /* a file was read, but its contents are damaged or of another kind */
    CT_ECONFIG,      /* configuration error */
    CT_EDATA,        /* samples that cannot be used: undecodable, a label that the model cannot give, ... */
    CT_EUNSUPPORTED, /* no implementation accepts a call; the message lists the reasons */
    CT_EBACKEND,     /* the backend asked for is not available */
    CT_ENUMERIC,     /* NaN or infinity where the policy says stop */
    CT_ESIGNAL,      /* stopped by a signal after saving; see ct_train_result.signal */
    CT_EINTERNAL     /* an invariant of the program does not hold: a bug */
} ct_status;

const char *ct_version(void);                  /* "0.2.0" */
const char *ct_error_message(void);            /* the last failure of this thread; "" if none */
const char *ct_status_name(ct_status code);    /* fixed short text */
/* The process exit code the program uses for a status: 0 done, 1 failed, 2 usage, configuration or backend not available. */
int ct_exit_code(ct_status code);
void ct_set_verbosity(int level);              /* 0 errors only (--quiet), 1 normal, 2 debug (--verbose) */

/* What all verbs that compute share. */
typedef struct ct_common {
    const char *backend;         /* "auto" (NULL), "cpu", ... */
    int threads;                 /* 0: all cores this process may use */
} ct_common;

/* Some options of a verb depend on what its model is for: {"decoder", "beam"}. Each is one of those that ct_option_at() lists for the verb;
 * another one, or one of another task than the model's, is CT_ECONFIG. */
typedef struct ct_option {
    const char *key, *value;
} ct_option;

typedef struct ct_option_info {
    const char *task;            /* "text": what models it is for */
    const char *name, *arg;      /* on the command line: "--decoder", "NAME"; arg NULL: a flag, its value is "true" */
    const char *key;             /* in ct_option: "decoder" */
    const char *doc;             /* one line */
} ct_option_info;

/* Option i = 0, 1, ... of a verb ("eval", "predict", "gen", "import-torch"), of all tasks; verb NULL: of any verb. False behind the last. */
bool ct_option_at(const char *verb, size_t i, ct_option_info *out);

/* ---- train ---- */
typedef struct ct_train_opts {
    size_t size;                 /* sizeof(ct_train_opts) */
    ct_common common;            /* over train.backend and train.threads of the configuration when given */
    const char *config;          /* YAML or JSON file, or the name of a shipped example; NULL: the built-in configuration */
    const char *const *sets;     /* "key=value" strings, later over earlier */
    size_t nsets;
    const char *out;             /* run directory; NULL: runs/<date>-<name> */
    bool resume;                 /* continue the run in `out` */
    const char *init;            /* model file whose weights are the start, its last layer by character; NULL: drawn from train.seed */
    const char *tune;            /* over train.tune when given: file that ct_run_tune wrote, or "auto" */
    bool no_graph;               /* train.graph: false */
} ct_train_opts;

/* A number that was measured. */
typedef struct ct_metric_value {
    char key[48];                /* "loss", "cer": as in result.json */
    char label[64];              /* "strings right" */
    char unit[16];               /* "%": value is a share, 0..1, told as 100 times that; "px", "" */
    double value;                /* NAN: not known */
} ct_metric_value;
#define CT_METRICS_MAX 32

typedef struct ct_train_result {
    size_t size;                 /* sizeof(ct_train_result) */
    char out[4096];              /* run directory */
    char report[4096];           /* report.html in it */
    char model[4096];            /* best checkpoint */
    int nmetrics;                /* of the best model on the validation set: 0 without one. The loss, then what the task measures */
    ct_metric_value metric[CT_METRICS_MAX];
    int64_t epochs, steps;
    double seconds, samples_per_s;
    int64_t peak_bytes;          /* planned */
    char weights_hash[33];       /* XXH3-128 of the model tensors' bytes in name order */
    int signal;                  /* with CT_ESIGNAL: SIGINT, SIGTERM, SIGUSR1 or SIGHUP */
    int examples;                /* validation samples shown by the CLI: see example_* */
    char example_file[3][256], example_label[3][256], example_predicted[3][256];
    bool told;                   /* one of several processes: another one tells how the run went, or why it failed */
    bool broke;                  /* with CT_EBACKEND: the group of processes broke up, and the run may be resumed */
} ct_train_result;

/* Trains. Writes config.yaml, metrics.jsonl, run.log, result.json, report.html and checkpoints/ into the run directory. */
ct_status ct_run_train(const ct_train_opts *opts, ct_train_result *result);

/* ---- eval ---- */
typedef struct ct_eval_opts {
    size_t size;                 /* sizeof(ct_eval_opts) */
    ct_common common;
    const char *model, *data;    /* model file; folder of labelled images, or synth:text */
    int64_t batch;               /* 0: 64 */
    bool json;
    const ct_option *option; size_t noptions;
} ct_eval_opts;
/* Scores a model on labelled images and prints a table, or JSON, to `to`. Of several processes (mpirun) each scores its part, and the
 * first prints what all found, or why they failed: the message of the others is empty then. */
ct_status ct_run_eval(const ct_eval_opts *opts, FILE *to);

/* ---- predict ---- */
typedef struct ct_predict_opts {
    size_t size;                 /* sizeof(ct_predict_opts) */
    ct_common common;
    const char *model;
    const char *const *files; size_t nfiles; /* images, or folders of them; "-": standard input, a name of one in each line, or an image */
    bool json;                   /* one array */
    const ct_option *option; size_t noptions;
    bool jsonl;                  /* instead: an object a line, written and flushed batch by batch */
    double reject_below;         /* what is less sure than this is marked as rejected; 0: nothing is */
} ct_predict_opts;
/* Prints a line per file, in their order: name, text, confidence. A file that cannot be read is reported (with json and jsonl among the
 * rows, as "error"), the others are still done; then CT_EDATA. Takes no more memory for more files, but with json. */
ct_status ct_run_predict(const ct_predict_opts *opts, FILE *to);

/* ---- a model kept open ---- */
/* Reads pictures in memory, again and again, as ct_run_predict() does those in files: with the same decoding, resizing and
 * normalisation. Nothing is printed, no signal is handled, nothing ends the process. A handle may be used from several threads at
 * once; only its close must be the last call. Messages are the calling thread's: ct_error_message(). */
typedef struct ct_model ct_model;
typedef struct ct_readings ct_readings;

typedef struct ct_model_opts {
    size_t size;                 /* sizeof(ct_model_opts) */
    ct_common common;            /* threads: that one read computes with; 0: 1 */
    int at_once;                 /* reads that compute at the same time, others wait; each takes a copy of the weights, when it is needed
                                    first. 0: as many as `threads` go into the cores this process may use */
    int64_t batch;               /* pictures that are computed together, at most; 0: 64. Clips are one by one */
    const ct_option *option; size_t noptions; /* those of "predict", for every read */
    /* What would be worth a line in a program's log (level 0 error, 1 warning, 2 information, 3 debug): one line without its newline,
     * valid during the call, from the thread that reads. NULL: nothing is told. */
    void (*log)(void *user, int level, const char *line);
    void *log_user;
} ct_model_opts;

/* Opens a model file, or the best one of a run's folder, and takes what reading one picture needs. opts NULL: all defaults. *out:
 * ct_model_close(); NULL on failure. CT_EIO, CT_EFORMAT, CT_EBACKEND, CT_ECONFIG (an option), CT_ENOMEM. The file must stay as it
 * is until the handle is closed. */
ct_status ct_model_open(const char *path, const ct_model_opts *opts, ct_model **out);
void ct_model_close(ct_model *model);          /* NULL is fine */

/* What a model is. Strings and lists belong to the handle. */
typedef struct ct_model_description {
    size_t size;                 /* sizeof(ct_model_description) */
    const char *task;            /* "text": what it reads */
    const char *model;           /* model.name: "textcnn-small" */
    const char *backend;         /* "cpu" */
    const char *precision;       /* "fp32" */
    const char *size_rule;       /* what becomes of a picture: "resize", "refuse", "fit_height", "letterbox" (doc/configuration.md) */
    int height, width, channels; /* that the model sees, pixels; fit_height: the greatest width */
    bool clips;                  /* reads rows of pictures: ct_model_read_clips() */
    int positions;               /* symbols of every reading; 0: any number */
    size_t symbols;              /* that it can read: characters, or words; 0: it reads none */
    const char *const *symbol;   /* [symbols] UTF-8, in the order of its classes, the blank left out */
} ct_model_description;
ct_status ct_model_describe(const ct_model *model, ct_model_description *out);

/* What the bytes of a picture are. */
typedef enum ct_pixels {
    CT_PIXELS_FILE = 0,          /* those of a picture file, PNG, JPEG, ...: it says its size itself */
    CT_PIXELS_GRAY = 1,          /* a byte a pixel */
    CT_PIXELS_RGB = 3,           /* R, G, B */
    CT_PIXELS_RGBA = 4           /* R, G, B and opacity, not multiplied: laid over the model's background */
} ct_pixels;

typedef struct ct_picture {
    size_t size;                 /* sizeof(ct_picture), in every picture of a list */
    const void *data;            /* NULL: `path` names a file */
    size_t bytes;                /* of data: nothing behind them is read. Pixels that do not lie within are CT_EINVAL */
    ct_pixels pixels;
    int width, height;           /* of pixels, 1 to 32767 */
    size_t stride;               /* bytes from a row to the next; 0: rows without a gap */
    const char *path;
    const char *name;            /* in messages; NULL: the path, or "picture 0" */
} ct_picture;

/* A clip: pictures of one size in a row. */
typedef struct ct_picture_row {
    size_t size;                 /* sizeof(ct_picture_row), in every row of a list */
    const ct_picture *picture; size_t pictures;
    const char *name;            /* in messages; NULL: "clip 0" */
} ct_picture_row;

/* A character of a text, or a word of a clip. Lists hold pointers: later members stand behind those of today. */
typedef struct ct_symbol {
    const char *text;            /* UTF-8 */
    double confidence;           /* 0..1 */
    int index;                   /* number of the symbol in ct_model_description.symbol */
    double first, last;          /* where, about: from column to column of the picture, pixels. NAN: not known, as of clips and of
                                    models that read a fixed number of positions */
} ct_symbol;

typedef struct ct_point {
    const char *name;            /* "gap": as `predict --json` calls it */
    double x, y;                 /* pixels of the picture as it was given */
    double confidence;           /* 0..1 */
} ct_point;

typedef struct ct_reading {
    size_t size;                 /* bytes of this struct that the library knows */
    ct_status status;            /* CT_OK; CT_EINVAL, CT_EIO, CT_EFORMAT, CT_EDATA: this picture could not be read, the rest is empty */
    const char *error;           /* why; "" */
    const char *text;            /* UTF-8: characters in a row, words with blanks between them; "" where the task has none */
    double confidence;           /* 0..1: of texts the product over the symbols, 0 of none; of points the least */
    size_t symbols; const ct_symbol *const *symbol;
    size_t points; const ct_point *const *point;
    const char *json;            /* with ct_read_opts.json: all that the task tells, as `predict --json` does; else "" */
} ct_reading;

typedef struct ct_read_opts {
    size_t size;                 /* sizeof(ct_read_opts) */
    const ct_option *option; size_t noptions; /* over those of the handle */
    bool json;
} ct_read_opts;

/* Reads n pictures; opts NULL: none. CT_EDATA: some of them could not be read, ct_reading.status says which and why, and the message is
 * the first one's; *out is there in this case, too. Any other failure leaves *out NULL. A model of clips is CT_EINVAL. */
ct_status ct_model_read(ct_model *model, const ct_picture *picture, size_t n, const ct_read_opts *opts, ct_readings **out);
/* The same of n clips; a model of pictures is CT_EINVAL. */
ct_status ct_model_read_clips(ct_model *model, const ct_picture_row *clip, size_t n, const ct_read_opts *opts, ct_readings **out);

size_t ct_readings_count(const ct_readings *readings);
/* Reading i = 0, 1, ... in the order they were given, valid until ct_readings_free(); NULL behind the last. */
const ct_reading *ct_readings_at(const ct_readings *readings, size_t i);
void ct_readings_free(ct_readings *readings);  /* NULL is fine; the model may be closed before */

/* ---- gen ---- */
typedef struct ct_gen_opts {
    size_t size;                 /* sizeof(ct_gen_opts) */
    const char *kind;            /* "text": what to draw, as in data.train: synth:text */
    const char *out;             /* NULL: nothing is made; for options that list something */
    int64_t count;
    uint64_t seed;               /* image i is a function of (seed, i) */
    int threads;
    bool force;                  /* write into a folder that is not empty */
    const ct_option *option; size_t noptions; /* of the task, as ct_option_at() lists them; a key may come several times.
                                                 "style" "list" makes nothing and prints the styles, one a line */
    const char *like;            /* NULL, or a configuration, a run or a model file: options that are not given are as it says, so that
                                    its model can read what is drawn */
} ct_gen_opts;
/* Writes labelled PNG files of generated samples. */
ct_status ct_run_gen(const ct_gen_opts *opts, FILE *to);

/* ---- fit-style ---- */
typedef struct ct_fit_style_opts {
    size_t size;                 /* sizeof(ct_fit_style_opts) */
    const char *folder;          /* of pictures; labels do not matter */
    const char *out;             /* the style's file */
    const char *html;            /* the page; NULL: as `out`, with .html */
    int64_t rounds;              /* changes that are tried; 0: 400 */
    uint64_t seed;               /* 0: 1 */
    int threads;
    bool force;                  /* replace a file that exists */
    const ct_option *option; size_t noptions;
} ct_fit_style_opts;
/* Finds parameters of the text generator whose pictures look like those of a folder, writes them as a file for data.synth.style, and a page
 * with both side by side; prints what was measured of both. */
ct_status ct_run_fit_style(const ct_fit_style_opts *opts, FILE *to);

/* ---- check ---- */
typedef struct ct_check_opts {
    size_t size;                 /* sizeof(ct_check_opts) */
    const char *data;
    const char *config;          /* NULL: only unreadable files or an empty folder are failures */
    const char *const *sets; size_t nsets;
    int threads;
    bool json;
    const char *backend;         /* with config: over train.backend */
    const char *labels;          /* label file of the folder; NULL: found by its name */
} ct_check_opts;
/* Decodes everything and reports on files, labels, duplicates and sizes. CT_EDATA if a training with `config` would fail. */
ct_status ct_run_check(const ct_check_opts *opts, FILE *to);

/* ---- init ---- */
typedef struct ct_init_opts {
    size_t size;                 /* sizeof(ct_init_opts) */
    const char *data;            /* folder of labelled samples, or a label file */
    const char *out;             /* configuration to write, which must not exist; NULL: named after data, in the working directory */
    const char *labels;          /* label file of the folder; NULL: found by its name */
    int threads;
    const char *backend;         /* the training that is tried is for this one; NULL: auto */
} ct_init_opts;
/* Writes a configuration that trains with these samples, with a reason for every key, and says so on `to`. CT_EDATA where they could not be
 * trained with; CT_EIO where the file is there. */
ct_status ct_run_init(const ct_init_opts *opts, FILE *to);

/* ---- import-torch, export ---- */
typedef struct ct_import_opts {
    size_t size;                 /* sizeof(ct_import_opts) */
    const char *file, *out;      /* PyTorch state dict: .pth, .pt, .safetensors; model file to write */
    const char *model;           /* over model.name of the configuration; NULL: as configured */
    const char *config;          /* geometry, mean, std, ...; NULL: all defaults */
    const char *const *sets; size_t nsets;
    const char *const *maps; size_t nmaps; /* "OLD=NEW": first parts of tensor names that are replaced; the first rule that fits */
    const char *map_file;        /* more of them, one a line; NULL: none */
    bool force;                  /* replace a file that exists */
    const ct_option *option; size_t noptions; /* what the task wants to know of the classes: ct_option_at() */
    const char *key;             /* the dict in a file of torch.save that is meant ("ema", "state.net"); NULL: the usual one */
    const char *map_preset;      /* names of another program: "crnn.pytorch", "torchvision.resnet", "timm.resnet"; NULL: none */
    const char *write_map;       /* write the names as rules, to look through, and no model; NULL: make the model */
    bool yes;                    /* take tensors by shape and order where names do not fit */
} ct_import_opts;
/* Makes a model file of PyTorch weights: a file of torch.save, of which nothing is run, or safetensors. CT_EFORMAT naming every tensor that
 * is missing, left over or of another shape, CT_EUNSUPPORTED naming what was refused in a pickle. */
ct_status ct_run_import(const ct_import_opts *opts);

typedef struct ct_export_opts {
    size_t size;                 /* sizeof(ct_export_opts) */
    const char *model, *out;     /* model file; safetensors file to write */
    const char *layout;          /* "torch" (NULL): PyTorch's shapes and order; "captrain": ours */
    const char *const *maps; size_t nmaps; /* as for import, our names on the left */
    const char *map_file;
    bool force;
    const char *format;          /* "safetensors" (NULL) or "onnx": what is in the file, to which its suffix must fit */
    /* onnx alone: */
    int64_t opset;               /* 11 to 20; 0: 17, or what `target` needs */
    const char *normalise;       /* "inside": pixels 0..1 go in (NULL); "outside": normalised values */
    const char *target;          /* the program that is to load the file: "ddddocr", "ddddocr-1.5"; NULL: any */
    bool no_fold;                /* batch norms stay nodes */
    int64_t prove;               /* pictures or clips of the proof, at most; 0: 2000 */
    const char *check;           /* in place of `out`: a file that is proved as if it had just been written */
} ct_export_opts;
/* Writes a model for other programs: its weights, or with format "onnx" a graph with them, which is read back, run and compared with the
 * model, and only stays if both say the same. CT_EDATA naming the node, initializer, picture or clip that says otherwise, CT_EUNSUPPORTED for a
 * model that ONNX has no operators for. */
ct_status ct_run_export(const ct_export_opts *opts);

/* Sizes of a model of the catalogue; 0: its default. */
typedef struct ct_model_sizes {
    int64_t height, width;       /* pixels */
    int64_t frames;              /* pictures of a clip, copies at both ends included; models of clips alone */
    int64_t classes;             /* the blank of CTC included */
    int64_t hidden;              /* as model.hidden */
} ct_model_sizes;

/* ---- plan ---- */
typedef struct ct_plan_opts {
    size_t size;                 /* sizeof(ct_plan_opts) */
    ct_common common;
    const char *config;          /* as in ct_train_opts; unused with `model` */
    const char *const *sets; size_t nsets;
    const char *model;           /* plan a model of the catalogue with its default geometry instead of a configuration */
    int64_t batch;               /* with model; 0: 64 */
    const char *precision;       /* with model; NULL: fp32 */
    int64_t memory;              /* bytes for which the largest micro-batch is reported; 0: the device's */
    bool json;
    ct_model_sizes sizes;              /* with model */
    bool recompute;              /* with model: activations are recomputed block by block instead of kept */
} ct_plan_opts;
/* Prints every operator with shapes, FLOPs, bytes and chosen implementation, and what the arenas take. Touches no tensor. */
ct_status ct_run_plan(const ct_plan_opts *opts, FILE *to);

/* ---- bench ---- */
typedef struct ct_bench_opts {
    size_t size;                 /* sizeof(ct_bench_opts) */
    ct_common common;
    const char *model;
    int64_t batch;               /* 0: 64; -1: the largest that fits the device's free memory, as train.batch_size: auto takes it */
    int64_t steps, warmup;       /* 0: 20, 3 */
    const char *precision;       /* NULL: fp32 */
    bool recompute;
    bool ops;                    /* also the time per operator and implementation, beside measured peaks */
    bool json;
    bool calls;                  /* also the time of every distinct call */
    const char *op;              /* single calls instead of steps: a call's text, or an operator's name for its calls in `model`
                                    or, without one, in the models of doc/performance.md */
    bool exact, deterministic;   /* only implementations that are */
    const char *tune;            /* file that ct_run_tune wrote; NULL: none */
    bool no_graph;               /* operators are queued one by one in every step, where the backend could replay a recorded one */
    const char *loss;            /* of the model's; NULL: its usual one */
    ct_model_sizes sizes;
} ct_bench_opts;
/* Times whole training steps on resident data, or single operator calls. */
ct_status ct_run_bench(const ct_bench_opts *opts, FILE *to);

/* ---- tune ---- */
typedef struct ct_tune_opts {
    size_t size;                 /* sizeof(ct_tune_opts) */
    ct_common common;
    const char *config;          /* as in ct_train_opts: every program of that training; unused with `model` */
    const char *const *sets; size_t nsets;
    const char *model;           /* the training step of a model of the catalogue */
    int64_t batch;               /* with model; 0: 64 */
    const char *precision;       /* with model; NULL: fp32 */
    bool exact, deterministic;   /* only implementations that are; with a configuration train.exact and train.deterministic say so, too */
    const char *out;             /* file of choices to write; NULL: choices.json */
    bool json;
} ct_tune_opts;
/* Measures every implementation that accepts each distinct operator call, prints a table and writes the fastest ones to a file for
 * train.tune. Other choices give other bits: a run keeps the ones it began with. */
ct_status ct_run_tune(const ct_tune_opts *opts, FILE *to);

/* ---- profile ---- */
typedef struct ct_profile_opts {
    size_t size;                 /* sizeof(ct_profile_opts) */
    ct_common common;
    const char *config;          /* as in ct_train_opts: its data and its training step; unused with `model` */
    const char *const *sets; size_t nsets;
    const char *model;           /* the training step of a model of the catalogue, on images that are there */
    int64_t batch;               /* with model; 0: 64 */
    const char *precision;       /* with model; NULL: fp32 */
    int64_t steps;               /* 0: 20 */
    bool json;
} ct_profile_opts;
/* Runs training steps and prints where their time goes: loader, copies, queueing, operators beside measured ceilings, reading back; what
 * holds training up, and which key to turn. */
ct_status ct_run_profile(const ct_profile_opts *opts, FILE *to);

/* ---- selftest ---- */
typedef struct ct_selftest_run_opts {
    size_t size;                 /* sizeof(ct_selftest_run_opts) */
    ct_common common;
    const char *golden;          /* safetensors file made by a PyTorch script (doc/formats.md); NULL: operators */
    bool inexact;                /* golden: with the implementations a training takes by default, gradients within 100 times the file's noise */
    const char *ctc;             /* file of CTC losses and gradients instead (doc/formats.md); NULL: as above */
    const char *op, *impl, *call;/* filters for operators; NULL: all. impl "NAME:VARIANT": only that variant of it */
    uint64_t seed;               /* 0: CAPTRAIN_SEED, or 1 */
    bool full;                   /* real model shapes as well */
    bool variants;               /* every variant that a library offers of a call as well */
    const char *data;            /* filter: pattern of the test data; NULL: all */
} ct_selftest_run_opts;
/* Checks every implementation of every operator against the reference, a golden file, or a CTC file; prints a table. CT_EINTERNAL beyond
 * tolerance. */
ct_status ct_run_selftest(const ct_selftest_run_opts *opts, FILE *to);

/* ---- compare ---- */
typedef struct ct_compare_opts {
    size_t size;                 /* sizeof(ct_compare_opts) */
    const char *const *runs; size_t nruns; /* 2 to 64 folders of runs */
    const char *html;            /* file to write a page into; NULL: none */
    bool json;                   /* one JSON object instead of a table */
} ct_compare_opts;
/* Prints what runs came to beside each other, and the keys of configuration in which they differ. CT_ECONFIG naming a folder that is no run. */
ct_status ct_run_compare(const ct_compare_opts *opts, FILE *to);

/* ---- race ---- */
typedef struct ct_race_opts {
    size_t size;                 /* sizeof(ct_race_opts) */
    ct_common common;
    const char *const *configs; size_t nconfigs; /* who races, each as in ct_train_opts; 7 with the command, at most */
    const char *const *sets; size_t nsets;       /* for all of them */
    const char *command;         /* another program that races: a line for the shell, {seed}, {target} and {threads} filled in; NULL: none */
    const char *target;          /* "METRIC=VALUE"; NULL: train.target of the configurations */
    int64_t seeds, seed;         /* how many, and the first of them; 0: 3, 1 */
    int64_t every;               /* steps between two validations, over eval.every_steps; 0: as configured */
    const char *out;             /* folder of the race; NULL: runs/<date>-race */
    bool resume;                 /* go on with the race in `out` */
    bool json;                   /* one JSON object instead of the table */
} ct_race_opts;
/* Trains with one seed after another until a validation reaches the target, and prints how long each run and their mean took. Every run is a
 * folder below `out`, where race.json, race.csv and race.svg are, too. CT_ESIGNAL, after printing what there is: *signal is what came. */
ct_status ct_run_race(const ct_race_opts *opts, FILE *to, int *signal);

/* ---- monitor ---- */
typedef struct ct_monitor_opts {
    size_t size;                 /* sizeof(ct_monitor_opts) */
    ct_common common;
    int device;                  /* number of the device; -1: all */
    double interval;             /* seconds between two readings; 0: 1 */
    int64_t count;               /* readings; 0: until the process ends */
    bool json;                   /* one JSON object a line */
} ct_monitor_opts;
/* Prints power, load, temperature, clocks and memory of the backend's devices, a line for each device and reading, the first after one
 * interval. CT_EBACKEND if the backend has nothing to tell, or cannot. */
ct_status ct_run_monitor(const ct_monitor_opts *opts, FILE *to);

/* ---- launch ---- */
typedef struct ct_launch_opts {
    size_t size;                 /* sizeof(ct_launch_opts) */
    ct_common common;            /* of the words: which backend's devices are counted; threads that they ask for, 0: they do not */
    const char *program;         /* the program of the processes, if this process's own cannot be found */
    const char *const *words; size_t nwords; /* a verb of it and what follows */
    int64_t processes;           /* 0: one for each device */
    const char *hosts;           /* "A,B" or "A:4,B:4": machines and processes there; NULL: this one */
    int64_t restarts;            /* how often a training that saved and ended with 75 is started again */
    bool can_resume;             /* the words name the run's folder */
    bool resumes;                /* and have --resume already */
    bool dry_run;                /* print the command, start nothing */
} ct_launch_opts;
/* Starts a verb in several processes with mpirun and waits for them. Prints the command to `to`, with dry_run alone. *code: the exit code of
 * the processes, as mpirun gives it; of a training that saved because this process was told to stop by a signal, 128 and the signal, or 75. */
ct_status ct_run_launch(const ct_launch_opts *opts, FILE *to, int *code);

/* ---- doctor ---- */
/* Prints what this machine and build offer: CPU, BLAS, OpenMP, memory, fonts, cache, backends or why not; each backend that works trains a
 * small model for a moment. CT_EINTERNAL, after everything is printed, if one does that wrong. */
ct_status ct_run_doctor(bool json, FILE *to);

/* ---- help ---- */
void ct_print_config_help(FILE *to);           /* every configuration key: type, default, range, meaning */
/* The same for one key ("train.epochs", or another name of it), or the keys of a section ("train"). False: there is neither. */
bool ct_print_config_topic(FILE *to, const char *topic);
/* Key i by its name, and what it may be if that is one of a few words, with blanks between and synonyms behind '=' ("cpu cuda=gpu");
 * "" else. False behind the last. Both stay valid. */
bool ct_config_key(size_t i, const char **name, const char **values);
/* The key that an option of another program probably means ("epochs" is train.epochs, "batch-size" train.batch_size); NULL: none. */
const char *ct_config_key_like(const char *word);
void ct_print_config_markdown(FILE *to);       /* the same as doc/configuration.md */
void ct_print_config_man(FILE *to);            /* the same as sections of the manual page, roff */
void ct_print_environment_man(FILE *to);       /* environment variables, roff */

#ifdef __cplusplus
}
#endif
#endif
