/* Verbs about data: gen, check, init. */
#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option gen_options[] = {
    { "--out", "DIR", CLI_STRING, OFF(out), 0, 0, "folder to write into; created if need be" },
    { "--count", "N", CLI_INT, OFF(count), 1, 100000000, "number of images; default 1000" },
    { "--seed", "S", CLI_INT, OFF(seed), 0, INT64_MAX, "seed; image i is a function of (S, i) alone; default 1" },
    { "--like", "RUN|CONFIG", CLI_STRING, OFF(like), 0, 0,
      "draw what its model reads: characters, lengths, size, style" },
    { "--force", NULL, CLI_FLAG, OFF(force), 0, 0, "write into a folder that is not empty" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_gen(const cli_args *a)
{
    if (a->common.backend) {
        fputs("captrain gen: pictures are drawn without a backend; --backend means nothing here\n", stderr);
        return 2;
    }
    const ct_gen_opts o = { .size = sizeof o,
                            .kind = a->pos[0],
                            .out = a->out,
                            .count = a->count ? a->count : 1000,
                            .seed = a->seed >= 0 ? (uint64_t)a->seed : 1,
                            .threads = a->common.threads,
                            .force = a->force,
                            .like = a->like,
                            .option = a->option,
                            .noptions = a->noptions };
    return cli_finish(ct_run_gen(&o, stdout));
}

const cli_command cli_gen = {
    "gen", "KIND", "draw labelled images",
    "Draws labelled images. KIND text: text CAPTCHAs as PNG files named LABEL_INDEX.png. Fonts are looked for in "
    "CAPTRAIN_FONT_PATH and the system's font folders; the styles use DejaVu. A character that a font does not have "
    "is an error. `captrain gen text --style list` describes the styles.",
    gen_options, 1, 1, run_gen
};

static const cli_option check_options[] = {
    { "--config", "CONFIG", CLI_STRING, OFF(config), 0, 0,
      "judge the data as a training with this configuration would" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--labels", "FILE", CLI_STRING, OFF(labels), 0, 0, "label file of DATA; default: found by its name" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_check(const cli_args *a)
{
    ct_check_opts o = { .size = sizeof o,
                        .data = a->pos[0],
                        .config = a->config,
                        .sets = a->sets,
                        .nsets = a->nsets,
                        .threads = a->common.threads,
                        .json = a->json,
                        .backend = a->common.backend,
                        .labels = a->labels };
    return cli_finish(ct_run_check(&o, stdout));
}

const cli_command cli_check = {
    "check", "DATA", "examine a folder of labelled images",
    "Decodes everything in DATA and reports unreadable files, labels that a model could not give, duplicates by pixels "
    "(also across training and validation), sizes and what the labels are made of. Without --config only unreadable "
    "files or an empty folder give exit code 1; with it, whatever would make that training fail.",
    check_options, 1, 1, run_check
};

static const cli_option init_options[] = {
    { "--out", "FILE", CLI_STRING, OFF(out), 0, 0, "configuration to write; default named after DATA" },
    { "--labels", "FILE", CLI_STRING, OFF(labels), 0, 0, "label file of DATA; default: found by its name" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_init(const cli_args *a)
{
    const ct_init_opts o = { .size = sizeof o,
                             .data = a->pos[0],
                             .out = a->out,
                             .labels = a->labels,
                             .threads = a->common.threads,
                             .backend = a->common.backend };
    return cli_finish(ct_run_init(&o, stdout));
}

const cli_command cli_init = {
    "init", "DATA", "write a configuration for a folder of labelled images",
    "Looks at DATA as check does and writes a configuration that trains with it: model, size, characters, split, "
    "batch, augmentation, with the reason for each key above it. DATA is a folder, a folder with train/ and val/ in "
    "it, or a label file. What could not be trained with is refused with the reason; a file that exists is not "
    "overwritten.",
    init_options, 1, 1, run_init
};
