/* Where a program that was not installed looks for its plug-ins. Its build tree is tests/exec here, and its plug-in says "test device". */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "exec/exec.h"
#include "tests/ct_check.h"

static char folder[64];

/* Loads backend cuda; the message, "" for none. */
static const char *load(void)
{
    const ct_backend *b;
    return ct_backend_load("cuda", &b) == CT_OK ? "" : ct_error_message();
}

/* A folder to work in, with a captrain-cuda.so in it and in its .libs that is no library: whoever tries it says so. */
static void go_astray(void)
{
    char file[128];
    snprintf(folder, sizeof folder, "/tmp/ct_tree_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(ct_mkdir_p(".libs"), CT_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/%scaptrain-cuda.so", folder, i ? ".libs/" : "");
        ck_assert_int_eq(ct_file_write_atomic(file, "no library", 10), CT_OK);
    }
}

static void come_back(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

/* The one beside it, never what lies in the working directory. */
START_TEST(beside)
{
    unsetenv("CAPTRAIN_BACKEND_PATH");
    go_astray();
    ck_assert_str_eq(load(), "");
    come_back();
}
END_TEST

/* CAPTRAIN_BACKEND_PATH says otherwise. */
START_TEST(told_otherwise)
{
    go_astray();
    setenv("CAPTRAIN_BACKEND_PATH", folder, 1);
    ck_assert_ptr_nonnull(strstr(load(), "captrain-cuda.so cannot be loaded"));
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1);
    ck_assert_ptr_nonnull(strstr(load(), "no plug-in captrain-cuda.so in /nonexistent or /"));
    ck_assert_ptr_null(strstr(load(), "tests/exec"));
    come_back();
}
END_TEST

/* A copy outside of the build tree, as an installed one is, looks where it is installed alone. */
START_TEST(copied_away)
{
    char self[4096], command[8400];
    unsetenv("CAPTRAIN_BACKEND_PATH");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = '\0';
    go_astray();
    snprintf(command, sizeof command, "cp %s %s/copy && %s/copy load > %s/said", self, folder, folder, folder);
    ck_assert_int_eq(system(command), 0);
    uint8_t *text;
    size_t size;
    ck_assert_int_eq(ct_file_read("said", 4096, &text, &size), CT_OK);
    const char *said = (const char *)text;
    ck_assert_msg(strstr(said, "no plug-in captrain-cuda.so in /") != NULL && !strstr(said, "tests/exec") && !strstr(said, folder), "%s", said);
    ct_free(text);
    come_back();
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "load") == 0) return puts(load()) < 0;
    Suite *s = suite_create("build tree");
    TCase *t = tcase_create("build tree"); /* each in a process of its own: a backend is loaded once */
    tcase_add_test(t, beside);
    tcase_add_test(t, told_otherwise);
    tcase_add_test(t, copied_away);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
