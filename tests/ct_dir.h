/* A directory of a test's own: tcase_add_checked_fixture(t, ct_dir_make, ct_dir_remove), or a call of each. */
#ifndef CT_TESTS_CT_DIR_H
#define CT_TESTS_CT_DIR_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[32];

static inline void ct_dir_make(void)
{
    strcpy(dir, "/tmp/captrain-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static inline void ct_dir_remove(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

/* A path in it; static storage for two. */
static inline const char *in_dir(const char *name)
{
    static char buf[2][128];
    static int k;
    k = !k;
    snprintf(buf[k], sizeof buf[k], "%s/%s", dir, name);
    return buf[k];
}

#endif
