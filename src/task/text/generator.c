/* Drawn text: as data sets, from the configuration, and as files, from the options of `captrain gen`. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "image/font.h"
#include "task/text/text.h"

_Static_assert(CT_TEXT_LENGTH <= CT_LABEL_MAX, "what is drawn can be read");

/* ---- parameters ---- */

static ct_status set_alphabet(const char *what, const char *utf8, ct_text_params *p)
{
    if (strlen(utf8) >= sizeof p->alphabet)
        return ct_fail(CT_ECONFIG, "%s longer than %zu bytes, which is all the generator takes", what,
                       sizeof p->alphabet - 1);
    snprintf(p->alphabet, sizeof p->alphabet, "%s", utf8);
    return CT_OK;
}

/* As the keys alone say. */
static ct_status params_of(const ct_config *cfg, ct_text_params *out)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    ct_status st = ct_text_params_init(out, y->style);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.style");
    out->width = (int)cfg->data.width;
    out->height = (int)cfg->data.height;
    out->channels = (int)cfg->data.channels;
    out->length_min = (int)(y->length_min > 0 ? y->length_min : y->length);
    out->length_max = (int)(y->length_max > 0 ? y->length_max : y->length);
    if (out->length_min > out->length_max)
        return ct_fail(CT_ECONFIG, "data.synth.length_min is %d, data.synth.length_max (or data.synth.length) is %d",
                       out->length_min, out->length_max);
    st = ct_text_params_fonts(out, (const char *const *)y->fonts.v, y->fonts.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.fonts");
    st = ct_text_params_sizes(out, y->sizes.v, y->sizes.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.sizes");
    return *cfg->data.charset ? set_alphabet("data.charset:", cfg->data.charset, out) : CT_OK;
}

ct_status ct_text_generator_params(const ct_config *cfg, ct_text_params *out)
{
    CT_TRY(params_of(cfg, out));
    if (ct_text_sequence(cfg)) return CT_OK;
    if (out->length_min != out->length_max)
        return ct_fail(CT_ECONFIG,
                       "data.synth.length_min is %d, data.synth.length_max %d, but %s reads text of one length",
                       out->length_min, out->length_max, cfg->model.name);
    if (cfg->data.length > 0 && cfg->data.length != out->length_max)
        return ct_fail(CT_ECONFIG, "data.length is %lld, but data.synth.length is %d", (long long)cfg->data.length,
                       out->length_max);
    return CT_OK;
}

/* ---- as a data set ---- */

static ct_status source_open(const void *user, void **state)
{
    ct_text_pen *pen = NULL;
    ct_status st = ct_text_pen_open(user, &pen);
    *state = pen;
    return st;
}

static ct_status source_render(void *state, int64_t index, ct_image *out, char **label)
{
    char text[CT_TEXT_BYTES];
    *label = NULL;
    CT_TRY(ct_text_pen_draw(state, index, out, text));
    if ((*label = ct_strdup(text, "label"))) return CT_OK;
    ct_image_free(out);
    return CT_ENOMEM;
}

static void source_close(void *state)
{
    ct_text_pen_close(state);
}

static void source_release(const void *user)
{
    ct_text_gen_close((ct_text_gen *)(uintptr_t)user);
}

ct_status ct_text_source(const ct_text_params *p, uint64_t seed, ct_source *out)
{
    ct_text_gen *g;
    CT_TRY(ct_text_gen_open(p, seed, &g));
    *out = (ct_source){ .name = ct_text_generator.name, .width = p->width, .height = p->height, .user = g,
                        .open = source_open, .render = source_render, .close = source_close,
                        .release = source_release };
    snprintf(out->key, sizeof out->key, "%s", ct_text_gen_key(g));
    return CT_OK;
}

ct_status ct_text_drawn_labels(const ct_text_params *p, const ct_text_rules *rules, ct_labels **out)
{
    ct_charset charset;
    ct_text_rules own = *rules;
    CT_TRY(ct_charset_parse(p->alphabet, &charset));
    own.charset = &charset;
    own.length = p->length_min == p->length_max ? p->length_min : 0;
    own.drawn = p->length_max;
    ct_status st = ct_text_labels(&own, out);
    ct_charset_free(&charset);
    return st;
}

static ct_status open_generator(const ct_config *cfg, const ct_facts *facts, ct_source *source, ct_labels **labels)
{
    const struct ct_text_facts *f = ct_text_facts(facts);
    ct_text_rules rules;
    ct_text_params p;
    ct_text_given own;
    *labels = NULL;
    CT_TRY(ct_text_generator_params(cfg, &p));
    /* Labels have a column per position; generated ones of another length would be read as something else. */
    if (f && !ct_text_sequence(cfg) && p.length_max != f->positions)
        return ct_fail(CT_ECONFIG, "%s makes labels of %d characters (data.synth.length), the model reads %d",
                       ct_text_generator.name, p.length_max, f->positions);
    /* the classes come from the training labels: nothing else may be drawn */
    if (f && !*cfg->data.charset) CT_TRY(set_alphabet("the charset of the training labels is", f->charset.utf8, &p));
    CT_TRY(ct_text_rules_config(cfg, facts, &own, &rules));
    ct_status st = ct_text_drawn_labels(&p, &rules, labels);
    ct_charset_free(&own.charset);
    if (st != CT_OK) return st;
    st = ct_text_source(&p, (uint64_t)cfg->data.synth.seed, source);
    if (st == CT_OK) return CT_OK;
    ct_labels_close(*labels);
    *labels = NULL;
    return st;
}

const ct_generator ct_text_generator = {
    .name = "synth:text",
    .doc = "text CAPTCHAs as data.synth.* describe them",
    .open = open_generator,
};

/* ---- as files ---- */

static ct_status read_range(const ct_option *o, int least, int most, int *lo, int *hi)
{
    if (ct_text_range(o->value, least, most, lo, hi)) return CT_OK;
    return ct_fail(CT_ECONFIG, "gen: --%s: '%s' is not a number or a range LO-HI from %d to %d", o->key, o->value,
                   least, most);
}

/* Of pixels. */
static ct_status read_size(const ct_option *o, int *out)
{
    int hi;
    CT_TRY(read_range(o, 16, 4096, out, &hi));
    return *out == hi ? CT_OK : ct_fail(CT_ECONFIG, "gen: --%s: '%s' is not one number", o->key, o->value);
}

/* Values of an option that may be given more than once: value[0..n). */
static size_t values_of(const char *key, const ct_option *option, size_t options, const char *value[], size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < options && n < max; i++)
        if (strcmp(option[i].key, key) == 0) value[n++] = option[i].value;
    return n;
}

