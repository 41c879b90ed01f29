/* Who is behind: two watches in one process tell each other where they are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "group/watch.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

enum { WIDTH = 8, MAGIC = 0x63740101 };
static const char host[2][WIDTH] = { "one", "two" };
static ct_watch *w[2];

static void pause_for(double seconds)
{
    const struct timespec t = { .tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds)) };
    nanosleep(&t, NULL);
}

static void begin(double deadline)
{
    ct_watch_at at[2];
    for (int i = 0; i < 2; i++) {
        ok(ct_watch_open(i, 2, deadline, &at[i], &w[i]));
        ck_assert(at[i].port != 0);
    }
    for (int i = 0; i < 2; i++) ok(ct_watch_begin(w[i], at, host[0], WIDTH));
    pause_for(0.3);
}

static void end(void)
{
    for (int i = 0; i < 2; i++) ct_watch_close(w[i]);
    ct_crash_at(CT_AT_START);
    ct_crash_doing(NULL, NULL);
    ct_crash_step(-1);
}

/* Process 0 waits in a call with this deadline, until the judge ends it or `most` seconds have passed. */
static ct_status wait_for(double deadline, double most)
{
    const ct_patience *p = ct_watch_patience(w[0]);
    const double began = ct_now();
    ct_status st = p->look(p->self, true, deadline);
    while (st == CT_OK && ct_now() - began < most) {
        pause_for(0.02);
        st = p->look(p->self, false, deadline);
    }
    return st;
}

static void names(const char *text)
{
    ck_assert_msg(strstr(ct_error_message(), text) != NULL, "'%s' does not say '%s'", ct_error_message(), text);
}

START_TEST(test_one_that_stands_still_is_named_with_what_it_does)
{
    begin(5);
    ct_crash_step(41);
    ct_crash_at(CT_AT_STEP);
    ct_crash_doing("features.3", "gemm");
    pause_for(0.2);
    ck_assert_int_eq(wait_for(0.5, 5), CT_EBACKEND);
    names("rank 1 (two) is behind: step 42, features.3 (the others have waited 0.5");
    ck_assert(ct_watch_broke(w[0]) && !ct_watch_broke(w[1]));
    /* the other hears of it, and ends with the same words as soon as it waits */
    pause_for(0.2);
    const ct_patience *p = ct_watch_patience(w[1]);
    ck_assert_int_eq(p->look(p->self, true, 100), CT_EBACKEND);
    names("rank 1 (two) is behind: step 42, features.3");
    end();
}
END_TEST

START_TEST(test_what_takes_its_time_alone_is_waited_for)
{
    begin(0.4);
    for (ct_activity a = 0; a < CT_AT_COUNT; a++) {
        if (!ct_activity_alone(a)) continue;
        ct_crash_at(a);
        pause_for(0.2);
        ok(wait_for(0.3, 0.6));
    }
    ct_crash_at(CT_AT_BATCH);
    pause_for(0.2);
    ck_assert_int_eq(wait_for(0.3, 5), CT_EBACKEND);
    names("is behind: loading a batch");
    end();
}
END_TEST

START_TEST(test_one_that_is_not_heard_of_any_more_is_behind_whatever_it_did)
{
    begin(0.6);
    ct_crash_at(CT_AT_SAVE);
    pause_for(0.2);
    ok(wait_for(100, 0.8));
    ct_watch_close(w[1]);
    w[1] = NULL;
    const double began = ct_now();
    ck_assert_int_eq(wait_for(100, 10), CT_EBACKEND);
    names("rank 1 (two) is behind: saving (nothing was heard of it for 0.6");
    ck_assert_double_lt(ct_now() - began, 5);
    end();
}
END_TEST

START_TEST(test_all_that_wait_for_each_other_say_so)
{
    begin(5);
    for (int i = 0; i < 60; i++) {
        const ct_patience *p = ct_watch_patience(w[1]);
        ok(p->look(p->self, i == 0, 100));
        const ct_patience *q = ct_watch_patience(w[0]);
        if (q->look(q->self, i == 0, 0.5) != CT_OK) break;
        pause_for(0.05);
    }
    names("all 2 processes wait for each other");
    end();
}
END_TEST

START_TEST(test_a_failure_of_one_is_that_of_those_who_wait)
{
    begin(5);
    ct_watch_over(w[1], CT_ENOMEM, "process 1 of 2 (two): no memory for 12 bytes");
    pause_for(0.3);
    ck_assert_int_eq(wait_for(100, 5), CT_ENOMEM);
    names("no memory for 12 bytes");
    end();
}
END_TEST

START_TEST(test_one_without_a_way_to_be_heard_has_the_deadline_of_the_call)
{
    ct_watch_at at[2];
    ok(ct_watch_open(0, 2, 0.2, &at[0], &w[0]));
    at[1] = (ct_watch_at){ .port = 0 };
    ok(ct_watch_begin(w[0], at, host[0], WIDTH));
    w[1] = NULL;
    ok(wait_for(1, 0.7));
    ck_assert_int_eq(wait_for(0.4, 5), CT_EBACKEND);
    names("rank 1 (two) is behind: it was waited for 0.4");
    end();
}
END_TEST

START_TEST(test_datagrams_of_others_are_none)
{
    ct_beat b = { .key = 7, .magic = MAGIC, .from = 1, .to = 0, .at = CT_AT_STEP, .text = "conv" }, out, bad;
    ck_assert(ct_beat_read(&b, sizeof b, 7, 0, 2, &out));
    ck_assert_str_eq(out.text, "conv");
    ck_assert(!ct_beat_read(&b, sizeof b - 1, 7, 0, 2, &out));
    ck_assert(!ct_beat_read(&b, sizeof b, 8, 0, 2, &out));
    ck_assert(!ct_beat_read(&b, sizeof b, 7, 1, 2, &out));
    ck_assert(!ct_beat_read(&b, sizeof b, 7, 0, 1, &out));
    bad = b, bad.magic++;
    ck_assert(!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out));
    bad = b, bad.from = 0;
    ck_assert(!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out));
    bad = b, bad.at = CT_AT_COUNT;
    ck_assert(!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out));
    bad = b, bad.over = 200;
    ck_assert(!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out));
    bad = b, memset(bad.text, 'x', sizeof bad.text);
    ck_assert(!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out));
    srand(1);
    for (int k = 0; k < 100000; k++) { /* what is taken is in bounds, whatever is changed */
        bad = b;
        for (int i = rand() % 8; i >= 0; i--) ((unsigned char *)&bad)[rand() % (int)sizeof bad] = (unsigned char)rand();
        if (!ct_beat_read(&bad, sizeof bad, 7, 0, 2, &out)) continue;
        ck_assert(out.from == 1 && out.at < CT_AT_COUNT && strlen(out.text) < CT_BEAT_WORDS && *ct_status_name((ct_status)out.over));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("watch");
    TCase *c = tcase_create("watch");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_one_that_stands_still_is_named_with_what_it_does);
    tcase_add_test(c, test_what_takes_its_time_alone_is_waited_for);
    tcase_add_test(c, test_one_that_is_not_heard_of_any_more_is_behind_whatever_it_did);
    tcase_add_test(c, test_all_that_wait_for_each_other_say_so);
    tcase_add_test(c, test_a_failure_of_one_is_that_of_those_who_wait);
    tcase_add_test(c, test_one_without_a_way_to_be_heard_has_the_deadline_of_the_call);
    tcase_add_test(c, test_datagrams_of_others_are_none);
    suite_add_tcase(s, c);
    return ct_check_main(s);
}
