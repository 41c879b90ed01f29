/* TensorBoard event files. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/tfevents.h"
#include "formats/tfevents.pb-c.h"
#include "tests/ct_check.h"
#include "tests/ct_dir.h"

START_TEST(crc32c)
{
    uint8_t b[32];
    memset(b, 0, sizeof b);
    ck_assert_uint_eq(ct_crc32c(b, 32), 0x8A9136AAu); /* RFC 3720 B.4 */
    memset(b, 0xFF, sizeof b);
    ck_assert_uint_eq(ct_crc32c(b, 32), 0x62A8AB43u);
    for (int i = 0; i < 32; i++) b[i] = (uint8_t)i;
    ck_assert_uint_eq(ct_crc32c(b, 32), 0x46DD794Eu);
    ck_assert_uint_eq(ct_crc32c("123456789", 9), 0xE3069283u);
    ck_assert_uint_eq(ct_crc32c("", 0), 0);
}
END_TEST

typedef struct seen { int n; int64_t step[64]; double value[64]; char tag[64][16]; } seen;

static ct_status visit(void *user, int64_t step, const char *tag, double value)
{
    seen *s = user;
    ck_assert_int_lt(s->n, 64);
    s->step[s->n] = step;
    s->value[s->n] = value;
    snprintf(s->tag[s->n++], 16, "%s", tag);
    return CT_OK;
}

static void write_events(const char *path, int64_t keep, int64_t from, int64_t to)
{
    ct_tfevents *w;
    ck_assert_msg(ct_tfevents_open(path, keep, &w) == CT_OK, "%s", ct_error_message());
    for (int64_t s = from; s <= to; s++) {
        ck_assert_int_eq(ct_tfevents_scalar(w, s, "loss", 1.0 / (double)s), CT_OK);
        ck_assert_int_eq(ct_tfevents_scalar(w, s, "lr", s == 3 ? NAN : 0.5), CT_OK);
    }
    ck_assert_int_eq(ct_tfevents_flush(w), CT_OK);
    ck_assert_int_eq(ct_tfevents_close(w), CT_OK);
}

START_TEST(tfevents)
{
    const char *path = in_dir("events.out.tfevents.captrain");
    seen s = { 0 };
    uint8_t *data;
    size_t size, first_size;
    ct_tfevents *w;
    write_events(path, -1, 1, 10);
    ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_OK);
    ck_assert_int_eq(s.n, 20);
    ck_assert_int_eq(s.step[19], 10);
    ck_assert_str_eq(s.tag[18], "loss");
    ck_assert_double_eq(s.value[18], (double)0.1f);
    ck_assert(isnan(s.value[5]));
    ck_assert_int_eq(ct_file_read(path, 1 << 20, &data, &first_size), CT_OK);
    /* The first record, byte by byte: length 24, its masked CRC, field 1 (double), field 3 "brain.Event:2". */
    ck_assert_uint_eq(data[0], 24);
    ck_assert_uint_eq(data[12], 0x09);
    ck_assert_mem_eq(data + 21, "\x1a\x0d" "brain.Event:2", 15);
    ct_free(data);

    write_events(path, 6, 7, 8); /* resumed at step 6: what was written beyond is cut */
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_OK);
    ck_assert_int_eq(s.n, 16);
    for (int i = 0; i < 16; i++) ck_assert_int_eq(s.step[i], 1 + i / 2);

    /* Killed in the middle of a record. */
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(truncate(path, info.st_size - 7), 0);
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "damaged record"));
    ck_assert_int_eq(s.n, 15);
    write_events(path, 100, 9, 9);
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_OK);
    ck_assert_int_eq(s.n, 17);

    /* Every truncation of the beginning can be resumed. */
    ck_assert_int_eq(ct_file_read(path, 1 << 20, &data, &size), CT_OK);
    for (size_t n = 0; n < 120; n++) {
        ck_assert_int_eq(ct_file_write_atomic(path, data, n), CT_OK);
        write_events(path, 0, 1, 1);
        memset(&s, 0, sizeof s);
        ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_OK);
        ck_assert_int_eq(s.n, 2);
    }
    /* Any damaged byte is noticed when read. */
    for (size_t n = 0; n < size; n++) {
        data[n] ^= 0x10;
        ck_assert_int_eq(ct_file_write_atomic(path, data, size), CT_OK);
        memset(&s, 0, sizeof s);
        ck_assert_int_eq(ct_tfevents_read(path, visit, &s), CT_EFORMAT);
        data[n] ^= 0x10;
    }
    ct_free(data);

    ck_assert_int_eq(ct_file_write_atomic(path, "this is somebody's text file, not ours", 38), CT_OK);
    ck_assert_int_eq(ct_tfevents_open(path, 5, &w), CT_EFORMAT);
    ck_assert_ptr_null(w);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "not a TensorBoard event file"));
    ck_assert_int_eq(ct_tfevents_open(in_dir("no/such/dir"), -1, &w), CT_EIO);
    ck_assert_int_eq(ct_tfevents_close(NULL), CT_OK);
}
END_TEST

