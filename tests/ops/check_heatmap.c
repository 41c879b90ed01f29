/* The losses on maps of cells: the reference against PyTorch (values in heatmap_values.h, made by
 * make_heatmap_values.py), and what PyTorch has no value for: what nothing counts in, what is not looked at, bounds and
 * ties. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "harness/harness_priv.h"
#include "tests/ct_check.h"
#include "tests/ops/heatmap_values.h"

#define RELATIVE 1e-12
#define FOCAL "{alpha=1.5 beta=4 threshold=0.8 eps=0.05}"
#define FOCAL_BWD "heat_focal_bwd" FOCAL "(f64[3,5,6,2], f64[3,5,6,2], f64[3,5,6], f64[2], f64[1])"
#define ROWS "{stride=4 tau=0.7 eps=0.01}"

static double share(int k, int64_t i) { return (double)((37 * i + 11 * k) % 29) / 28; }

/* A call with room for all tensors, inputs 0. */
static ct_call make(const char *text)
{
    ct_call c;
    ck_assert_msg(ct_call_parse(text, &c) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_host_alloc(&c), CT_OK);
    for (int i = 0; i < c.nin; i++)
        if (ct_present(&c.in[i])) memset(c.in[i].data, 0, ct_desc_bytes(&c.in[i].desc));
    return c;
}

static double *numbers(const ct_call *c, int i) { return c->in[i].data; }
static double result(const ct_call *c, int o, int64_t i) { return ((const double *)c->out[o].data)[i]; }

/* Input i = factor * share(k) + shift. */
static void fill(const ct_call *c, int i, int k, double factor, double shift)
{
    for (int64_t e = 0; e < ct_desc_numel(&c->in[i].desc); e++) numbers(c, i)[e] = factor * share(k, e) + shift;
}

static void set(const ct_call *c, int i, double v) { fill(c, i, 0, 0, v); }

static void run(const ct_call *c) { ck_assert_msg(ct_reference_run(c) == CT_OK, "%s", ct_error_message()); }

/* `text` is the gradient of f, whose first inputs it takes over; input `from` is f's output `output`. */
static ct_call make_backward(const char *text, const ct_call *f, int inputs, int output)
{
    ct_call b = make(text);
    for (int i = 0; i < inputs; i++) memcpy(b.in[i].data, f->in[i].data, ct_desc_bytes(&f->in[i].desc));
    memcpy(b.in[inputs].data, f->out[output].data, ct_desc_bytes(&f->out[output].desc));
    if (ct_present(&b.in[b.nin - 1])) set(&b, b.nin - 1, 0.75);
    return b;
}

static void assert_near(double got, double want, const char *what)
{
    ck_assert_msg(fabs(got - want) <= RELATIVE * (1 + fabs(want)), "%s: %.17g, should be %.17g", what, got, want);
}

static double project(const ct_tensor *t)
{
    double sum = 0;
    for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++)
        sum += ct_load(t->desc.dtype, t->data, i) * (double)(53 * i % 31 - 15) / 16;
    return sum;
}

/* Loss and gradients of a pair of calls, which go. */
static void compare(ct_call *f, int output, ct_call *b, const double *want)
{
    run(b);
    assert_near(result(f, output, 0), want[0], "loss");
    for (int o = 0; o < b->nout; o++) assert_near(project(&b->out[o]), want[1 + o], "gradient");
    ct_host_free(f);
    ct_host_free(b);
}

static ct_call focal(void)
{
    ct_call f = make("heat_focal" FOCAL "(f64[3,5,6,2], f64[3,5,6,2], f64[3,5,6])");
    fill(&f, 0, 0, 9, -5.5);
    fill(&f, 1, 1, 1, 0);
    fill(&f, 2, 2, 1, 0);
    return f;
}

START_TEST(test_focal)
{
    ct_call f = focal();
    run(&f);
    ct_call b = make_backward(FOCAL_BWD, &f, 3, 1);
    compare(&f, 0, &b, focal_values);
}
END_TEST

