/* Scores of glosses: what is counted of labels and predictions, the rates made of it, decoders, and what is told. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/gloss/findings.h"
#include "task/gloss/reader.h"
#include "tests/ct_check.h"

#define ok(call) ck_assert_msg((call) == CT_OK, "%s: %s", #call, ct_error_message())

/* ---- a set of clips of one pixel ---- */

static const char *const labels[] = { "a/b/c (X)", "b (Y)", "a/a/b/<c (Y)" };
static const int frames[] = { 40, 8, 33 };
enum { N = 3, STEPS = 10 };

static int frames_of(const void *user, int64_t i)
{
    (void)user;
    return frames[i];
}

static ct_status label_of(const void *user, int64_t i, char **label)
{
    (void)user;
    return (*label = ct_strdup(labels[i], "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status frame_of(void *state, int64_t i, int frame, ct_image *out)
{
    (void)state;
    return ct_image_make(1, 1, 1, (uint8_t)(10 * i + frame), out);
}

static ct_status open_state(const void *user, void **state)
{
    (void)user;
    *state = malloc(1);
    return CT_OK;
}

static int64_t four(const void *user, int64_t pictures)
{
    (void)user;
    return ((pictures - 4) / 2 - 4) / 2;
}

typedef struct scene {
    ct_dataset *data;
    struct ct_gloss_facts facts;
    ct_model_spec model;
    ct_goal goal;
    ct_place place;
    ct_view view;
} scene;

static void set_scene(scene *s)
{
    static const ct_clip_source clip = { frames_of, label_of, frame_of };
    const ct_source src = { .name = "test", .n = N, .open = open_state, .close = free, .clip = &clip };
    const ct_gloss_rules rules = { .clip = { 6, 12, 4 }, .steps = four, .user = "" };
    ct_labels *reader;
    ct_dataset_spec spec;
    ct_dataset_spec_init(&spec);
    spec.cache = false;
    ok(ct_gloss_reader(&rules, &reader));
    ok(ct_dataset_open_source(&spec, &src, reader, 1, &s->data));
    ok(ct_vocabulary_copy(ct_gloss_reader_vocabulary(reader), &s->facts.vocabulary)); /* <c a b c */
    s->facts.columns = ct_gloss_columns(s->data);
    s->model = (ct_model_spec){ .name = "tfnet-small", .classes = 5 };
    s->goal = (ct_goal){ .task = &ct_task_gloss };
    s->place = (ct_place){ .facts = (const ct_facts *)&s->facts, .model = &s->model, .goal = &s->goal };
    s->view = (ct_view){ s->data, NULL, N };
}

static void end_scene(scene *s)
{
    ct_vocabulary_free(&s->facts.vocabulary);
    ct_dataset_close(s->data);
}

/* What a program of one row says of clip i: words that end in front of -1. */
static void say(ct_findings *f, int64_t i, const int32_t *words, const float *logp)
{
    int32_t pred[STEPS], steps = (frames[i] + 3) / 4;
    float conf[STEPS];
    for (int k = 0; k < STEPS; k++) pred[k] = -1;
    for (int k = 0; words[k] >= 0; k++) pred[k] = words[k];
    for (int k = 0; k < STEPS; k++) conf[k] = 0.5f;
    const ct_outcome o = { .n = 1, .batch = 1, .place = &i, .sample = &i, .steps = &steps, .outputs = logp ? 3 : 2,
                           .output = { { "pred", ct_desc2(CT_I32, 1, STEPS), pred },
                                       { "conf", ct_desc2(CT_F32, 1, STEPS), conf },
                                       { "lp5", { .dtype = CT_F32, .ndim = 3, .dim = { STEPS, 1, 5 } }, logp } } };
    ok(ct_gloss_collect(f, &o));
}

/* The device's sums over the clips, as edit_sums counts: right sentences, glosses, right ones, substitutions, deletions,
 * insertions, edits / glosses of each clip. */
static void device(double *s, const int count[6], double shares)
{
    static const int slot[6] = { CT_GLOSS_SENTENCES,     CT_GLOSS_WORDS,     CT_GLOSS_WORDS_OK,
                                 CT_GLOSS_SUBSTITUTIONS, CT_GLOSS_DELETIONS, CT_GLOSS_INSERTIONS };
    memset(s, 0, CT_METRIC_COUNT * sizeof *s);
    s[CT_METRIC_SAMPLES] = N;
    for (int k = 0; k < 6; k++) s[slot[k]] = count[k];
    s[CT_GLOSS_EDITS] = count[3] + count[4] + count[5];
    s[CT_GLOSS_SENTENCE_WER] = shares;
}

static double metric(const char *key, const double *sums)
{
    for (int i = 0; i < CT_GLOSS_METRICS; i++)
        if (strcmp(ct_gloss_metrics[i].key, key) == 0) return ct_gloss_metrics[i].value(sums);
    ck_abort_msg("no metric %s", key);
}

/* words of the vocabulary: 0 <c, 1 a, 2 b, 3 c */
static ct_findings *scored(scene *s, double sums[CT_METRIC_COUNT])
{
    ct_findings *f;
    ok(ct_gloss_look(&s->place, &s->view, true, NULL, 0, &f));
    say(f, 0, (const int32_t[]){ 1, 3, 3, -1 }, NULL);       /* a b c read as a c c: 1 substitution */
    say(f, 1, (const int32_t[]){ 2, -1 }, NULL);             /* right */
    say(f, 2, (const int32_t[]){ 1, 2, 0, 3, 1, -1 }, NULL); /* a a b <c as a b <c c a: 1 deletion, 2 insertions */
    device(sums, (const int[]){ 1, 8, 2 + 1 + 1, 1, 1, 2 }, 1.0 / 3 + 0 + 3.0 / 4);
    ok(ct_gloss_settle(f, sums));
    return f;
}

START_TEST(rates)
{
    scene s;
    double sums[CT_METRIC_COUNT];
    set_scene(&s);
    ct_findings *f = scored(&s, sums);
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    ck_assert(fabs(metric("wer", sums) - 4.0 / 8) < 1e-15);
    ck_assert(fabs(metric("wer_sentence", sums) - (1.0 / 3 + 0 + 3.0 / 4) / 3) < 1e-15);
    ck_assert(fabs(metric("sentence_accuracy", sums) - 1.0 / 3) < 1e-15);
    ck_assert(fabs(metric("substitutions", sums) - 1.0 / 8) < 1e-15);
    ck_assert(fabs(metric("deletions", sums) - 1.0 / 8) < 1e-15);
    ck_assert(fabs(metric("insertions", sums) - 2.0 / 8) < 1e-15);
    ck_assert(!ct_gloss_right(f, 0) && ct_gloss_right(f, 1) && !ct_gloss_right(f, 2));
    ck_assert(fabs(ct_signed_confidence(t, 0) - 0.125) < 1e-7);
    ck_assert(t->steps[0] == 10 && t->steps[1] == 2 && t->steps[2] == 9);
    ct_gloss_part *part;
    size_t n;
    ok(ct_gloss_by_signer(t, &part, &n));
    ck_assert_uint_eq(n, 2);
    ck_assert(!strcmp(part[0].name, "X") && part[0].samples == 1 && part[0].edits == 1 && part[0].words == 3);
    ck_assert(!strcmp(part[1].name, "Y") && part[1].samples == 2 && part[1].edits == 3 && part[1].words == 5);
    ct_free(part);
    ok(ct_gloss_by_length(t, &part, &n));
    ck_assert(n == 3 && part[0].length == 1 && part[2].length == 4 && part[2].edits == 3);
    ct_free(part);
    ct_gloss_drop(f);
    double nothing[CT_METRIC_COUNT] = { 0 };
    ck_assert(isnan(metric("wer", nothing)) && isnan(metric("wer_sentence", nothing)));
    end_scene(&s);
}
END_TEST

/* More words are read than there are: the rate is above one. Nothing is read: all are deleted. */
START_TEST(extremes)
{
    scene s;
    double sums[CT_METRIC_COUNT];
    ct_findings *f;
    set_scene(&s);
    ok(ct_gloss_look(&s.place, &s.view, true, NULL, 0, &f));
    say(f, 0, (const int32_t[]){ -1 }, NULL);
    say(f, 1, (const int32_t[]){ 1, 1, 1, 3, -1 }, NULL);
    say(f, 2, (const int32_t[]){ 1, 1, 2, 0, -1 }, NULL);
    device(sums, (const int[]){ 1, 8, 4, 1, 3, 3 }, 1 + 4 + 0);
    ok(ct_gloss_settle(f, sums));
    ck_assert(fabs(metric("wer", sums) - 7.0 / 8) < 1e-15);
    ck_assert(fabs(metric("wer_sentence", sums) - (1.0 + 4.0 + 0) / 3) < 1e-15);
    ck_assert(fabs(metric("substitutions", sums) - 1.0 / 8) < 1e-15);
    ck_assert(fabs(metric("deletions", sums) - 3.0 / 8) < 1e-15 && fabs(metric("insertions", sums) - 3.0 / 8) < 1e-15);
    ck_assert(ct_signed_confidence(ct_gloss_findings_of(f), 0) == 0);
    ct_gloss_drop(f);
    end_scene(&s);
}
END_TEST

/* Whatever the device counts otherwise is named. */
START_TEST(disagreement)
{
    static const struct { int slot; const char *says; } row[] = {
        { CT_GLOSS_SENTENCES, "the device counts 2 right sentences, the predictions hold 1" },
        { CT_GLOSS_WORDS, "the device counts 9 glosses, the predictions hold 8" },
        { CT_GLOSS_WORDS_OK, "the device counts 5 right glosses, the predictions hold 4" },
        { CT_GLOSS_EDITS, "the device counts 5 edits, the predictions hold 4" },
        { CT_GLOSS_SENTENCE_WER, "edits / glosses, the predictions hold 1.08333333" },
        { CT_GLOSS_SUBSTITUTIONS, "the device counts 2 substitutions, the predictions hold 1" },
        { CT_GLOSS_DELETIONS, "the device counts 2 deletions, the predictions hold 1" },
        { CT_GLOSS_INSERTIONS, "the device counts 3 insertions, the predictions hold 2" },
    };
    scene s;
    double sums[CT_METRIC_COUNT];
    set_scene(&s);
    ct_findings *f = scored(&s, sums);
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        double other[CT_METRIC_COUNT];
        memcpy(other, sums, sizeof other);
        other[row[k].slot] += row[k].slot == CT_GLOSS_SENTENCE_WER ? 1e-6 : 1;
        ck_assert_int_eq(ct_gloss_settle(f, other), CT_EINTERNAL);
        ck_assert_msg(strstr(ct_error_message(), row[k].says) != NULL, "%s", ct_error_message());
        other[row[k].slot] = NAN;
        ck_assert_int_eq(ct_gloss_settle(f, other), CT_EINTERNAL);
    }
    sums[CT_GLOSS_SENTENCE_WER] *= 1 + 1e-15; /* another order of the sum */
    ok(ct_gloss_settle(f, sums));
    ct_gloss_drop(f);
    end_scene(&s);
}
END_TEST

/* Two paths spell "b" (a blank in front or behind it), one each the blank alone and "a". */
START_TEST(beam)
{
    static const ct_option options[] = { { "decoder", "beam" }, { "beam_width", "4" } };
    scene s;
    ct_findings *f;
    float logp[STEPS * 5];
    int64_t n;
    set_scene(&s);
    for (int i = 0; i < STEPS * 5; i++) logp[i] = -50;
    const float p[2][2] = { { logf(0.55f), logf(0.45f) }, { logf(0.55f), logf(0.45f) } };
    for (int t = 0; t < 2; t++) {
        logp[5 * t] = p[t][0];
        logp[5 * t + 3] = p[t][1]; /* class 3: word 2, b */
    }
    ok(ct_gloss_look(&s.place, &s.view, true, options, 2, &f));
    ck_assert_str_eq(f->want[2], "lp5");
    say(f, 1, (const int32_t[]){ -1 }, logp); /* the best path says nothing: 0.3025; b: 0.6975 */
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    const int32_t *read = ct_signed_read(t, 1, &n);
    ck_assert(n == 1 && read[0] == 2);
    ck_assert(t->device.edits == 1 && t->decoder.edits == 0 && t->decoder.sentences == 1);
    double sums[CT_METRIC_COUNT] = { [CT_METRIC_SAMPLES] = 1, [CT_GLOSS_WORDS] = 1, [CT_GLOSS_EDITS] = 1,
                                     [CT_GLOSS_SENTENCE_WER] = 1, [CT_GLOSS_DELETIONS] = 1 };
    ok(ct_gloss_settle(f, sums)); /* what the device counted is what its decoder read; what is told is the beam's */
    ck_assert(metric("wer", sums) == 0 && metric("wer_sentence", sums) == 0 && metric("sentence_accuracy", sums) == 1);
    ck_assert(metric("deletions", sums) == 0 && ct_gloss_right(f, 1));
    ct_gloss_drop(f);
    ck_assert_int_eq(ct_gloss_look(&s.place, &s.view, true, &options[1], 1, &f), CT_ECONFIG);
    ck_assert_int_eq(ct_gloss_look(&s.place, &s.view, true, &(ct_option){ "decoder", "best" }, 1, &f), CT_ECONFIG);
    end_scene(&s);
}
END_TEST

static char *page(ct_findings *f, const double *sums, int64_t gallery)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (gallery >= 0) ok(ct_gloss_report(f, sums, gallery, to));
    else ok(ct_gloss_eval_text(f, sums, to));
    fclose(to);
    return text;
}

/* A view of one clip of the set: the second. */
START_TEST(one_clip)
{
    static const int64_t second = 1;
    scene s;
    ct_findings *f;
    set_scene(&s);
    s.view = (ct_view){ s.data, &second, 1 };
    for (int wrong = 0; wrong < 2; wrong++) {
        ok(ct_gloss_look(&s.place, &s.view, true, NULL, 0, &f));
        const int64_t place = 0;
        int32_t pred[STEPS] = { wrong ? 3 : 2, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, steps = 2;
        float conf[STEPS] = { 1 };
        const ct_outcome o = { .n = 1, .batch = 1, .place = &place, .sample = &second, .steps = &steps, .outputs = 2,
                               .output = { { "pred", ct_desc2(CT_I32, 1, STEPS), pred },
                                           { "conf", ct_desc2(CT_F32, 1, STEPS), conf } } };
        ok(ct_gloss_collect(f, &o));
        double sums[CT_METRIC_COUNT];
        device(sums, (const int[]){ !wrong, 1, !wrong, wrong, 0, 0 }, wrong);
        sums[CT_METRIC_SAMPLES] = 1;
        ok(ct_gloss_settle(f, sums));
        ck_assert(metric("wer", sums) == wrong && metric("wer_sentence", sums) == wrong);
        char *text = page(f, sums, 9);
        ck_assert_ptr_nonnull(strstr(text, wrong ? "1 of 1 sentences" : "0 of 1 sentences"));
        ck_assert_ptr_nonnull(strstr(text, "</th><td"));
        ck_assert_ptr_nonnull(strstr(text, wrong ? "<td class=\"x\">b</td>" : "None: every validation clip was read."));
        ck_assert((strstr(text, "test/1") != NULL) == wrong); /* its name, below its frames */
        free(text);
        json_t *row = json_object();
        ok(ct_gloss_predict_json(f, 0, row));
        ck_assert_int_eq(json_integer_value(json_object_get(row, "frames")), 8);
        ck_assert_str_eq(json_string_value(json_array_get(json_object_get(row, "glosses"), 0)), wrong ? "c" : "b");
        json_decref(row);
        ct_gloss_drop(f);
    }
    end_scene(&s);
}
END_TEST

START_TEST(told)
{
    scene s;
    double sums[CT_METRIC_COUNT];
    set_scene(&s);
    ct_findings *f = scored(&s, sums);
    json_t *o = json_object();
    ok(ct_gloss_eval_json(f, sums, o));
    ck_assert_int_eq(json_array_size(json_object_get(o, "wrong")), 2);
    ck_assert_int_eq(json_array_size(json_object_get(o, "by_signer")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "edits")), 4);
    json_decref(o);
    o = json_object();
    ok(ct_gloss_predict_json(f, 2, o));
    ck_assert_int_eq(json_array_size(json_object_get(o, "glosses")), 5);
    const json_t *sure = json_object_get(o, "gloss_confidence");
    ck_assert(json_array_size(sure) == 5 && json_number_value(json_array_get(sure, 4)) == 0.5);
    ck_assert(json_number_value(json_object_get(o, "confidence")) == 0.03125);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "frames")), 33);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "steps")), 9);
    json_decref(o);
    char *text = page(f, sums, 1);
    ck_assert_ptr_nonnull(strstr(text, "2 of 3 sentences"));
    ck_assert_ptr_nonnull(strstr(text, "Word errors by signer"));
    ck_assert_ptr_nonnull(strstr(text, "&lt;c</td>")); /* escaped, in the worst clip */
    ck_assert_ptr_null(strstr(text, "<c</td>"));
    ck_assert_ptr_null(strstr(text, "test/0")); /* one clip alone is shown: the worst */
    ck_assert_ptr_nonnull(strstr(text, "data:image/png"));
    ck_assert_ptr_nonnull(strstr(text, "<td class=\"d\">a</td>")); /* signed, and not read */
    ck_assert_ptr_nonnull(strstr(text, "<td class=\"i\">c</td>")); /* read, and not signed */
    ck_assert_ptr_null(strstr(text, "<td class=\"x\">"));
    free(text);
    text = page(f, sums, -1);
    ck_assert_ptr_nonnull(strstr(text, "word errors      50.00 %  (4 edits in 8 glosses); mean over sentences 36.11 %"));
    ck_assert_ptr_nonnull(strstr(text, "label  a b c\n    read   a c c"));
    free(text);
    char *label, *read;
    ok(ct_gloss_example(f, 0, &label, &read));
    ck_assert(!strcmp(label, "a b c") && !strcmp(read, "a c c"));
    ct_free(label);
    ct_free(read);
    ct_gloss_drop(f);

    ok(ct_gloss_look(&s.place, &s.view, true, NULL, 0, &f)); /* nothing is wrong */
    say(f, 0, (const int32_t[]){ 1, 2, 3, -1 }, NULL);
    say(f, 1, (const int32_t[]){ 2, -1 }, NULL);
    say(f, 2, (const int32_t[]){ 1, 1, 2, 0, -1 }, NULL);
    device(sums, (const int[]){ 3, 8, 8, 0, 0, 0 }, 0);
    ok(ct_gloss_settle(f, sums));
    text = page(f, sums, 4);
    ck_assert_ptr_nonnull(strstr(text, "None: every validation clip was read."));
    free(text);
    ct_gloss_drop(f);
    end_scene(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gloss scores");
    TCase *t = tcase_create("gloss scores");
    tcase_add_test(t, rates);
    tcase_add_test(t, extremes);
    tcase_add_test(t, disagreement);
    tcase_add_test(t, beam);
    tcase_add_test(t, one_clip);
    tcase_add_test(t, told);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
