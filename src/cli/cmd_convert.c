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
    { "--map-preset", "NAME", CLI_STRING, OFF(map_preset), 0, 0,
      "names and normalisation of another program: crnn.pytorch, torchvision.resnet, timm.resnet" },
    { "--key", "NAME", CLI_STRING, OFF(key), 0, 0,
      "dict of a checkpoint that is meant (ema, state.net); default state_dict, model, ... or the only one" },
    { "--yes", NULL, CLI_FLAG, OFF(yes), 0, 0, "take tensors by shape and order where names do not fit" },
    { "--write-map", "FILE", CLI_STRING, OFF(write_map), 0, 0,
      "write how tensors would be taken as rules for --map-file, to look through and change; makes no model" },
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
    if (!a->write_map && !has_out(a, "import-torch")) return 2;
    ct_import_opts o = { .size = sizeof o, .file = a->pos[0], .out = a->out, .model = a->model,
                         .config = a->config, .sets = a->sets, .nsets = a->nsets, .maps = a->maps.v, .nmaps = a->maps.n,
                         .map_file = a->map_file, .force = a->force, .option = a->option, .noptions = a->noptions,
                         .key = a->key, .map_preset = a->map_preset, .write_map = a->write_map, .yes = a->yes };
    return cli_finish(ct_run_import(&o));
}

const cli_command cli_import = {
    "import-torch", "FILE", "make a model file from PyTorch weights",
    "Reads a PyTorch state dict, a .pth or .pt file of torch.save or a safetensors file, and writes a model file that "
    "eval, predict and train --init take. Nothing in the file is run: what is no tensor, dict, list, number or text is "
    "refused by name. In a checkpoint the state dict is found, whatever is beside it. Tensors go by PyTorch's names; "
    "the order of their elements is converted, floating point types are "
    "converted to the model's. Every tensor must be there in the right shape and none may be left over "
    "(num_batches_tracked apart); those that are not are listed. Where shapes and order say what is meant, --yes or "
    "--write-map take them so.",
    import_options, 1, 1, run_import
};

static const cli_option export_options[] = {
    { "--out", "FILE", CLI_STRING, OFF(out), 0, 0, "file to write; its ending is that of the format" },
    { "--format", "NAME", CLI_STRING, OFF(format), 0, 0,
      "safetensors: the weights (default); onnx: a graph that runs" },
    { "--for", "PROGRAM", CLI_STRING, OFF(target), 0, 0,
      "onnx: as PROGRAM loads it, and with it what it wants beside: ddddocr (1.6) or ddddocr-1.5 (1.4 and 1.5)" },
    { "--opset", "N", CLI_INT, OFF(opset), 1, 1000, "onnx: operator set, 11 to 20; default 17, for ddddocr-1.5 12" },
    { "--normalise", "WHERE", CLI_STRING, OFF(normalise), 0, 0,
      "onnx: inside: pixels 0..1 go in (default); outside: pixels with mean and std taken off" },
    { "--no-fold", NULL, CLI_FLAG, OFF(no_fold), 0, 0, "onnx: batch norms stay nodes of their own" },
    { "--prove", "N", CLI_INT, OFF(prove), 1, 1 << 24,
      "onnx: pictures or clips that the file is proved with; default 2000" },
    { "--check", "FILE", CLI_STRING, OFF(check), 0, 0,
      "prove an ONNX file of MODEL that is there; nothing is written" },
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
    if (a->check && a->out) {
        fprintf(stderr, "captrain export: --check writes nothing, so there is no --out\n");
        return 2;
    }
    if (!a->check && !has_out(a, "export")) return 2;
    ct_export_opts o = { .size = sizeof o,
                         .model = a->pos[0],
                         .out = a->out,
                         .layout = a->layout,
                         .maps = a->maps.v,
                         .nmaps = a->maps.n,
                         .map_file = a->map_file,
                         .force = a->force,
                         .format = a->format,
                         .opset = a->opset,
                         .normalise = a->normalise,
                         .target = a->target,
                         .no_fold = a->no_fold,
                         .prove = a->prove,
                         .check = a->check };
    return cli_finish(ct_run_export(&o));
}

const cli_command cli_export = {
    "export", "MODEL", "write the weights of a model, or the model as ONNX, for other programs",
    "Writes the weights of MODEL (the averaged ones where the model is read with them) as a safetensors file: with the "
    "torch layout a state dict that safetensors.torch.load_file() and load_state_dict() take. import-torch reads it "
    "back bit by bit. With --format onnx it writes a graph that ONNX Runtime and others run, reads the file back, runs "
    "it over validation samples of the run and compares what it reads and all scores with the model; a file that "
    "differs is not left behind.",
    export_options, 1, 1, run_export
};
