/* Verbs about data: gen and check. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)
#define MAX_SIZES 8

static const cli_option gen_options[] = {
    { "--out", "DIR", CLI_STRING, OFF(out), 0, 0, "folder to write into; created if need be" },
    { "--count", "N", CLI_INT, OFF(count), 1, 100000000, "number of images; default 1000" },
    { "--seed", "S", CLI_INT, OFF(seed), 0, INT64_MAX, "seed; image i is a function of (S, i) alone; default 1" },
    { "--style", "NAME", CLI_STRING, OFF(style), 0, 0, "style of the pictures; `list` prints the styles" },
    { "--charset", "CHARS", CLI_STRING, OFF(charset), 0, 0, "characters to draw from, UTF-8; default 0-9A-Z" },
    { "--length", "N|LO-HI", CLI_RANGE, OFF(length_min), 1, 32, "characters per image; default 4" },
    { "--width", "W", CLI_INT, OFF(width), 16, 4096, "pixels; default 160" },
    { "--height", "H", CLI_INT, OFF(height), 16, 4096, "pixels; default 60" },
    { "--font", "NAME", CLI_LIST, OFF(fonts), 0, 0,
      "font file: a name to look up or a path; given more than once, each character is drawn in one of them; default "
      "the style's" },
    { "--size", "PX", CLI_LIST, OFF(sizes), 0, 0,
      "size of the letters, pixels per em in an image 60 pixels high; may be given more than once; default the "
      "style's" },
    { "--force", NULL, CLI_FLAG, OFF(force), 0, 0, "write into a folder that is not empty" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

/* The values of --size. */
static bool read_sizes(const cli_args *a, double sizes[MAX_SIZES])
{
    if (a->sizes.n > MAX_SIZES) {
        fprintf(stderr, "captrain gen: --size can be given %d times\n", MAX_SIZES);
        return false;
    }
    for (size_t i = 0; i < a->sizes.n; i++) {
        char *end;
        sizes[i] = strtod(a->sizes.v[i], &end);
        if (end != a->sizes.v[i] && !*end && sizes[i] >= 4 && sizes[i] <= 400) continue;
        fprintf(stderr, "captrain: --size: '%s' is not a number from 4 to 400\n", a->sizes.v[i]);
        return false;
    }
    return true;
}

static int run_gen(const cli_args *a)
{
    double sizes[MAX_SIZES];
    if (strcmp(a->pos[0], "text") != 0) {
        fprintf(stderr, "captrain gen: unknown kind '%s'; the kinds are: text\n", a->pos[0]);
        return 2;
    }
    if (a->common.backend) {
        fputs("captrain gen: pictures are drawn without a backend; --backend means nothing here\n", stderr);
        return 2;
    }
    bool list = a->style && strcmp(a->style, "list") == 0;
    if (!a->out && !list) {
        fputs("captrain gen: needs --out DIR\n", stderr);
        return 2;
    }
    if (!read_sizes(a, sizes)) return 2;
    ct_gen_opts o = { .out = a->out, .count = a->count ? a->count : 1000, .seed = a->seed >= 0 ? (uint64_t)a->seed : 1,
                      .style = a->style, .charset = a->charset, .length_min = (int)a->length_min,
                      .length_max = (int)a->length_max, .width = (int)a->width, .height = (int)a->height,
                      .threads = a->common.threads, .force = a->force, .fonts = a->fonts.v, .nfonts = a->fonts.n,
                      .sizes = sizes, .nsizes = a->sizes.n };
    return cli_finish(ct_run_gen(&o, stdout));
}

const cli_command cli_gen = {
    "gen", "text", "draw labelled images",
    "Draws text CAPTCHAs as PNG files named LABEL_INDEX.png. Fonts are looked for in CAPTRAIN_FONT_PATH and the "
    "system's font folders; the styles use DejaVu. A character that a font does not have is an error. `captrain gen "
    "text --style list` describes the styles.",
    gen_options, 1, 1, run_gen
};

static const cli_option check_options[] = {
    { "--config", "CONFIG", CLI_STRING, OFF(config), 0, 0,
      "judge the data as a training with this configuration would" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run_check(const cli_args *a)
{
    ct_check_opts o = { .data = a->pos[0], .config = a->config, .sets = a->sets, .nsets = a->nsets,
                        .threads = a->common.threads, .json = a->json, .backend = a->common.backend };
    return cli_finish(ct_run_check(&o, stdout));
}

const cli_command cli_check = {
    "check", "DATA", "examine a folder of labelled images",
    "Decodes everything in DATA and reports unreadable files, labels outside the charset or too long, duplicates by "
    "pixels (also across training and validation), sizes, lengths and the charset. Without --config only unreadable "
    "files or an empty folder give exit code 1; with it, whatever would make that training fail.",
    check_options, 1, 1, run_check
};
