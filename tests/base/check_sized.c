/* Structs that begin with their size, between a caller and a library that were built at different times. */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/sized.h"
#include "captrain.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

/* One struct in three versions. */
typedef struct before {
    size_t size;
    int64_t a;
} before;

typedef struct own {
    size_t size;
    int64_t a;
    const char *b;
    int64_t c;
} own;

typedef struct later {
    size_t size;
    int64_t a;
    const char *b;
    int64_t c;
    int64_t d;
    char e;
} later;

static const own full = { sizeof(own), -1, "rubbish", -1 };

/* ---- options: from the caller ---- */

START_TEST(take_same)
{
    own o = full;
    const own given = { sizeof given, 7, "text", 9 };
    ok(ct_sized_take(&o, sizeof o, &given, "opts"));
    ck_assert(o.size == sizeof o && o.a == 7 && o.b == given.b && o.c == 9);
}
END_TEST

/* An older caller: what it does not have is 0, whatever stood there. */
START_TEST(take_older)
{
    own o = full;
    const before given = { sizeof given, 7 };
    ok(ct_sized_take(&o, sizeof o, &given, "opts"));
    ck_assert(o.size == sizeof given && o.a == 7 && o.b == NULL && o.c == 0);
    o = full;
    const size_t none = sizeof none; /* the size and nothing else */
    ok(ct_sized_take(&o, sizeof o, &none, "opts"));
    ck_assert(o.size == sizeof none && o.a == 0 && o.b == NULL && o.c == 0);
}
END_TEST

/* A newer caller: fine as long as what we do not know is 0, to its last byte. */
START_TEST(take_newer)
{
    own o = full;
    later given;
    memset(&given, 0, sizeof given);
    given.size = sizeof given;
    given.a = 7;
    given.c = 9;
    ok(ct_sized_take(&o, sizeof o, &given, "opts"));
    ck_assert(o.a == 7 && o.b == NULL && o.c == 9);
    const size_t byte[] = { offsetof(later, d), offsetof(later, e), sizeof given - 1 };
    for (size_t i = 0; i < sizeof byte / sizeof *byte; i++) {
        o = full;
        ((char *)&given)[byte[i]] = 1;
        ck_assert_int_eq(ct_sized_take(&o, sizeof o, &given, "ct_some_opts"), CT_EINVAL);
        ck_message("ct_some_opts: the caller has ");
        ck_message("of a later version");
        ck_assert_mem_eq(&o, &full, sizeof o); /* nothing was taken */
        ((char *)&given)[byte[i]] = 0;
    }
    ok(ct_sized_take(&o, sizeof o, &given, "opts"));
}
END_TEST

START_TEST(take_without_size)
{
    own o = full, given = { 0, 7, NULL, 9 };
    ck_assert_int_eq(ct_sized_take(&o, sizeof o, NULL, "ct_some_opts"), CT_EINVAL);
    ck_message("ct_some_opts: a null pointer");
    ck_assert_int_eq(ct_sized_take(&o, sizeof o, &given, "ct_some_opts"), CT_EINVAL);
    ck_message("ct_some_opts: its member size is 0; it must be sizeof(ct_some_opts)");
    given.size = sizeof(size_t) - 1; /* less than the member itself */
    ck_assert_int_eq(ct_sized_take(&o, sizeof o, &given, "ct_some_opts"), CT_EINVAL);
    ck_assert_mem_eq(&o, &full, sizeof o);
}
END_TEST

/* ---- results: to the caller ---- */

START_TEST(give_same)
{
    const own result = { 0, 7, "text", 9 }; /* our size is never given */
    own to = full;
    ok(ct_sized_give(&to, &result, sizeof result, "result"));
    ck_assert(to.size == sizeof to && to.a == 7 && to.b == result.b && to.c == 9);
}
END_TEST

/* Not a byte behind what an older caller has. */
START_TEST(give_older)
{
    const own result = { sizeof result, 7, "text", 9 };
    own to = full;
    to.size = sizeof(before);
    ok(ct_sized_give(&to, &result, sizeof result, "result"));
    ck_assert(to.size == sizeof(before) && to.a == 7 && to.b == full.b && to.c == full.c);
    to = full;
    to.size = sizeof(size_t);
    ok(ct_sized_give(&to, &result, sizeof result, "result"));
    ck_assert(to.size == sizeof(size_t) && to.a == full.a && to.b == full.b && to.c == full.c);
}
END_TEST

