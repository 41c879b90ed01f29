/* Verbs about speed: bench and tune. */
#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option bench_options[] = {
    { "--batch", "N|auto", CLI_INT_AUTO, OFF(batch), 1, 1 << 24,
      "samples per step; default 64; auto: as many as the free memory holds" },
    { "--steps", "K", CLI_INT, OFF(steps), 1, 1000000, "timed steps; default 20" },
    { "--warmup", "K", CLI_INT, OFF(warmup), 1, 1000000, "steps before; default 3" },
    { "--precision", "P", CLI_STRING, OFF(precision), 0, 0, "fp32, tf32, bf16, fp16 or f64; default fp32" },
    { "--loss", "NAME", CLI_STRING, OFF(loss), 0, 0,
      "a loss of the model: softmax, soft_margin, ctc, basic, early, late or tfnet; default the usual" },
    CLI_SIZES_OPTIONS(""),
    { "--recompute", NULL, CLI_FLAG, OFF(recompute), 0, 0,
      "recompute activations block by block instead of keeping them" },
    { "--ops", NULL, CLI_FLAG, OFF(ops), 0, 0,
      "also the time of every operator and implementation, beside the peaks of this machine" },
    { "--calls", NULL, CLI_FLAG, OFF(calls), 0, 0, "also the time of every distinct operator call" },
    { "--op", "NAME|CALL", CLI_STRING, OFF(op), 0, 0,
      "instead of steps, every implementation of single calls: those of operator NAME in MODEL's step (without MODEL: "
      "in textcnn's, resnet18's and resnet50's), or one CALL as `plan --json` and REPRO lines print it" },
    { "--exact", NULL, CLI_FLAG, OFF(exact), 0, 0, "only implementations that do not trade accuracy for speed" },
    { "--deterministic", NULL, CLI_FLAG, OFF(deterministic), 0, 0,
      "only implementations with the same bits in every run" },
    { "--tune", "FILE", CLI_STRING, OFF(tune), 0, 0, "implementations as `captrain tune` chose them" },
    { "--no-graph", NULL, CLI_FLAG, OFF(no_graph), 0, 0,
      "queue every operator anew in every step instead of replaying a recorded step" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_bench(const cli_args *a)
{
    if (!a->npos && !a->op) {
        fputs("captrain bench: needs MODEL, or --op\n", stderr);
        return 2;
    }
    if (a->op && (a->steps || a->warmup || a->ops || a->calls || a->tune || a->no_graph)) {
        fputs("captrain bench: --steps, --warmup, --ops, --calls, --tune and --no-graph are about steps, not about "
              "--op\n",
              stderr);
        return 2;
    }
    ct_bench_opts o = { .size = sizeof o,
                        .common = a->common,
                        .model = a->npos ? a->pos[0] : NULL,
                        .batch = a->batch,
                        .steps = a->steps,
                        .warmup = a->warmup,
                        .precision = a->precision,
                        .recompute = a->recompute,
                        .ops = a->ops,
                        .calls = a->calls,
                        .op = a->op,
                        .exact = a->exact,
                        .deterministic = a->deterministic,
                        .tune = a->tune,
                        .no_graph = a->no_graph,
                        .loss = a->loss,
                        .sizes = a->sizes,
                        .json = a->json };
    return cli_finish(ct_run_bench(&o, stdout));
}

const cli_command cli_bench = {
    "bench", "[MODEL]", "time training steps, or single operators",
    "Times whole training steps (forward, loss, backward, optimizer) of a model of the catalogue (model.name in "
    "`captrain help config`) on resident data. With --op it times single operator calls instead, each implementation "
    "that accepts them, beside the machine's peaks measured in the same process.",
    bench_options, 0, 1, run_bench
};

static const cli_option tune_options[] = {
    { "--model", "NAME", CLI_STRING, OFF(model), 0, 0,
      "the training step of a model of the catalogue instead of a configuration" },
    { "--batch", "N", CLI_INT, OFF(batch), 1, 1 << 24, "with --model: samples per step; default 64" },
    { "--precision", "P", CLI_STRING, OFF(precision), 0, 0,
      "with --model: fp32, tf32, bf16, fp16 or f64; default fp32" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--exact", NULL, CLI_FLAG, OFF(exact), 0, 0, "only implementations that do not trade accuracy for speed" },
    { "--deterministic", NULL, CLI_FLAG, OFF(deterministic), 0, 0,
      "only implementations with the same bits in every run" },
    { "--out", "FILE", CLI_STRING, OFF(out), 0, 0, "where the choices go; default choices.json" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_tune(const cli_args *a)
{
    ct_tune_opts o = { .size = sizeof o,
                       .common = a->common,
                       .config = a->npos ? a->pos[0] : NULL,
                       .sets = a->sets,
                       .nsets = a->nsets,
                       .model = a->model,
                       .batch = a->batch,
                       .precision = a->precision,
                       .exact = a->exact,
                       .deterministic = a->deterministic,
                       .out = a->out,
                       .json = a->json };
    return cli_finish(ct_run_tune(&o, stdout));
}

const cli_command cli_tune = {
    "tune", "[CONFIG]", "measure which implementations are fastest here",
    "Measures every implementation that accepts each distinct operator call of a training, in each variant it has, "
    "prints a table and writes the fastest ones to a file for train.tune (train --tune FILE); train --tune auto does "
    "that by itself. Without it, the choice is a fixed function of shape and processor. Other choices give other last "
    "bits, so a run keeps those it began with: they are stored in its directory and in every checkpoint.",
    tune_options, 0, 1, run_tune
};
