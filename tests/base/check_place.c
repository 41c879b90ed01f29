/* Where what was installed lies after a move. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/place.h"
#include "tests/ct_check.h"

static void moved(const char *self, const char *home, const char *target, const char *want)
{
    char *got;
    ck_assert_int_eq(ct_place_moved(self, home, target, &got), CT_OK);
    if (!want) ck_assert_ptr_null(got);
    else {
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, want);
    }
    ct_free(got);
}

START_TEST(a_tree_moves_as_a_whole)
{
    moved("/usr/local/bin/captrain", "/usr/local/bin", "/usr/local/lib/captrain", "/usr/local/lib/captrain");
    moved("/opt/x/bin/captrain", "/usr/local/bin", "/usr/local/lib/captrain", "/opt/x/lib/captrain");
    moved("/opt/x/bin/captrain", "/usr/bin", "/usr/lib/x86_64-linux-gnu/captrain", "/opt/x/lib/x86_64-linux-gnu/captrain");
    moved("/tmp/d/usr/bin/captrain", "/usr/bin", "/usr/share/captrain", "/tmp/d/usr/share/captrain");
    moved("/bin/captrain", "/usr/bin", "/usr/lib/captrain", "/lib/captrain");
    /* the library: its plug-ins lie in a folder of its own */
    moved("/site/captrain/libcaptrain.so.1", "/usr/lib", "/usr/lib/captrain", "/site/captrain/captrain");
    moved("/opt/lib/libcaptrain.so.1", "/usr/lib", "/usr/share/captrain", "/opt/share/captrain");
    /* folders of other names say nothing, nor do parts of names */
    moved("/opt/tools/captrain", "/usr/local/bin", "/usr/local/lib/captrain", NULL);
    moved("/opt/sbin/captrain", "/usr/local/bin", "/usr/local/lib/captrain", NULL);
    moved("/captrain", "/usr/bin", "/usr/lib/captrain", NULL);
    moved("captrain", "/usr/bin", "/usr/lib/captrain", NULL);
    moved("/x/lib/l.so", "/usr/lib", "/usr/libexec/captrain", "/x/libexec/captrain");
}
END_TEST

START_TEST(this_program_is_found)
{
    char self[PATH_MAX], want[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", want, sizeof want - 1);
    ck_assert_int_gt((int)n, 0);
    want[n] = '\0';
    ck_assert(ct_place_self(self, sizeof self));
    ck_assert_str_eq(self, want);
    ck_assert(!ct_place_self(self, 4)); /* no room */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("place");
    TCase *t = tcase_create("moves");
    tcase_add_test(t, a_tree_moves_as_a_whole);
    tcase_add_test(t, this_program_is_found);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
