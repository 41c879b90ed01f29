/* The table of the text task, and what it has of configurations, facts and options. */
#include "config.h"

#include "task/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/shortest.h"
#include "task/calibration.h"
#include "task/text/findings.h"
#include "task/text/style/style.h"

/* ---- facts ---- */

static void forget(ct_facts *facts)
{
    struct ct_text_facts *f = (struct ct_text_facts *)facts;
    if (!f) return;
    ct_charset_free(&f->charset);
    ct_free(f);
}

/* Takes the charset over, also when it fails. */
static ct_status facts_of(ct_charset *charset, int64_t positions, bool as_is, ct_facts **out)
{
    struct ct_text_facts *f = ct_malloc(sizeof *f, "facts");
    *out = (ct_facts *)f;
    if (!f) {
        ct_charset_free(charset);
        return CT_ENOMEM;
    }
    *f = (struct ct_text_facts){ .charset = *charset, .positions = (int)positions, .as_is = as_is };
    return CT_OK;
}

/* How long training labels are. Those of a stream are not drawn yet: as the configuration says. */
static ct_status lengths_of(const ct_config *cfg, const ct_dataset *train, struct ct_text_facts *f)
{
    const int64_t n = ct_dataset_size(train);
    if (ct_dataset_stream(train)) {
        ct_text_params p;
        CT_TRY(ct_text_generator_params(cfg, &p));
        f->least = p.length_min;
        f->most = p.length_max;
        return CT_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        const int k = ct_text_length(train, i);
        if (i == 0 || k < f->least) f->least = k;
        if (k > f->most) f->most = k;
    }
    return CT_OK;
}

/* One label for all is more likely a rule that does not suit the names ("word_1.png") than what is wanted. */
static void warn_of_one_label(const ct_dataset *ds)
{
    const int64_t n = ct_dataset_size(ds);
    const char *first = n > 1 ? ct_dataset_label_text(ds, 0) : "";
    int64_t i = 1;
    while (i < n && strcmp(ct_dataset_label_text(ds, i), first) == 0) i++;
    if (*first && i == n)
        ct_warn("%s: all %" PRId64 " samples have the label \"%s\": are the labels where data.label_separator and "
                "data.label_side say?", ct_dataset_root(ds), n, first);
}

static ct_status learn(const ct_config *cfg, const ct_dataset *train, ct_facts **out)
{
    ct_charset charset;
    *out = NULL;
    warn_of_one_label(train);
    CT_TRY(ct_charset_copy(ct_text_charset(train), &charset));
    CT_TRY(facts_of(&charset, ct_text_columns(train), false, out));
    const ct_status st = lengths_of(cfg, train, (struct ct_text_facts *)*out);
    if (st == CT_OK) return CT_OK;
    forget(*out);
    *out = NULL;
    return st;
}

static ct_status foresee(const ct_config *cfg, bool must, ct_facts **out)
{
    ct_charset charset;
    *out = NULL;
    if (strcmp(cfg->data.train, ct_text_generator.name) == 0) {
        ct_text_params p;
        CT_TRY(ct_text_generator_params(cfg, &p));
        CT_TRY(ct_charset_parse(p.alphabet, &charset));
        return facts_of(&charset, p.length_max, false, out);
    }
    if (*cfg->data.charset && cfg->data.length > 0) {
        CT_TRY(ct_charset_parse(cfg->data.charset, &charset));
        return facts_of(&charset, cfg->data.length, false, out);
    }
    if (!must) return CT_OK;
    return ct_fail(CT_ECONFIG, "data.charset and data.length are open, and there is no data.train to take them from");
}

/* One program trains and scores: all sets get as many columns as the longest label of any. */
static ct_status agree(ct_dataset *const *set, int n, ct_facts *facts)
{
    struct ct_text_facts *f = (struct ct_text_facts *)facts;
    for (int i = 0; i < n; i++)
        if (set[i] && ct_text_columns(set[i]) > f->positions) f->positions = ct_text_columns(set[i]);
    for (int i = 0; i < n; i++)
        if (set[i]) CT_TRY(ct_text_set_columns(set[i], f->positions));
    return CT_OK;
}

