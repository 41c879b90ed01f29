/* standardize by the reference and by the kernels of every instruction set: against PyTorch (values in ref_values.h), and what
 * models rely on: nothing is left of a constant picture, faint pictures look like strong ones, samples do not touch each other. */
#include "config.h"

#include <string.h>

#include "backends/cpu/cpu.h"
#include "exec/exec.h"
#include "tests/ct_check.h"
#include "tests/harness/ref_fixture.h"
#include "tests/harness/ref_values.h"

static const ct_dtype types[] = { CT_F64, CT_F32, CT_BF16, CT_F16 };

/* Who computes: 0 is the reference, then the sets this processor can run. */
static int ways(const ct_kern *kern[4])
{
    const ct_kern *best = ct_kern_best();
    int n = 0;
    kern[n++] = NULL;
    kern[n++] = &ct_kern_base;
    if (best == &ct_kern_avx512) kern[n++] = &ct_kern_avx2;
    if (best != &ct_kern_base) kern[n++] = best;
    return n;
}

/* Runs c with these kernels, NULL: with the reference; false: not of this type. */
static bool run_with(const ct_kern *kern, const ct_call *c)
{
    if (!kern) {
        run(c);
        return true;
    }
    ct_device dev = { .threads = 1, .kern = kern };
    const ct_impl *m = ct_impl_next(&ct_backend_cpu, c->op, NULL);
    ck_assert_str_eq(m->name, "cpu.vector");
    if (!m->accept(&dev, c).ok) return false;
    ck_assert_msg(m->run(&dev, NULL, c, NULL) == CT_OK, "%s", ct_error_message());
    return true;
}

static ct_call make_of(ct_dtype type, const char *dims, const char *op, const char *more)
{
    char text[200];
    snprintf(text, sizeof text, "%s(%s%s%s", op, ct_dtype_name(type), dims, more);
    return make(text);
}

static void assert_within(double got, double want, double by, const char *who, const char *what)
{
    ck_assert_msg(fabs(got - want) <= by * (1 + fabs(want)), "%s: %s is %.17g, should be %.17g", who, what, got, want);
}

START_TEST(test_against_torch)
{
    const ct_kern *kern[4];
    const int n = ways(kern);
    for (int way = 0; way < n; way++)
        for (int t = 0; t < 2; t++) {
            const char *who = kern[way] ? kern[way]->name : "ref";
            const double by = types[t] == CT_F64 ? RELATIVE : 5e-6;
            ct_call f = make_of(types[t], "[3,4,5,2]", "standardize{eps=1e-5}", ")");
            ct_call b = make(t == 0 ? "standardize_bwd(f64[3,4,5,2], f64[3,4,5,2], f64[3])"
                                    : "standardize_bwd(f32[3,4,5,2], f32[3,4,5,2], f32[3])");
            if (run_with(kern[way], &f)) {
                assert_within(project(&f.out[0]), standardize_values[0], by, who, "y");
                assert_within(project(&f.out[1]), standardize_values[1], by, who, "invstd");
                fill(&b.in[0], 1);
                for (int k = 0; k < 2; k++)
                    memcpy(b.in[1 + k].data, f.out[k].data, ct_desc_bytes(&f.out[k].desc));
                ck_assert(run_with(kern[way], &b));
                assert_within(project(&b.out[0]), standardize_values[2], by, who, "dx");
            }
            ct_host_free(&f);
            ct_host_free(&b);
        }
}
END_TEST

/* Whatever its value, and with whatever rounding a mean of it would have. */
START_TEST(test_constant_pictures)
{
    static const double value[4] = { 0.1, -3.3, 254.7, 60000 };
    const ct_kern *kern[4];
    const int n = ways(kern);
    for (int way = 0; way < n; way++)
        for (int t = 0; t < 4; t++) {
            ct_call f = make_of(types[t], "[4,37,61,3]", "standardize{eps=1e-5}", ")");
            const int64_t all = ct_desc_numel(&f.in[0].desc);
            for (int64_t i = 0; i < all; i++) ct_store(types[t], f.in[0].data, i, value[i / (all / 4)]);
            if (run_with(kern[way], &f)) {
                for (int64_t i = 0; i < all; i++) ck_assert(ct_load(types[t], f.out[0].data, i) == 0);
                for (int m = 0; m < 4; m++)
                    assert_within(ct_load(f.out[1].desc.dtype, f.out[1].data, m), 1 / sqrt(1e-5), 1e-6, "constant", "invstd");
            }
            ct_host_free(&f);
        }
}
END_TEST

