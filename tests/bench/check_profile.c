/* The verdicts of `captrain profile`, on times made up for them, and one profile of a real step. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench/profile.h"
#include "captrain.h"
#include "formats/json.h"
#include "tests/ct_check.h"

/* A step of 10 ms on a device of its own that computes all of it. */
static ct_profile_facts busy(void)
{
    return (ct_profile_facts){ .step = 10e-3,
                               .loader = 0.1e-3,
                               .copy = 1e-3,
                               .run = 10e-3,
                               .operators = 9.8e-3,
                               .memory = 3e-3,
                               .compute = 6.8e-3,
                               .far = true,
                               .overlaps = true,
                               .data = true,
                               .captures = true,
                               .full = true };
}

static void judged(const ct_profile_facts *f, ct_bound bound, const char *knob)
{
    ct_verdict v;
    ct_profile_judge(f, &v);
    ck_assert_msg(v.bound == bound, "%s instead of %s", ct_bound_name(v.bound), ct_bound_name(bound));
    ck_assert_msg(strncmp(v.knob, knob, strlen(knob)) == 0, "%s: '%s' instead of '%s'", ct_bound_name(bound), v.knob,
                  knob);
    ck_assert(v.why && *v.why);
    for (int b = 0; b < CT_BOUND_COUNT; b++) ck_assert(v.share[b] >= 0 && v.share[b] <= 1);
}

START_TEST(compute_and_memory)
{
    ct_profile_facts f = busy();
    judged(&f, CT_BOUND_COMPUTE, "train.precision: bf16");
    f.full = false;
    judged(&f, CT_BOUND_COMPUTE, "train.tune: auto");
    f.tuned = true;
    judged(&f, CT_BOUND_COMPUTE, "model.width");
    f.memory = 6.8e-3;
    f.compute = 3e-3;
    judged(&f, CT_BOUND_MEMORY, "model.width");
    f.tuned = false;
    judged(&f, CT_BOUND_MEMORY, "train.tune: auto");
    f.full = true;
    judged(&f, CT_BOUND_MEMORY, "train.precision: bf16");
    f.far = false; /* a CPU computes 16-bit types in 32 bits */
    judged(&f, CT_BOUND_MEMORY, "train.tune: auto");
}
END_TEST

START_TEST(two_measurements)
{
    ct_profile_facts f = busy();
    ck_assert(!ct_profile_disagrees(&f));
    f.operators = 12.6e-3;
    ck_assert(ct_profile_disagrees(&f));
    f.operators = 7e-3; /* what is missing went into queueing them */
    ck_assert(!ct_profile_disagrees(&f));
    f.far = false;
    ck_assert(ct_profile_disagrees(&f));
    f.operators = 9e-3;
    ck_assert(!ct_profile_disagrees(&f));
}
END_TEST

START_TEST(loader)
{
    ct_profile_facts f = busy();
    f.step = 30e-3;
    f.loader = 20e-3;
    judged(&f, CT_BOUND_LOADER, "train.workers");
    f.fresh = true;
    judged(&f, CT_BOUND_LOADER, "data.synth.fresh: false");
    f.fresh = false;
    f.step = 10e-3; /* it waits while the device is busy anyway */
    judged(&f, CT_BOUND_COMPUTE, "train.precision");
}
END_TEST

START_TEST(copy)
{
    ct_profile_facts f = busy();
    f.step = 25e-3;
    f.copy = 25e-3;
    judged(&f, CT_BOUND_COPY, "data.resident: true");
    f.resident = true;
    judged(&f, CT_BOUND_COPY, "train.batch_size");
    f.resident = f.data = false;
    judged(&f, CT_BOUND_COPY, "train.batch_size");
    f = busy();
    f.copy = 9e-3; /* hidden beside the step */
    judged(&f, CT_BOUND_COMPUTE, "train.precision");
    f.overlaps = false; /* one after the other */
    f.step = 19e-3;
    judged(&f, CT_BOUND_COPY, "data.resident: true");
}
END_TEST

START_TEST(launch)
{
    ct_profile_facts f = busy();
    f.operators = 2e-3;
    f.memory = 1.2e-3;
    f.compute = 0.8e-3;
    judged(&f, CT_BOUND_LAUNCH, "train.batch_size");
    f.eager = true;
    judged(&f, CT_BOUND_LAUNCH, "train.graph: true");
    f.captures = false;
    judged(&f, CT_BOUND_LAUNCH, "train.batch_size");
}
END_TEST

START_TEST(communication)
{
    ct_profile_facts f = busy();
    f.step = f.run = 30e-3;
    f.communication = 20e-3;
    judged(&f, CT_BOUND_COMMUNICATION, "train.accumulate");
}
END_TEST

