/* Verbs that use a trained model: eval and predict. */
#include "config.h"

#include <signal.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option eval_options[] = {
    { "--batch", "N", CLI_INT, OFF(batch), 1, 1 << 20, "images per batch; default 64" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_eval(const cli_args *a)
{
    ct_eval_opts o = { .size = sizeof o, .common = a->common, .model = a->pos[0], .data = a->pos[1], .batch = a->batch,
                       .json = a->json, .option = a->option, .noptions = a->noptions };
    const ct_status st = ct_run_eval(&o, stdout);
    if (st != CT_OK && !*ct_error_message()) return ct_exit_code(st); /* the first of several processes says why */
    return cli_finish(st);
}

const cli_command cli_eval = {
    "eval", "MODEL DATA", "score a model on labelled images",
    "Reads every labelled image of DATA with MODEL (a checkpoint, or a run's folder: its best one) and prints string "
    "and character accuracy, the character error rate, errors by position or (models with CTC) insertions and "
    "deletions, and the most frequent confusions. Every sample is scored or the call fails.",
    eval_options, 2, 2, run_eval
};

static const cli_option predict_options[] = {
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print a JSON array" },
    { "--jsonl", NULL, CLI_FLAG, OFF(jsonl), 0, 0,
      "print a JSON object a line, each batch as soon as it is read; pictures that cannot be read are lines, too" },
    { "--reject-below", "X", CLI_SHARE, OFF(reject_below), 0, 1,
      "mark what is read with a confidence below X, 0 to 1, as rejected" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_predict(const cli_args *a)
{
    ct_predict_opts o = { .size = sizeof o,
                          .common = a->common,
                          .model = a->pos[0],
                          .files = a->pos + 1,
                          .nfiles = (size_t)a->npos - 1,
                          .json = a->json,
                          .option = a->option,
                          .noptions = a->noptions,
                          .jsonl = a->jsonl,
                          .reject_below = a->reject_below };
    signal(SIGPIPE, SIG_DFL); /* where the reader goes, `captrain predict | head`, it ends as other programs do */
    return cli_finish(ct_run_predict(&o, stdout));
}

const cli_command cli_predict = {
    "predict", "MODEL FILE...", "read images with a model",
    "Prints a line for each image: file, text, confidence, with tabs between them; one that --reject-below rejects has "
    "no text and the word rejected behind its confidence. MODEL is a checkpoint, or a run's folder: its best one; FILE "
    "is an image, or a folder: all images in it, or -: standard input, which is one image where it begins as PNG, "
    "JPEG, BMP and WebP files do, and else the name of an image in each line. Classes, geometry, normalisation and the "
    "calibration of the confidence come from the model file; nothing else is needed. A file that cannot be read is "
    "reported, the others are still read, and the exit code is 1.",
    predict_options, 2, -1, run_predict
};