/* A picture between 0.70 and 0.73 comes out as the same between -1 and 2 does, but for the share of eps in its variance. */
START_TEST(test_faint_pictures)
{
    const ct_kern *kern[4];
    const int n = ways(kern);
    for (int way = 0; way < n; way++) {
        ct_call f = make("standardize{eps=1e-12}(f32[2,60,160,1])");
        float *x = f.in[0].data, *y = f.out[0].data;
        double sum = 0, square = 0;
        for (int i = 0; i < 9600; i++) {
            const double v = (double)((i * 7919) % 1000) / 1000;
            x[i] = (float)(0.70 + 0.03 * v);
            x[9600 + i] = (float)(-1 + 3 * v);
        }
        ck_assert(run_with(kern[way], &f));
        for (int i = 0; i < 9600; i++) {
            ck_assert_msg(fabs((double)y[i] - (double)y[9600 + i]) < 2e-5, "%g and %g", (double)y[i], (double)y[9600 + i]);
            sum += (double)y[i];
            square += (double)y[i] * (double)y[i];
        }
        assert_within(sum / 9600, 0, 1e-6, "faint", "mean");
        assert_within(square / 9600, 1, 1e-6, "faint", "variance");
        ct_host_free(&f);
    }
}
END_TEST

/* A sample with a NaN or an infinity is lost; the others keep every bit. */
START_TEST(test_samples_alone)
{
    const ct_kern *kern[4];
    const int n = ways(kern);
    for (int way = 0; way < n; way++)
        for (int kind = 0; kind < 2; kind++) {
            ct_call a = make("standardize{eps=1e-5}(f32[3,9,23,1])"), b = make("standardize{eps=1e-5}(f32[3,9,23,1])");
            const float *ya = a.out[0].data, *yb = b.out[0].data;
            ((float *)b.in[0].data)[207 + 100] = kind ? INFINITY : NAN;
            ck_assert(run_with(kern[way], &a) && run_with(kern[way], &b));
            for (int i = 0; i < 207; i++) ck_assert(isnan(yb[207 + i]));
            ck_assert_mem_eq(ya, yb, 207 * sizeof *ya);
            ck_assert_mem_eq(ya + 414, yb + 414, 207 * sizeof *ya);
            ct_host_free(&a);
            ct_host_free(&b);
        }
}
END_TEST

/* y may lie on x and dx on dy. */
START_TEST(test_in_place)
{
    const ct_kern *kern[4];
    const int n = ways(kern);
    for (int way = 0; way < n; way++)
        for (int t = 1; t < 4; t++) {
            ct_call f = make_of(types[t], "[2,41,67,1]", "standardize{eps=1e-5}", ")"), g = f;
            const size_t bytes = ct_desc_bytes(&f.in[0].desc);
            ck_assert(run_with(kern[way], &f));
            g.out[0].data = f.in[0].data;
            ck_assert(run_with(kern[way], &g));
            ck_assert_mem_eq(f.in[0].data, f.out[0].data, bytes);
            ct_call b = make_of(types[t], "[2,41,67,1]", "standardize_bwd",
                                types[t] == CT_F32    ? ", f32[2,41,67,1], f32[2])"
                                : types[t] == CT_BF16 ? ", bf16[2,41,67,1], f32[2])"
                                                      : ", f16[2,41,67,1], f32[2])");
            ct_call c = b;
            ck_assert(run_with(kern[way], &b));
            c.out[0].data = b.in[0].data;
            ck_assert(run_with(kern[way], &c));
            ck_assert_mem_eq(b.in[0].data, b.out[0].data, bytes);
            ct_host_free(&f);
            ct_host_free(&b);
        }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("standardize");
    tcase_add_test(t, test_against_torch);
    tcase_add_test(t, test_constant_pictures);
    tcase_add_test(t, test_faint_pictures);
    tcase_add_test(t, test_samples_alone);
    tcase_add_test(t, test_in_place);
    Suite *s = suite_create("standardize");
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
