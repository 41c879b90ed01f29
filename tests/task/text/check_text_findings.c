/* What is counted of texts, and what a scoring pass collects of them: numbers from sums, edits and confusions,
 * predictions as text, names of decoders. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/text/findings.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

/* ---- numbers ---- */

static double value_of(const char *key, const double sums[CT_METRIC_COUNT])
{
    for (int i = 0; i < CT_TEXT_METRICS; i++)
        if (strcmp(ct_text_metrics[i].key, key) == 0) return ct_text_metrics[i].value(sums);
    ck_abort_msg("no metric %s", key);
    return NAN;
}

START_TEST(numbers)
{
    double sums[CT_METRIC_COUNT] = { 0 };
    ck_assert(isnan(value_of("string_accuracy", sums)) && isnan(value_of("char_accuracy", sums)));
    ck_assert(isnan(value_of("cer", sums)) && isnan(ct_metric_loss.value(sums)));
    sums[CT_METRIC_SAMPLES] = 8;
    sums[CT_TEXT_STRINGS] = 2;
    sums[CT_TEXT_CHARS] = 32;
    sums[CT_TEXT_CHARS_OK] = 24;
    sums[CT_METRIC_LOSS] = 12;
    ck_assert(value_of("string_accuracy", sums) == 0.25 && value_of("char_accuracy", sums) == 0.75);
    ck_assert(ct_metric_loss.value(sums) == 1.5);
    ck_assert(ct_text_edits(sums) == 8 && value_of("cer", sums) == 0.25);
    /* texts of any length: edits are counted, and there may be more of them than characters */
    sums[CT_TEXT_EDITS] = 16;
    ck_assert(ct_text_edits(sums) == 16 && value_of("cer", sums) == 0.5 && value_of("char_accuracy", sums) == 0.5);
    sums[CT_TEXT_EDITS] = 64;
    ck_assert(value_of("cer", sums) == 2 && value_of("char_accuracy", sums) == 0);
}
END_TEST

/* Members of result.json, and the rare count. */
START_TEST(results)
{
    double sums[CT_METRIC_COUNT] = { [CT_TEXT_CHARS] = 32, [CT_TEXT_CHARS_OK] = 24, [CT_TEXT_INFEASIBLE] = 3 };
    json_t *o = json_object();
    ok(ct_text_result(NULL, sums, o));
    ck_assert_int_eq(json_integer_value(json_object_get(o, "edits")), 8);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "infeasible")), 3);
    json_decref(o);
    ck_assert_str_eq(ct_text_counted[0].key, "infeasible");
    ck_assert(ct_text_counted[0].slot == CT_TEXT_INFEASIBLE && ct_text_counted[0].rare);
}
END_TEST

/* ---- findings ---- */

/* A model with these facts, and what is found of n samples. */
typedef struct scene {
    struct ct_text_facts facts;
    ct_model_spec model;
    ct_goal goal;
    ct_place place;
    ct_view view;
} scene;

static void set_scene(scene *s, const char *model, int positions, int64_t n)
{
    const bool ctc = strncmp(model, "crnn", 4) == 0;
    *s = (scene){ .facts.positions = positions, .view.n = n };
    ok(ct_charset_parse("ABCD", &s->facts.charset));
    s->model = (ct_model_spec){
        .name = model, .height = 32, .width = 32, .channels = 1, .positions = positions, .classes = 4 + ctc
    };
    ok(ct_text_usual(NULL, &s->model, &s->goal));
    s->place = (ct_place){ .facts = (const ct_facts *)&s->facts, .model = &s->model, .goal = &s->goal };
}

static void end_scene(scene *s)
{
    ct_charset_free(&s->facts.charset);
}

static ct_text_findings *look(scene *s)
{
    ct_findings *f;
    ok(ct_text_look(&s->place, &s->view, true, NULL, 0, &f));
    return (ct_text_findings *)f;
}

static void note(ct_text_findings *t, int label, int pred, int times)
{
    while (times-- > 0) ok(ct_confusions_note(&t->edits, label, pred));
}

START_TEST(confusions)
{
    scene s;
    const ct_confusion *c;
    set_scene(&s, "textcnn", 2, 1);
    ct_text_findings *t = look(&s);
    ck_assert(!t->sequence && t->columns == 2 && t->errors);
    ck_assert_int_eq(ct_confusions_most(&t->edits, 3, &c), 0);
    ct_confusions_sort(&t->edits);
    ck_assert_int_eq(ct_confusions_most(&t->edits, 3, &c), 0);
    note(t, 0, 1, 3);
    note(t, 1, 0, 7);
    note(t, 2, 3, 5);
    note(t, 3, 2, 9);
    note(t, 0, 1, 2);
    ct_confusions_sort(&t->edits);
    ck_assert_int_eq(ct_confusions_most(&t->edits, 3, &c), 3);
    ck_assert(c[0].label == 3 && c[0].pred == 2 && c[0].n == 9);
    ck_assert(c[1].label == 1 && c[1].pred == 0 && c[1].n == 7);
    ck_assert(c[2].label == 0 && c[2].pred == 1 && c[2].n == 5); /* of equals the first */
    ck_assert_int_eq(ct_confusions_most(&t->edits, 4, &c), 4);
    ck_assert(c[3].label == 2 && c[3].pred == 3 && c[3].n == 5);
    ck_assert(t->edits.substitutions == 26 && t->edits.insertions == 0 && t->edits.deletions == 0);
    t->conf[0] = 0.5f;
    t->conf[1] = 0.25f;
    ck_assert(ct_found_confidence(t, 0) == 0.125);
    ct_text_drop(&t->base);
    end_scene(&s);
}
END_TEST

