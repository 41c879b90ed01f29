#include "config.h"

#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option options[] = {
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key; may be given often, later ones win" },
    { "--out", "DIR", CLI_STRING, OFF(out), 0, 0,
      "run directory; default runs/<date>-<name>. One that holds a run is an error without --resume" },
    { "--resume", NULL, CLI_FLAG, OFF(resume), 0, 0,
      "continue the run in DIR from its newest undamaged checkpoint; with none, start anew and say so" },
    { "--init", "MODEL", CLI_STRING, OFF(init), 0, 0,
      "start from the weights of a model file, or of the best one in a run's folder; the last layer goes by "
      "character" },
    { "--tune", "FILE", CLI_STRING, OFF(tune), 0, 0,
      "implementations as `captrain tune` chose them, or auto: measured now, unless they are known; the same as --set "
      "train.tune=FILE" },
    { "--no-graph", NULL, CLI_FLAG, OFF(no_graph), 0, 0,
      "queue every operator anew in every step instead of replaying a recorded step, to find faults; the same as --set "
      "train.graph=false" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

/* A path may hold the name that a configuration gives the run. */
static void print_path(const char *before, const char *path, const char *behind)
{
    fputs(before, stdout);
    ct_text_put(stdout, path, false);
    fputs(behind, stdout);
}

/* "validation: loss 0.0123, strings right 98.20 %, ..." */
static void print_metrics(const ct_train_result *r)
{
    for (int i = 0; i < r->nmetrics; i++) {
        const ct_metric_value *m = &r->metric[i];
        printf("%s%s ", i ? ", " : "validation: ", m->label);
        if (strcmp(m->unit, "%") == 0) printf("%.2f %%", 100 * m->value);
        else printf("%.4g%s%s", m->value, *m->unit ? " " : "", m->unit);
    }
    if (r->nmetrics) putchar('\n');
}

static int run(const cli_args *a)
{
    ct_train_opts o = { .size = sizeof o,
                        .common = a->common,
                        .config = a->npos ? a->pos[0] : NULL,
                        .sets = a->sets,
                        .nsets = a->nsets,
                        .out = a->out,
                        .resume = a->resume,
                        .init = a->init,
                        .tune = a->tune,
                        .no_graph = a->no_graph };
    static ct_train_result r = { .size = sizeof r }; /* large */
    ct_status st = ct_run_train(&o, &r);
    if (st == CT_ESIGNAL) {
        if (!r.told) cli_say(ct_error_message());
        return cli_signal_code(r.signal);
    }
    if (st != CT_OK) {
        const int code = r.told ? ct_exit_code(st) : cli_finish(st);
        return r.broke ? 75 : code; /* all give the same, whoever tells */
    }
    if (a->quiet || r.told) return 0;
    print_metrics(&r);
    if (r.examples) printf("examples from the validation set:\n");
    for (int i = 0; i < r.examples; i++) {
        char file[1024], label[512], predicted[512];
        printf("  %-28s label %-8s read as %-8s\n", ct_text_visible(r.example_file[i], file, sizeof file),
               ct_text_visible(r.example_label[i], label, sizeof label),
               ct_text_visible(r.example_predicted[i], predicted, sizeof predicted));
    }
    print_path("model:  ", r.model, "\n");
    print_path("report: ", r.report, "\n");
    printf("use it: %s predict", a->program);
    print_path(" ", r.out, " IMAGE...\n");
    return 0;
}

const cli_command cli_train = {
    "train", "[CONFIG]", "train a model",
    "Trains the model that CONFIG describes: a YAML or JSON file, or the name of a shipped example (quickstart, "
    "wilhelmy2013, wilhelmy2013-crnn, captcha-package, captcha-package-crnn, captcha-package-many, race-captcha). "
    "Without CONFIG it is the built-in example, which draws its own pictures. The run directory receives "
    "config.yaml, metrics.jsonl, run.log, result.json, report.html, TensorBoard events and checkpoints. SIGINT "
    "(Ctrl-C), SIGTERM, SIGUSR1 and SIGHUP (a closed terminal; not under nohup) finish the step, save and stop.",
    options, 0, 1, run
};
