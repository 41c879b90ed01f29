/* Programs: what a run computes, on the CPU backend. */
#include "tests/program/check_program.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"

void small_spec(ct_program_spec *s, const char *model, int64_t batch)
{
    ct_program_defaults(s);
    s->model = (ct_model_spec){ .name = model,
                                .height = 16,
                                .width = 24,
                                .channels = 1,
                                .positions = 2,
                                .classes = 5,
                                .width_mult = 0.25,
                                .hidden = 16,
                                .dropout = 0,
                                .dtype = CT_F32,
                                .seed = 3 };
    s->batch = batch;
}

static ct_arenas_needs all_needs(const ct_program_spec *s)
{
    return ct_program_needs(s, true);
}

/* A store with its first program (STEP, or MICRO_FIRST when accumulating) and weights drawn from seed 7. */
void run_open(test_run *r, const ct_program_spec *spec, bool reference)
{
    const ct_device_opts opts = { .threads = 2, .reference = reference };
    run_open_on(r, spec, &ct_backend_cpu, &opts);
}

void run_open_on(test_run *r, const ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts)
{
    double state[CT_STATE_COUNT];
    *r = (test_run){ .spec = *spec };
    ct_arenas_needs needs = all_needs(spec);
    ok(ct_program_build(spec, spec->accumulate > 1 ? CT_PROGRAM_MICRO_FIRST : CT_PROGRAM_STEP, NULL, &r->layout,
                        &r->p[0]));
    ok(ct_arenas_create(backend, opts, &r->layout, &needs, false, &r->store));
    ok(ct_plan_create(r->store, r->p[0].graph, false, &r->plan[0]));
    r->n = 1;
    ok(ct_arenas_init(r->store, r->p[0].graph, 7));
    ct_program_initial_state(spec, state);
    ok(ct_arenas_set_state(r->store, state));
}

int run_add(test_run *r, ct_program_kind kind, int64_t batch, bool ema)
{
    ct_program_spec s = r->spec;
    s.batch = batch;
    int i = r->n++;
    ck_assert_int_lt(i, RUN_MAX);
    ok(ct_program_build(&s, kind, r->p[0].graph, &r->layout, &r->p[i]));
    ok(ct_plan_create(r->store, r->p[i].graph, ema, &r->plan[i]));
    return i;
}

void run_close(test_run *r)
{
    for (int i = 0; i < r->n; i++) ct_plan_free(r->plan[i]);
    ct_arenas_free(r->store);
    for (int i = 0; i < r->n; i++) ct_program_free(&r->p[i]);
}

/* Sample k of a CTC model: labels of 0 to L classes, the last time steps of some not valid. */
static void feed_text(test_run *r, int i, int64_t first, int32_t *target)
{
    const bool clips = r->spec.model.frames > 0;
    const ct_desc *dt = ct_graph_desc(r->p[i].graph, ct_program_port(&r->p[i], clips ? "lp5" : "logits")); /* [T,N,C] */
    const int64_t n = dt->dim[1], columns = r->spec.model.positions;
    int32_t *len = ct_malloc((size_t)n * sizeof *len, "test");
    for (int64_t k = 0; k < n; k++) {
        len[k] = (int32_t)(dt->dim[0] - (first + k) % 3);
        for (int64_t p = (first + k) % (columns + 1); p < columns; p++) target[k * columns + p] = -1;
        for (int64_t p = 0; p < columns && target[k * columns + p] >= 0; p++)
            target[k * columns + p] %= (int32_t)(dt->dim[2] - 1);
    }
    ok(ct_plan_upload(r->plan[i], ct_program_port(&r->p[i], "len"), len));
    ct_free(len);
}

