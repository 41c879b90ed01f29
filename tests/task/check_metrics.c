/* Scores, the best tracker, early stopping, details of an evaluation, the journal, the run's progress as JSON, which
 * changes of the configuration a resume takes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/tfevents.h"
#include "run/bar.h"
#include "run/journal.h"
#include "run/run.h"
#include "session/evaluate.h"
#include "task/track.h"
#include "tests/ct_check.h"
#include "weights/checkpoint.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static char dir[64];

static void make_dir(void)
{
    strcpy(dir, "/tmp/captrain-metrics.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static ct_scores scores(int64_t right, int64_t of, double loss)
{
    ct_scores s = { of, right, 4 * of, 4 * right, loss, 4 * (of - right), 0 };
    return s;
}

START_TEST(test_scores)
{
    double sums[CT_METRIC_COUNT] = { 0 };
    ct_scores s = ct_scores_from_sums(sums);
    ck_assert(ct_scores_strings(&s) == -1 && ct_scores_chars(&s) == -1 && isnan(s.loss));
    sums[CT_METRIC_SAMPLES] = 8;
    sums[CT_TEXT_STRINGS] = 2;
    sums[CT_TEXT_CHARS] = 32;
    sums[CT_TEXT_CHARS_OK] = 24;
    sums[CT_METRIC_LOSS] = 12;
    s = ct_scores_from_sums(sums);
    ck_assert(ct_scores_strings(&s) == 0.25 && ct_scores_chars(&s) == 0.75 && s.loss == 1.5);
    ck_assert(ct_scores_value(&s, CT_SELECT_STRING_ACCURACY) == 0.25);
    ck_assert(ct_scores_value(&s, CT_SELECT_CHAR_ACCURACY) == 0.75);
    ck_assert(ct_scores_value(&s, CT_SELECT_LOSS) == 1.5);
    ck_assert(s.edits == 8 && ct_scores_cer(&s) == 0.25 && ct_scores_value(&s, CT_SELECT_CER) == 0.25);
    /* texts of any length: edits are counted, and there may be more of them than characters */
    sums[CT_TEXT_EDITS] = 16;
    sums[CT_TEXT_INFEASIBLE] = 3;
    s = ct_scores_from_sums(sums);
    ck_assert(s.edits == 16 && s.infeasible == 3 && ct_scores_cer(&s) == 0.5 && ct_scores_chars(&s) == 0.5);
    sums[CT_TEXT_EDITS] = 64;
    s = ct_scores_from_sums(sums);
    ck_assert(ct_scores_cer(&s) == 2 && ct_scores_chars(&s) == 0);
}
END_TEST

/* eval.select_by: names, the task's own, and what is no metric. */
START_TEST(test_select)
{
    static const char *const names[] = { "string_accuracy", "char_accuracy", "loss", "cer" };
    ct_config *c;
    ct_select by;
    for (int i = 0; i < 4; i++) {
        char *upper = ct_asprintf("eval.select_by=%c%s", names[i][0] - 'a' + 'A', names[i] + 1), *kept;
        const char *sets[] = { upper };
        ok(ct_config_parse("", 0, "t.yaml", sets, 1, &c));
        ok(ct_scores_select(c, &by));
        ck_assert_int_eq(by, i);
        ok(ct_scores_settle(c));
        kept = ct_config_value(c, "eval.select_by");
        ck_assert_str_eq(kept, names[i]);
        ct_free(kept);
        ct_free(upper);
        ct_config_free(c);
    }
    ok(ct_config_defaults(&c));
    ck_assert_str_eq(c->eval.select_by, "auto");
    ok(ct_scores_settle(c));
    ck_assert_str_eq(c->eval.select_by, "string_accuracy");
    ck_assert(!ct_config_is_set(c, "eval.select_by"));
    ct_config_free(c);
    static const char bad[] = "eval:\n  select_by: char_acuracy\n";
    ok(ct_config_parse(bad, strlen(bad), "t.yaml", NULL, 0, &c));
    ck_assert_int_eq(ct_scores_settle(c), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(),
                     "t.yaml:2:3: eval.select_by: no metric 'char_acuracy'; did you mean 'char_accuracy'?");
    ct_config_free(c);
}
END_TEST