/* What a newer caller has beyond ours stays as it was: zeroed, as it has to be. */
START_TEST(give_newer)
{
    const own result = { sizeof result, 7, "text", 9 };
    later to = { .size = sizeof to, .d = 5, .e = 'e' };
    ok(ct_sized_give(&to, &result, sizeof result, "result"));
    ck_assert(to.size == sizeof to && to.a == 7 && to.b == result.b && to.c == 9 && to.d == 5 && to.e == 'e');
}
END_TEST

START_TEST(give_without_size)
{
    const own result = { sizeof result, 7, "text", 9 };
    own to = { .a = 3 };
    ck_assert_int_eq(ct_sized_give(NULL, &result, sizeof result, "ct_some_result"), CT_EINVAL);
    ck_message("ct_some_result: a null pointer");
    ck_assert_int_eq(ct_sized_give(&to, &result, sizeof result, "ct_some_result"), CT_EINVAL);
    ck_message("ct_some_result: its member size is 0");
    ck_assert(to.size == 0 && to.a == 3 && to.b == NULL);
}
END_TEST

/* ---- the public interface ---- */

static void asks(ct_status got, const char *type)
{
    char want[80];
    snprintf(want, sizeof want, "%s: its member size is 0", type);
    ck_assert_int_eq(got, CT_EINVAL);
    ck_message(want);
}

/* Every verb that takes options asks for their size before anything else. */
START_TEST(verbs)
{
    const ct_train_opts train = { 0 };
    const ct_eval_opts eval = { 0 };
    const ct_predict_opts predict = { 0 };
    const ct_gen_opts gen = { 0 };
    const ct_check_opts check = { 0 };
    const ct_import_opts import = { 0 };
    const ct_export_opts export = { 0 };
    const ct_plan_opts plan = { 0 };
    const ct_bench_opts bench = { 0 };
    const ct_tune_opts tune = { 0 };
    const ct_profile_opts profile = { 0 };
    const ct_selftest_run_opts selftest = { 0 };
    const ct_monitor_opts monitor = { 0 };
    const ct_launch_opts launch = { 0 };
    int code;
    ct_train_result result = { .size = sizeof result };
    asks(ct_run_train(&train, &result), "ct_train_opts");
    asks(ct_run_eval(&eval, stdout), "ct_eval_opts");
    asks(ct_run_predict(&predict, stdout), "ct_predict_opts");
    asks(ct_run_gen(&gen, stdout), "ct_gen_opts");
    asks(ct_run_check(&check, stdout), "ct_check_opts");
    asks(ct_run_import(&import), "ct_import_opts");
    asks(ct_run_export(&export), "ct_export_opts");
    asks(ct_run_plan(&plan, stdout), "ct_plan_opts");
    asks(ct_run_bench(&bench, stdout), "ct_bench_opts");
    asks(ct_run_tune(&tune, stdout), "ct_tune_opts");
    asks(ct_run_profile(&profile, stdout), "ct_profile_opts");
    asks(ct_run_selftest(&selftest, stdout), "ct_selftest_run_opts");
    ct_compare_opts compare = { 0 };
    asks(ct_run_compare(&compare, stdout), "ct_compare_opts");
    ct_fit_style_opts fit = { 0 };
    asks(ct_run_fit_style(&fit, stdout), "ct_fit_style_opts");
    ct_race_opts race = { 0 };
    asks(ct_run_race(&race, stdout, &code), "ct_race_opts");
    asks(ct_run_monitor(&monitor, stdout), "ct_monitor_opts");
    asks(ct_run_launch(&launch, stdout, &code), "ct_launch_opts");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sized");
    TCase *t = tcase_create("sized");
    tcase_add_test(t, take_same);
    tcase_add_test(t, take_older);
    tcase_add_test(t, take_newer);
    tcase_add_test(t, take_without_size);
    tcase_add_test(t, give_same);
    tcase_add_test(t, give_older);
    tcase_add_test(t, give_newer);
    tcase_add_test(t, give_without_size);
    tcase_add_test(t, verbs);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