/* Record k of a file as an event, or NULL behind the last; captrain__event__free_unpacked(). */
static Captrain__Event *event_at(const uint8_t *data, size_t size, int k)
{
    for (size_t at = 0; at + 16 <= size; k--) {
        uint64_t n;
        memcpy(&n, data + at, sizeof n);
        if (k == 0) return captrain__event__unpack(NULL, (size_t)n, data + at + 12);
        at += (size_t)n + 16;
    }
    return NULL;
}

static const Captrain__SummaryValue *only_value(const Captrain__Event *e, int64_t step)
{
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->step, step);
    ck_assert_uint_eq(e->what_case, CAPTRAIN__EVENT__WHAT_SUMMARY);
    ck_assert_uint_eq(e->summary->n_value, 1);
    return e->summary->value[0];
}

/* What the plugin's data of a value say; captrain__hparams_plugin_data__free_unpacked(). */
static Captrain__HParamsPluginData *plugin_of(const Captrain__SummaryValue *v, const char *tag)
{
    ck_assert_str_eq(v->tag, tag);
    ck_assert_str_eq(v->metadata->plugin_data->plugin_name, "hparams");
    const ProtobufCBinaryData c = v->metadata->plugin_data->content;
    Captrain__HParamsPluginData *d = captrain__hparams_plugin_data__unpack(NULL, c.len, c.data);
    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(d->version, 0);
    return d;
}

static ct_status write_run(const char *path, int64_t keep, int64_t from, int64_t to, bool *begun)
{
    static const ct_hparam key[] = { { "optimizer.lr", CT_HPARAM_NUMBER, NULL, 0.25 },
                                     { "data.cache", CT_HPARAM_TEXT, "pix\xc3\xa4ls", 0 },
                                     { "train.deterministic", CT_HPARAM_BOOL, NULL, 1 } };
    static const uint8_t png[] = { 0x89, 'P', 'N', 'G', 0 };
    const ct_event_picture picture = { png, sizeof png, 7, 5, 3 };
    ct_tfevents *w;
    CT_TRY(ct_tfevents_open(path, keep, &w));
    *begun = ct_tfevents_begun(w);
    ct_status st = *begun ? CT_OK : ct_tfevents_begin(w, from - 1, key, 3);
    for (int64_t s = from; s <= to && st == CT_OK; s++) st = ct_tfevents_scalar(w, s, "loss", 1);
    if (st == CT_OK) st = ct_tfevents_end(w, to);
    if (st == CT_OK) st = ct_tfevents_picture(w, to, "wrong/01", &picture);
    const ct_status closed = ct_tfevents_close(w);
    return st == CT_OK ? closed : st;
}

/* Version, beginning, scalars from..to, end, picture. */
static void check_run(const char *path, int64_t to)
{
    uint8_t *data;
    size_t size;
    Captrain__Event *e;
    ck_assert_int_eq(ct_file_read(path, 1 << 20, &data, &size), CT_OK);
    e = event_at(data, size, 1);
    Captrain__HParamsPluginData *d = plugin_of(only_value(e, 0), "_hparams_/session_start_info");
    ck_assert_uint_eq(d->data_case, CAPTRAIN__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO);
    const Captrain__SessionStartInfo *s = d->session_start_info;
    ck_assert_uint_eq(s->n_hparams, 3);
    ck_assert_str_eq(s->hparams[0]->key, "optimizer.lr");
    ck_assert_uint_eq(s->hparams[0]->value->kind_case, CAPTRAIN__VALUE__KIND_NUMBER_VALUE);
    ck_assert_double_eq(s->hparams[0]->value->number_value, 0.25);
    ck_assert_str_eq(s->hparams[1]->value->string_value, "pix\xc3\xa4ls");
    ck_assert_uint_eq(s->hparams[2]->value->kind_case, CAPTRAIN__VALUE__KIND_BOOL_VALUE);
    ck_assert(s->hparams[2]->value->bool_value);
    ck_assert_double_gt(s->start_time_secs, 1.6e9);
    captrain__hparams_plugin_data__free_unpacked(d, NULL);
    captrain__event__free_unpacked(e, NULL);
    for (int64_t k = 1; k <= to; k++) {
        e = event_at(data, size, 1 + (int)k);
        ck_assert_str_eq(only_value(e, k)->tag, "loss");
        captrain__event__free_unpacked(e, NULL);
    }
    e = event_at(data, size, 2 + (int)to);
    d = plugin_of(only_value(e, to), "_hparams_/session_end_info");
    ck_assert_uint_eq(d->data_case, CAPTRAIN__HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO);
    ck_assert_int_eq(d->session_end_info->status, 1);
    captrain__hparams_plugin_data__free_unpacked(d, NULL);
    captrain__event__free_unpacked(e, NULL);
    e = event_at(data, size, 3 + (int)to);
    const Captrain__Picture *p = only_value(e, to)->image;
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->width, 7);
    ck_assert_int_eq(p->height, 5);
    ck_assert_int_eq(p->colorspace, 3);
    ck_assert_uint_eq(p->encoded_image_string.len, 5);
    ck_assert_mem_eq(p->encoded_image_string.data, "\x89PNG", 5);
    captrain__event__free_unpacked(e, NULL);
    ck_assert_ptr_null(event_at(data, size, 4 + (int)to));
    ct_free(data);
}