static ct_status read_fonts_and_sizes(const ct_option *option, size_t options, ct_text_params *p)
{
    const char *value[CT_TEXT_MAX_FONTS + CT_TEXT_MAX_SIZES + 1] = { NULL }; /* one more than may be: an error */
    double size[CT_TEXT_MAX_SIZES + 1];
    CT_TRY(ct_text_params_fonts(p, value, values_of("font", option, options, value, CT_TEXT_MAX_FONTS + 1)));
    const size_t n = values_of("size", option, options, value, CT_TEXT_MAX_SIZES + 1);
    for (size_t i = 0; i < n; i++) {
        char *end;
        size[i] = strtod(value[i], &end);
        if (end == value[i] || *end || !(size[i] >= 4 && size[i] <= 400))
            return ct_fail(CT_ECONFIG, "gen: --size: '%s' is not a number from 4 to 400", value[i]);
    }
    return ct_text_params_sizes(p, size, n);
}

static ct_status read_options(const ct_option *option, size_t options, ct_text_params *p)
{
    const char *style = ct_option_find(option, options, "style");
    CT_TRY(ct_text_params_init(p, style ? style : "simple"));
    for (size_t i = 0; i < options; i++) {
        const ct_option *o = &option[i];
        ct_charset charset;
        if (strcmp(o->key, "charset") == 0) {
            CT_TRY(set_alphabet("--charset:", o->value, p));
            CT_TRY(ct_charset_parse(o->value, &charset)); /* only for what is wrong with it */
            ct_charset_free(&charset);
        } else if (strcmp(o->key, "length") == 0) {
            CT_TRY(read_range(o, 1, 32, &p->length_min, &p->length_max));
        } else if (strcmp(o->key, "width") == 0) {
            CT_TRY(read_size(o, &p->width));
        } else if (strcmp(o->key, "height") == 0) {
            CT_TRY(read_size(o, &p->height));
        }
    }
    return read_fonts_and_sizes(option, options, p);
}

