/* What a run writes down: metrics.jsonl and TensorBoard's file, through kills and resumes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/tfevents.h"
#include "run/journal.h"
#include "tests/ct_check.h"
#include "tests/ct_dir.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

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
    ct_dir_make();
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
    /* a broken line in the middle is passed over, and told with its number */
    f = fopen(path, "w");
    fputs("{\"event\":\"a\"}\nnonsense\n{\"event\":\"b\"}\n", f);
    fclose(f);
    memset(&s, 0, sizeof s);
    ok(ct_journal_read(dir, see, &s));
    ck_assert_int_eq(s.n, 2);
    ck_assert_str_eq(s.events[1], "b");
    ct_free(path);
    ct_free(tb);
    ct_dir_remove();
}
END_TEST

static long bytes_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    const long n = ftell(f);
    fclose(f);
    return n;
}

/* What TensorBoard alone gets is told once; large pictures are scaled; without TensorBoard nothing is. */
START_TEST(test_journal_shows)
{
    ct_journal *j;
    ct_config *cfg;
    ct_image im;
    ct_dir_make();
    ok(ct_config_defaults(&cfg));
    ok(ct_image_make(4096, 1024, 3, 200, &im));
    for (size_t i = 0, n = (size_t)4096 * 1024 * 3, x = 7; i < n; i++) im.px[i] = (uint8_t)((x = x * 1103515245 + 12345) >> 16);
    char *tb = ct_path_join(dir, "tensorboard/captrain.tfevents");
    ok(ct_journal_open(dir, true, -1, 0, &j));
    ck_assert(ct_journal_shows(j));
    ck_assert(!ct_journal_begun(j));
    ok(ct_journal_begin(j, 0, cfg));
    const long told = bytes_of(tb); /* flushed */
    ck_assert_int_gt(told, 2000);
    ok(ct_journal_picture(j, 0, "one", &im));
    const long pictured = bytes_of(tb);
    ck_assert_int_gt(pictured, told + 1000);
    ck_assert_int_lt(pictured, told + 3 * CT_JOURNAL_SIDE * CT_JOURNAL_SIDE / 4 * 2); /* 512 x 128 pixels, not 4096 x 1024 */
    ok(ct_journal_event(j, "step", at(1)));
    ok(ct_journal_event(j, "end", json_pack("{s:i}", "step", 1)));
    const long ended = bytes_of(tb);
    ok(ct_journal_picture(j, 1, "two", &im));
    const int64_t keep = ct_journal_bytes(j);
    ct_journal_close(j);
    /* at its end: that goes, and the picture behind it */
    ok(ct_journal_open(dir, true, keep, 1, &j));
    ck_assert(ct_journal_begun(j));
    ok(ct_journal_event(j, "end", json_pack("{s:i}", "step", 1)));
    ct_journal_close(j);
    ck_assert_int_eq(bytes_of(tb), ended);
    ok(ct_journal_open(dir, false, -1, 0, &j));
    ck_assert(!ct_journal_shows(j));
    ck_assert(!ct_journal_begun(j));
    ok(ct_journal_begin(j, 0, cfg));
    ok(ct_journal_picture(j, 0, "three", &im));
    ct_journal_close(j);
    ck_assert_int_eq(bytes_of(tb), ended);
    ck_assert(!ct_journal_shows(NULL));
    ct_image_free(&im);
    ct_config_free(cfg);
    ct_free(tb);
    ct_dir_remove();
}
END_TEST

START_TEST(test_journal_numbers)
{
    ct_journal *j;
    ct_dir_make();
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
    ct_dir_remove();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("journal");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_journal_resume);
    tcase_add_test(t, test_journal_shows);
    tcase_add_test(t, test_journal_numbers);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(suite()); }