/* A run tells its keys once and its end once, however often it goes on: from within, from its end, and to a later one. */
START_TEST(tfevents_run)
{
    const char *path = in_dir("run.tfevents");
    bool begun;
    ck_assert_int_eq(write_run(path, -1, 1, 4, &begun), CT_OK);
    ck_assert(!begun);
    check_run(path, 4);
    ck_assert_int_eq(write_run(path, 2, 3, 4, &begun), CT_OK);
    ck_assert(begun);
    check_run(path, 4);
    ck_assert_int_eq(write_run(path, 4, 5, 4, &begun), CT_OK); /* it was at its end: that is told anew, its pictures too */
    check_run(path, 4);
    ck_assert_int_eq(write_run(path, 4, 5, 6, &begun), CT_OK);
    ck_assert(begun);
    check_run(path, 6);
    /* what says how it began was lost with the rest */
    ck_assert_int_eq(truncate(path, 45), 0);
    ck_assert_int_eq(write_run(path, 6, 1, 3, &begun), CT_OK);
    ck_assert(!begun);
    check_run(path, 3);
}
END_TEST

/* Without memory nothing of an existing file is lost: it goes on as if that had not been tried. */
START_TEST(tfevents_run_memory)
{
    const char *path = in_dir("run-memory.tfevents");
    int failed = 0;
    bool begun;
    for (long n = 0;; n++) {
        ct_status st = write_run(path, -1, 1, 3, &begun);
        ck_assert_int_eq(st, CT_OK);
        ct_alloc_fail_after(n);
        st = write_run(path, 2, 3, 3, &begun);
        const long made = ct_alloc_fail_after(-1);
        if (st == CT_OK && made <= n) break;
        if (st != CT_OK) ck_assert_int_eq(st, CT_ENOMEM);
        failed++;
        ck_assert_int_eq(write_run(path, 2, 3, 3, &begun), CT_OK);
        ck_assert(begun);
        check_run(path, 3);
    }
    ck_assert_int_ge(failed, 20);
    failed = 0;
    for (long n = 0;; n++) {
        ct_alloc_fail_after(n);
        const ct_status st = write_run(path, -1, 1, 3, &begun);
        const long made = ct_alloc_fail_after(-1);
        if (st == CT_OK && made <= n) break;
        if (st != CT_OK) ck_assert_int_eq(st, CT_ENOMEM);
        failed++;
    }
    ck_assert_int_ge(failed, 10);
    check_run(path, 3);
}
END_TEST

START_TEST(tfevents_memory)
{
    const char *path = in_dir("tfevents.oom");
    int failed = 0;
    for (long n = 0;; n++) {
        ct_tfevents *w = NULL;
        ct_alloc_fail_after(n);
        ct_status st = ct_tfevents_open(path, 3, &w);
        if (st == CT_OK) st = ct_tfevents_scalar(w, 1, "loss", 1);
        ct_tfevents_close(w);
        long made = ct_alloc_fail_after(-1);
        if (st == CT_OK && made <= n) break;
        if (st != CT_OK) ck_assert_int_eq(st, CT_ENOMEM);
        failed++;
    }
    ck_assert_int_ge(failed, 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tfevents");
    TCase *t = tcase_create("tfevents");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, ct_dir_make, ct_dir_remove);
    tcase_add_test(t, crc32c);
    tcase_add_test(t, tfevents);
    tcase_add_test(t, tfevents_run);
    tcase_add_test(t, tfevents_run_memory);
    tcase_add_test(t, tfevents_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
