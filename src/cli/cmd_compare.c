#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option options[] = {
    { "--html", "FILE", CLI_STRING, OFF(html), 0, 0,
      "also write one page with the tables and the curves over each other" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run(const cli_args *a)
{
    ct_compare_opts o = {
        .size = sizeof o, .runs = a->pos, .nruns = (size_t)a->npos, .html = a->html, .json = a->json
    };
    return cli_finish(ct_run_compare(&o, stdout));
}

const cli_command cli_compare = {
    "compare", "RUN RUN...", "runs beside each other: results, and keys that differ",
    "Prints a table of what runs came to, the best marked by a star, and the configuration keys in which they differ. "
    "Of a run that has not finished, metrics are those of its last scoring. Runs of different tasks may stand beside "
    "each other; a dash says that a run has no such number. The page of --html needs no other file.",
    options, 2, 64, run
};
