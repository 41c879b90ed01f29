/* Programs of models that read texts of any length: several widths, padding, precisions, learning. */
#include "tests/program/check_program.h"

#include <math.h>

#include "base/alloc.h"

static void text_spec(ct_program_spec *s, const char *model, int64_t batch)
{
    small_spec(s, model, batch);
    s->model.height = 32;
    s->model.width = 40;
    s->model.positions = 4;
    s->model.classes = 6; /* the blank and five characters */
    s->model.width_mult = 0.125;
}

/* A program for images of another width on the store of r. */
static int add_width(test_run *r, ct_program_kind kind, int64_t batch, int64_t width)
{
    const int64_t old = r->spec.model.width;
    r->spec.model.width = width;
    int i = run_add(r, kind, batch, false);
    r->spec.model.width = old;
    return i;
}

START_TEST(outputs)
{
    ct_program_spec s;
    test_run r;
    text_spec(&s, "crnn", 3);
    run_open(&r, &s, false);
    int predict = run_add(&r, CT_PROGRAM_PREDICT, 3, false);
    for (int i = 0; i <= predict; i++) {
        const ct_program *p = &r.p[i];
        const ct_desc *l = ct_graph_desc(p->graph, ct_program_port(p, "logits")),
                      *d = ct_graph_desc(p->graph, ct_program_port(p, "pred")),
                      *n = ct_graph_desc(p->graph, ct_program_port(p, "len"));
        ck_assert(l->ndim == 3 && l->dim[0] == 11 && l->dim[1] == 3 && l->dim[2] == 6);
        ck_assert(d->ndim == 2 && d->dim[0] == 3 && d->dim[1] == 11 && d->dtype == CT_I32);
        ck_assert(n->ndim == 1 && n->dim[0] == 3 && n->dtype == CT_I32);
        ck_assert((ct_program_port(p, "target") != CT_NOVAL) == (i == 0) &&
                  (ct_program_port(p, "loss") != CT_NOVAL) == (i == 0));
    }
    run_feed(&r, predict, 0);
    ok(ct_plan_run(r.plan[predict]));
    float logp[11 * 3 * 6];
    ok(ct_plan_download(r.plan[predict], ct_program_port(&r.p[predict], "logits"), logp));
    for (int row = 0; row < 33; row++) {
        double sum = 0;
        for (int c = 0; c < 6; c++) sum += exp((double)logp[6 * row + c]);
        ck_assert_msg(fabs(sum - 1) < 1e-5, "row %d: probabilities sum to %g", row, sum);
    }
    run_close(&r);
    s.goal = (ct_goal){ .task = &ct_task_text, .loss = CT_TEXT_SOFTMAX };
    ct_layout layout;
    ct_program p;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &layout, &p), CT_EINVAL, "CTC belongs to models with time steps");
    small_spec(&s, "textcnn", 3);
    s.goal = (ct_goal){ .task = &ct_task_text, .loss = CT_TEXT_CTC };
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &layout, &p), CT_EINVAL, "model textcnn and this loss");
}
END_TEST

/* One batch is learned by heart, in images of two widths, with texts of 0 to 4 characters; the metrics and predictions
 * say so. */
static void overfit(const char *model, ct_dtype compute, double below)
{
    ct_program_spec s;
    test_run r;
    double last = 0, metrics[CT_METRIC_COUNT];
    text_spec(&s, model, 8);
    s.model.hidden = 24;
    s.schedule.base_lr = 6e-3;
    s.optim.max_norm = 5;
    s.compute = compute;
    run_open(&r, &s, false);
    int wide = add_width(&r, CT_PROGRAM_STEP, 8, 52), eval = run_add(&r, CT_PROGRAM_EVAL, 8, false);
    double first = run_step(&r, 0, 0);
    for (int step = 0; step < 200; step++) {
        last = fmax(run_step(&r, 0, 0), run_step(&r, wide, 0));
        if (last < below) break;
    }
    ck_assert_msg(last < below && first > 10 * below, "%s in %s: loss %g -> %g", model, ct_dtype_name(compute), first,
                  last);
    for (int i = 0; i < 20; i++) run_step(&r, 0, 0); /* running statistics settle on one width */
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    run_step(&r, eval, 0);
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    ck_assert_msg(metrics[CT_METRIC_SAMPLES] == 8 && metrics[CT_TEXT_STRINGS] == 8 && metrics[CT_TEXT_EDITS] == 0 &&
                      metrics[CT_TEXT_CHARS] == 0 + 1 + 2 + 3 + 4 + 0 + 1 + 2 && metrics[CT_TEXT_INFEASIBLE] == 0,
                  "%s in %s: %g strings of %g, %g edits in %g characters", model, ct_dtype_name(compute),
                  metrics[CT_TEXT_STRINGS], metrics[CT_METRIC_SAMPLES], metrics[CT_TEXT_EDITS], metrics[CT_TEXT_CHARS]);
    run_close(&r);
}

START_TEST(overfit_one_batch)
{
    overfit("crnn-small", CT_F32, 0.05);
    if (getenv("CT_QUICK")) return; /* 16 bits take their time under a sanitizer */
    overfit("crnn-small", CT_BF16, 0.1);
}
END_TEST