/* Samples first, first+1, ... of an endless random set: pixels in [-1,1), zeros in channels of padding, classes. */
void run_feed(test_run *r, int i, int64_t first)
{
    const ct_graph *g = r->p[i].graph;
    ct_desc dx = *ct_graph_desc(g, ct_graph_find(r->p[i].graph, "x"));
    int64_t n = dx.dim[0], each = ct_desc_numel(&dx) / n, positions = r->spec.model.positions;
    void *x = ct_malloc(ct_desc_bytes(&dx), "test");
    int32_t *t = ct_malloc((size_t)(n * positions) * sizeof *t, "test");
    for (int64_t k = 0; k < n; k++) {
        ct_rng rng;
        ct_rng_init(&rng, 99, CT_RNG_TEST, (uint64_t)(first + k));
        for (int64_t e = 0; e < each; e++)
            ct_store(dx.dtype, x, k * each + e,
                     e % dx.dim[3] < r->spec.model.channels ? ct_rng_uniform(&rng, -1, 1) : 0);
        for (int64_t p = 0; p < positions; p++)
            t[k * positions + p] = (int32_t)ct_rng_below(&rng, (uint32_t)r->spec.model.classes);
    }
    if (ct_program_port(&r->p[i], "len") != CT_NOVAL) feed_text(r, i, first, t);
    ok(ct_plan_upload(r->plan[i], ct_graph_find(r->p[i].graph, "x"), x));
    if (ct_program_port(&r->p[i], "target") != CT_NOVAL)
        ok(ct_plan_upload(r->plan[i], ct_program_port(&r->p[i], "target"), t));
    ct_free(x);
    ct_free(t);
}

double run_loss(test_run *r, int i)
{
    double raw;
    ok(ct_plan_download(r->plan[i], ct_program_port(&r->p[i], "loss"), &raw));
    return ct_load(ct_graph_desc(r->p[i].graph, ct_program_port(&r->p[i], "loss"))->dtype, &raw, 0);
}

double run_step(test_run *r, int i, int64_t first)
{
    run_feed(r, i, first);
    ok(ct_plan_run(r->plan[i]));
    return run_loss(r, i);
}

/* Largest difference of two stores' arenas relative to the largest magnitude. */
double arena_difference(const test_run *a, const test_run *b, ct_arena arena)
{
    ct_dtype d = a->layout.dtype;
    ck_assert_uint_eq(a->store->bytes[arena], b->store->bytes[arena]);
    int64_t n = (int64_t)(a->store->bytes[arena] / ct_dtype_size(d));
    double most = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = ct_load(d, a->store->base[arena], i), y = ct_load(d, b->store->base[arena], i);
        most = fmax(most, fabs(x - y));
        scale = fmax(scale, fabs(y));
    }
    return scale > 0 ? most / scale : most;
}

/* ---- accumulation ---- */

/* k micro-steps of the same n samples are one step of those n: the statistics of batch normalisation agree then, so all
 * weights must. */
START_TEST(accumulation)
{
    ct_program_spec one, four;
    test_run a, b;
    small_spec(&one, "textcnn", 3);
    one.optimizer = CT_OPT_SGD;
    one.schedule.base_lr = 0.1;
    four = one;
    four.accumulate = 4;
    run_open(&a, &one, false);
    run_open(&b, &four, false);
    int next = run_add(&b, CT_PROGRAM_MICRO_NEXT, 3, false), update = run_add(&b, CT_PROGRAM_UPDATE, 3, false);
    for (int step = 0; step < 3; step++) {
        run_step(&a, 0, 100 * step);
        run_step(&b, 0, 100 * step);
        for (int k = 1; k < 4; k++) run_step(&b, next, 100 * step);
        ok(ct_plan_run(b.plan[update]));
        double e = arena_difference(&b, &a, CT_ARENA_PARAM);
        ck_assert_msg(e < 1e-5, "step %d: %g", step, e);
    }
    double sa[CT_STATE_COUNT], sb[CT_STATE_COUNT];
    ok(ct_arenas_get_state(a.store, sa));
    ok(ct_arenas_get_state(b.store, sb));
    ck_assert(sa[CT_STATE_STEP] == 3 && sb[CT_STATE_STEP] == 3 && sb[CT_STATE_APPLIED] == 3);
    ck_assert_msg(fabs(sa[CT_STATE_GRAD_NORM] - sb[CT_STATE_GRAD_NORM]) < 1e-5 * sa[CT_STATE_GRAD_NORM], "%g %g",
                  sa[CT_STATE_GRAD_NORM], sb[CT_STATE_GRAD_NORM]);
    run_close(&a);
    run_close(&b);
}
END_TEST