static bool same(const ct_facts *now, const ct_facts *then, char *why, size_t size)
{
    const struct ct_text_facts *x = ct_text_facts(now), *y = ct_text_facts(then);
    if (ct_charset_equal(&x->charset, &y->charset)) return true; /* the samples of both are compared elsewhere */
    snprintf(why, size, "the charset is '%s', it is '%s'", x->charset.utf8, y->charset.utf8);
    return false;
}

static ct_status write_facts(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value),
                             void *user)
{
    const struct ct_text_facts *f = ct_text_facts(p->facts);
    char number[32], temperature[CT_SHORTEST_BYTES];
    snprintf(number, sizeof number, "%d", f->positions);
    CT_TRY(put(user, "charset", f->charset.utf8));
    CT_TRY(put(user, "positions", number));
    if (ct_model_head(p->model) == CT_HEAD_CTC && f->most > 0) {
        snprintf(number, sizeof number, f->least == f->most ? "%d" : "%d-%d", f->least, f->most);
        CT_TRY(put(user, "lengths", number));
    }
    if (!f->as_is) CT_TRY(put(user, "unicode", CT_TEXT_COMPOSED));
    if (f->temperature > 0) CT_TRY(put(user, "temperature", ct_shortest(f->temperature, temperature)));
    return put(user, "decode",
               ct_model_head(p->model) == CT_HEAD_CTC
                   ? "CTC: class 0 of a time step is the blank, class k+1 is character k of charset; best path, "
                     "repeats merged, blanks dropped"
                   : "argmax per position; class k of a position is character k of charset");
}

static ct_status need(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                      const char *key, const char **value)
{
    *value = get(user, key);
    return *value ? CT_OK : ct_fail(CT_EFORMAT, "%s: not a captrain model (its metadata has no '%s')", path, key);
}

/* Of a calibrated model; others have none. The point is a '.' in any locale. */
static ct_status read_temperature(const char *path, const char *text, double *out)
{
    json_t *v = NULL;
    *out = 0;
    if (!text) return CT_OK;
    const ct_status st = ct_json_parse(text, strlen(text), path, &v);
    if (st == CT_OK) *out = json_number_value(v);
    json_decref(v);
    if (st == CT_ENOMEM) return st;
    if (st == CT_OK && *out >= CT_TEMPERATURE_MIN && *out <= CT_TEMPERATURE_MAX) return CT_OK;
    return ct_fail(CT_EFORMAT, "%s: temperature '%.40s' is not within %g..%g", path, text, CT_TEMPERATURE_MIN,
                   CT_TEMPERATURE_MAX);
}

static ct_status read_facts(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                            ct_facts **out)
{
    const char *utf8, *number;
    double temperature;
    ct_charset charset;
    *out = NULL;
    CT_TRY(need(path, get, user, "charset", &utf8));
    CT_TRY(need(path, get, user, "positions", &number));
    const int positions = atoi(number);
    if (positions < 1 || positions > CT_LABEL_MAX)
        return ct_fail(CT_EFORMAT, "%s: positions '%s' is not within 1..%d", path, number, CT_LABEL_MAX);
    CT_TRY(read_temperature(path, get(user, "temperature"), &temperature));
    CT_TRY(ct_charset_parse(utf8, &charset));
    /* files that do not say it are older: labels were taken as they are */
    const char *unicode = get(user, "unicode");
    if (unicode && strcmp(unicode, CT_TEXT_COMPOSED) != 0) {
        ct_charset_free(&charset);
        return ct_fail(CT_EFORMAT, "%s: labels are '%s' in this model file; a newer captrain wrote it", path, unicode);
    }
    CT_TRY(facts_of(&charset, positions, !unicode, out));
    ct_text_temper(*out, temperature);
    const char *lengths = get(user, "lengths");
    struct ct_text_facts *f = (struct ct_text_facts *)*out;
    if (lengths && !ct_text_range(lengths, 1, CT_LABEL_MAX, &f->least, &f->most)) {
        forget(*out);
        *out = NULL;
        return ct_fail(CT_EFORMAT, "%s: lengths '%.40s' are neither a number of characters nor two of them", path,
                       lengths);
    }
    return CT_OK;
}

/* ---- configuration ---- */