/* Texts of any length: characters that are not there, or were not read. */
START_TEST(sequences)
{
    scene s;
    const ct_confusion *c;
    char text[32];
    set_scene(&s, "crnn", 3, 2);
    for (s.model.width = 1; ct_model_steps(&s.model, s.model.width) < 5;) s.model.width++;
    ct_text_findings *t = look(&s);
    ck_assert(t->sequence && t->columns == 5 && !t->errors);
    note(t, -1, 2, 3);
    note(t, 1, -1, 4);
    note(t, 1, 0, 2);
    ct_confusions_sort(&t->edits);
    ck_assert_int_eq(ct_confusions_most(&t->edits, 4, &c), 3);
    ck_assert(c[0].label == 1 && c[0].pred == -1 && c[0].n == 4 && c[1].label == -1 && c[1].pred == 2 && c[1].n == 3);
    ck_assert(c[2].label == 1 && c[2].pred == 0 && c[2].n == 2);
    ck_assert(t->edits.substitutions == 2 && t->edits.insertions == 3 && t->edits.deletions == 4);
    static const int32_t pred[10] = { 2, 0, 1, -1, -1, -1, -1, -1, -1, -1 };
    memcpy(t->pred, pred, sizeof pred);
    for (int k = 0; k < 3; k++) t->conf[k] = 0.5f;
    ck_assert(ct_found_length(t, 0) == 3 && ct_found_length(t, 1) == 0);
    ck_assert(ct_found_confidence(t, 0) == 0.125 && ct_found_confidence(t, 1) == 0);
    char *whole = ct_found_text(t, 0), *empty = ct_found_text(t, 1);
    ck_assert_str_eq(whole, "CAB");
    ck_assert_str_eq(empty, "");
    ct_free(whole);
    ct_free(empty);
    ck_assert_str_eq(ct_confusion_text(&t->facts->charset, 3, text), "D");
    ck_assert_str_eq(ct_confusion_text(&t->facts->charset, -1, text), "(nothing)");
    ct_text_drop(&t->base);
    end_scene(&s);
}
END_TEST

/* ---- decoders ---- */

static ct_status width_of(scene *s, const char *decoder, const char *width, int *beam)
{
    const ct_option option[] = { { "decoder", decoder }, { "beam_width", width } };
    ct_findings *f = NULL;
    const size_t first = decoder ? 0 : 1, n = (decoder != NULL) + (width != NULL);
    ct_status st = ct_text_look(&s->place, &s->view, false, option + first, n, &f);
    *beam = -1;
    ck_assert(st == CT_OK ? f != NULL : f == NULL);
    if (st != CT_OK) return st;
    const ct_text_findings *t = ct_text_findings_of(f);
    *beam = t->beam;
    ck_assert_int_eq(f->want[2] != NULL, t->beam > 0); /* beam search looks at scores */
    ck_assert_int_eq(t->search != NULL, t->beam > 0);
    ct_text_drop(f);
    return CT_OK;
}

START_TEST(decoders)
{
    static const struct { const char *model, *decoder, *width; int beam; const char *error; } row[] = {
        { "textcnn", NULL, NULL, 0, NULL },
        { "textcnn", "greedy", NULL, 0, NULL },
        { "crnn", NULL, NULL, 0, NULL },
        { "crnn", "greedy", NULL, 0, NULL },
        { "crnn", "beam", NULL, 10, NULL },
        { "crnn", "beam", "7", 7, NULL },
        { "crnn", "beam", "1000", 1000, NULL },
        { "textcnn", "beam", NULL, -1, "--decoder beam: textcnn reads a fixed number of positions" },
        { "crnn", "viterbi", NULL, -1, "--decoder: 'viterbi' is neither greedy nor beam" },
        { "crnn", "greedy", "5", -1, "--beam-width belongs to --decoder beam" },
        { "crnn", NULL, "5", -1, "--beam-width belongs to --decoder beam" },
        { "crnn", "beam", "1001", -1, "--beam-width: '1001' is not a whole number from 1 to 1000" },
        { "crnn", "beam", "0", -1, "--beam-width: '0' is not a whole number from 1 to 1000" },
        { "crnn", "beam", "7x", -1, "--beam-width: '7x' is not a whole number from 1 to 1000" },
        { "crnn", "beam", "", -1, "--beam-width: '' is not a whole number from 1 to 1000" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        scene s;
        int beam;
        set_scene(&s, row[i].model, 3, 1);
        ck_assert_int_eq(width_of(&s, row[i].decoder, row[i].width, &beam), row[i].error ? CT_ECONFIG : CT_OK);
        ck_assert_int_eq(beam, row[i].beam);
        if (row[i].error) ck_message(row[i].error);
        end_scene(&s);
    }
}
END_TEST

/* Every allocation in turn fails while findings are made. */
START_TEST(out_of_memory)
{
    const ct_option beam = { "decoder", "beam" };
    scene s;
    set_scene(&s, "crnn", 3, 2);
    for (long n = 0;; n++) {
        ct_findings *f;
        ct_alloc_fail_after(n);
        ct_status st = ct_text_look(&s.place, &s.view, true, &beam, 1, &f);
        long made = ct_alloc_fail_after(-1);
        if (made <= n) {
            ok(st);
            ck_assert_int_ge(n, 5);
            ct_text_drop(f);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(f);
    }
    end_scene(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text findings");
    TCase *t = tcase_create("text findings");
    tcase_add_test(t, numbers);
    tcase_add_test(t, results);
    tcase_add_test(t, confusions);
    tcase_add_test(t, sequences);
    tcase_add_test(t, decoders);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