/* Different samples in the micro-steps, and different sizes: the accumulated gradient is the mean of the micro-steps'
 * gradients. */
START_TEST(accumulated_gradient)
{
    ct_program_spec one, two;
    test_run a, b;
    small_spec(&one, "textcnn", 4);
    two = one;
    two.accumulate = 2;
    run_open(&a, &one, false);
    run_open(&b, &two, false);
    int next = run_add(&b, CT_PROGRAM_MICRO_NEXT, 4, false);
    int64_t n = a.layout.train_elems;
    float *mean = ct_calloc((size_t)n, sizeof *mean, "test");
    for (int k = 0; k < 2; k++) {
        /* a fresh start each time: the step moves weights */
        ok(ct_arenas_init(a.store, a.p[0].graph, 7));
        run_step(&a, 0, 4 * k);
        const float *g = a.store->base[CT_ARENA_GRAD];
        for (int64_t i = 0; i < n; i++) mean[i] += 0.5f * g[i];
    }
    run_step(&b, 0, 0);
    run_step(&b, next, 4);
    const float *acc = b.store->base[CT_ARENA_GACC];
    double most = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)acc[i] - (double)mean[i]));
        scale = fmax(scale, fabs((double)mean[i]));
    }
    ck_assert_msg(scale > 0 && most < 1e-6 * scale, "%g of %g", most, scale);
    /* the next group starts from nothing */
    run_step(&b, 0, 0);
    run_step(&b, next, 4);
    ck_assert_msg(fabs((double)acc[1] - (double)mean[1]) < 1e-5 * scale, "the sum was not started anew");
    ct_free(mean);
    run_close(&a);
    run_close(&b);
}
END_TEST

/* Each micro-step drops other elements, and the same ones when the run is repeated. */
START_TEST(dropout_of_micro_steps)
{
    ct_program_spec s;
    double loss[2][3];
    small_spec(&s, "textcnn", 4);
    s.model.dropout = 0.5;
    s.accumulate = 3;
    s.schedule.base_lr = 0; /* the weights stay: what differs is the mask */
    for (int again = 0; again < 2; again++) {
        test_run r;
        run_open(&r, &s, false);
        int next = run_add(&r, CT_PROGRAM_MICRO_NEXT, 4, false);
        for (int k = 0; k < 3; k++) loss[again][k] = run_step(&r, k ? next : 0, 0);
        run_close(&r);
    }
    ck_assert(loss[0][0] != loss[0][1] && loss[0][1] != loss[0][2] && loss[0][0] != loss[0][2]);
    ck_assert_int_eq(memcmp(loss[0], loss[1], sizeof loss[0]), 0);
}
END_TEST

/* ---- recompute ---- */