START_TEST(test_best)
{
    ct_best b = { 0 };
    ct_scores s = scores(5, 10, 1.0);
    ck_assert(ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 1, 10));
    s = scores(4, 10, 0.1);
    ck_assert(!ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 2, 20));
    s = scores(5, 10, 1.0); /* a tie: the earlier stays */
    ck_assert(!ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 3, 30));
    s = scores(5, 10, 0.9); /* a tie with a smaller loss */
    ck_assert(ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 4, 40));
    s = scores(9, 10, NAN);
    ck_assert(!ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 5, 50));
    s = scores(9, 10, INFINITY);
    ck_assert(!ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, 5, 50));
    ck_assert_int_eq(b.epoch, 4);
    ck_assert_int_eq(b.step, 40);
    s = scores(1, 10, 0.5);
    ck_assert(ct_best_update(&b, CT_SELECT_LOSS, &s, 6, 60));
    /* the smaller error rate wins, whatever the strings say */
    s.edits = 12;
    ck_assert(ct_best_update(&b, CT_SELECT_CER, &s, 7, 70));
    s.edits = 13, s.strings = 9;
    ck_assert(!ct_best_update(&b, CT_SELECT_CER, &s, 8, 80));
    ck_assert_int_eq(b.epoch, 7);
}
END_TEST

/* A tracker that is fed only when early stopping looks, which is after min_epochs, once made every epoch before "best"
 * and none after. Here the best epoch lies before min_epochs, and a worse one comes last. */
START_TEST(test_best_does_not_depend_on_early_stopping)
{
    static const int64_t right[] = { 3, 8, 5, 4, 6, 5, 2 };
    for (int enabled = 0; enabled < 2; enabled++) {
        ct_cfg_early_stopping rule = { enabled == 1, 2, 6, 0 };
        ct_best b = { 0 };
        ct_stopper st = { 0 };
        int stopped = 0;
        for (int e = 1; e <= 7 && !stopped; e++) {
            ct_scores s = scores(right[e - 1], 10, 1);
            ct_best_update(&b, CT_SELECT_STRING_ACCURACY, &s, e, 10 * e);
            if (ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, e)) stopped = e;
        }
        ck_assert_int_eq(b.epoch, 2);
        ck_assert_int_eq(b.scores.strings, 8);
        ck_assert_int_eq(stopped, enabled ? 6 : 0); /* patience was spent long before, min_epochs holds it back */
    }
}
END_TEST

START_TEST(test_stopper)
{
    ct_cfg_early_stopping rule = { true, 3, 0, 0.05 };
    ct_stopper st = { 0 };
    ct_scores s = scores(50, 100, 1);
    ck_assert(!ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 1));
    s = scores(54, 100, 1); /* better, but not by more than min_delta */
    ck_assert(!ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 2));
    ck_assert_int_eq(st.stale, 1);
    s = scores(58, 100, 1); /* against the reference, not against the last */
    ck_assert(!ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 3));
    ck_assert_int_eq(st.stale, 0);
    s = scores(99, 100, NAN);
    ck_assert(!ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 4));
    ck_assert(!ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 5));
    ck_assert(ct_stopper_update(&st, &rule, CT_SELECT_STRING_ACCURACY, &s, 6));
    ct_stopper by_loss = { 0 };
    s = scores(0, 100, 2);
    ct_stopper_update(&by_loss, &rule, CT_SELECT_LOSS, &s, 1);
    s = scores(0, 100, 1.9);
    ct_stopper_update(&by_loss, &rule, CT_SELECT_LOSS, &s, 2);
    ck_assert_int_eq(by_loss.stale, 0);
}
END_TEST

static void note(ct_detail *d, int label, int pred, int times)
{
    while (times-- > 0) ok(ct_detail_note(d, label, pred));
}