static void geometry(const ct_config *cfg, ct_dataset_spec *spec)
{
    const ct_model_spec m = ct_text_model(cfg);
    if (ct_model_head(&m) != CT_HEAD_CTC || cfg->data.min_width > 0) return;
    /* the least width that gives the model a time step; data.width if there is none, which building it will refuse */
    int w = 1;
    while (w < cfg->data.width && ct_model_steps(&m, w) < 1) w++;
    spec->min_width = w;
}

static ct_status labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    ct_text_given own;
    ct_text_rules rules;
    *out = NULL;
    CT_TRY(ct_text_rules_config(cfg, facts, &own, &rules));
    ct_status st = ct_text_labels(&rules, out);
    ct_charset_free(&own.charset);
    return st;
}

/* The model has a fixed number of positions: a shorter label would leave some without a class. */
static ct_status accept(const ct_config *cfg, const ct_dataset *set, const char *key)
{
    const int len = ct_text_columns(set);
    const int64_t n = ct_dataset_size(set);
    if (ct_text_sequence(cfg) || ct_dataset_stream(set)) return CT_OK;
    for (int64_t i = 0; i < n; i++) {
        const int k = ct_text_length(set, i);
        if (k == len) continue;
        return ct_fail(CT_EDATA,
                       "%s: label '%s' of %s/%s has %d characters, others have %d: a fixed-length model needs labels "
                       "of one length (data.length)",
                       key, ct_dataset_label_text(set, i), ct_dataset_root(set), ct_dataset_name(set, i), k, len);
    }
    return CT_OK;
}

/* ---- options ---- */

static const ct_task_option options[] = {
    { "eval predict", "decoder", "--decoder", "NAME", "greedy or, for models with CTC, beam; default greedy" },
    { "eval predict", "beam_width", "--beam-width", "N", "texts that --decoder beam follows at a time; default 10" },
    { "eval predict", "charset", "--charset", "CHARS",
      "only texts of these characters, which the model must know, are read: the most probable one of them" },
    { "eval predict", "length", "--length", "N|A-B|trained",
      "only texts of N, or A to B, characters are read, or of as many as training labels had; a picture too narrow for "
      "that is an error" },
    { "gen", "style", "--style", "NAME|FILE", "style of the pictures, or a file of one; `list` prints the styles" },
    { "gen", "print", "--print", NULL, "draw nothing, print the style's parameters as a file has them" },
    { "gen fit-style", "charset", "--charset", "CHARS", "characters to draw from, UTF-8; default 0-9A-Z" },
    { "gen fit-style", "length", "--length", "N|LO-HI", "characters per image; default 4" },
    { "gen", "width", "--width", "W", "pixels; default 160" },
    { "gen", "height", "--height", "H", "pixels; default 60" },
    { "gen", "font", "--font", "NAME",
      "font file: a name to look up or a path; given more than once, each character is drawn in one of them; default "
      "the style's" },
    { "gen", "size", "--size", "PX",
      "size of the letters, pixels per em in an image 60 pixels high; may be given more than once; default the "
      "style's" },
    { "import-torch", "charset", "--charset", "CHARS",
      "the characters of the classes in class order, UTF-8, without the blank of a CTC model (which is class 0); "
      "default data.charset" },
    { "import-torch", "length", "--length", "N|A-B",
      "characters per label; for models of any length, the most, or the least and the most that training labels had; "
      "default data.length or the model's" },
};

static ct_status set_unless(ct_config *cfg, const char *key, const char *value, const char *where)
{
    return ct_config_is_set(cfg, key) ? CT_OK : ct_config_set(cfg, key, value, where);
}

/* --length of import-torch: N or, for models of any length, A-B. */
static ct_status given_length(const char *text, const ct_model_info *m, int *least, int *most)
{
    if (!ct_text_range(text, 1, CT_LABEL_MAX, least, most))
        return ct_fail(CT_ECONFIG, "--length: '%s' is neither a number of characters from 1 to %d nor two of them, "
                       "such as 3-7", text, CT_LABEL_MAX);
    if (!strchr(text, '-')) *least = 1;
    else if (m->head != CT_HEAD_CTC && *least != *most)
        return ct_fail(CT_ECONFIG, "--length: %s reads texts of one length, not of %s characters", m->name, text);
    return CT_OK;
}

