/* Verbs that carry weights in and out: import-torch and export. */
#include "config.h"

#include <stdio.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option import_options[] = {
    { "--out", "MODEL", CLI_STRING, OFF(out), 0, 0, "model file to write" },
    { "--model", "NAME", CLI_STRING, OFF(model), 0, 0,
      "model the weights belong to; default model.name of the configuration" },
    { "--config", "CONFIG", CLI_STRING, OFF(config), 0, 0,
      "configuration the model file carries: image size, mean, std; default all defaults" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--map", "OLD=NEW", CLI_LIST, OFF(maps), 0, 0,
      "rename tensors: OLD is a name or its first parts (module.=, backbone=cnn); may be given more than once, the "
      "first rule that fits is applied" },
    { "--map-file", "FILE", CLI_STRING, OFF(map_file), 0, 0, "more such rules, one a line" },
    { "--force", NULL, CLI_FLAG, OFF(force), 0, 0, "replace a file that exists" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static bool has_out(const cli_args *a, const char *verb)
{
    if (a->out) return true;
    fprintf(stderr, "captrain %s: needs --out FILE\n", verb);
    return false;
}

static int run_import(const cli_args *a)
{
    if (!has_out(a, "import-torch")) return 2;
    ct_import_opts o = { .size = sizeof o, .file = a->pos[0], .out = a->out, .model = a->model,
                         .config = a->config, .sets = a->sets, .nsets = a->nsets, .maps = a->maps.v, .nmaps = a->maps.n,
                         .map_file = a->map_file, .force = a->force, .option = a->option, .noptions = a->noptions };
    return cli_finish(ct_run_import(&o));
}

const cli_command cli_import = {
    "import-torch", "FILE", "make a model file from PyTorch weights",
    "Reads a PyTorch state dict saved as a safetensors file and writes a model file that eval, predict and train "
    "--init take. Tensors go by PyTorch's names; the order of their elements is converted, floating point types are "
    "converted to the model's. Every tensor must be there in the right shape and none may be left over "
    "(num_batches_tracked apart); those that are not are listed.",
    import_options, 1, 1, run_import
};

static const cli_option export_options[] = {
    { "--out", "FILE", CLI_STRING, OFF(out), 0, 0, "safetensors file to write" },
    { "--layout", "NAME", CLI_STRING, OFF(layout), 0, 0,
      "torch: shapes and element order of PyTorch (default); captrain: as trained here" },
    { "--map", "OLD=NEW", CLI_LIST, OFF(maps), 0, 0,
      "rename tensors, as for import-torch, with this program's names on the left" },
    { "--map-file", "FILE", CLI_STRING, OFF(map_file), 0, 0, "more such rules, one a line" },
    { "--force", NULL, CLI_FLAG, OFF(force), 0, 0, "replace a file that exists" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_export(const cli_args *a)
{
    if (!has_out(a, "export")) return 2;
    ct_export_opts o = { .size = sizeof o,
                         .model = a->pos[0],
                         .out = a->out,
                         .layout = a->layout,
                         .maps = a->maps.v,
                         .nmaps = a->maps.n,
                         .map_file = a->map_file,
                         .force = a->force };
    return cli_finish(ct_run_export(&o));
}

const cli_command cli_export = {
    "export", "MODEL", "write the weights of a model for other programs",
    "Writes the weights of MODEL (the averaged ones where the model is read with them) as a safetensors file: with the "
    "torch layout a state dict that safetensors.torch.load_file() and load_state_dict() take. import-torch reads it "
    "back bit by bit.",
    export_options, 1, 1, run_export
};