/* Shares are of the step, and what cannot be is held within it. */
START_TEST(shares)
{
    ct_profile_facts f = busy();
    ct_verdict v;
    ct_profile_judge(&f, &v);
    ck_assert_double_eq_tol(v.share[CT_BOUND_COMPUTE], 0.68, 1e-9);
    ck_assert_double_eq_tol(v.share[CT_BOUND_MEMORY], 0.3, 1e-9);
    ck_assert_double_eq_tol(v.share[CT_BOUND_LAUNCH], 0.02, 1e-9);
    ck_assert_double_eq(v.share[CT_BOUND_LOADER], 0);
    f.step = 0;
    ct_profile_judge(&f, &v);
    for (int b = 0; b < CT_BOUND_COUNT; b++) ck_assert(v.share[b] >= 0 && v.share[b] <= 1);
    ck_assert_str_eq(ct_bound_name(CT_BOUND_COUNT), "?");
}
END_TEST

/* ---- a real one ---- */

static json_t *profiled(const ct_profile_opts *o)
{
    FILE *to = tmpfile();
    ck_assert_ptr_nonnull(to);
    ct_set_verbosity(0);
    ck_assert_msg(ct_run_profile(o, to) == CT_OK, "%s", ct_error_message());
    rewind(to);
    json_t *root = json_loadf(to, 0, NULL);
    fclose(to);
    ck_assert_ptr_nonnull(root);
    return root;
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    ck_assert_msg(json_is_number(v), "%s is no number", key);
    return json_number_value(v);
}

static void consistent(const json_t *o)
{
    double sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(o, "calls"), i, row)
    {
        sum += number(row, "ms");
        ck_assert(number(row, "gb_per_s") > 0);
    }
    ck_assert_uint_gt(json_array_size(json_object_get(o, "calls")), json_array_size(json_object_get(o, "ops")));
    ck_assert_double_eq_tol(sum, number(o, "ms_operators"), 1e-6 * sum + 1e-9);
    ck_assert(number(o, "ms_step") > 0 && number(o, "ms_run") > 0 && number(o, "peak_gb_per_s") > 0);
    ck_assert_double_eq(number(o, "ms_communication"), 0);
    ck_assert(json_is_string(json_object_get(o, "knob")));
    const char *bound = json_string_value(json_object_get(o, "bound"));
    const json_t *share = json_object_get(o, "share");
    for (int b = 0; b < CT_BOUND_COUNT; b++)
        ck_assert(number(share, ct_bound_name((ct_bound)b)) <= number(share, bound));
}

START_TEST(of_a_model)
{
    const ct_profile_opts o = {
        .size = sizeof o, .common = { "cpu", 1 }, .model = "textcnn-small", .batch = 4, .steps = 2, .json = true
    };
    json_t *p = profiled(&o);
    consistent(p);
    ck_assert(json_is_null(json_object_get(p, "ms_loader")));
    json_decref(p);
}
END_TEST

/* Of a configuration, accumulating, with a short last group: 11 batches in groups of 3. */
START_TEST(of_a_configuration)
{
    static const char *const sets[] = { "model.name=textcnn-small", "model.width=0.25",
                                        "data.height=16",           "data.width=40",
                                        "data.charset=0123",        "data.synth.count=44",
                                        "data.synth.val_count=4",   "data.synth.length=2",
                                        "train.batch_size=4",       "train.workers=0",
                                        "schedule.warmup_epochs=0", "data.cache=false",
                                        "optimizer.ema_decay=0",    NULL };
    const char *all[20];
    size_t n = 0;
    for (; sets[n]; n++) all[n] = sets[n];
    if (_i == 1) all[n++] = "train.accumulate=3";
    if (_i == 2) all[n++] = "data.resident=true";
    const ct_profile_opts o = {
        .size = sizeof o, .common = { "cpu", 1 }, .sets = all, .nsets = n, .steps = 5, .json = true
    };
    json_t *p = profiled(&o);
    consistent(p);
    ck_assert(number(p, "ms_loader") >= 0);
    ck_assert_int_eq((int)number(p, "accumulate"), _i == 1 ? 3 : 1);
    ck_assert_int_eq(json_is_true(json_object_get(p, "resident")), _i == 2);
    json_decref(p);
}
END_TEST

START_TEST(refused)
{
    const char *set = "train.epochs=1";
    ct_profile_opts o = { .size = sizeof o, .model = "textcnn", .sets = &set, .nsets = 1 };
    ck_assert_int_eq(ct_run_profile(&o, stdout), CT_ECONFIG);
    o = (ct_profile_opts){ .size = sizeof(ct_profile_opts), .batch = 4 };
    ck_assert_int_eq(ct_run_profile(&o, stdout), CT_ECONFIG);
    o = (ct_profile_opts){ .size = sizeof(ct_profile_opts), .model = "nonsense" };
    ck_assert_int_eq(ct_run_profile(&o, stdout), CT_ECONFIG);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("profile");
    TCase *t = tcase_create("verdicts");
    tcase_add_test(t, compute_and_memory);
    tcase_add_test(t, two_measurements);
    tcase_add_test(t, loader);
    tcase_add_test(t, copy);
    tcase_add_test(t, launch);
    tcase_add_test(t, communication);
    tcase_add_test(t, shares);
    suite_add_tcase(s, t);
    t = tcase_create("profiles");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, of_a_model);
    tcase_add_loop_test(t, of_a_configuration, 0, 3);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
