/* profile: where the time of a training step goes. */
#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option profile_options[] = {
    { "--model", "NAME", CLI_STRING, OFF(model), 0, 0,
      "the training step of a model of the catalogue instead of a configuration" },
    { "--batch", "N", CLI_INT, OFF(batch), 1, 1 << 24, "with --model: samples per step; default 64" },
    { "--precision", "P", CLI_STRING, OFF(precision), 0, 0,
      "with --model: fp32, tf32, bf16, fp16 or f64; default fp32" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--steps", "K", CLI_INT, OFF(steps), 1, 1000000, "steps measured in each of the ways; default 20" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_profile(const cli_args *a)
{
    if (a->model && (a->npos || a->nsets)) {
        fputs("captrain profile: --model stands instead of CONFIG and --set\n", stderr);
        return 2;
    }
    if (!a->model && (a->batch || a->precision)) {
        fputs("captrain profile: --batch and --precision belong to --model; a configuration has train.batch_size and "
              "train.precision\n",
              stderr);
        return 2;
    }
    ct_profile_opts o = { .size = sizeof o,
                          .common = a->common,
                          .config = a->npos ? a->pos[0] : NULL,
                          .sets = a->sets,
                          .nsets = a->nsets,
                          .model = a->model,
                          .batch = a->batch,
                          .precision = a->precision,
                          .steps = a->steps,
                          .json = a->json };
    return cli_finish(ct_run_profile(&o, stdout));
}

const cli_command cli_profile = {
    "profile", "[CONFIG]", "tell where the time of a training step goes",
    "Runs training steps and times the loader, the copy to the device, the queueing of calls, every operator beside "
    "this machine's measured ceilings, and reading back; then says what holds training up and which key to turn. "
    "Trains nothing that is kept.",
    profile_options, 0, 1, run_profile
};
