/* How engines are found, loaded and refused. Each test has a process of its own: an engine is loaded once. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "exec/engine.h"
#include "tests/ct_check.h"

static const ct_engine *engine;

static void says(ct_status st, const char *part)
{
    ck_assert_msg(st == CT_EBACKEND, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in '%s'", part, ct_error_message());
    ck_assert_ptr_null(engine);
}

static void look_in(const char *kind)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/plugins/%s/.libs", ct_check_builddir(), kind);
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
}

START_TEST(good)
{
    const ct_engine *again;
    look_in("good");
    ck_assert_msg(ct_engine_open("mpi", &engine) == CT_OK, "%s", ct_error_message());
    ck_assert_str_eq(engine->library, "test library 1.0");
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1); /* what was loaded stays */
    ck_assert_int_eq(ct_engine_open("mpi", &again), CT_OK);
    ck_assert_ptr_eq(again, engine);
}
END_TEST

START_TEST(refused)
{
    static const char *const want[][2] = {
        { "abi", "was built for another captrain (plug-in ABI" },
        { "refuses", "captrain-mpi.so: it was built for Other MPI 3" },
        { "nosymbol", "has no symbol ct_engine_entry: it is not a captrain plug-in" },
        { "lacks", "engine mpi: a member of its groups' table is NULL" },
    };
    look_in(want[_i][0]);
    says(ct_engine_open("mpi", &engine), want[_i][1]);
}
END_TEST

START_TEST(not_there)
{
    setenv("CAPTRAIN_BACKEND_PATH", "/nonexistent", 1);
    says(ct_engine_open("ipm", &engine), "there is no engine 'ipm'; the names are mpi");
    if (ct_path_exists(CT_PKGLIBDIR "/captrain-mpi.so")) return; /* one is installed */
    says(ct_engine_open("mpi", &engine), "engine mpi: no plug-in captrain-mpi.so in /nonexistent or " CT_PKGLIBDIR
                                         "; ./configure --with-mpi builds it");
}
END_TEST

START_TEST(no_library)
{
    char folder[] = "/tmp/ct_engine_XXXXXX", file[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/captrain-mpi.so", folder);
    ck_assert_int_eq(ct_file_write_atomic(file, "no library", 10), CT_OK);
    setenv("CAPTRAIN_BACKEND_PATH", folder, 1);
    says(ct_engine_open("mpi", &engine), "captrain-mpi.so cannot be loaded: ");
    remove(file);
    remove(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("loading");
    tcase_add_test(t, good);
    tcase_add_loop_test(t, refused, 0, 4);
    tcase_add_test(t, not_there);
    tcase_add_test(t, no_library);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
