/* A style as a file: a YAML mapping with a key for each parameter that is not off, as `gen text --print` writes it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/number.h"
#include "base/shortest.h"
#include "base/text.h"
#include "task/text/synth/internal.h"

enum { STYLE_MAX_BYTES = 1 << 20 };

typedef enum kind { INT, COUNT, NUMBER, RANGE, BOOL, TEXT, FONTS, SIZES } kind;

/* COUNT: two ints behind one another, least and most. */
static const struct row { const char *name; kind kind; size_t at; const char *doc; } rows[] = {
#define AT(field) offsetof(ct_text_params, field)
    { "width", INT, AT(width), "pixels; data.width takes its place in a training, as below" },
    { "height", INT, AT(height), "pixels; data.height" },
    { "channels", INT, AT(channels), "1 gray, 3 RGB; data.channels" },
    { "charset", TEXT, AT(alphabet), "data.charset" },
    { "length", COUNT, AT(length_min), "characters; data.synth.length" },
    { "fonts", FONTS, AT(fonts), "one by lot for each character; data.synth.fonts" },
    { "sizes", SIZES, AT(sizes), "pixels per em at height 60; data.synth.sizes" },
    { "background", RANGE, AT(background), "each of R, G, B" },
    { "ink", RANGE, AT(ink), "each of R, G, B" },
    { "ink_per_char", BOOL, AT(ink_per_char), "a colour for each character" },
    { "alpha", RANGE, AT(alpha), "opacity of the ink, 0 to 255" },
    { "dx", RANGE, AT(dx), "jitter of a character, pixels at height 60" },
    { "dy", RANGE, AT(dy), "the same up and down" },
    { "rotation", RANGE, AT(rotation), "degrees" },
    { "warp_x", NUMBER, AT(warp_x), "corners move by up to this part of a character's width" },
    { "warp_y", NUMBER, AT(warp_y), "and of its height" },
    { "place", RANGE, AT(place), "of the row: 0 at the left edge, 1 at the right one" },
    { "overlap", NUMBER, AT(overlap), "of neighbours, up to this part of a character's width" },
    { "gap_probability", NUMBER, AT(gap_probability), "of a blank in front of a character" },
    { "dots", COUNT, AT(dots_min), "how many" },
    { "dot_size", RANGE, AT(dot_size), "pixels" },
    { "lines", COUNT, AT(lines_min), "straight ones, how many" },
    { "arcs", COUNT, AT(arcs_min), "how many" },
    { "stroke", RANGE, AT(stroke), "width of lines and arcs, pixels" },
    { "smooth", BOOL, AT(smooth), "a 3x3 filter at the end" },
    { "fade", BOOL, AT(fade), "the background changes into a second colour across the picture" },
    { "fade_angle", RANGE, AT(fade_angle), "degrees, 0: from left to right, 90: downwards" },
    { "background2", RANGE, AT(background2), "that colour; [0, 0]: as background" },
    { "outline", NUMBER, AT(outline), "width of hollow characters' contours, pixels at height 60; 0: filled" },
    { "shadow", NUMBER, AT(shadow), "probability of shadows" },
    { "shadow_offset", RANGE, AT(shadow_offset), "pixels at height 60" },
    { "grid", RANGE, AT(grid), "distance of grid lines, pixels at height 60; [0, 0]: none" },
    { "wave_x", RANGE, AT(wave_x), "height of the waves along which rows move, pixels at height 60" },
    { "wave_y", RANGE, AT(wave_y), "and columns" },
    { "wave_length", RANGE, AT(wave_length), "of these waves, pixels at height 60" },
    { "noise", RANGE, AT(noise), "standard deviation of a picture's noise, 0 to 255" },
#undef AT
};
enum { ROWS = sizeof rows / sizeof *rows };

bool ct_text_style_is_file(const char *style)
{
    const size_t n = strlen(style);
    return strchr(style, '/') || (n > 5 && strcmp(style + n - 5, ".yaml") == 0) ||
           (n > 4 && strcmp(style + n - 4, ".yml") == 0);
}

/* ---- writing ---- */

static void *at_row(ct_text_params *p, const struct row *r) { return (char *)p + r->at; }

static void put_number(FILE *f, double v)
{
    char text[CT_SHORTEST_BYTES];
    const size_t n = strlen(ct_shortest(v, text));
    if (n > 2 && strcmp(text + n - 2, ".0") == 0) text[n - 2] = '\0';
    fputs(text, f);
}