/* Everything kept, against: blocks computed again (_i = 0), batch norms applied again (_i = 1). */
START_TEST(recompute_same_bits)
{
    const char *const models[] = { "textcnn", "resnet18" };
    for (size_t m = 0; m < 2; m++) {
        ct_program_spec plain, again;
        test_run a, b;
        small_spec(&plain, models[m], 4);
        plain.model.dropout = 0.5;
        plain.model.height = plain.model.width = 32;
        plain.inspect = true;
        again = plain;
        again.inspect = false;
        again.recompute = _i == 0 ? 0 : -1;
        run_open(&a, &plain, false);
        run_open(&b, &again, false);
        for (int step = 0; step < 3; step++) {
            double la = run_step(&a, 0, 10 * step), lb = run_step(&b, 0, 10 * step);
            ck_assert_msg(la == lb, "%s: %.17g %.17g", models[m], la, lb);
        }
        for (int i = 0; i < CT_ARENA_COUNT; i++) {
            ct_arena x = (ct_arena)i;
            if (x == CT_ARENA_ACT || x == CT_ARENA_INPUT || !a.store->base[i]) continue;
            ck_assert_msg(memcmp(a.store->base[i], b.store->base[i], a.store->bytes[i]) == 0, "%s: arena %s", models[m],
                          ct_arena_name(x));
        }
        ct_plan_stats sa, sb;
        ct_plan_get_stats(a.plan[0], &sa);
        ct_plan_get_stats(b.plan[0], &sb);
        ck_assert_msg(sb.flops > sa.flops, "%s: nothing was recomputed", models[m]);
        ck_assert_msg(sb.act_bytes < sa.act_bytes, "%s: %lld bytes, %lld before", models[m], (long long)sb.act_bytes,
                      (long long)sa.act_bytes);
        run_close(&a);
        run_close(&b);
    }
}
END_TEST

/* ---- averages ---- */

START_TEST(ema_binding)
{
    ct_program_spec s;
    test_run r;
    small_spec(&s, "textcnn", 4);
    s.optim.decay = 0.5;
    run_open(&r, &s, false);
    int eval = run_add(&r, CT_PROGRAM_EVAL, 4, false), ema = run_add(&r, CT_PROGRAM_EVAL, 4, true);
    /* at the start the averages are the weights */
    ck_assert(run_step(&r, eval, 0) == run_step(&r, ema, 0));
    size_t n = r.store->bytes[CT_ARENA_PARAM] / sizeof(float), nb = r.store->bytes[CT_ARENA_BUFFER] / sizeof(float);
    float *want = ct_malloc(n * sizeof *want, "test"), *want_buf = ct_malloc(nb * sizeof *want_buf, "test");
    memcpy(want, r.store->base[CT_ARENA_EMA], n * sizeof *want);
    memcpy(want_buf, r.store->base[CT_ARENA_EMABUF], nb * sizeof *want_buf);
    for (int step = 0; step < 3; step++) {
        run_step(&r, 0, 10 * step);
        const float *p = r.store->base[CT_ARENA_PARAM], *b = r.store->base[CT_ARENA_BUFFER];
        for (size_t i = 0; i < n; i++) want[i] = 0.5f * want[i] + 0.5f * p[i];
        for (size_t i = 0; i < nb; i++) want_buf[i] = 0.5f * want_buf[i] + 0.5f * b[i];
    }
    const float *shadow = r.store->base[CT_ARENA_EMA], *shadow_buf = r.store->base[CT_ARENA_EMABUF];
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabsf(shadow[i] - want[i]) <= 1e-6f * fabsf(want[i]) + 1e-9f, "element %zu", i);
    for (size_t i = 0; i < nb; i++)
        ck_assert_msg(fabsf(shadow_buf[i] - want_buf[i]) <= 1e-6f * fabsf(want_buf[i]) + 1e-9f, "buffer %zu", i);
    /* the EMA program reads the averages: with them copied into place both agree again */
    double plain = run_step(&r, eval, 0), averaged = run_step(&r, ema, 0);
    ck_assert(plain != averaged);
    memcpy(r.store->base[CT_ARENA_PARAM], shadow, n * sizeof *shadow);
    memcpy(r.store->base[CT_ARENA_BUFFER], shadow_buf, nb * sizeof *shadow_buf);
    ck_assert(run_step(&r, eval, 0) == averaged);
    ct_free(want);
    ct_free(want_buf);
    run_close(&r);
}
END_TEST

/* ---- learning ---- */