ct_status ct_text_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                           int threads, bool force, FILE *to)
{
    const char *style = ct_option_find(option, options, "style");
    if (style && strcmp(style, "list") == 0) return ct_text_style_list(to), CT_OK;
    ct_text_params p;
    CT_TRY(read_options(option, options, &p));
    if (ct_option_find(option, options, "print")) return ct_text_style_print(&p, to);
    if (!dir) return ct_fail(CT_ECONFIG, "gen: needs --out DIR");
    if (count < 1) return ct_fail(CT_EINVAL, "gen: a count of at least 1 is needed");
    CT_TRY(ct_synth_text_write(&p, seed, count, dir, force, threads));
    ct_info("wrote %lld images of %dx%d pixels to %s", (long long)count, p.width, p.height, dir);
    return CT_OK;
}

ct_status ct_text_like(const ct_config *cfg, const ct_facts *facts,
                       ct_status (*put)(void *user, const char *key, const char *value), void *user)
{
    const struct ct_text_facts *f = ct_text_facts(facts);
    const ct_cfg_synth *y = &cfg->data.synth;
    const bool drawn = strcmp(cfg->data.train, ct_text_generator.name) == 0;
    /* drawn labels have the lengths they were drawn with; of others the model may say them, or only the longest */
    const int64_t longest = f->most > 0 ? f->most : f->positions;
    const int64_t shortest = f->least > 0 ? f->least : ct_text_sequence(cfg) ? 1 : longest;
    const int64_t most = drawn ? (y->length_max > 0 ? y->length_max : y->length) : longest;
    const int64_t least = drawn ? (y->length_min > 0 ? y->length_min : y->length) : shortest;
    char number[64];
    CT_TRY(put(user, "charset", f->charset.utf8));
    CT_TRY(put(user, "style", y->style));
    snprintf(number, sizeof number, "%" PRId64 "-%" PRId64, least, most);
    CT_TRY(put(user, "length", number));
    snprintf(number, sizeof number, "%" PRId64, cfg->data.height);
    CT_TRY(put(user, "height", number));
    snprintf(number, sizeof number, "%" PRId64, cfg->data.width);
    CT_TRY(put(user, "width", number));
    for (size_t i = 0; i < y->fonts.n; i++) CT_TRY(put(user, "font", y->fonts.v[i]));
    for (size_t i = 0; i < y->sizes.n; i++) {
        snprintf(number, sizeof number, "%g", y->sizes.v[i]);
        CT_TRY(put(user, "size", number));
    }
    return CT_OK;
}

/* "hard" draws with the fonts of every style. */
void ct_text_needs(ct_need *tell, void *user)
{
    ct_text_params p;
    if (ct_text_params_init(&p, "hard") != CT_OK) {
        tell(user, true, "fonts", ct_error_message());
        return;
    }
    for (int i = 0; i < p.n_fonts; i++) {
        char *path = NULL;
        if (ct_font_find(p.fonts[i], &path) == CT_OK) tell(user, false, "font", path);
        else tell(user, true, "font", ct_error_message());
        ct_free(path);
    }
}
