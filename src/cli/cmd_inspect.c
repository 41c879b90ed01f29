/* Verbs that tell about models and the machine: plan, selftest, doctor. */
#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option plan_options[] = {
    { "--model", "NAME", CLI_STRING, OFF(model), 0, 0, "plan a model of the catalogue instead of a configuration" },
    { "--batch", "N", CLI_INT, OFF(batch), 1, 1 << 24, "with --model: samples per step; default 64" },
    { "--precision", "P", CLI_STRING, OFF(precision), 0, 0,
      "with --model: fp32, tf32, bf16, fp16 or f64; default fp32" },
    CLI_SIZES_OPTIONS("with --model: "),
    { "--recompute", NULL, CLI_FLAG, OFF(recompute), 0, 0,
      "with --model: recompute activations block by block instead of keeping them" },
    { "--memory", "SIZE", CLI_BYTES, OFF(memory), 0, 0,
      "memory for which the largest micro-batch is reported; default: the device's" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_plan(const cli_args *a)
{
    if (a->model && (a->npos || a->nsets)) {
        fputs("captrain plan: --model stands instead of CONFIG and --set\n", stderr);
        return 2;
    }
    if (!a->model && (a->batch || a->precision)) {
        fputs("captrain plan: --batch and --precision belong to --model; a configuration has train.batch_size and "
              "train.precision\n",
              stderr);
        return 2;
    }
    if (!a->model && (a->recompute || a->sizes.height || a->sizes.width || a->sizes.frames || a->sizes.classes ||
                      a->sizes.hidden)) {
        fputs("captrain plan: --recompute and a model's sizes belong to --model; a configuration has keys for them\n",
              stderr);
        return 2;
    }
    ct_plan_opts o = { .size = sizeof o,
                       .common = a->common,
                       .config = a->npos ? a->pos[0] : NULL,
                       .sets = a->sets,
                       .nsets = a->nsets,
                       .model = a->model,
                       .batch = a->batch,
                       .precision = a->precision,
                       .memory = a->memory,
                       .json = a->json,
                       .sizes = a->sizes,
                       .recompute = a->recompute };
    return cli_finish(ct_run_plan(&o, stdout));
}

const cli_command cli_plan = {
    "plan", "[CONFIG]", "print what a training would do, without doing it",
    "Prints every operator with shapes, FLOPs, bytes and chosen implementation, the parameters, the bytes of each "
    "arena, the peak, the largest micro-batch for a given memory, the effective batch, the learning rate after "
    "scaling, and the precision receipt: what each operator was asked to compute in and what it does. Touches no "
    "tensor.",
    plan_options, 0, 1, run_plan
};

static const cli_option selftest_options[] = {
    { "--golden", "FILE", CLI_STRING, OFF(golden), 0, 0,
      "compare with a PyTorch golden file (safetensors) instead; implies exact implementations" },
    { "--inexact", NULL, CLI_FLAG, OFF(inexact), 0, 0,
      "with --golden: the implementations a training takes by default, Winograd convolutions among them; gradients "
      "within 100 times the file's noise" },
    { "--ctc", "FILE", CLI_STRING, OFF(ctc), 0, 0,
      "compare with a file of CTC losses and gradients (safetensors) instead" },
    { "--op", "NAME", CLI_STRING, OFF(op), 0, 0, "only this operator" },
    { "--impl", "NAME", CLI_STRING, OFF(impl), 0, 0,
      "only this implementation; NAME:VARIANT: only that variant of it" },
    { "--variants", NULL, CLI_FLAG, OFF(variants), 0, 0,
      "every variant as well that a library offers of a call, as tune times them" },
    { "--data", "PATTERN", CLI_STRING, OFF(data), 0, 0, "only this pattern of test data, as a failure prints it" },
    { "--case", "CALL", CLI_STRING, OFF(call), 0, 0, "only this call, as a failure prints it" },
    { "--seed", "S", CLI_INT, OFF(seed), 1, INT64_MAX, "seed of the test data; default CAPTRAIN_SEED or 1" },
    { "--full", NULL, CLI_FLAG, OFF(full), 0, 0, "the shapes of the real models as well" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_selftest(const cli_args *a)
{
    if (a->golden && a->ctc) {
        fputs("captrain selftest: --golden and --ctc exclude each other\n", stderr);
        return 2;
    }
    if (a->inexact && !a->golden) {
        fputs("captrain selftest: --inexact belongs to --golden\n", stderr);
        return 2;
    }
    ct_selftest_run_opts o = { .size = sizeof o,
                               .common = a->common,
                               .golden = a->golden,
                               .inexact = a->inexact,
                               .ctc = a->ctc,
                               .op = a->op,
                               .impl = a->impl,
                               .call = a->call,
                               .seed = a->seed > 0 ? (uint64_t)a->seed : 0,
                               .full = a->full,
                               .variants = a->variants,
                               .data = a->data };
    return cli_finish(ct_run_selftest(&o, stdout));
}

const cli_command cli_selftest = {
    "selftest", "", "check every operator on this machine",
    "Runs every implementation of every operator against the reference within the tolerance table and prints a table; "
    "or, with --golden, repeats the steps of a PyTorch golden file and prints the differences of loss, gradients and "
    "parameters per tensor, worst first; or, with --ctc, compares CTC losses and gradients sample by sample, in f64 "
    "with the reference and in f32 with each backend's normal implementation.",
    selftest_options, 0, 0, run_selftest
};

static const cli_option doctor_options[] = {
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_doctor(const cli_args *a)
{
    if (a->common.backend) {
        fputs("captrain doctor: looks at every backend; --backend means nothing here\n", stderr);
        return 2;
    }
    return cli_finish(ct_run_doctor(a->json, stdout));
}

const cli_command cli_doctor = {
    "doctor", "", "tell what this machine and build offer",
    "Prints CPU features, cores, BLAS and its kernel set, OpenMP, memory, fonts, cache directory, environment, and the "
    "backends found or why not; of each device versions, precisions, telemetry, and a smoke test: a small model is "
    "trained for a moment and its losses are compared with the reference's. Exit code 1 if that fails.",
    doctor_options, 0, 0, run_doctor
};