static void overfit(double width_mult, ct_dtype compute, int loss, double below)
{
    ct_program_spec s;
    test_run r;
    double last = 0, metrics[CT_METRIC_COUNT];
    const char *model = "textcnn-small";
    small_spec(&s, model, 8);
    s.model.width_mult = width_mult;
    s.model.hidden = 64;
    s.schedule.base_lr = 4e-3;
    s.compute = compute;
    s.goal = (ct_goal){ .task = &ct_task_text, .loss = loss };
    if (compute == CT_F16) {
        s.optim.dynamic = 1;
        s.loss_scale = 1024;
    }
    run_open(&r, &s, false);
    int eval = run_add(&r, CT_PROGRAM_EVAL, 8, false);
    double first = run_step(&r, 0, 0);
    for (int step = 0; step < 150; step++) {
        last = run_step(&r, 0, 0);
        if (last < below) break;
    }
    ck_assert_msg(last < below && first > 10 * below, "%s in %s: loss %g -> %g", model, ct_dtype_name(compute), first,
                  last);
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    ck_assert(metrics[CT_METRIC_SAMPLES] == 8 * metrics[CT_METRIC_BATCHES] &&
              metrics[CT_TEXT_CHARS] == 2 * metrics[CT_METRIC_SAMPLES]);
    for (int i = 0; i < 20; i++) run_step(&r, 0, 0); /* running statistics settle */
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    run_step(&r, eval, 0);
    ok(ct_arenas_get_metrics(r.store, metrics, true));
    ck_assert_msg(metrics[CT_METRIC_SAMPLES] == 8 && metrics[CT_TEXT_STRINGS] == 8 &&
                      metrics[CT_TEXT_CHARS_OK] == 16,
                  "%s in %s: %g of %g strings", model, ct_dtype_name(compute), metrics[CT_TEXT_STRINGS],
                  metrics[CT_METRIC_SAMPLES]);
    /* predictions are the targets, in the kept outputs too */
    int32_t pred[16], target[16];
    ok(ct_plan_download(r.plan[eval], ct_program_port(&r.p[eval], "pred"), pred));
    ok(ct_plan_download(r.plan[eval], ct_program_port(&r.p[eval], "target"), target));
    ck_assert_int_eq(memcmp(pred, target, sizeof pred), 0);
    run_close(&r);
}

START_TEST(overfit_one_batch)
{
    overfit(0.5, CT_F32, CT_TEXT_SOFTMAX, 0.01);
    overfit(0.25, CT_F32, CT_TEXT_SOFT_MARGIN, 0.02);
    if (getenv("CT_QUICK")) return; /* 16 bits take their time under a sanitizer */
    overfit(0.25, CT_BF16, CT_TEXT_SOFTMAX, 0.03);
    overfit(0.25, CT_F16, CT_TEXT_SOFTMAX, 0.03);
}
END_TEST

/* ---- precision ---- */

START_TEST(bf16_follows_f32)
{
    ct_program_spec s;
    test_run a, b;
    small_spec(&s, "textcnn", 8);
    run_open(&a, &s, false);
    s.compute = CT_BF16;
    run_open(&b, &s, false);
    for (int step = 0; step < 10; step++) {
        double la = run_step(&a, 0, 0), lb = run_step(&b, 0, 0);
        ck_assert_msg(fabs(la - lb) < 0.05 * la + 0.02, "step %d: %g and %g", step, la, lb);
        ck_assert_msg(step > 0 || la != lb, "bf16 is f32");
    }
    run_close(&a);
    run_close(&b);
}
END_TEST

START_TEST(f64_follows_f32)
{
    ct_program_spec s;
    test_run a, b;
    small_spec(&s, "textcnn", 4);
    run_open(&a, &s, false);
    s.compute = s.model.dtype = CT_F64;
    run_open(&b, &s, false);
    double la = run_step(&a, 0, 0), lb = run_step(&b, 0, 0);
    ck_assert_msg(fabs(la - lb) < 1e-5 * lb && la != lb, "%.12g and %.12g: the same start", la, lb);
    run_close(&a);
    run_close(&b);
}
END_TEST

