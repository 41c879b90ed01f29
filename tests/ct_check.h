/* Runner of the unit test programs: `int main(void) { return ct_check_main(my_suite()); }`. */
#ifndef CT_TESTS_CT_CHECK_H
#define CT_TESTS_CT_CHECK_H

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* Runs the suite and frees it. libcheck's own variables work: CK_RUN_SUITE and CK_RUN_CASE choose, CK_FORK=no runs in one
 * process (for a debugger), CK_VERBOSITY=verbose lists every test. Returns 0 if all tests passed and there was at least one,
 * else 1. */
static inline int ct_check_main(Suite *s)
{
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (run == 0 && !getenv("CK_RUN_SUITE") && !getenv("CK_RUN_CASE")) {
        fputs("no test was run\n", stderr);
        return 1;
    }
    return failed == 0 ? 0 : 1;
}

/* The source and build directories; tests run by hand may leave the variables unset. */
static inline const char *ct_check_srcdir(void)
{
    const char *s = getenv("CT_SRCDIR");
    return s ? s : ".";
}

static inline const char *ct_check_builddir(void)
{
    const char *s = getenv("CT_BUILDDIR");
    return s ? s : ".";
}

/* Makes a file as one that was last changed so many seconds ago. */
static inline void ct_check_age(const char *path, double seconds)
{
    struct timespec t[2];
    clock_gettime(CLOCK_REALTIME, &t[1]);
    t[1].tv_sec -= (time_t)seconds;
    t[0] = t[1];
    ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

#endif