static void put_quoted(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

static void put_list(FILE *f, const ct_text_params *p, kind k)
{
    const int n = k == FONTS ? p->n_fonts : p->n_sizes;
    fputc('[', f);
    for (int i = 0; i < n; i++) {
        if (i) fputs(", ", f);
        if (k == FONTS) put_quoted(f, p->fonts[i]);
        else put_number(f, p->sizes[i]);
    }
    fputc(']', f);
}

static void put_value(FILE *f, ct_text_params *p, const struct row *r)
{
    void *v = at_row(p, r);
    switch (r->kind) {
    case INT: fprintf(f, "%d", *(int *)v); break;
    case COUNT: fprintf(f, "[%d, %d]", ((int *)v)[0], ((int *)v)[1]); break;
    case NUMBER: put_number(f, *(double *)v); break;
    case BOOL: fputs(*(bool *)v ? "true" : "false", f); break;
    case TEXT: put_quoted(f, v); break;
    case RANGE:
        fputc('[', f);
        put_number(f, ((ct_range *)v)->lo);
        fputs(", ", f);
        put_number(f, ((ct_range *)v)->hi);
        fputc(']', f);
        break;
    case FONTS:
    case SIZES: put_list(f, p, r->kind); break;
    }
}

ct_status ct_text_style_print(const ct_text_params *given, FILE *to)
{
    ct_text_params *p;
    if (given->mixed)
        return ct_fail(CT_ECONFIG, "style mixed draws by lot from all others and has no parameters of its own");
    if (!(p = ct_malloc(sizeof *p, "a style"))) return CT_ENOMEM;
    *p = *given;
    for (int i = 0; i < ROWS; i++) {
        fprintf(to, "%s: ", rows[i].name);
        put_value(to, p, &rows[i]);
        fprintf(to, "  # %s\n", rows[i].doc);
    }
    ct_free(p);
    return CT_OK;
}

/* ---- reading ---- */

typedef struct reader {
    yaml_document_t doc;
    const char *path;
    const struct row *row;
    yaml_mark_t mark;
} reader;

static ct_status wrong(const reader *r, const char *wanted)
{
    return ct_fail(CT_ECONFIG, "%s:%zu:%zu: %s: must be %s", r->path, r->mark.line + 1, r->mark.column + 1,
                   r->row->name, wanted);
}

static const char *scalar(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static bool number(const yaml_node_t *n, double *out)
{
    const char *s = scalar(n);
    return s && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && ct_number_of(s, out);
}

static bool whole(const yaml_node_t *n, int *out)
{
    double v;
    if (!number(n, &v) || v != (int)v) return false;
    *out = (int)v;
    return true;
}

static size_t items(const yaml_node_t *n)
{
    return n->type == YAML_SEQUENCE_NODE ? (size_t)(n->data.sequence.items.top - n->data.sequence.items.start) : 0;
}

static const yaml_node_t *item(reader *r, const yaml_node_t *n, size_t i)
{
    return yaml_document_get_node(&r->doc, n->data.sequence.items.start[i]);
}

static ct_status read_pair(reader *r, const yaml_node_t *n, void *v)
{
    if (items(n) != 2) return wrong(r, "two numbers, [least, most]");
    if (r->row->kind == COUNT)
        return whole(item(r, n, 0), v) && whole(item(r, n, 1), (int *)v + 1) ? CT_OK
                                                                             : wrong(r, "two whole numbers");
    ct_range *range = v;
    return number(item(r, n, 0), &range->lo) && number(item(r, n, 1), &range->hi) ? CT_OK : wrong(r, "two numbers");
}

static ct_status read_list(reader *r, const yaml_node_t *n, ct_text_params *p)
{
    const char *font[CT_TEXT_MAX_FONTS];
    double size[CT_TEXT_MAX_SIZES];
    const size_t count = items(n), most = r->row->kind == FONTS ? CT_TEXT_MAX_FONTS : CT_TEXT_MAX_SIZES;
    if (count < 1 || count > most)
        return wrong(r, r->row->kind == FONTS ? "a list of 1 to 16 fonts" : "a list of 1 to 8 sizes");
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *one = item(r, n, i);
        if (r->row->kind == FONTS ? !(font[i] = scalar(one)) : !number(one, &size[i]))
            return wrong(r, r->row->kind == FONTS ? "a list of names" : "a list of numbers");
    }
    return r->row->kind == FONTS ? ct_text_params_fonts(p, font, count) : ct_text_params_sizes(p, size, count);
}

static ct_status read_text(reader *r, const yaml_node_t *n, ct_text_params *p)
{
    const char *s = scalar(n);
    if (!s || !*s || strlen(s) >= sizeof p->alphabet) return wrong(r, "a text");
    memcpy(p->alphabet, s, strlen(s) + 1);
    return CT_OK;
}

static ct_status read_value(reader *r, const yaml_node_t *n, ct_text_params *p)
{
    void *v = at_row(p, r->row);
    const char *s = scalar(n);
    r->mark = n->start_mark;
    switch (r->row->kind) {
    case INT: return whole(n, v) ? CT_OK : wrong(r, "a whole number");
    case NUMBER: return number(n, v) ? CT_OK : wrong(r, "a number");
    case COUNT:
    case RANGE: return read_pair(r, n, v);
    case FONTS:
    case SIZES: return read_list(r, n, p);
    case TEXT: return read_text(r, n, p);
    case BOOL:
        if (!s || (strcmp(s, "true") != 0 && strcmp(s, "false") != 0)) return wrong(r, "true or false");
        *(bool *)v = *s == 't';
        return CT_OK;
    }
    return CT_OK;
}

static ct_status unknown(const reader *r, const char *key, const yaml_mark_t *mark)
{
    const char *near = rows[0].name;
    char shown[128];
    int least = CT_WORD_BYTES + 1;
    for (int i = 0; i < ROWS; i++) {
        const int d = ct_word_distance(key, strlen(key), rows[i].name, strlen(rows[i].name));
        if (d < least) least = d, near = rows[i].name;
    }
    return ct_fail(CT_ECONFIG, "%s:%zu:%zu: no parameter '%s' of a style; did you mean '%s'?", r->path, mark->line + 1,
                   mark->column + 1, ct_text_visible(key, shown, sizeof shown), near);
}

static ct_status read_mapping(reader *r, const yaml_node_t *root, ct_text_params *p)
{
    bool seen[ROWS] = { false };
    if (!root || root->type != YAML_MAPPING_NODE)
        return ct_fail(CT_ECONFIG, "%s: not a style: a mapping of parameters is expected", r->path);
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&r->doc, pair->key);
        const char *name = scalar(key) ? scalar(key) : "";
        int i = 0;
        while (i < ROWS && strcmp(rows[i].name, name) != 0) i++;
        if (i == ROWS) return unknown(r, name, &key->start_mark);
        r->row = &rows[i];
        r->mark = key->start_mark;
        if (seen[i]) return wrong(r, "given once");
        seen[i] = true;
        CT_TRY(read_value(r, yaml_document_get_node(&r->doc, pair->value), p));
    }
    return CT_OK;
}

