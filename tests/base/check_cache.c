/* The cache's bound: what goes, what stays, and what is nobody's business. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/log.h"
#include "tests/ct_check.h"
#include "tests/ct_dir.h"

#define KEY "0123456789abcdef0123456789abcde"
#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static char said[512];

static void hear(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    snprintf(said, sizeof said, "%s", text);
}

/* A file of 1000 bytes that has not been used for so many hours. */
static void make(const char *name, double hours)
{
    static const char zeros[1000];
    ok(ct_file_write_atomic(in_dir(name), zeros, sizeof zeros));
    ct_check_age(in_dir(name), hours * 3600);
}

static bool there(const char *name) { return ct_path_exists(in_dir(name)); }

static ct_status trim(void)
{
    const ct_log_sink sink = { hear, NULL, CT_LOG_INFO }, *before = ct_log_redirect(&sink);
    said[0] = '\0';
    const ct_status st = ct_cache_trim(dir, ".pack");
    ct_log_redirect(before);
    return st;
}

START_TEST(longest_unused_first)
{
    setenv("CAPTRAIN_CACHE_GB", "2.5e-6", 1);
    make(KEY "0.pack", 30);
    make(KEY "1.pack", 50);
    make(KEY "2.files.pack", 40);
    make(KEY "3.pack", 1);
    ck_assert_int_eq(ct_cache_bytes(dir, ".pack"), 4000);
    ok(trim());
    ck_assert(there(KEY "0.pack") && !there(KEY "1.pack") && !there(KEY "2.files.pack") && there(KEY "3.pack"));
    ck_assert_msg(strncmp(said, "cache: 2 files (2.00 kB) that had not been used for a day removed from ", 70) == 0 &&
                  strstr(said, ", which keeps 2.50 kB (CAPTRAIN_CACHE_GB)"), "%s", said);
    ok(trim()); /* it is small enough */
    ck_assert(there(KEY "0.pack") && there(KEY "3.pack"));
    ck_assert_str_eq(said, "");
    setenv("CAPTRAIN_CACHE_GB", "1e-6", 1);
    ct_cache_used(in_dir(KEY "0.pack"));
    ok(trim()); /* it is not, but both have been used since yesterday */
    ck_assert(there(KEY "0.pack") && there(KEY "3.pack"));
    setenv("CAPTRAIN_CACHE_GB", "0", 1);
    make(KEY "3.pack", 300);
    ok(trim()); /* there is no limit */
    ck_assert(there(KEY "3.pack"));
    unsetenv("CAPTRAIN_CACHE_GB");
    ok(trim()); /* there is one that is far away */
    ck_assert(there(KEY "3.pack"));
}
END_TEST

/* A folder may have other files in it, and half-written ones are removed whatever the limit. */
START_TEST(only_ours)
{
    static const char *const others[] = { KEY "0.png", KEY "0.pack.lock", KEY ".pack", KEY "00.pack", KEY "0.pack.tmp.", "notes.pack", KEY "0.pack.tmp.7x",
                                          KEY "A.pack" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) make(others[i], 1000);
    make(KEY "0.pack.tmp.77", 30);
    make(KEY "1.pack.tmp.78", 1);
    make(KEY "2.pack", 30);
    ck_assert_int_eq(mkdir(in_dir(KEY "4.pack"), 0700), 0);
    setenv("CAPTRAIN_CACHE_GB", "0", 1);
    ok(trim());
    ck_assert(!there(KEY "0.pack.tmp.77") && there(KEY "1.pack.tmp.78") && there(KEY "2.pack"));
    ck_assert_msg(strstr(said, ", which keeps everything"), "%s", said);
    setenv("CAPTRAIN_CACHE_GB", "1e-9", 1);
    ok(trim());
    ck_assert(!there(KEY "2.pack") && there(KEY "4.pack"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) ck_assert_msg(there(others[i]), "%s", others[i]);
    ok(ct_cache_trim("/nonexistent", ".pack"));
    ck_assert_int_eq(ct_cache_bytes("/nonexistent", ".pack"), 0);
}
END_TEST

START_TEST(bad_limits)
{
    static const char *const bad[] = { "-1", "many", "1 GB", "nan", "inf", "1e300" };
    int64_t most;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("CAPTRAIN_CACHE_GB", bad[i], 1);
        ck_assert_int_eq(ct_cache_most(&most), CT_ECONFIG);
        ck_assert_int_eq(trim(), CT_ECONFIG);
    }
    ck_assert_str_eq(ct_error_message(), "CAPTRAIN_CACHE_GB: wants gigabytes, 0 for no limit (got '1e300')");
    setenv("CAPTRAIN_CACHE_GB", "0.5", 1);
    ok(ct_cache_most(&most));
    ck_assert_int_eq(most, 500000000);
    unsetenv("CAPTRAIN_CACHE_GB");
    ok(ct_cache_most(&most));
    ck_assert_int_eq(most, 20000000000);
}
END_TEST

/* Every allocation may fail. */
START_TEST(no_memory)
{
    setenv("CAPTRAIN_CACHE_GB", "0", 1);
    for (int i = 0; i < 20; i++) {
        char name[48];
        snprintf(name, sizeof name, "%031x0.pack", i);
        make(name, 30);
    }
    ct_status st = CT_ENOMEM;
    int n = 0;
    for (; n < 100 && st == CT_ENOMEM; n++) {
        ct_alloc_fail_after(n);
        st = ct_cache_trim(dir, ".pack");
    }
    ct_alloc_fail_after(-1);
    ok(st);
    ck_assert_int_gt(n, 10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache");
    TCase *t = tcase_create("bound");
    tcase_add_checked_fixture(t, ct_dir_make, ct_dir_remove);
    tcase_add_test(t, longest_unused_first);
    tcase_add_test(t, only_ours);
    tcase_add_test(t, bad_limits);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