START_TEST(test_confusions)
{
    ct_detail d;
    ct_confusion c[4];
    ct_charset cs;
    char text[32];
    ok(ct_detail_init(&d, 1, 2, 4, false));
    ck_assert_int_eq(ct_detail_confusions(&d, c, 3), 0);
    ct_detail_settle(&d);
    note(&d, 0, 1, 3);
    note(&d, 1, 0, 7);
    note(&d, 2, 3, 5);
    note(&d, 3, 2, 9);
    note(&d, 0, 1, 2);
    ct_detail_settle(&d);
    ck_assert_int_eq(ct_detail_confusions(&d, c, 3), 3);
    ck_assert(c[0].label == 3 && c[0].pred == 2 && c[0].n == 9);
    ck_assert(c[1].label == 1 && c[1].pred == 0 && c[1].n == 7);
    ck_assert(c[2].label == 0 && c[2].pred == 1 && c[2].n == 5); /* of equals the first */
    ck_assert(d.substitutions == 26 && d.insertions == 0 && d.deletions == 0);
    d.conf[0] = 0.5f;
    d.conf[1] = 0.25f;
    ck_assert(ct_detail_confidence(&d, 0) == 0.125);
    ct_detail_free(&d);
    /* texts of any length: characters that are not there, or were not read */
    ok(ct_detail_init(&d, 2, 5, 4, true));
    note(&d, -1, 2, 3);
    note(&d, 1, -1, 4);
    note(&d, 1, 0, 2);
    ct_detail_settle(&d);
    ck_assert_int_eq(ct_detail_confusions(&d, c, 4), 3);
    ck_assert(c[0].label == 1 && c[0].pred == -1 && c[0].n == 4 && c[1].label == -1 && c[1].pred == 2 && c[1].n == 3);
    ck_assert(d.substitutions == 2 && d.insertions == 3 && d.deletions == 4);
    static const int32_t pred[10] = { 2, 0, 1, -1, -1, -1, -1, -1, -1, -1 };
    memcpy(d.pred, pred, sizeof pred);
    for (int k = 0; k < 3; k++) d.conf[k] = 0.5f;
    ck_assert(ct_detail_length(&d, 0) == 3 && ct_detail_length(&d, 1) == 0);
    ck_assert(ct_detail_confidence(&d, 0) == 0.125 && ct_detail_confidence(&d, 1) == 0);
    ok(ct_charset_parse("ABCD", &cs));
    char *whole = ct_malloc(ct_detail_text_size(&d), "text");
    ck_assert_str_eq(ct_detail_text(&d, &cs, 0, whole, ct_detail_text_size(&d)), "CAB");
    ck_assert_str_eq(ct_detail_text(&d, &cs, 1, whole, ct_detail_text_size(&d)), "");
    ck_assert_str_eq(ct_confusion_text(&cs, 3, text), "D");
    ck_assert_str_eq(ct_confusion_text(&cs, -1, text), "(nothing)");
    ct_free(whole);
    ct_charset_free(&cs);
    ct_detail_free(&d);
}
END_TEST

START_TEST(test_decoder_names)
{
    ct_decoder d;
    ok(ct_decoder_parse(NULL, 0, "textcnn", CT_HEAD_POSITIONS, &d));
    ck_assert_int_eq(d.beam, 0);
    ok(ct_decoder_parse("greedy", 0, "crnn", CT_HEAD_CTC, &d));
    ck_assert_int_eq(d.beam, 0);
    ok(ct_decoder_parse("beam", 0, "crnn", CT_HEAD_CTC, &d));
    ck_assert_int_eq(d.beam, 10);
    ok(ct_decoder_parse("beam", 7, "crnn", CT_HEAD_CTC, &d));
    ck_assert_int_eq(d.beam, 7);
    ck_assert_int_eq(ct_decoder_parse("beam", 0, "textcnn", CT_HEAD_POSITIONS, &d), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "textcnn"));
    ck_assert_int_eq(ct_decoder_parse("viterbi", 0, "crnn", CT_HEAD_CTC, &d), CT_ECONFIG);
    ck_assert_int_eq(ct_decoder_parse("greedy", 5, "crnn", CT_HEAD_CTC, &d), CT_ECONFIG);
    ck_assert_int_eq(ct_decoder_parse("beam", 1001, "crnn", CT_HEAD_CTC, &d), CT_ECONFIG);
}
END_TEST

