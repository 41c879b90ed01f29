/* Help as plain text and as a man page, and the verb that prints it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Prints text folded at 100 columns behind `indent` blanks. */
static void print_folded(FILE *f, const char *text, int indent)
{
    int col = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (col && col + 1 + (int)n > 100 - indent) {
            fputc('\n', f);
            col = 0;
        }
        if (col) { fputc(' ', f); col++; } else fprintf(f, "%*s", indent, "");
        fwrite(text, 1, n, f);
        col += (int)n;
        text += n;
        while (*text == ' ') text++;
    }
    fputc('\n', f);
}

static void print_options(FILE *f, const cli_option *o)
{
    for (; o && o->name; o++) {
        fprintf(f, "  %s%s%s\n", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        print_folded(f, o->doc, 6);
    }
}

/* Options that tasks have for a verb; those of one task under its name, where there are several. */
static void print_task_options(FILE *f, const char *verb)
{
    ct_option_info t;
    const char *last = "";
    for (size_t i = 0; ct_option_at(verb, i, &t); i++) {
        if (strcmp(last, t.task) != 0) fprintf(f, "\nOptions of the task %s:\n", t.task);
        last = t.task;
        fprintf(f, "  %s%s%s\n", t.name, t.arg ? " " : "", t.arg ? t.arg : "");
        print_folded(f, t.doc, 6);
    }
}

void cli_print_usage(const cli_command *const *commands, FILE *f)
{
    fputs("captrain: a trainer for CAPTCHA-type vision models\n\n"
          "  captrain                      train the built-in example: nothing to prepare\n"
          "  captrain VERB [OPTION]...\n\nVerbs:\n", f);
    for (const cli_command *const *c = commands; *c; c++)
        fprintf(f, "  %-12s %s\n", (*c)->name, (*c)->summary);
    fputs("\nOptions of every verb (before or after it):\n", f);
    print_options(f, cli_globals());
    fputs("\n`captrain VERB --help` tells more; `captrain help config` lists the configuration keys, `captrain help "
          "augment` those of a section,\n"
          "`captrain help train.epochs` tells of one.\n"
          "Exit codes: 0 done; 1 failed; 2 usage, configuration or backend not available; 75 saved, may be started "
          "again with --resume;\n"
          "129, 130, 143 stopped by SIGHUP, SIGINT, SIGTERM after saving.\n",
          f);
}

void cli_print_command_help(const cli_command *c, FILE *f)
{
    if (c->pos_max == CLI_REST) fprintf(f, "captrain %s [OPTION]... %s\n\n", c->name, c->operands);
    else fprintf(f, "captrain %s%s%s [OPTION]...\n\n", c->name, *c->operands ? " " : "", c->operands);
    print_folded(f, c->details, 0);
    if (c->options && c->options->name) {
        fputs("\nOptions:\n", f);
        print_options(f, c->options);
    }
    print_task_options(f, c->name);
    fputs("\nOptions of every verb:\n", f);
    print_options(f, cli_globals());
}

/* ---- man page: roff(7), man macros ---- */

/* Text with the characters roff would interpret made harmless. */
static void roff_text(FILE *f, const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (line_start && (*s == '.' || *s == '\'')) fputs("\\&", f);
        if (*s == '\\') fputs("\\e", f);
        else if (*s == '-') fputs("\\-", f);
        else fputc(*s, f);
        line_start = *s == '\n';
    }
}

static void roff_option(FILE *f, const char *name, const char *arg, const char *doc)
{
    fputs(".TP\n.B ", f);
    roff_text(f, name);
    if (arg) fprintf(f, " \\fI%s\\fR", arg);
    fputc('\n', f);
    roff_text(f, doc);
    fputc('\n', f);
}

static void roff_options(FILE *f, const cli_option *o)
{
    for (; o && o->name; o++) roff_option(f, o->name, o->arg, o->doc);
}

static void roff_task_options(FILE *f, const char *verb)
{
    ct_option_info t;
    for (size_t i = 0; ct_option_at(verb, i, &t); i++) roff_option(f, t.name, t.arg, t.doc);
}

static void print_man(const cli_command *const *commands, FILE *f)
{
    fprintf(f, ".TH CAPTRAIN 1 \"\" \"captrain %s\" \"User Commands\"\n", ct_version());
    fputs(".SH NAME\ncaptrain \\- train, evaluate and use CAPTCHA\\-type vision models\n"
          ".SH SYNOPSIS\n.B captrain\n.RI [ VERB ]\n.RI [ OPTION ]...\n"
          ".SH DESCRIPTION\nWithout a verb, captrain trains its built\\-in example: a recogniser for text CAPTCHAs "
          "that it draws itself.\n"
          ".SH VERBS\n", f);
    for (const cli_command *const *c = commands; *c; c++) {
        fprintf(f, ".SS \"captrain %s %s\"\n", (*c)->name, (*c)->operands);
        roff_text(f, (*c)->details);
        fputc('\n', f);
        roff_options(f, (*c)->options);
        roff_task_options(f, (*c)->name);
    }
    fputs(".SH OPTIONS OF EVERY VERB\n", f);
    roff_options(f, cli_globals());
    ct_print_config_man(f);
    ct_print_environment_man(f);
    fputs(".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nfailed; one message says what\n.TP\n.B 2\n"
          "usage, configuration, or backend not available\n.TP\n.B 75\nSIGUSR1: saved, may be started again with "
          "\\-\\-resume\n"
          ".TP\n.B 129, 130, 143\nstopped by SIGHUP, SIGINT, SIGTERM after saving\n", f);
}

/* ---- captrain help ---- */

/* `train` and `eval` are verbs and sections of keys. */
static void print_section_too(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return;
    const bool found = ct_print_config_topic(f, name);
    fclose(f);
    if (found) printf("\nConfiguration keys %s.*:\n\n%s", name, text);
    free(text);
}

static int run_help(const cli_args *a)
{
    if (a->npos == 0) {
        cli_print_usage(a->commands, stdout);
        return 0;
    }
    const cli_command *c = cli_find(a->commands, a->pos[0]);
    if (strcmp(a->pos[0], "config") == 0) ct_print_config_help(stdout);
    else if (strcmp(a->pos[0], "config-md") == 0) ct_print_config_markdown(stdout);
    else if (strcmp(a->pos[0], "man") == 0) print_man(a->commands, stdout);
    else if (c) {
        cli_print_command_help(c, stdout);
        print_section_too(c->name);
    } else if (!ct_print_config_topic(stdout, a->pos[0])) {
        const char *like = cli_like_verb(a->commands, a->pos[0]);
        fprintf(stderr,
                "captrain help: unknown topic '%s'%s%s%s; topics are the verbs, configuration keys and their sections, "
                "config, config-md and man\n",
                a->pos[0], like ? " (did you mean '" : "", like ? like : "", like ? "'?)" : "");
        return 2;
    }
    return 0;
}

const cli_command cli_help = {
    "help", "[TOPIC]", "help on a verb, on configuration keys, or the man page",
    "Prints help. TOPIC is a verb, a configuration key (train.epochs) or a section of them (augment), `config` (every "
    "configuration key), `config-md` (the same in Markdown) or `man` (the manual page in roff).",
    NULL, 0, 1, run_help
};