static ct_status given(ct_config *cfg, const ct_option *option, size_t n, ct_facts **out)
{
    const char *utf8 = ct_option_find(option, n, "charset"), *length = ct_option_find(option, n, "length");
    ct_charset charset;
    int least = 1, most = 0; /* a number alone is the most */
    *out = NULL;
    if (utf8) CT_TRY(ct_config_set(cfg, "data.charset", utf8, "--charset"));
    const ct_model_info *m = ct_model_find(cfg->model.name);
    if (!m) return CT_ECONFIG;
    if (length) {
        CT_TRY(given_length(length, m, &least, &most));
        char number[16];
        snprintf(number, sizeof number, "%d", most);
        /* the generator, which is what data.train names unless it is set, makes labels that the model reads */
        CT_TRY(set_unless(cfg, "data.synth.length", number, "--length"));
        CT_TRY(ct_config_set(cfg, "data.length", number, "--length"));
    }
    if (!*cfg->data.charset)
        return ct_fail(CT_ECONFIG,
                       "import-torch: the characters of the classes must be given, in class order%s: --charset",
                       m->head == CT_HEAD_CTC ? " (without the blank, which is class 0)" : "");
    CT_TRY(ct_charset_parse(cfg->data.charset, &charset));
    CT_TRY(facts_of(&charset, cfg->data.length > 0 ? cfg->data.length : m->positions, false, out));
    if (m->head == CT_HEAD_CTC && cfg->data.length > 0) {
        struct ct_text_facts *f = (struct ct_text_facts *)*out;
        f->least = least;
        f->most = f->positions;
    }
    return CT_OK;
}

/* ---- the table ---- */

static const char *const answer[] = { "text", NULL };
static const char *const in_facts[] = { "data.charset", "data.length", NULL };

static const ct_leaving leaving = { .output = { { .name = "scores", .output = "logits", .rows = true } } };

const ct_task ct_task_text = {
    .name = "text",
    .doc = "reads the text in a picture",
    .metric = ct_text_metrics,
    .metrics = CT_TEXT_METRICS,
    .count = ct_text_counted,
    .counts = 1,
    .in_facts = in_facts,
    .one_way = "mirrored characters are other characters",
    .select = "string_accuracy",
    .generator = &ct_text_generator,
    .generators = 1,
    .option = options,
    .options = sizeof options / sizeof *options,
    /* data */
    .labels = labels,
    .geometry = geometry,
    .accept = accept,
    .learn = learn,
    .foresee = foresee,
    .agree = agree,
    .forget = forget,
    .same = same,
    /* files */
    .write = write_facts,
    .read = read_facts,
    .related = ct_text_related,
    .rows = ct_text_rows,
    .old_row = ct_text_old_row,
    .remapped = ct_text_remapped,
    /* programs */
    .specify = ct_text_specify,
    .usual = ct_text_usual,
    .fit = ct_text_fit,
    .build = ct_text_build,
    .loss_name = ct_text_loss_name,
    .describe = ct_text_describe,
    .outputs = ct_text_outputs,
    .random = ct_text_random,
    .golden = ct_text_golden,
    .golden_score = ct_text_golden_score,
    /* scoring */
    .look = ct_text_look,
    .collect = ct_text_collect,
    .settle = ct_text_settle,
    .drop = ct_text_drop,
    .right = ct_text_right,
    .eval_json = ct_text_eval_json,
    .eval_text = ct_text_eval_text,
    .predict_json = ct_text_predict_json,
    .predict_text = ct_text_predict_text,
    .keep = ct_text_keep,
    .cost = ct_text_cost,
    .temper = ct_text_temper,
    .unread = ct_text_unread,
    .confidence = ct_text_confidence,
    .answer = answer,
    .locate = ct_text_locate,
    .reading = ct_text_reading,
    .leaving = &leaving,
    .beside = ct_text_beside,
    .symbols = ct_text_symbols,
    .symbol = ct_text_symbol,
    .result = ct_text_result,
    .example = ct_text_example,
    .headline = ct_text_headline,
    .report = ct_text_report,
    /* verbs */
    .generate = ct_text_generate,
    .fit_style = ct_text_fit_style,
    .like = ct_text_like,
    .propose = ct_text_propose,
    .needs = ct_text_needs,
    .given = given,
};
