#include "config.h"

#include "api/smoke.h"

#include <math.h>

#include "base/file.h"
#include "base/philox.h"
#include "program/spec.h"

enum { BATCH = 4, HEIGHT = 16, WIDTH = 24, POSITIONS = 2, CLASSES = 4 };

typedef struct smoke {
    ct_program_spec spec;
    ct_layout layout;
    ct_program program;
    ct_arenas *store;
    ct_plan *plan;
} smoke;

static void release(smoke *s)
{
    ct_plan_free(s->plan);
    ct_arenas_free(s->store);
    ct_program_free(&s->program);
}

static ct_status specify(smoke *s, const ct_backend *b, const ct_device_opts *opts)
{
    ct_program_spec *p = &s->spec;
    ct_program_defaults(p);
    p->model = (ct_model_spec){ .name = "textcnn-small",
                                .height = HEIGHT,
                                .width = WIDTH,
                                .channels = 1,
                                .positions = POSITIONS,
                                .classes = CLASSES,
                                .width_mult = 0.125,
                                .hidden = 16,
                                .dropout = -1,
                                .dtype = CT_F32,
                                .seed = 1 };
    p->batch = BATCH;
    p->src_h = HEIGHT;
    p->src_w = WIDTH;
    ct_spec_fit_device(p, b, opts);
    return ct_model_resolve(&p->model);
}

/* Noise and labels: to be learned by heart. */
static ct_status upload(smoke *s)
{
    uint8_t px[BATCH * HEIGHT * WIDTH];
    int32_t index[BATCH][3], label[BATCH][POSITIONS];
    ct_rng rng;
    ct_rng_init(&rng, 1, CT_RNG_TEST, 0);
    for (size_t i = 0; i < sizeof px; i++) px[i] = (uint8_t)ct_rng_below(&rng, 256);
    for (int i = 0; i < BATCH; i++) {
        index[i][0] = index[i][1] = i;
        index[i][2] = 0;
        for (int k = 0; k < POSITIONS; k++) label[i][k] = (int32_t)ct_rng_below(&rng, CLASSES);
    }
    CT_TRY(ct_plan_upload(s->plan, ct_program_role(&s->program, CT_PORT_PIXELS), px));
    CT_TRY(ct_plan_upload(s->plan, ct_program_role(&s->program, CT_PORT_INDEX), index));
    CT_TRY(ct_plan_upload(s->plan, ct_program_role(&s->program, CT_PORT_FIELD), label));
    return s->store->backend->stream_sync(s->store->device, s->store->stream);
}

static ct_status set_up(smoke *s, const ct_backend *b, const ct_device_opts *opts)
{
    double state[CT_STATE_COUNT];
    CT_TRY(specify(s, b, opts));
    const ct_arenas_needs needs = ct_program_needs(&s->spec, true);
    CT_TRY(ct_program_build(&s->spec, CT_PROGRAM_STEP, NULL, &s->layout, &s->program));
    CT_TRY(ct_arenas_create(b, opts, &s->layout, &needs, false, &s->store));
    CT_TRY(ct_plan_create(s->store, s->program.graph, false, &s->plan));
    CT_TRY(ct_arenas_init(s->store, s->program.graph, 1));
    ct_program_initial_state(&s->spec, state);
    CT_TRY(ct_arenas_set_state(s->store, state));
    return upload(s);
}

ct_status ct_smoke_run(const ct_backend *b, const ct_device_opts *opts, ct_smoke *out)
{
    smoke s = { .store = NULL };
    ct_status st;
    *out = (ct_smoke){ 0 };
    CT_GOTO(st, set_up(&s, b, opts));
    const double started = ct_now();
    while (out->steps < CT_SMOKE_STEPS && (out->steps < 2 || out->seconds < CT_SMOKE_SECONDS)) {
        double sums[CT_METRIC_COUNT];
        CT_GOTO(st, ct_plan_run(s.plan));
        CT_GOTO(st, ct_arenas_get_metrics(s.store, sums, true)); /* waits */
        out->loss[out->steps++] = sums[CT_METRIC_LOSS] / sums[CT_METRIC_SAMPLES];
        out->seconds = ct_now() - started;
    }
fail:
    release(&s);
    return st;
}

ct_status ct_smoke_judge(const ct_smoke *s, const ct_smoke *reference, double *worst)
{
    const int n = s->steps < reference->steps ? s->steps : reference->steps;
    *worst = 0;
    for (int i = 0; i < n; i++) {
        const double off = fabs(s->loss[i] - reference->loss[i]) / fabs(reference->loss[i]);
        if (!isfinite(s->loss[i])) return ct_fail(CT_EINTERNAL, "the loss of step %d is %g", i + 1, s->loss[i]);
        if (off > *worst) *worst = off;
        if (!(off <= CT_SMOKE_TOLERANCE))
            return ct_fail(CT_EINTERNAL, "the loss of step %d is %.6g, the reference's is %.6g", i + 1, s->loss[i],
                           reference->loss[i]);
    }
    if (!(s->loss[s->steps - 1] < s->loss[0]))
        return ct_fail(CT_EINTERNAL, "the loss does not fall: %.6g, after %d steps %.6g", s->loss[0], s->steps,
                       s->loss[s->steps - 1]);
    return CT_OK;
}
