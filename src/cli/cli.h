/* The command line: a table of verbs, each with a table of options. The parser, `captrain help`, and the man page read
 * the tables. */
#ifndef CT_CLI_CLI_H
#define CT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "captrain.h"

/* Values of an option that can be given more than once, in order. */
typedef struct cli_list { const char **v; size_t n; } cli_list;

/* Everything any verb can be given. Strings point into argv. */
typedef struct cli_args {
    const char *program;                 /* as it was called */
    const struct cli_command *const *commands; /* the table of verbs */
    ct_common common;
    bool verbose, quiet, version, help;
    const char **pos; int npos;          /* words that are no options */
    const char **sets; size_t nsets;     /* --set, in order */
    cli_list maps;
    ct_option *option; size_t noptions;  /* what tasks decide, in order */
    const char *out, *init, *config, *model, *precision, *golden, *ctc, *map_file, *layout, *labels, *like;
    const char *key, *map_preset, *write_map;
    const char *format, *target, *normalise, *check;
    const char *op, *impl, *call, *data, *tune, *device, *interval, *loss, *hosts, *html, *command;
    bool dry_run, resume, json, force, recompute, ops, calls, exact, inexact, deterministic, full, no_graph, yes;
    bool no_fold, variants;
    int64_t batch, steps, warmup, count, memory, processes, restarts; /* 0: not given */
    int64_t opset, prove;                /* likewise */
    int64_t seeds, every;                /* likewise */
    ct_model_sizes sizes; /* likewise */
    bool jsonl;
    double reject_below;                 /* 0: not given */
    int64_t seed;                        /* -1: not given */
} cli_args;

typedef enum cli_type {
    CLI_FLAG,   /* bool, no argument */
    CLI_STRING, /* const char * */
    CLI_INT,    /* int64_t in [min,max] */
    CLI_INT_AUTO, /* the same, or the word auto: -1 */
    CLI_THREADS,/* int in [min,max] */
    CLI_SHARE,  /* double from 0 to 1 */
    CLI_BYTES,  /* int64_t with an optional K, M, G (1024) */
    CLI_SET,    /* appends to sets */
    CLI_LIST    /* appends to a cli_list */
} cli_type;

typedef struct cli_option {
    const char *name;    /* "--set" */
    const char *arg;     /* "KEY=VALUE"; NULL for flags */
    cli_type type;
    size_t offset;       /* in cli_args */
    int64_t min, max;
    const char *doc;
} cli_option;

/* Rows of a table of options for the sizes of a model; `when` stands in front of what they are. */
#define CLI_SIZES_OPTIONS(when) \
    { "--height", "H", CLI_INT, offsetof(cli_args, sizes.height), 1, 65536, \
      when "pixels of the model's pictures; default the model's, here and below" }, \
    { "--width", "W", CLI_INT, offsetof(cli_args, sizes.width), 1, 65536, when "pixels" }, \
    { "--frames", "F", CLI_INT, offsetof(cli_args, sizes.frames), 1, 65536, \
      when "pictures of a clip, for models of clips" }, \
    { "--vocab", "N", CLI_INT, offsetof(cli_args, sizes.classes), 1, 1 << 24, \
      when "classes, the blank of CTC included" }, \
    { "--hidden", "N", CLI_INT, offsetof(cli_args, sizes.hidden), 1, 65536, when "as model.hidden" }

enum { CLI_REST = -2 };

typedef struct cli_command {
    const char *name;
    const char *operands;        /* "CONFIG", "MODEL FILE..." */
    const char *summary;         /* one line */
    const char *details;         /* a paragraph for help and the man page */
    const cli_option *options;   /* ends with name NULL */
    int pos_min, pos_max;        /* operands; pos_max -1 = any number, CLI_REST = the first begins another command line:
                                    what follows it is not this verb's */
    int (*run)(const cli_args *a); /* exit code */
} cli_command;

extern const cli_command cli_train, cli_eval, cli_predict, cli_gen, cli_check, cli_init, cli_import, cli_export,
    cli_plan, cli_bench, cli_tune, cli_profile, cli_selftest, cli_doctor, cli_monitor, cli_compare,
    cli_launch, cli_race, cli_fit_style, cli_completion, cli_help;

/* ---- cli.c ---- */
/* The program captrain: runs what argv asks for and gives the exit code. */
int cli_main(int argc, char **argv);

/* ---- commands.c ---- */
/* The table of verbs, ends with NULL. Without a verb the first is meant. Only cli_main() asks for it: what is below
 * gets it. */
const cli_command *const *cli_commands(void);

/* ---- options.c ---- */
const cli_option *cli_globals(void); /* options every verb takes; ends with name NULL */
const cli_option *cli_find_option(const cli_option *t, const char *word, size_t len);           /* NULL if unknown */
/* The same among the options that tasks have for a verb (NULL: for any). */
bool cli_find_task_option(const char *verb, const char *word, size_t len, ct_option_info *out);
const cli_command *cli_find(const cli_command *const *commands, const char *name);              /* NULL if unknown */

/* ---- parse.c ---- */
/* Reads argv[1..]: global options before or after the verb, `--` ends options. Sets *cmd (NULL: no verb). Returns 0, or
 * 2 after a message. */
int cli_parse(int argc, char **argv, const cli_command *const *commands, cli_args *a, const cli_command **cmd);
void cli_args_free(cli_args *a);

/* ---- limits.c ---- */
/* Standard streams that the caller has closed lead to /dev/null, or files that are opened later would take their
 * places. */
void cli_open_streams(void);
/* Under a limit of the address space (ulimit -v) in which OpenBLAS could not work, says so and ends the process; under
 * one in which it can, has its memory kept for it. threads: compute threads, 0: as many as there are cores; computes:
 * the verb may multiply matrices. */
void cli_check_space(int threads, bool computes);

/* ---- exit.c ---- */
/* A message on stderr. */
void cli_say(const char *message);
/* Prints the message of a failed call and gives the exit code. */
int cli_finish(ct_status st);
/* The exit code of a run that saved and ended because of a signal. */
int cli_signal_code(int signal);
/* Closes stdout: output that could not be written (full disk, closed pipe) is a failure, too. */
int cli_close_stdout(int code);

/* ---- suggest.c ---- */
/* What a mistyped word was probably meant to be; NULL: nothing is near. */
const char *cli_like_verb(const cli_command *const *commands, const char *word);
/* "--jsno": of the verb or of all; cmd may be NULL */
const char *cli_like_option(const char *word, const cli_command *cmd);

/* ---- help.c ---- */
void cli_print_usage(const cli_command *const *commands, FILE *f);
void cli_print_command_help(const cli_command *c, FILE *f);

#endif
