#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option options[] = {
    { "--out", "FILE", CLI_STRING, OFF(out), 0, 0,
      "the style, for data.synth.style and gen --style; a name that ends in .yaml" },
    { "--html", "FILE", CLI_STRING, OFF(html), 0, 0, "the page; default as --out with .html" },
    { "--rounds", "N", CLI_INT, OFF(count), 1, 1000000, "changes that are tried; default 400" },
    { "--seed", "N", CLI_INT, OFF(seed), 1, INT64_C(1) << 40,
      "of these and of what is drawn: the same seed and pictures give the same style; default 1" },
    { "--force", NULL, CLI_FLAG, OFF(force), 0, 0, "replace a file that exists" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run(const cli_args *a)
{
    const ct_fit_style_opts o = { .size = sizeof o,
                                  .folder = a->pos[0],
                                  .out = a->out,
                                  .html = a->html,
                                  .rounds = a->count,
                                  .seed = a->seed > 0 ? (uint64_t)a->seed : 0,
                                  .threads = a->common.threads,
                                  .force = a->force,
                                  .option = a->option,
                                  .noptions = a->noptions };
    return cli_finish(ct_run_fit_style(&o, stdout));
}

const cli_command cli_fit_style = {
    "fit-style", "FOLDER", "find a generator's style that looks like given pictures",
    "Looks at the pictures in FOLDER, of which no labels are needed, and finds parameters of the generator whose "
    "pictures look like them: size, colours, noise, sizes and places of letters, lines, arcs and dots. Writes them "
    "as a style's file, and a page that shows what was seen and what is drawn side by side.",
    options, 1, 1, run
};