START_TEST(fp16_scaler)
{
    ct_program_spec s;
    test_run r;
    double state[CT_STATE_COUNT];
    small_spec(&s, "textcnn", 8);
    s.compute = CT_F16;
    s.loss_scale = 0x1p30; /* beyond what fp16 gradients hold: the first steps overflow */
    s.optim.dynamic = 1;
    s.optim.growth_interval = 4;
    run_open(&r, &s, false);
    float *before = ct_malloc(r.store->bytes[CT_ARENA_PARAM], "test");
    memcpy(before, r.store->base[CT_ARENA_PARAM], r.store->bytes[CT_ARENA_PARAM]);
    run_step(&r, 0, 0);
    ok(ct_arenas_get_state(r.store, state));
    ck_assert_msg(state[CT_STATE_LAST_INF] == 1 && state[CT_STATE_LOSS_SCALE] == 0x1p29 && state[CT_STATE_SKIPPED] == 1,
                  "scale %g", state[CT_STATE_LOSS_SCALE]);
    ck_assert_msg(memcmp(before, r.store->base[CT_ARENA_PARAM], r.store->bytes[CT_ARENA_PARAM]) == 0,
                  "a skipped step moved the weights");
    ck_assert(state[CT_STATE_STEP] == 1 && state[CT_STATE_APPLIED] == 0 && state[CT_STATE_FOUND_INF] == 0);
    int steps = 1;
    do {
        run_step(&r, 0, 0);
        ok(ct_arenas_get_state(r.store, state));
    } while (state[CT_STATE_LAST_INF] == 1 && ++steps < 40);
    ck_assert_msg(state[CT_STATE_APPLIED] == 1, "no step was ever applied");
    double scale = state[CT_STATE_LOSS_SCALE];
    ck_assert(scale < 0x1p30 && state[CT_STATE_SKIPPED] == steps);
    ck_assert(memcmp(before, r.store->base[CT_ARENA_PARAM], r.store->bytes[CT_ARENA_PARAM]) != 0);
    for (int i = 0; i < 3; i++) run_step(&r, 0, 0);
    ok(ct_arenas_get_state(r.store, state));
    ck_assert_msg(state[CT_STATE_LOSS_SCALE] == 2 * scale, "four good steps: %g, before %g", state[CT_STATE_LOSS_SCALE],
                  scale);
    ct_free(before);
    run_close(&r);
}
END_TEST

/* ---- optimizer pieces ---- */

