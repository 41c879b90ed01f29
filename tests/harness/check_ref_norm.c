/* The reference of the norm family against PyTorch (values in ref_values.h), and what PyTorch has no value for. */
#include "config.h"

#include <string.h>

#include "tests/ct_check.h"
#include "tests/harness/ref_fixture.h"
#include "tests/harness/ref_values.h"

/* The inputs of a batch norm's test: gamma near 1, the running variance positive. */
static ct_call make_norm(const char *text)
{
    ct_call f = make(text);
    double *gamma = f.in[1].data, *var = f.in[4].data;
    for (int c = 0; c < 5; c++) {
        gamma[c] = 1 + gamma[c] / 4;
        var[c] = var[c] * var[c] + 0.5;
    }
    return f;
}

/* Fills inputs of a call from tensors of others; NULL: it has that input already, or has none. */
static void take(const ct_call *c, int first, const ct_tensor *const *from, int n)
{
    for (int k = 0; k < n; k++)
        if (from[k]) memcpy(c->in[first + k].data, from[k]->data, ct_desc_bytes(&from[k]->desc));
}

static void assert_gradients(const ct_call *b, const double *want)
{
    static const char *const names[4] = { "dx", "dgamma", "dbeta", "dadd" };
    for (int o = 0; o < 4; o++) assert_near(project(&b->out[o]), want[o], names[o]);
}

START_TEST(test_batchnorm_against_torch)
{
    ct_call f = make_norm("batchnorm{eps=1e-5 momentum=0.1 act=1 update_stats=1}"
                          "(f64[4,3,2,5], f64[5], f64[5], f64[5], f64[5], f64[4,3,2,5])");
    run(&f);
    assert_near(project(&f.out[0]), bn_values[0], "y");
    assert_near(project(&f.in[3]), bn_values[1], "run_mean");
    assert_near(project(&f.in[4]), bn_values[2], "run_var");
    ct_call b =
        make("batchnorm_bwd{act=1 has_add=1}(f64[4,3,2,5], f64[4,3,2,5], f64[5], f64[5], f64[5], u8[4,3,2,1])");
    take(&b, 1, (const ct_tensor *[]){ &f.in[0], &f.in[1], &f.out[1], &f.out[2], &f.out[3] }, 5);
    run(&b);
    assert_gradients(&b, bn_values + 3);
    ct_call i = make("batchnorm_infer{eps=1e-5 act=1}(f64[4,3,2,5], f64[5], f64[5], f64[5], f64[5], f64[4,3,2,5])");
    for (int k = 0; k < 6; k++) memcpy(i.in[k].data, f.in[k].data, ct_desc_bytes(&f.in[k].desc));
    run(&i);
    assert_near(project(&i.out[0]), bn_values[7], "inference");
    ct_host_free(&f);
    ct_host_free(&b);
    ct_host_free(&i);
}
END_TEST

START_TEST(test_batchnorm_silu_against_torch)
{
    ct_call f = make_norm("batchnorm{eps=1e-5 momentum=0.1 act=2 update_stats=1}"
                          "(f64[4,3,2,5], f64[5], f64[5], f64[5], f64[5], f64[4,3,2,5])");
    run(&f);
    assert_near(project(&f.out[0]), bn_silu_values[0], "y");
    ct_call b = make("batchnorm_bwd{act=2 has_add=1}"
                     "(f64[4,3,2,5], f64[4,3,2,5], f64[5], f64[5], f64[5], -, f64[5], f64[4,3,2,5])");
    take(&b, 1, (const ct_tensor *[]){ &f.in[0], &f.in[1], &f.out[1], &f.out[2], NULL, &f.in[2], &f.in[5] }, 7);
    run(&b);
    assert_gradients(&b, bn_silu_values + 1);
    ct_call i = make("batchnorm_infer{eps=1e-5 act=2}(f64[4,3,2,5], f64[5], f64[5], f64[5], f64[5], f64[4,3,2,5])");
    for (int k = 0; k < 6; k++) memcpy(i.in[k].data, f.in[k].data, ct_desc_bytes(&f.in[k].desc));
    run(&i);
    assert_near(project(&i.out[0]), bn_silu_values[5], "inference");
    ct_host_free(&f);
    ct_host_free(&b);
    ct_host_free(&i);
}
END_TEST

/* A vector of zeros stays one, and below the least length dx is dy over that. */
START_TEST(test_l2_normalize_of_nothing)
{
    ct_call f = make("l2_normalize(f64[2,3])");
    ct_call b = make("l2_normalize_bwd(f64[2,3], f64[2,3])");
    for (int c = 0; c < 6; c++) ((double *)f.in[0].data)[c] = c < 3 ? 0 : 1e-13;
    memcpy(b.in[1].data, f.in[0].data, 6 * sizeof(double));
    run(&f);
    run(&b);
    for (int c = 0; c < 6; c++) {
        assert_near(((double *)f.out[0].data)[c], c < 3 ? 0 : 0.1, "y");
        assert_near(((double *)b.out[0].data)[c], element(0, c) * 1e12, "dx");
    }
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

/* update_stats=0 gives the same y and leaves the running statistics alone. */
START_TEST(test_batchnorm_without_update)
{
    ct_call a = make("batchnorm{eps=1e-5 momentum=0.1 update_stats=1}(f64[6,5], f64[5], f64[5], f64[5], f64[5])");
    ct_call b = make("batchnorm{eps=1e-5 momentum=0.1}(f64[6,5], f64[5], f64[5], f64[5], f64[5])");
    run(&a);
    run(&b);
    ck_assert_mem_eq(a.out[0].data, b.out[0].data, 30 * sizeof(double));
    for (int c = 0; c < 5; c++) {
        ck_assert(((double *)b.in[3].data)[c] == element(3, c));
        ck_assert(((double *)b.in[4].data)[c] == element(4, c));
    }
    ck_assert_mem_ne(a.in[3].data, b.in[3].data, 5 * sizeof(double));
    ct_host_free(&a);
    ct_host_free(&b);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("norm");
    tcase_add_test(t, test_batchnorm_against_torch);
    tcase_add_test(t, test_batchnorm_silu_against_torch);
    tcase_add_test(t, test_batchnorm_without_update);
    tcase_add_test(t, test_l2_normalize_of_nothing);
    Suite *s = suite_create("reference of norms");
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
