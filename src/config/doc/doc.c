/* The table as documentation. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/doc/doc.h"

/* "train", "data.synth": everything before the last dot; the top level is "". */
static size_t section_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

static bool same_section(const ct_config_row *a, const ct_config_row *b)
{
    size_t n = section_length(a->name);
    return n == section_length(b->name) && memcmp(a->name, b->name, n) == 0;
}

/* What may be written: "an integer between 1 and 65536 (samples)", "adamw, adam, sgd". */
static void describe(const ct_config_row *row, char *buf, size_t size)
{
    char name[48], range[128];
    size_t used = 0;
    buf[0] = '\0';
    if (row->type == CT_KEY_ENUM || row->type == CT_KEY_CHOICE) {
        for (int i = 0; ct_config_value_name(row, i, name, sizeof name) && used < size; i++)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", name);
        return;
    }
    snprintf(buf, size, "%s", ct_key_type_name(row->type));
    used = strlen(buf);
    if (row->type == CT_KEY_INT || row->type == CT_KEY_FLOAT || row->type == CT_KEY_INT_LIST ||
        row->type == CT_KEY_FLOAT_LIST) {
        snprintf(buf + used, size - used, " %s%s%s%s", ct_config_range_text(row, range), row->unit[0] ? " (" : "",
                 row->unit, row->unit[0] ? ")" : "");
        used = strlen(buf);
        if (row->word) snprintf(buf + used, size - used, ", or %s", row->word);
    }
}

static const char *shown_default(const ct_config_row *row)
{
    return row->def[0] ? row->def : "\"\"";
}

static void wrap(FILE *f, const char *text, int indent, int width)
{
    int column = indent;
    fprintf(f, "%*s", indent, "");
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > width) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

static void print_row(FILE *f, const ct_config_row *row)
{
    char what[256];
    describe(row, what, sizeof what);
    fprintf(f, "%s = %s\n", row->name, shown_default(row));
    wrap(f, what, 6, 100);
    wrap(f, row->doc, 6, 100);
    if (row->aliases) fprintf(f, "      also: %s\n", row->aliases);
}

bool ct_config_print_topic(FILE *f, const char *topic)
{
    size_t len = strlen(topic);
    const ct_config_row *row, *one = ct_config_find_row(topic);
    bool any = false;
    if (one && one->cls == CT_CLASS_KEY) {
        print_row(f, one);
        return true;
    }
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY || strncmp(row->name, topic, len) != 0 || row->name[len] != '.') continue;
        print_row(f, row);
        any = true;
    }
    if (!any && one) { /* a key of another program, or another way of writing one: what it says itself */
        fprintf(f, "%s: %s\n", one->name, one->doc);
        return true;
    }
    return any;
}

void ct_config_print_help(FILE *f)
{
    const ct_config_row *row, *last = NULL;
    fputs("A configuration is a YAML or JSON file; --set KEY=VALUE changes one key.\n", f);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls == CT_CLASS_NOTED) continue;
        if (!last || !same_section(last, row)) fputc('\n', f);
        print_row(f, row);
        last = row;
    }
    fputs("\nKeys of other programs that are accepted, reported and not used:\n", f);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++)
        if (row->cls == CT_CLASS_NOTED) fprintf(f, "  %s: %s\n", row->name, row->doc);
}

/* Table cells: | ends a cell and * and _ may start emphasis outside of code. */
static void markdown(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '*' || *s == '<' || *s == '_') fputc('\\', f);
        fputc(*s, f);
    }
}

static void code_list(FILE *f, const char *names)
{
    for (const char *p = names; *p; p += *p == ' ') {
        int n = (int)strcspn(p, " ");
        fprintf(f, "%s`%.*s`", p == names ? "" : ", ", n, p);
        p += n;
    }
}

void ct_config_print_markdown(FILE *f)
{
    char what[256];
    const ct_config_row *row, *last = NULL;
    fputs("# Configuration\n\n"
          "<!-- Written by the program from its table of keys; do not edit. -->\n\n"
          "A configuration is a YAML or JSON file. Keys may be nested (`train: {epochs: 3}`) or dotted\n"
          "(`train.epochs: 3`); `--set train.epochs=3` overrides the file, the last one wins. Unknown keys, values\n"
          "of the wrong type or outside their range are errors with file, line and column. `1e-3` is a number,\n"
          "`1_000` and `1e3` are integers. Aliases, anchors and tags of YAML are not supported. The resolved\n"
          "configuration, with every key, is `config.yaml` in the run directory. A path that is no UTF-8 text, or has\n"
          "control characters, stands there as `bytes:` and its bytes, with %XX for those that are no plain ASCII and\n"
          "for `%`; such a value may be given, too.\n", f);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls == CT_CLASS_NOTED) continue;
        if (!last || !same_section(last, row)) {
            size_t len = section_length(row->name);
            fprintf(f, "\n## %.*s\n\n| key | default | values | meaning | read by |\n|---|---|---|---|---|\n",
                    len ? (int)len : 3, len ? row->name : "run");
        }
        describe(row, what, sizeof what);
        fprintf(f, "| `%s` | `%s` | ", row->name, shown_default(row));
        markdown(f, what);
        fputs(" | ", f);
        markdown(f, row->doc);
        if (row->aliases) {
            fputs(" Also: ", f);
            code_list(f, row->aliases);
            fputc('.', f);
        }
        fputs(" | ", f);
        markdown(f, row->reader);
        fputs(" |\n", f);
        last = row;
    }
    fputs("\n## Keys of other programs\n\n"
          "These are accepted so that existing files can be read. They change nothing, and a note says so.\n\n"
          "| key | why it has no meaning here |\n|---|---|\n", f);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_NOTED) continue;
        fprintf(f, "| `%s` | ", row->name);
        markdown(f, row->doc);
        fputs(" |\n", f);
    }
}

static void roff(FILE *f, const char *s)
{
    if (*s == '.' || *s == '\'') fputs("\\&", f);
    for (; *s; s++) {
        if (*s == '\\') fputs("\\e", f);
        else if (*s == '-') fputs("\\-", f);
        else fputc(*s, f);
    }
}

void ct_config_print_roff(FILE *f)
{
    char what[256];
    const ct_config_row *row, *last = NULL;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls == CT_CLASS_NOTED) continue;
        if (!last || !same_section(last, row)) {
            size_t len = section_length(row->name);
            fprintf(f, ".SS %.*s\n", len ? (int)len : 3, len ? row->name : "run");
        }
        describe(row, what, sizeof what);
        fputs(".TP\n.BR ", f);
        roff(f, row->name);
        fputs(" \" = ", f);
        for (const char *d = row->def[0] ? row->def : ""; *d; d++) {
            if (*d == '"') fputs("\\(dq", f);
            else if (*d == '-') fputs("\\-", f);
            else fputc(*d, f);
        }
        if (!row->def[0]) fputs("(empty)", f);
        fputs("\"\n", f);
        roff(f, row->doc);
        fputs("\nValues: ", f);
        roff(f, what);
        fputs(".\n", f);
        if (row->aliases) {
            fputs("Also: ", f);
            roff(f, row->aliases);
            fputs(".\n", f);
        }
        last = row;
    }
    fputs(".SS Keys of other programs\nAccepted, reported in a note, and not used:\n", f);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_NOTED) continue;
        fputs(".TP\n.B ", f);
        roff(f, row->name);
        fputc('\n', f);
        roff(f, row->doc);
        fputs(".\n", f);
    }
}