ct_status ct_text_style_read(const char *path, ct_text_params *p)
{
    uint8_t *text = NULL;
    size_t size;
    yaml_parser_t parser;
    reader r = { .path = path };
    CT_TRY(ct_file_read_plain(path, STYLE_MAX_BYTES, &text, &size));
    if (!yaml_parser_initialize(&parser)) {
        ct_free(text);
        return ct_fail(CT_ENOMEM, "%s: out of memory", path);
    }
    yaml_parser_set_input_string(&parser, text, size);
    ct_status st;
    if (yaml_parser_load(&parser, &r.doc)) {
        st = read_mapping(&r, yaml_document_get_root_node(&r.doc), p);
        yaml_document_delete(&r.doc);
        if (st == CT_OK && (st = ct_text_params_check(p)) != CT_OK) st = ct_fail_context(st, "%s", path);
    } else if (parser.error == YAML_MEMORY_ERROR) {
        st = ct_fail(CT_ENOMEM, "%s: out of memory", path);
    } else {
        st = ct_fail(CT_ECONFIG, "%s:%zu:%zu: not valid YAML: %s", path, parser.problem_mark.line + 1,
                     parser.problem_mark.column + 1, parser.problem ? parser.problem : "it cannot be read");
    }
    yaml_parser_delete(&parser);
    ct_free(text);
    return st;
}