START_TEST(test_progress_round_trip)
{
    ct_progress p, q;
    char *text;
    memset(&p, 0, sizeof p);
    p.epoch = 3;
    p.batch = 17;
    p.step = 1234567890123;
    p.samples = 99;
    p.seconds = 0.1 + 0.2;
    p.step_seconds = 1.0 / 3;
    p.finished = true;
    p.best.any = true;
    p.best.epoch = 2;
    p.best.step = 55;
    p.best.scores = scores(7, 11, 0.1);
    p.best.scores.edits = 19;
    p.best.scores.infeasible = 2;
    p.stopper.any = true;
    p.stopper.reference = 7.0 / 11;
    p.stopper.stale = 4;
    p.sums[CT_METRIC_LOSS] = 1e-300;
    p.journal_bytes = 4096;
    p.bad_in_a_row = 2;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert_mem_eq(&p, &q, sizeof p);
    ck_assert_msg(strstr(text, "\"metric_sums\":[0.0,1e-300]"), "%s", text);
    /* anything missing is noticed */
    char *cut = strstr(text, "\"stale\"");
    ck_assert_ptr_nonnull(cut);
    memcpy(cut, "\"stalf\"", 7);
    ck_assert_int_eq(ct_progress_from_json(text, "test", &q), CT_EFORMAT);
    ck_assert_int_eq(ct_progress_from_json("{", "test", &q), CT_EFORMAT);
    ct_free(text);
    p.sums[CT_METRIC_COUNT - 1] = NAN;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert(isnan(q.sums[CT_METRIC_COUNT - 1]) && q.sums[CT_METRIC_LOSS] == 1e-300);
    ct_free(text);
    p.sums[CT_METRIC_COUNT - 1] = 0;
    p.best.scores.loss = NAN;
    ok(ct_progress_to_json(&p, &text));
    ok(ct_progress_from_json(text, "test", &q));
    ck_assert(isnan(q.best.scores.loss));
    ct_free(text);
}
END_TEST

/* Sums of earlier versions: eight, in another order. */
START_TEST(test_progress_before)
{
    static const char sums[] = "\"metric_sums\":[0.0,0.0,0.0,7.0]", before[] = "\"sums\":[64,7,256,100,12.5,2,159,3]";
    ct_progress p, q;
    char *text, old[2048];
    memset(&p, 0, sizeof p);
    p.sums[CT_TEXT_STRINGS] = 7;
    ok(ct_progress_to_json(&p, &text));
    char *at = strstr(text, sums);
    ck_assert_msg(at != NULL, "%s", text);
    snprintf(old, sizeof old, "%.*s%s%s", (int)(at - text), text, before, at + strlen(sums));
    ok(ct_progress_from_json(old, "test", &q));
    p.sums[CT_METRIC_SAMPLES] = 64;
    p.sums[CT_METRIC_LOSS] = 12.5;
    p.sums[CT_METRIC_BATCHES] = 2;
    p.sums[CT_TEXT_CHARS] = 256;
    p.sums[CT_TEXT_CHARS_OK] = 100;
    p.sums[CT_TEXT_EDITS] = 159;
    p.sums[CT_TEXT_INFEASIBLE] = 3;
    ck_assert_mem_eq(&p, &q, sizeof p);
    /* one of them missing */
    memmove(strstr(old, ",159"), strstr(old, ",3]"), strlen(strstr(old, ",3]")) + 1);
    ck_assert_int_eq(ct_progress_from_json(old, "test", &q), CT_EFORMAT);
    ct_free(text);
}
END_TEST

/* ---- journal ---- */

typedef struct seen {
    int n;
    char events[32][16];
    int64_t step[32];
} seen;

static ct_status see(void *user, const char *event, const json_t *line)
{
    seen *s = user;
    ck_assert_int_lt(s->n, 32);
    snprintf(s->events[s->n], sizeof s->events[0], "%s", event);
    s->step[s->n++] = json_integer_value(json_object_get(line, "step"));
    return CT_OK;
}

static json_t *at(int step) { return json_pack("{s:i,s:f}", "step", step, "loss", 1.0 / step); }

static ct_status count_scalar(void *user, int64_t step, const char *tag, double value)
{
    int *n = user;
    (void)value;
    ck_assert_int_le(step, 6);
    if (strcmp(tag, "train/loss") == 0) ++*n;
    return CT_OK;
}