/* Without a positive cell in map 1 the loss is NaN, and so is that map's gradient, but not the other's. */
START_TEST(test_focal_without_a_point)
{
    ct_call f = focal();
    for (int i = 1; i < 180; i += 2) numbers(&f, 1)[i] *= 0.5;
    run(&f);
    ck_assert(isnan(result(&f, 0, 0)) && result(&f, 1, 0) > 0 && result(&f, 1, 1) == 0);
    ct_call b = make_backward(FOCAL_BWD, &f, 3, 1);
    run(&b);
    for (int i = 0; i < 180; i++) ck_assert(i % 2 ? isnan(result(&b, 0, i)) : isfinite(result(&b, 0, i)));
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

/* Far from 0 probabilities are held to 1e-8: a positive cell costs -log of that at most and is no longer pulled; a NaN
 * comes through. */
#define BOUNDS "{alpha=1.5 beta=4 threshold=0.8 eps=1e-08}(f64[1,1,2,1], f64[1,1,2,1], f64[1,1,2]"
START_TEST(test_focal_bounds)
{
    static const struct { double logit, heat, loss, slope; } want[] = {
        { -1000, 1, 18.420680743952367, 0 }, { 1000, 1, 0, 0 },     { 1000, 0, 18.420680743952367, 0 },
        { -1000, 0, 0, 0 },                  { 0, 0, 0.24506453586713681, 0.3605750971969896 },
        { NAN, 1, NAN, NAN } };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ct_call f = make("heat_focal" BOUNDS ")");
        const double logits[2] = { want[i].logit, 1000 }, heat[2] = { want[i].heat, 1 }, mask[2] = { 1, 1 };
        memcpy(f.in[0].data, logits, sizeof logits);
        memcpy(f.in[1].data, heat, sizeof heat);
        memcpy(f.in[2].data, mask, sizeof mask);
        run(&f);
        ct_call b = make_backward("heat_focal_bwd" BOUNDS ", f64[1], f64[1])", &f, 3, 1);
        run(&b);
        const double count = result(&f, 1, 0), got[2] = { result(&f, 0, 0) * count, result(&b, 0, 0) * count / 0.75 };
        ck_assert(count == (want[i].heat > 0 ? 2 : 1));
        if (isnan(want[i].loss)) {
            ck_assert(isnan(got[0]) && isnan(got[1]));
        } else {
            ck_assert_msg(fabs(got[0] - want[i].loss) < 1e-10, "%zu: loss %.17g", i, got[0]);
            ck_assert_msg(fabs(got[1] - want[i].slope) < 1e-10, "%zu: slope %.17g", i, got[1]);
        }
        ct_host_free(&f);
        ct_host_free(&b);
    }
}
END_TEST

static ct_call offset(void)
{
    ct_call f = make("heat_offset{beta=0.3}(f64[3,5,6,4], f64[3,5,6,4], f64[3,5,6,2], f64[3,5,6])");
    fill(&f, 0, 3, 1, -0.5);
    fill(&f, 1, 4, 1, -0.5);
    fill(&f, 2, 1, 1, 0);
    fill(&f, 3, 2, 1, 0);
    return f;
}

#define OFFSET_BWD "heat_offset_bwd{beta=0.3}(f64[3,5,6,4], f64[3,5,6,4], f64[3,5,6,2], f64[3,5,6], f64[2], f64[1])"

START_TEST(test_offset)
{
    ct_call f = offset();
    run(&f);
    ct_call b = make_backward(OFFSET_BWD, &f, 4, 1);
    compare(&f, 0, &b, offset_values);
}
END_TEST

