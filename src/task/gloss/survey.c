/* What `captrain check` tells about clips: their glosses, signers and lengths. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/gloss/reader.h"

typedef struct survey {
    ct_survey base;
    const ct_labels *labels;
    int64_t clips, glosses, most;      /* labels, their glosses, those of the longest */
    int64_t framed, frames, least_frames, most_frames; /* clips that can be read, and their frames */
    int64_t steps, infeasible;         /* time steps of these, and clips that have too few */
    int64_t *times;                    /* [words of the vocabulary] how often each occurs */
    int64_t unknown;                   /* glosses outside the vocabulary */
    char **signer;                     /* [n_signers] of each label that says so */
    size_t n_signers, cap_signers;
} survey;

static const survey *of(const ct_survey *s) { return (const survey *)s; }

static ct_status count_words(survey *v, const char *text)
{
    const ct_vocabulary *words = ct_gloss_reader_vocabulary(v->labels);
    const char *end = text + ct_gloss_words_of(text);
    int64_t n = 0;
    if (!v->times && !(v->times = ct_calloc((size_t)words->n + 1, sizeof *v->times, "survey of words")))
        return CT_ENOMEM;
    for (const char *s = text; s < end; n++) {
        const char *slash = memchr(s, '/', (size_t)(end - s)), *stop = slash ? slash : end;
        const int64_t k = ct_vocabulary_find_part(words, s, (size_t)(stop - s));
        if (k >= 0) v->times[k]++;
        else v->unknown++;
        s = slash ? slash + 1 : end;
    }
    v->clips++;
    v->glosses += n;
    if (n > v->most) v->most = n;
    return CT_OK;
}

static ct_status note_signer(survey *v, const char *text)
{
    char name[256];
    ct_gloss_signer_of(text, name, sizeof name);
    if (!*name) return CT_OK;
    CT_TRY(ct_grow(&v->signer, v->n_signers, &v->cap_signers, sizeof *v->signer, "survey of signers"));
    if (!(v->signer[v->n_signers] = ct_strdup(name, "survey of signers"))) return CT_ENOMEM;
    v->n_signers++;
    return CT_OK;
}

static ct_status add(ct_survey *s, int set, const ct_label_in *in, const char *fault)
{
    survey *v = (survey *)s;
    (void)set;
    (void)fault;
    CT_TRY(count_words(v, in->text));
    CT_TRY(note_signer(v, in->text));
    if (in->width == 0 || in->frames < 1) return CT_OK;
    const int64_t steps = ct_gloss_reader_steps(v->labels, in->frames);
    if (v->framed++ == 0 || in->frames < v->least_frames) v->least_frames = in->frames;
    if (in->frames > v->most_frames) v->most_frames = in->frames;
    v->frames += in->frames;
    v->steps += steps;
    v->infeasible += ct_gloss_needs(in->text) > steps;
    return CT_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int64_t signers_of(const survey *v)
{
    int64_t n = 0;
    if (v->n_signers > 1) qsort(v->signer, v->n_signers, sizeof *v->signer, by_name);
    for (size_t i = 0; i < v->n_signers; i++) n += i == 0 || strcmp(v->signer[i - 1], v->signer[i]) != 0;
    return n;
}

static int64_t once_of(const survey *v)
{
    const int64_t words = ct_gloss_reader_vocabulary(v->labels)->n;
    int64_t n = 0;
    for (int64_t i = 0; v->times && i < words; i++) n += v->times[i] == 1;
    return n;
}

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void print(const ct_survey *s, ct_survey_part part, const char *const mark[2], FILE *to)
{
    const survey *v = of(s);
    (void)mark;
    if (part == CT_SURVEY_LABELS) {
        fprintf(to, "\nglosses: %" PRId64 " in %" PRId64 " clips, %.2f each, at most %" PRId64 "\n", v->glosses,
                v->clips, share(v->glosses, v->clips), v->most);
        fprintf(to, "vocabulary: %" PRId64 " words, %" PRId64 " of them seen once\nsigners: %" PRId64 "\n",
                ct_gloss_reader_vocabulary(v->labels)->n, once_of(v), signers_of(v));
    } else if (v->framed > 0) {
        fprintf(to, "\nframes: %" PRId64 " to %" PRId64 ", %.1f each; time steps (CTC) %.1f each, too few in %" PRId64
                " clips\n", v->least_frames, v->most_frames, share(v->frames, v->framed), share(v->steps, v->framed),
                v->infeasible);
    }
}

static ct_status json(const ct_survey *s, ct_survey_part part, json_t *into)
{
    const survey *v = of(s);
    if (part == CT_SURVEY_LABELS) {
        CT_TRY(ct_json_set(into, "clips", json_integer(v->clips)));
        CT_TRY(ct_json_set(into, "glosses", json_integer(v->glosses)));
        CT_TRY(ct_json_set(into, "glosses_mean", ct_json_number(share(v->glosses, v->clips))));
        CT_TRY(ct_json_set(into, "glosses_most", json_integer(v->most)));
        CT_TRY(ct_json_set(into, "words", json_integer(ct_gloss_reader_vocabulary(v->labels)->n)));
        CT_TRY(ct_json_set(into, "vocab_size", json_integer(ct_gloss_reader_vocabulary(v->labels)->n + 1)));
        CT_TRY(ct_json_set(into, "words_once", json_integer(once_of(v))));
        CT_TRY(ct_json_set(into, "words_unknown", json_integer(v->unknown)));
        return ct_json_set(into, "signers", json_integer(signers_of(v)));
    }
    CT_TRY(ct_json_set(into, "frames", json_integer(v->frames)));
    CT_TRY(ct_json_set(into, "frames_least", json_integer(v->least_frames)));
    CT_TRY(ct_json_set(into, "frames_most", json_integer(v->most_frames)));
    CT_TRY(ct_json_set(into, "steps", json_integer(v->steps)));
    return ct_json_set(into, "infeasible", json_integer(v->infeasible));
}

static void close_survey(ct_survey *s)
{
    survey *v = (survey *)s;
    for (size_t i = 0; i < v->n_signers; i++) ct_free(v->signer[i]);
    ct_free(v->signer);
    ct_free(v->times);
    ct_free(v);
}

ct_status ct_gloss_survey(const ct_labels *l, ct_survey **out)
{
    static const ct_survey_ops ops = { .add = add, .print = print, .json = json, .close = close_survey };
    survey *v = ct_calloc(1, sizeof *v, "survey of labels");
    *out = v ? &v->base : NULL;
    if (!v) return CT_ENOMEM;
    v->base.ops = &ops;
    v->labels = l;
    return CT_OK;
}
