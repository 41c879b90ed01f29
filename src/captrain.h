/* captrain: a trainer for CAPTCHA-type vision models. The public interface of libcaptrain, one function for each verb of the
 * program; see captrain(1). This is the only installed header.
 *
 * Conventions. Functions return CT_OK or a failure code; ct_error_message() then holds one message naming the file, key, line,
 * sample or tensor at fault. Option structs start zeroed: 0, NULL and false are the defaults. Strings are UTF-8 and borrowed for
 * the call unless said otherwise. Sizes are bytes, images are pixels, times are seconds. One call at a time per process: the verbs
 * share the log and, for training, the signal handlers. */
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
    CT_EDATA,        /* samples that cannot be used: undecodable, label outside the charset, ... */
    CT_EUNSUPPORTED, /* no implementation accepts a call; the message lists the reasons */
    CT_EBACKEND,     /* the backend asked for is not available */
    CT_ENUMERIC,     /* NaN or infinity where the policy says stop */
    CT_ESIGNAL,      /* stopped by a signal after saving; see ct_train_result.signal */
    CT_EINTERNAL     /* an invariant of the program does not hold: a bug */
} ct_status;

const char *ct_version(void);                  /* "0.1.0" */
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

/* ---- train ---- */
typedef struct ct_train_opts {
    ct_common common;            /* over train.backend and train.threads of the configuration when given */
    const char *config;          /* YAML or JSON file, or the name of a shipped example; NULL: the built-in configuration */
    const char *const *sets;     /* "key=value" strings, later over earlier */
    size_t nsets;
    const char *out;             /* run directory; NULL: runs/<date>-<name> */
    bool resume;                 /* continue the run in `out` */
    const char *init;            /* model file whose weights are the start; NULL: drawn from train.seed */
} ct_train_opts;

typedef struct ct_train_result {
    char out[4096];              /* run directory */
    char report[4096];           /* report.html in it */
    char model[4096];            /* best checkpoint */
    double string_accuracy, char_accuracy; /* of the best model on the validation set, 0..1; -1 without one */
    int64_t epochs, steps;
    double seconds, samples_per_s;
    int64_t peak_bytes;          /* planned */
    char weights_hash[33];       /* XXH3-128 of the model tensors' bytes in name order */
    int signal;                  /* with CT_ESIGNAL: SIGINT, SIGTERM or SIGUSR1 */
    int examples;                /* validation samples shown by the CLI: see example_* */
    char example_file[3][256], example_label[3][64], example_predicted[3][64];
} ct_train_result;

/* Trains. Writes config.yaml, metrics.jsonl, run.log, result.json, report.html and checkpoints/ into the run directory. */
ct_status ct_run_train(const ct_train_opts *opts, ct_train_result *result);

/* ---- eval ---- */
typedef struct ct_eval_opts {
    ct_common common;
    const char *model, *data;    /* model file; folder of labelled images, or synth:text */
    int64_t batch;               /* 0: 64 */
    bool json;
} ct_eval_opts;
/* Scores a model on labelled images and prints a table, or JSON, to `to`. */
ct_status ct_run_eval(const ct_eval_opts *opts, FILE *to);

/* ---- predict ---- */
typedef struct ct_predict_opts {
    ct_common common;
    const char *model;
    const char *const *files; size_t nfiles; /* images */
    bool json;
} ct_predict_opts;
/* Prints a line per file: name, text, confidence. A file that cannot be read is reported there, the others are still done; then CT_EDATA. */
ct_status ct_run_predict(const ct_predict_opts *opts, FILE *to);

/* ---- gen ---- */
typedef struct ct_gen_opts {
    const char *out;
    int64_t count;
    uint64_t seed;               /* image i is a function of (seed, i) */
    const char *style;           /* NULL: "simple"; "list" prints the styles to `to` and makes nothing */
    const char *charset;         /* NULL: 0-9A-Z */
    int length_min, length_max;  /* 0: 4 */
    int width, height;           /* 0: 160, 60 */
    int threads;
    bool force;                  /* write into a folder that is not empty */
} ct_gen_opts;
/* Writes labelled PNG files of generated text CAPTCHAs. */
ct_status ct_run_gen(const ct_gen_opts *opts, FILE *to);

/* ---- check ---- */
typedef struct ct_check_opts {
    const char *data;
    const char *config;          /* NULL: only unreadable files or an empty folder are failures */
    const char *const *sets; size_t nsets;
    int threads;
    bool json;
} ct_check_opts;
/* Decodes everything and reports on files, labels, duplicates and sizes. CT_EDATA if a training with `config` would fail. */
ct_status ct_run_check(const ct_check_opts *opts, FILE *to);

/* ---- plan ---- */
typedef struct ct_plan_opts {
    ct_common common;
    const char *config;          /* as in ct_train_opts; unused with `model` */
    const char *const *sets; size_t nsets;
    const char *model;           /* plan a model of the catalogue with its default geometry instead of a configuration */
    int64_t batch;               /* with model; 0: 64 */
    const char *precision;       /* with model; NULL: fp32 */
    int64_t memory;              /* bytes for which the largest micro-batch is reported; 0: the device's */
    bool json;
} ct_plan_opts;
/* Prints every operator with shapes, FLOPs, bytes and chosen implementation, and what the arenas take. Touches no tensor. */
ct_status ct_run_plan(const ct_plan_opts *opts, FILE *to);

/* ---- bench ---- */
typedef struct ct_bench_opts {
    ct_common common;
    const char *model;
    int64_t batch;               /* 0: 64 */
    int64_t steps, warmup;       /* 0: 20, 3 */
    const char *precision;       /* NULL: fp32 */
    bool recompute;
    bool ops;                    /* also the time per operator */
    bool json;
} ct_bench_opts;
/* Times whole training steps on resident data. */
ct_status ct_run_bench(const ct_bench_opts *opts, FILE *to);

/* ---- selftest ---- */
typedef struct ct_selftest_run_opts {
    ct_common common;
    const char *golden;          /* safetensors file made by a PyTorch script (doc/formats.md); NULL: operators */
    const char *op, *impl, *call;/* filters for operators; NULL: all */
    uint64_t seed;               /* 0: CAPTRAIN_SEED, or 1 */
    bool full;                   /* real model shapes as well */
} ct_selftest_run_opts;
/* Checks every implementation of every operator against the reference, or a golden file; prints a table. CT_EINTERNAL beyond tolerance. */
ct_status ct_run_selftest(const ct_selftest_run_opts *opts, FILE *to);

/* ---- doctor ---- */
/* Prints what this machine and build offer: CPU, BLAS, OpenMP, memory, fonts, cache, backends or why not. */
ct_status ct_run_doctor(bool json, FILE *to);

/* ---- help ---- */
void ct_print_config_help(FILE *to);           /* every configuration key: type, default, range, meaning */
void ct_print_config_markdown(FILE *to);       /* the same as doc/configuration.md */
void ct_print_config_man(FILE *to);            /* the same as sections of the manual page, roff */
void ct_print_environment_man(FILE *to);       /* environment variables, roff */

#ifdef __cplusplus
}
#endif
#endif