/* Cells without weight are not looked at; without any the loss is NaN, never 0. */
START_TEST(test_offset_weights)
{
    ct_call f = offset();
    for (int i = 0; i < 180; i++)
        if (numbers(&f, 2)[i] * numbers(&f, 3)[i / 2] == 0) numbers(&f, 0)[2 * i] = NAN;
    run(&f);
    ct_call b = make_backward(OFFSET_BWD, &f, 4, 1);
    run(&b);
    assert_near(result(&f, 0, 0), offset_values[0], "loss");
    assert_near(project(&b.out[0]), offset_values[1], "gradient");
    set(&f, 2, 0);
    run(&f);
    ck_assert(isnan(result(&f, 0, 0)) && result(&f, 1, 0) == 0 && result(&f, 1, 1) == 0);
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

START_TEST(test_angle)
{
    ct_call f = make("heat_angle{threshold=0.7}(f64[3,5,6,2], f64[3,2], f64[3,5,6,2])");
    ct_call b = make("heat_angle_bwd{threshold=0.7}(f64[3,2], f64[3,5,6,2], f64[1], f64[1])");
    fill(&f, 0, 5, 2, -1);
    fill(&f, 1, 6, 2, -1);
    fill(&f, 2, 1, 1, 0);
    numbers(&f, 1)[3] = NAN;
    run(&f);
    for (int i = 0; i < 2; i++) memcpy(b.in[i].data, f.in[i + 1].data, ct_desc_bytes(&b.in[i].desc));
    numbers(&b, 2)[0] = result(&f, 1, 0);
    set(&b, 3, 0.75);
    compare(&f, 0, &b, angle_values);
}
END_TEST

/* No target is known: 0, and so is the gradient, whatever the direction is. */
START_TEST(test_angle_unknown)
{
    ct_call f = make("heat_angle{threshold=0.7}(f64[1,1,2,2], f64[1,2], f64[1,1,2,1])");
    ct_call b = make("heat_angle_bwd{threshold=0.7}(f64[1,2], f64[1,1,2,1], f64[1], f64[1])");
    set(&f, 0, NAN);
    set(&f, 1, NAN);
    set(&f, 2, 1);
    run(&f);
    ck_assert(result(&f, 0, 0) == 0 && result(&f, 1, 0) == 0);
    set(&b, 0, NAN);
    set(&b, 1, 1);
    set(&b, 3, 1);
    run(&b);
    for (int i = 0; i < 4; i++) ck_assert(result(&b, 0, i) == 0);
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

START_TEST(test_margin)
{
    static const bool there[12] = { 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1 };
    ct_call f = make("margin_rank{margin=0.26}(f64[3,1], f64[3,4], f64[3,4,2])");
    ct_call b = make("margin_rank_bwd{margin=0.26}(f64[3,1], f64[3,4], f64[3,4], f64[1])");
    fill(&f, 0, 8, 1, 0);
    fill(&f, 1, 9, 1, 0);
    for (int i = 0; i < 12; i++)
        if (!there[i]) numbers(&f, 2)[2 * i + i % 2] = NAN;
    run(&f);
    for (int i = 0; i < 12; i++) assert_near(result(&f, 1, i), there[i] ? 0.5 / (i < 4 ? 2 : 3) : 0, "weight");
    for (int i = 0; i < 2; i++) memcpy(b.in[i].data, f.in[i].data, ct_desc_bytes(&b.in[i].desc));
    memcpy(b.in[2].data, f.out[1].data, ct_desc_bytes(&b.in[2].desc));
    set(&b, 3, 0.75);
    compare(&f, 0, &b, margin_values);
}
END_TEST

/* Exactly at the margin the loss is 0 and its derivative that of the other side; a fake that is not there does not
 * matter, even if NaN is what was found for it. */
START_TEST(test_margin_edges)
{
    ct_call f = make("margin_rank{margin=0.5}(f64[1,1], f64[1,3], f64[1,3,2])");
    ct_call b = make("margin_rank_bwd{margin=0.5}(f64[1,1], f64[1,3], f64[1,3], f64[1])");
    const double fakes[3] = { 0.5, 0.25, NAN };
    set(&f, 0, 1);
    memcpy(f.in[1].data, fakes, sizeof fakes);
    numbers(&f, 2)[5] = NAN;
    run(&f);
    ck_assert(result(&f, 0, 0) == 0 && result(&f, 1, 0) == 0.5 && result(&f, 1, 1) == 0.5 && result(&f, 1, 2) == 0);
    for (int i = 0; i < 2; i++) memcpy(b.in[i].data, f.in[i].data, ct_desc_bytes(&b.in[i].desc));
    memcpy(b.in[2].data, f.out[1].data, ct_desc_bytes(&b.in[2].desc));
    set(&b, 3, 1);
    run(&b);
    ck_assert(result(&b, 0, 0) == -0.5 && result(&b, 1, 0) == 0.5 && result(&b, 1, 1) == 0 && result(&b, 1, 2) == 0);
    set(&f, 2, NAN);
    run(&f);
    ck_assert(result(&f, 0, 0) == 0 && result(&f, 1, 0) == 0);
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

#define PADDING_BWD "heat_padding_bwd{eps=0.02 cap=4}(f64[3,5,6,2], f64[3,5,6], f64[1], f64[1])"

START_TEST(test_padding)
{
    ct_call f = make("heat_padding{eps=0.02 cap=4}(f64[3,5,6,2], f64[3,5,6])");
    fill(&f, 0, 0, 9, -5.5);
    fill(&f, 1, 2, 1, 0);
    for (int i = 0; i < 90; i++) /* all picture: not looked at */
        if (numbers(&f, 1)[i] == 1) numbers(&f, 0)[2 * i] = NAN;
    run(&f);
    ct_call b = make_backward(PADDING_BWD, &f, 2, 1);
    compare(&f, 0, &b, padding_values);
}
END_TEST

START_TEST(test_padding_without_any)
{
    ct_call f = make("heat_padding{eps=0.02 cap=4}(f64[3,5,6,2], f64[3,5,6])");
    set(&f, 1, 1);
    run(&f);
    ck_assert(result(&f, 0, 0) == 0 && result(&f, 1, 0) == 0);
    ct_call b = make_backward(PADDING_BWD, &f, 2, 1);
    run(&b);
    for (int i = 0; i < 180; i++) ck_assert(result(&b, 0, i) == 0);
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

/* The last sample's second point is not there. */
static ct_call rows(void)
{
    ct_call f = make("heat_rows" ROWS "(f64[3,5,6,2], f64[3,2,2])");
    fill(&f, 0, 0, 9, -5.5);
    fill(&f, 1, 7, 0.99 * 20, 0);
    numbers(&f, 1)[10] = NAN;
    return f;
}

START_TEST(test_rows)
{
    ct_call f = rows(), g = rows();
    run(&f);
    run(&g);
    for (int i = 0; i < 6; i++) {
        double sum = 0;
        for (int k = 0; k < 5; k++) sum += result(&f, 2, 5 * i + k);
        assert_near(sum, 1, "sum over the rows");
    }
    ct_call ce = make_backward("heat_rows_bwd" ROWS "(f64[3,5,6,2], f64[3,2,2], f64[3,2,5], f64[1])", &f, 2, 2);
    compare(&f, 0, &ce, ce_values);
    ct_call emd = make_backward("heat_rows_bwd" ROWS "(f64[3,5,6,2], f64[3,2,2], f64[3,2,5], -, f64[1])", &g, 2, 2);
    compare(&g, 1, &emd, emd_values);
}
END_TEST

/* Points beside the map count like absent ones: 0 and no gradient where there is no other; equal maps are at
 * distance 0. */
START_TEST(test_rows_edges)
{
    const double beside[12] = { 3, -1e-9, 3, 20, 3, NAN, NAN, 3, 3, INFINITY, 3, -INFINITY };
    ct_call f = rows();
    memcpy(f.in[1].data, beside, sizeof beside);
    run(&f);
    ck_assert(result(&f, 0, 0) == 0 && result(&f, 1, 0) == 0);
    ct_call b = make_backward("heat_rows_bwd" ROWS "(f64[3,5,6,2], f64[3,2,2], f64[3,2,5], f64[1], f64[1])", &f, 2, 2);
    set(&b, 3, 1);
    run(&b);
    for (int i = 0; i < 180; i++) ck_assert(result(&b, 0, i) == 0);
    set(&f, 1, 19.99);
    for (int i = 0; i < 90; i++) numbers(&f, 0)[2 * i + 1] = numbers(&f, 0)[2 * i];
    run(&f);
    ck_assert(result(&f, 0, 0) > 0 && result(&f, 1, 0) == 0);
    ct_host_free(&f);
    ct_host_free(&b);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("heatmap");
    tcase_add_test(t, test_focal);
    tcase_add_test(t, test_focal_without_a_point);
    tcase_add_test(t, test_focal_bounds);
    tcase_add_test(t, test_offset);
    tcase_add_test(t, test_offset_weights);
    tcase_add_test(t, test_angle);
    tcase_add_test(t, test_angle_unknown);
    tcase_add_test(t, test_margin);
    tcase_add_test(t, test_margin_edges);
    tcase_add_test(t, test_padding);
    tcase_add_test(t, test_padding_without_any);
    tcase_add_test(t, test_rows);
    tcase_add_test(t, test_rows_edges);
    Suite *s = suite_create("losses on maps");
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