/* With zero gradients only decay moves weights: where it is meant to. */
START_TEST(decay_ranges)
{
    for (int all = 0; all < 2; all++) {
        ct_program_spec s;
        test_run r;
        small_spec(&s, "textcnn", 2);
        s.accumulate = 2;
        s.decay_norm_bias = all != 0;
        s.optim.weight_decay = 0.1;
        s.schedule.base_lr = 0.5;
        run_open(&r, &s, false);
        int update = run_add(&r, CT_PROGRAM_UPDATE, 2, false);
        size_t n = r.store->bytes[CT_ARENA_PARAM] / sizeof(float);
        float *before = ct_malloc(n * sizeof *before, "test");
        memcpy(before, r.store->base[CT_ARENA_PARAM], n * sizeof *before);
        ok(ct_plan_run(r.plan[update])); /* GACC is zero */
        const ct_graph *g = r.p[0].graph;
        for (size_t i = 0; i < g->nvalues; i++) {
            const ct_value *v = &g->values[i];
            if (!ct_graph_is_weight(g, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
            const float *now = r.store->base[CT_ARENA_PARAM];
            for (int64_t k = v->offset / 4; k < v->offset / 4 + ct_desc_numel(&v->desc); k++) {
                float want = v->decay || all ? before[k] * 0.95f : before[k];
                ck_assert_msg(fabsf(now[k] - want) <= 1e-6f * fabsf(want), "%s: %g -> %g", v->name, (double)before[k],
                              (double)now[k]);
            }
        }
        ct_free(before);
        run_close(&r);
    }
}
END_TEST

START_TEST(optimizers_and_clip)
{
    const ct_optimizer_kind kinds[] = { CT_OPT_ADAMW, CT_OPT_ADAM, CT_OPT_SGD, CT_OPT_MUON };
    for (size_t i = 0; i < 4; i++) {
        ct_program_spec s;
        test_run r;
        double state[CT_STATE_COUNT], first, last = 0;
        small_spec(&s, "textcnn", 8);
        s.optimizer = kinds[i];
        s.optim.max_norm = 0.5;
        s.schedule.base_lr = kinds[i] == CT_OPT_SGD ? 0.05 : 1e-3;
        run_open(&r, &s, false);
        first = run_step(&r, 0, 0);
        ok(ct_arenas_get_state(r.store, state));
        ck_assert_msg(state[CT_STATE_GRAD_NORM] > 0.5 &&
                          fabs(state[CT_STATE_CLIP_COEF] - 0.5 / state[CT_STATE_GRAD_NORM]) < 1e-5,
                      "norm %g coef %g", state[CT_STATE_GRAD_NORM], state[CT_STATE_CLIP_COEF]);
        for (int k = 0; k < 20; k++) last = run_step(&r, 0, 0);
        ck_assert_msg(last < 0.7 * first, "optimizer %d: %g -> %g", (int)kinds[i], first, last);
        run_close(&r);
    }
}
END_TEST

/* Adam with lr_schedule: the rate the device used is the schedule's. */
START_TEST(schedule_in_the_plan)
{
    ct_program_spec s;
    test_run r;
    double state[CT_STATE_COUNT];
    small_spec(&s, "textcnn", 2);
    s.schedule = (ct_schedule_attrs){
        .kind = CT_SCHED_COSINE, .base_lr = 0.01, .min_lr = 0.001, .warmup_steps = 2, .total_steps = 4
    };
    run_open(&r, &s, false);
    const double want[] = { 0.005, 0.01, 0.01, 0.0055, 0.001, 0.001 };
    for (int i = 0; i < 6; i++) {
        run_step(&r, 0, 0);
        ok(ct_arenas_get_state(r.store, state));
        ck_assert_msg(fabs(state[CT_STATE_LR] - want[i]) < 1e-12, "step %d: %g", i, state[CT_STATE_LR]);
    }
    run_close(&r);
}
END_TEST

/* ---- pixels ---- */

START_TEST(pixels_and_labels)
{
    ct_program_spec s;
    test_run r;
    small_spec(&s, "textcnn", 4);
    s.src_h = 16;
    s.src_w = 24;
    s.image.mean[0] = 0.5;
    s.image.std[0] = 0.25;
    s.image.augment = 1;
    s.image.shift_x = s.image.shift_y = 3;
    s.image.rotate = 10;
    s.image.seed = 4;
    run_open(&r, &s, false);
    int eval = run_add(&r, CT_PROGRAM_EVAL, 4, false), predict = run_add(&r, CT_PROGRAM_PREDICT, 1, false);
    uint8_t px[4 * 16 * 24];
    int32_t index[12], target[8] = { 0, 1, 2, 3, 4, 0, 1, 2 };
    for (size_t i = 0; i < sizeof px; i++) px[i] = (uint8_t)(i * 37 + i / 50);
    for (int i = 0; i < 4; i++) {
        index[3 * i] = 3 - i; /* rows in another order */
        index[3 * i + 1] = i;
        index[3 * i + 2] = 0;
    }
    const int order[2] = { eval, 0 };
    double loss[2];
    for (int i = 0; i < 2; i++) {
        int k = order[i];
        ok(ct_plan_upload(r.plan[k], ct_program_port(&r.p[k], "src"), px));
        ok(ct_plan_upload(r.plan[k], ct_program_port(&r.p[k], "index"), index));
        ok(ct_plan_upload(r.plan[k], ct_program_port(&r.p[k], "target"), target));
        ok(ct_plan_run(r.plan[k]));
        loss[i] = run_loss(&r, k);
    }
    ck_assert(isfinite(loss[0]) && isfinite(loss[1]) && loss[0] != loss[1]);
    /* evaluation is not augmented: x is (px/255 - mean)/std of the row asked for */
    ct_graph_keep(r.p[predict].graph, ct_graph_find(r.p[predict].graph, "x"));
    ct_plan *plan;
    ok(ct_plan_create(r.store, r.p[predict].graph, false, &plan));
    float x[16 * 24];
    ok(ct_plan_upload(plan, ct_program_port(&r.p[predict], "src"), px));
    ok(ct_plan_upload(plan, ct_program_port(&r.p[predict], "index"), (const int32_t[]){ 0, 5, 2 }));
    ok(ct_plan_run(plan));
    ok(ct_plan_download(plan, ct_graph_find(r.p[predict].graph, "x"), x));
    for (int i = 0; i < 16 * 24; i++)
        ck_assert_msg(fabs((double)x[i] - (px[i] / 255.0 - 0.5) / 0.25) < 1e-6, "pixel %d: %g", i, (double)x[i]);
    ck_assert_int_eq(ct_program_port(&r.p[predict], "loss"), CT_NOVAL);
    ck_assert_int_eq(ct_program_port(&r.p[predict], "target"), CT_NOVAL);
    float conf[2];
    ok(ct_plan_download(plan, ct_program_port(&r.p[predict], "conf"), conf));
    ck_assert(conf[0] >= 0.2f && conf[0] <= 1 && conf[1] >= 0.2f && conf[1] <= 1);
    ct_plan_free(plan);
    run_close(&r);
}
END_TEST

/* ---- combinations that mean nothing ---- */

START_TEST(refusals)
{
    ct_program_spec s;
    ct_program p;
    ct_layout l;
    small_spec(&s, "textcnn", 2);
    says(ct_program_build(&s, CT_PROGRAM_UPDATE, NULL, &l, &p), CT_EINVAL, "cannot be a model's first program");
    s.accumulate = 2;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "need micro programs");
    s.accumulate = 1;
    s.batch = 0;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "a batch of 0");
    s.batch = 2;
    s.compute = CT_F64;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "f64 arithmetic on f32 parameters");
    s.compute = CT_F32;
    s.recompute = CT_RECOMPUTE_AUTO;
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "has not been decided");
    s.recompute = -1;
    s.dropout_keep = "keep";
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "the model has no dropout");
    s.dropout_keep = NULL;
    s.model.height = 4;
    says(ct_program_build(&s, CT_PROGRAM_EVAL, NULL, &l, &p), CT_ECONFIG, "the image is too small");
    /* a layout of another model */
    ct_program other;
    small_spec(&s, "textcnn", 2);
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    s.model.hidden = 32;
    ct_status st = ct_program_build(&s, CT_PROGRAM_EVAL, p.graph, &l, &other);
    ck_assert_msg(st != CT_OK && strstr(ct_error_message(), "fc1.") != NULL, "%s", ct_error_message());
    ct_program_free(&p);
    ct_program_free(&other);
    ct_program_free(NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("program");
    TCase *c = tcase_create("program");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, accumulation);
    tcase_add_test(c, accumulated_gradient);
    tcase_add_test(c, dropout_of_micro_steps);
    tcase_add_loop_test(c, recompute_same_bits, 0, 2);
    tcase_add_test(c, ema_binding);
    tcase_add_test(c, overfit_one_batch);
    tcase_add_test(c, bf16_follows_f32);
    tcase_add_test(c, f64_follows_f32);
    tcase_add_test(c, fp16_scaler);
    tcase_add_test(c, decay_ranges);
    tcase_add_test(c, optimizers_and_clip);
    tcase_add_test(c, schedule_in_the_plan);
    tcase_add_test(c, pixels_and_labels);
    tcase_add_test(c, refusals);
    suite_add_tcase(s, c);
    suite_add_tcase(s, spec_case());
    suite_add_tcase(s, ctc_case());
    suite_add_tcase(s, pad_case());
    suite_add_tcase(s, parts_case());
    suite_add_tcase(s, update_case());
    suite_add_tcase(s, flat_case());
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