START_TEST(test_journal_resume)
{
    ct_journal *j;
    make_dir();
    ok(ct_journal_open(dir, true, -1, 0, &j));
    for (int s = 1; s <= 3; s++) ok(ct_journal_event(j, "step", at(s)));
    int64_t keep = ct_journal_bytes(j);
    ok(ct_journal_event(j, "step", at(4)));
    ok(ct_journal_event(j, "resume", at(3)));
    ok(ct_journal_event(j, "step", at(5)));
    ct_journal_close(j);
    /* half a line, as a killed run leaves it */
    char *path = ct_path_join(dir, "metrics.jsonl"), *tb = ct_path_join(dir, "tensorboard/captrain.tfevents");
    FILE *f = fopen(path, "a");
    fputs("{\"event\":\"step\",\"st", f);
    fclose(f);
    seen s = { 0 };
    ok(ct_journal_read(dir, see, &s));
    ck_assert_int_eq(s.n, 6);
    ok(ct_journal_open(dir, true, keep, 3, &j));
    ok(ct_journal_event(j, "step", at(6)));
    ck_assert_int_eq(ct_journal_bytes(j), (int64_t)lseek(fileno(f = fopen(path, "r")), 0, SEEK_END));
    fclose(f);
    ct_journal_close(j);
    memset(&s, 0, sizeof s);
    ok(ct_journal_read(dir, see, &s));
    /* steps behind the checkpoint are gone, the resume event is not */
    static const int64_t step[] = { 1, 2, 3, 3, 6 };
    ck_assert_int_eq(s.n, 5);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(s.step[i], step[i]);
    ck_assert_str_eq(s.events[3], "resume");
    int n = 0;
    ok(ct_tfevents_read(tb, count_scalar, &n));
    ck_assert_int_eq(n, 4); /* 1, 2, 3, 6 */
    /* a broken line in the middle is told with its number */
    f = fopen(path, "w");
    fputs("{\"event\":\"a\"}\nnonsense\n{\"event\":\"b\"}\n", f);
    fclose(f);
    ck_assert_int_eq(ct_journal_read(dir, see, &s), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "metrics.jsonl:2:"));
    ct_free(path);
    ct_free(tb);
    remove_dir();
}
END_TEST

START_TEST(test_journal_numbers)
{
    ct_journal *j;
    make_dir();
    ok(ct_journal_open(dir, false, -1, 0, &j));
    json_t *o = json_object();
    ok(ct_json_set(o, "loss", ct_json_number(NAN)));
    ok(ct_journal_event(j, "step", o));
    ck_assert_int_eq(ct_journal_event(j, "step", NULL), CT_ENOMEM);
    ct_journal_close(j);
    char *path = ct_path_join(dir, "metrics.jsonl");
    uint8_t *text;
    size_t size;
    ok(ct_file_read(path, 1000, &text, &size));
    ck_assert_ptr_nonnull(strstr((char *)text, "\"loss\":null"));
    ck_assert_ptr_null(strchr((char *)text, 'N'));
    ct_free(text);
    ct_free(path);
    remove_dir();
}
END_TEST

/* ---- what a resume takes ---- */

static ct_config *config(const char *a, const char *b)
{
    const char *sets[2] = { a, b };
    ct_config *cfg;
    ok(ct_config_load(NULL, sets, b ? 2 : a ? 1 : 0, &cfg));
    return cfg;
}

START_TEST(test_conflicts)
{
    char *list;
    ct_config *old = config(NULL, NULL), *now = config(NULL, NULL);
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_null(list);
    ct_config_free(now);
    now = config("train.workers=7", "log.interval_steps=3");
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_null(list);
    ct_config_free(now);
    now = config("optimizer.lr=0.125", "augment.shift=2.5");
    ok(ct_resume_conflicts(old, now, true, &list));
    ck_assert_ptr_nonnull(strstr(list, "optimizer.lr ("));
    ck_assert_ptr_nonnull(strstr(list, "-> 0.125"));
    ck_assert_ptr_nonnull(strstr(list, "augment.shift"));
    ct_free(list);
    ct_config_free(now);
    now = config("train.epochs=777", NULL);
    ok(ct_resume_conflicts(old, now, true, &list)); /* the learning rates stay */
    ck_assert_ptr_null(list);
    ok(ct_resume_conflicts(old, now, false, &list));
    ck_assert_ptr_nonnull(strstr(list, "train.epochs"));
    ct_free(list);
    /* without memory: an error, never a wrong answer */
    for (long n = 0;; n++) {
        ct_alloc_fail_after(n);
        ct_status st = ct_resume_conflicts(old, now, false, &list);
        bool done = st == CT_OK;
        ct_alloc_fail_after(-1);
        if (done) {
            ck_assert_ptr_nonnull(list);
            ct_free(list);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(list);
    }
    ct_config_free(now);
    ct_config_free(old);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_scores);
    tcase_add_test(t, test_select);
    tcase_add_test(t, test_best);
    tcase_add_test(t, test_best_does_not_depend_on_early_stopping);
    tcase_add_test(t, test_stopper);
    tcase_add_test(t, test_confusions);
    tcase_add_test(t, test_decoder_names);
    tcase_add_test(t, test_progress_round_trip);
    tcase_add_test(t, test_progress_before);
    tcase_add_test(t, test_journal_resume);
    tcase_add_test(t, test_journal_numbers);
    tcase_add_test(t, test_conflicts);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(suite()); }