/* Programs of all widths have one layout, and each leaves the weights for the others. */
START_TEST(widths_share_weights)
{
    const char *const models[] = { "crnn", "crnn-stacked", "crnn-small", "reader" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        ct_program_spec s;
        test_run r;
        text_spec(&s, models[m], 4);
        run_open(&r, &s, false);
        int wide = add_width(&r, CT_PROGRAM_STEP, 3, 72), eval = run_add(&r, CT_PROGRAM_EVAL, 4, false);
        double start = run_step(&r, eval, 0);
        double state[CT_STATE_COUNT];
        for (int step = 0; step < 3; step++) run_step(&r, wide, 7 * step);
        ok(ct_arenas_get_state(r.store, state));
        ck_assert(state[CT_STATE_STEP] == 3 && state[CT_STATE_APPLIED] == 3);
        ck_assert_msg(run_step(&r, eval, 0) != start, "%s: training at another width changed nothing", models[m]);
        run_close(&r);
    }
}
END_TEST

/* What stands behind a sample's last valid step counts for nothing in its loss. */
START_TEST(len_ends_a_sample)
{
    ct_program_spec s;
    test_run r;
    text_spec(&s, "crnn-small", 2);
    run_open(&r, &s, false);
    int eval = run_add(&r, CT_PROGRAM_EVAL, 2, false);
    int32_t target[8] = { 1, 1, -1, -1, 2, -1, -1, -1 };
    double loss[3];
    for (int k = 0; k < 3; k++) {
        int32_t len[2] = { 10, k == 0 ? 10 : 5 };
        run_feed(&r, eval, 0);
        ok(ct_plan_upload(r.plan[eval], ct_program_port(&r.p[eval], "target"), target));
        ok(ct_plan_upload(r.plan[eval], ct_program_port(&r.p[eval], "len"), len));
        ok(ct_plan_run(r.plan[eval]));
        loss[k] = run_loss(&r, eval);
    }
    ck_assert(loss[0] != loss[1] && loss[1] == loss[2]);
    /* "11" needs three steps; with two it has no path: counted, and left out of the loss */
    double metrics[CT_METRIC_COUNT];
    int32_t len[2] = { 2, 5 };
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    run_feed(&r, eval, 0);
    ok(ct_plan_upload(r.plan[eval], ct_program_port(&r.p[eval], "target"), target));
    ok(ct_plan_upload(r.plan[eval], ct_program_port(&r.p[eval], "len"), len));
    ok(ct_plan_run(r.plan[eval]));
    ck_assert(isfinite(run_loss(&r, eval)) && run_loss(&r, eval) < loss[1]);
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    ck_assert(metrics[CT_TEXT_INFEASIBLE] == 1 && metrics[CT_METRIC_SAMPLES] == 2 && metrics[CT_TEXT_CHARS] == 3);
    run_close(&r);
}
END_TEST

START_TEST(recompute_same_bits)
{
    const char *const models[] = { "crnn", "crnn-stacked", "crnn-small", "reader" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        ct_program_spec plain, again;
        test_run a, b;
        text_spec(&plain, models[m], 4);
        plain.model.dropout = 0.5;
        again = plain;
        again.recompute = 0;
        run_open(&a, &plain, false);
        run_open(&b, &again, false);
        for (int step = 0; step < 3; step++) {
            double la = run_step(&a, 0, 10 * step), lb = run_step(&b, 0, 10 * step);
            ck_assert_msg(la == lb, "%s: %.17g %.17g", models[m], la, lb);
        }
        ck_assert_msg(
            memcmp(a.store->base[CT_ARENA_PARAM], b.store->base[CT_ARENA_PARAM], a.store->bytes[CT_ARENA_PARAM]) == 0,
            "%s", models[m]);
        run_close(&a);
        run_close(&b);
    }
}
END_TEST

/* The tuned implementations against the reference, and 16 bits against f32, over some steps. */
START_TEST(follows_reference)
{
    const ct_dtype types[] = { CT_F32, CT_BF16, CT_F16 };
    for (int k = 0; k < 3; k++) {
        ct_program_spec s;
        test_run a, b;
        text_spec(&s, "crnn", 4);
        run_open(&a, &s, true);
        s.compute = types[k];
        run_open(&b, &s, false);
        for (int step = 0; step < 5; step++) {
            double la = run_step(&a, 0, 0), lb = run_step(&b, 0, 0), room = k == 0 ? 1e-3 : 0.1;
            ck_assert_msg(fabs(la - lb) < room * la, "%s, step %d: %g and %g", ct_dtype_name(types[k]), step, la, lb);
        }
        run_close(&a);
        run_close(&b);
    }
}
END_TEST

TCase *ctc_case(void)
{
    TCase *c = tcase_create("ctc");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, outputs);
    tcase_add_test(c, overfit_one_batch);
    tcase_add_test(c, widths_share_weights);
    tcase_add_test(c, len_ends_a_sample);
    tcase_add_test(c, recompute_same_bits);
    tcase_add_test(c, follows_reference);
    return c;
}
