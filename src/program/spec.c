#include "config.h"

#include "program/spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A ninth of a step's memory may be added for outputs of batch norms where it is everybody's: that saves 1 to 2 % of
 * the time. */
#define NORMS_SHARE 9

/* Epochs to optimizer steps, held within what the step counter can count. */
static int64_t steps_of(double epochs, int64_t steps_per_epoch)
{
    double n = nearbyint(epochs * (double)steps_per_epoch);
    return n < 0 ? 0 : n > 0x1p52 ? (int64_t)0x1p52 : (int64_t)n;
}

/* auto is one sample for whoever does not train: it is decided before a training is specified. */
static int64_t batch_of(const ct_config *cfg)
{
    return cfg->train.batch_size > 0 ? cfg->train.batch_size : 1;
}

static double lr_factor(const ct_config *cfg)
{
    double ratio = (double)batch_of(cfg) * (double)cfg->train.accumulate / (double)cfg->schedule.reference_batch;
    switch (cfg->schedule.lr_rule) {
    case CT_CFG_LR_LINEAR: return ratio;
    case CT_CFG_LR_SQRT: return sqrt(ratio);
    case CT_CFG_LR_NONE: break;
    }
    return 1;
}

static ct_status fill_schedule(const ct_config *cfg, int64_t steps_per_epoch, ct_schedule_attrs *a)
{
    const ct_cfg_schedule_keys *k = &cfg->schedule;
    double factor = lr_factor(cfg);
    int64_t total = steps_of((double)cfg->train.epochs, steps_per_epoch);
    if (cfg->train.steps > 0 && cfg->train.steps < total) total = cfg->train.steps;
    *a = (ct_schedule_attrs){ .base_lr = cfg->optimizer.lr * factor,
                              .min_lr = k->min_lr * factor,
                              .total_steps = total,
                              .gamma = k->gamma,
                              .t0 = 1,
                              .t_mult = 1 };
    switch (k->name) {
    case CT_CFG_SCHED_CONSTANT: a->kind = CT_SCHED_CONSTANT; return CT_OK;
    case CT_CFG_SCHED_WARMUP_COSINE:
        a->warmup_steps = steps_of(k->warmup_epochs, steps_per_epoch);
        a->kind = CT_SCHED_COSINE;
        return CT_OK;
    case CT_CFG_SCHED_COSINE: a->kind = CT_SCHED_COSINE; return CT_OK;
    case CT_CFG_SCHED_MULTISTEP:
        if (k->milestones.n > CT_MAX_MILESTONES)
            return ct_fail(CT_ECONFIG, "schedule.milestones: at most %d milestones (got %zu)", CT_MAX_MILESTONES,
                           k->milestones.n);
        for (size_t i = 0; i < k->milestones.n; i++) {
            const int64_t step = steps_of((double)k->milestones.v[i], steps_per_epoch);
            if (step > 0) a->milestones[a->nmilestones++] = step;
        }
        a->kind = CT_SCHED_MULTISTEP;
        return CT_OK;
    case CT_CFG_SCHED_WARM_RESTARTS:
        if (k->t_mult != floor(k->t_mult))
            return ct_fail(CT_ECONFIG, "schedule.t_mult: must be a whole number (got %g)", k->t_mult);
        a->t0 = steps_of(k->t0, steps_per_epoch);
        if (a->t0 < 1) a->t0 = 1;
        a->t_mult = (int64_t)k->t_mult;
        a->kind = CT_SCHED_WARM_RESTARTS;
        return CT_OK;
    case CT_CFG_SCHED_ONE_CYCLE:
    case CT_CFG_SCHED_TRIANGULAR:
        a->start_lr = a->base_lr / k->div_factor;
        a->min_lr = a->start_lr / k->final_div_factor;
        a->peak = k->pct_start * (double)total - 1; /* the first step is number 0 */
        a->kind = k->name == CT_CFG_SCHED_ONE_CYCLE ? CT_SCHED_ONE_CYCLE : CT_SCHED_TRIANGULAR;
        return CT_OK;
    }
    return ct_fail(CT_EINTERNAL, "schedule.name %d has no meaning", (int)k->name);
}

static ct_status set_precision(ct_cfg_precision precision, const char *key, ct_program_spec *s)
{
    switch (precision) {
    case CT_CFG_PRECISION_FP32: s->compute = CT_F32; return CT_OK;
    case CT_CFG_PRECISION_BF16: s->compute = CT_BF16; return CT_OK;
    case CT_CFG_PRECISION_FP16:
        s->compute = CT_F16;
        s->loss_scale = 65536;
        s->optim.dynamic = 1;
        return CT_OK;
    case CT_CFG_PRECISION_F64:
        s->compute = CT_F64;
        s->model.dtype = CT_F64;
        return CT_OK;
    case CT_CFG_PRECISION_TF32:
        s->compute = CT_F32;
        s->tf32 = true;
        return CT_OK;
    }
    return ct_fail(CT_EINTERNAL, "%s: %d has no meaning", key, (int)precision);
}

const char *ct_spec_precision_name(const ct_program_spec *spec)
{
    switch (spec->compute) {
    case CT_F64: return "f64";
    case CT_BF16: return "bf16";
    case CT_F16: return "fp16";
    default: return spec->tf32 ? "tf32" : "fp32";
    }
}

/* Element i of a list that has one number for all channels or one for each. */
static double channel(const ct_float_list *l, size_t i, double none)
{
    if (l->n == 0) return none;
    return l->v[i < l->n ? i : l->n - 1];
}

static void fill_image(const ct_config *cfg, ct_image_attrs *a)
{
    const ct_cfg_augment *g = &cfg->augment;
    const uint8_t *rgb = cfg->data.background;
    const double degree = 57.295779513082320877; /* of a radian */
    a->seed = cfg->train.seed;
    a->prob = g->probability;
    a->shift_x = a->shift_y = (double)g->shift;
    a->scale = g->scale;
    a->rotate = g->rotate;
    a->shear = atan(g->shear) * degree;
    a->brightness = g->brightness;
    a->contrast = g->contrast;
    a->noise = g->noise;
    a->blur = g->blur;
    a->augment = g->probability > 0 && (g->shift > 0 || g->scale > 0 || g->rotate > 0 || g->shear > 0 ||
                                        g->brightness > 0 || g->contrast > 0 || g->noise > 0 || g->blur > 0);
    a->crop_h = a->crop_w = cfg->data.crop;
    a->flip = g->flip;
    if (!a->augment && (a->crop_h > 0 || a->flip > 0)) {
        a->augment = 1; /* by lot is where a crop lies, and the mirror; values stay those of the pixels */
        a->prob = 0;
    }
    a->fill = (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]) / 255;
    a->nmean = a->nstd = CT_IMAGE_CHANNELS;
    for (size_t i = 0; i < CT_IMAGE_CHANNELS; i++) {
        a->mean[i] = channel(&cfg->data.mean, i, 0);
        a->std[i] = channel(&cfg->data.std, i, 1);
    }
}

static void fill_optimizer(const ct_config *cfg, ct_program_spec *s)
{
    const ct_cfg_optimizer_keys *k = &cfg->optimizer;
    s->optimizer = k->name == CT_CFG_OPT_SGD    ? CT_OPT_SGD
                   : k->name == CT_CFG_OPT_ADAM ? CT_OPT_ADAM
                   : k->name == CT_CFG_OPT_MUON ? CT_OPT_MUON
                                                : CT_OPT_ADAMW;
    s->muon = (ct_muon_spec){ .momentum = cfg->optimizer.muon.momentum,
                              .nesterov = cfg->optimizer.muon.nesterov,
                              .steps = cfg->optimizer.muon.steps,
                              .lr_factor = cfg->optimizer.muon.lr_factor,
                              .match_rms = cfg->optimizer.muon.adjust_lr == CT_CFG_ADJUST_RMS,
                              .first = cfg->optimizer.muon.first,
                              .last = cfg->optimizer.muon.last };
    s->groups = k->groups.v;
    s->ngroups = k->groups.n;
    s->optim.beta1 = k->betas.v[0];
    s->optim.beta2 = k->betas.v[1];
    s->optim.eps = k->eps;
    s->optim.weight_decay = k->weight_decay;
    s->optim.decoupled = s->optimizer != CT_OPT_ADAM;
    s->optim.momentum = k->momentum;
    s->optim.nesterov = k->nesterov;
    s->optim.max_norm = k->clip_grad_norm;
    s->optim.decay = k->ema_decay;
    s->optim.warmup = 1; /* averages of a short run must not consist of its start */
    s->decay_norm_bias = k->decay_norm_bias;
}

static int recompute_of(ct_cfg_recompute r)
{
    switch (r) {
    case CT_CFG_RECOMPUTE_AUTO: return CT_RECOMPUTE_AUTO;
    case CT_CFG_RECOMPUTE_ALL: return 0;
    case CT_CFG_RECOMPUTE_NONE: break;
    }
    return -1;
}

/* Keys of the model that would have no effect. */
static ct_status check_model_keys(const ct_config *cfg)
{
    const ct_model_info *m = ct_model_find(cfg->model.name);
    if (!m) return CT_ECONFIG;
    if (cfg->model.hidden > 0 && m->hidden == 0)
        return ct_fail(CT_ECONFIG, "model.hidden: %s has no hidden layer", m->name);
    if (cfg->model.dropout > 0 && m->dropout == 0)
        return ct_fail(CT_ECONFIG, "model.dropout: %s has no dropout", m->name);
    if (cfg->model.fuse != CT_CFG_FUSE_AUTO && m->fuse == CT_FUSE_MODEL)
        return ct_fail(CT_ECONFIG, "model.fuse: %s has no neck that joins maps", m->name);
    return CT_OK;
}

static ct_fuse fuse_of(ct_cfg_fuse f)
{
    switch (f) {
    case CT_CFG_FUSE_WEIGHTED: return CT_FUSE_WEIGHTED;
    case CT_CFG_FUSE_ADD: return CT_FUSE_ADD;
    case CT_CFG_FUSE_ATTENTION: return CT_FUSE_ATTENTION;
    case CT_CFG_FUSE_AUTO: break;
    }
    return CT_FUSE_MODEL;
}

/* Keys of what happens to pictures that the model or its task cannot have. */
static ct_status check_picture_keys(const ct_config *cfg, const ct_task *task, const ct_model_spec *m)
{
    const bool any_width = ct_model_elastic(m) && !ct_model_clip(m); /* clips of any length have pictures of one size */
    if (cfg->data.crop > 0 && any_width)
        return ct_fail(CT_ECONFIG, "data.crop: model.name: %s reads images of any width; crops are for models of a "
                       "fixed size", m->name);
    if (cfg->augment.flip > 0 && task->one_way)
        return ct_fail(CT_ECONFIG, "augment.flip: model.name: %s is of the task %s, and %s", m->name, task->name,
                       task->one_way);
    return CT_OK;
}

ct_status ct_spec_from_config(const ct_config *cfg, const ct_facts *facts, int src_h, int src_w, int64_t frames,
                              int64_t steps_per_epoch, ct_program_spec *out)
{
    ct_program_spec s;
    const int64_t crop = cfg->data.crop;
    if (steps_per_epoch < 1 || src_h < 1 || src_w < 1)
        return ct_fail(CT_EINVAL, "specification of %dx%d pixels, %" PRId64 " steps per epoch", src_h, src_w,
                       steps_per_epoch);
    const ct_task *task = ct_task_of(cfg->model.name);
    if (!task) return CT_ECONFIG;
    CT_TRY(check_model_keys(cfg));
    ct_program_defaults(&s);
    s.model = (ct_model_spec){ .name = cfg->model.name,
                               .height = crop > 0 ? crop : cfg->data.height,
                               .width = crop > 0 ? crop : cfg->data.width,
                               .channels = cfg->data.channels + (ct_model_find(cfg->model.name)->mask ? 1 : 0),
                               .width_mult = cfg->model.width,
                               .hidden = cfg->model.hidden,
                               .dropout = cfg->model.dropout,
                               .fuse = fuse_of(cfg->model.fuse),
                               .dtype = CT_F32,
                               .seed = (uint64_t)cfg->train.seed };
    CT_TRY(check_picture_keys(cfg, task, &s.model));
    if (ct_model_elastic(&s.model)) ct_model_set_length(&s.model, ct_model_clip(&s.model) ? frames : src_w);
    s.goal.task = task;
    CT_TRY(task->specify(cfg, facts, &s.model, &s.goal));
    s.batch = batch_of(cfg);
    s.accumulate = cfg->train.accumulate;
    s.parts = cfg->train.parts;
    s.src_h = src_h;
    s.src_w = src_w;
    s.recompute = recompute_of(cfg->train.recompute);
    s.dirac = cfg->model.init == CT_CFG_INIT_DIRAC;
    s.freeze = cfg->train.freeze.v;
    s.freezes = cfg->train.freeze.n;
    fill_image(cfg, &s.image);
    s.small = (ct_small_spec){ .steps = steps_of(cfg->train.progressive.epochs, steps_per_epoch),
                               .width = cfg->train.progressive.width,
                               .height = cfg->train.progressive.height };
    fill_optimizer(cfg, &s);
    CT_TRY(set_precision(cfg->train.precision, "train.precision", &s));
    if (s.compute == CT_F16) {
        s.loss_scale = cfg->train.loss_scale;
        s.optim.growth_interval = cfg->train.loss_scale_growth;
    }
    CT_TRY(fill_schedule(cfg, steps_per_epoch, &s.schedule));
    CT_TRY(ct_model_resolve(&s.model));
    /* Building the forward graph once tells now whether the model fits the image size. */
    ct_program p;
    ct_layout layout;
    CT_TRY(ct_program_build(&s, CT_PROGRAM_PREDICT, NULL, &layout, &p));
    ct_program_free(&p);
    *out = s;
    return CT_OK;
}

static ct_status steps_of_epoch(const ct_config *cfg, int64_t n, int64_t batches, int64_t *steps)
{
    const int64_t k = cfg->train.accumulate;
    *steps = (batches + k - 1) / k;
    if (batches > 0) return CT_OK;
    return ct_fail(CT_ECONFIG,
                   "train.batch_size %" PRId64 " with train.last_batch drop leaves no batch of %" PRId64
                   " training samples",
                   cfg->train.batch_size, n);
}

ct_status ct_spec_epoch(const ct_config *cfg, int64_t n, int64_t *batches, int64_t *steps)
{
    const int64_t batch = batch_of(cfg);
    *batches = cfg->train.last_batch == CT_CFG_LAST_DROP ? n / batch : (n + batch - 1) / batch;
    return steps_of_epoch(cfg, n, *batches, steps);
}

ct_status ct_spec_epoch_of(const ct_config *cfg, const ct_view *train, int64_t *batches, int64_t *steps)
{
    ct_loader_spec l;
    ct_spec_loader(cfg, train, &l);
    CT_TRY(ct_loader_count(&l, batches));
    return steps_of_epoch(cfg, train->n, *batches, steps);
}

int64_t ct_spec_longest(const ct_config *cfg, const ct_view *train)
{
    ct_loader_spec l;
    ct_spec_loader(cfg, train, &l);
    return ct_loader_longest(&l);
}

void ct_spec_loader(const ct_config *cfg, const ct_view *train, ct_loader_spec *out)
{
    memset(out, 0, sizeof *out);
    out->data = train->data;
    out->index = train->index;
    out->n = train->n;
    out->batch = (int)batch_of(cfg);
    out->shuffle = true;
    out->drop_last = cfg->train.last_batch == CT_CFG_LAST_DROP;
    out->frames_step = (int)cfg->data.frames_step;
    out->tempo = cfg->augment.tempo;
    out->seed = (uint64_t)cfg->train.seed;
    out->workers = (int)cfg->train.workers;
    out->epochs = -1;
}

ct_status ct_spec_from_model(const char *model, int64_t batch, const char *precision, ct_program_spec *out)
{
    static const struct {
        const char *name;
        ct_cfg_precision value;
    } names[] = {
        { "fp32", CT_CFG_PRECISION_FP32 }, { "bf16", CT_CFG_PRECISION_BF16 }, { "fp16", CT_CFG_PRECISION_FP16 },
        { "f64", CT_CFG_PRECISION_F64 },   { "tf32", CT_CFG_PRECISION_TF32 },
    };
    ct_program_spec s;
    ct_program_defaults(&s);
    const ct_model_info *m = ct_model_find(model);
    if (!m) return CT_ECONFIG;
    s.model.name = m->name; /* outlives the caller's string */
    CT_TRY(ct_program_usual_goal(&s));
    if (batch < 0 || batch > CT_MAX_BATCH)
        return ct_fail(CT_ECONFIG, "batch: must be between 1 and %d (got %" PRId64 ")", CT_MAX_BATCH, batch);
    if (batch > 0) s.batch = batch;
    size_t i = 0, n = sizeof names / sizeof names[0];
    if (!precision) precision = "fp32";
    while (i < n && strcmp(names[i].name, precision) != 0) i++;
    if (i == n) return ct_fail(CT_ECONFIG, "precision: '%s' is none of fp32, tf32, bf16, fp16, f64", precision);
    CT_TRY(set_precision(names[i].value, "precision", &s));
    CT_TRY(ct_model_resolve(&s.model));
    *out = s;
    return CT_OK;
}

ct_status ct_spec_sizes(ct_program_spec *spec, const ct_model_sizes *sizes)
{
    const ct_model_info *m = ct_model_find(spec->model.name);
    if (!m) return CT_ECONFIG;
    if (sizes->hidden > 0 && m->hidden == 0) return ct_fail(CT_ECONFIG, "model %s: has no hidden layer", m->name);
    if (sizes->classes > 0 && m->classes == 1) return ct_fail(CT_ECONFIG, "model %s: has no classes", m->name);
    if (sizes->height > 0) spec->model.height = sizes->height;
    if (sizes->width > 0) spec->model.width = sizes->width;
    if (sizes->frames > 0) spec->model.frames = sizes->frames;
    if (sizes->classes > 0) spec->model.classes = sizes->classes;
    if (sizes->hidden > 0) spec->model.hidden = sizes->hidden;
    return ct_model_resolve(&spec->model);
}

void ct_spec_pixels(ct_program_spec *spec, const ct_backend *backend)
{
    if (!backend->capture_begin || spec->model.dtype != CT_F32) return;
    spec->src_h = (int)spec->model.height;
    spec->src_w = (int)spec->model.width;
}

ct_status ct_spec_loss(ct_program_spec *spec, const char *loss)
{
    return loss ? spec->goal.task->usual(loss, &spec->model, &spec->goal) : CT_OK;
}

ct_status ct_spec_device(const ct_program_spec *spec, const ct_backend *backend, ct_device_opts *opts)
{
    if (spec->tf32 && !backend->tf32)
        return ct_fail(CT_ECONFIG,
                       "train.precision: tf32 is a mode of NVIDIA tensor cores, which backend %s does not have; use "
                       "fp32, bf16 or fp16",
                       backend->name);
    opts->tf32 = spec->tf32;
    return CT_OK;
}

ct_program_spec ct_spec_of_part(const ct_program_spec *spec)
{
    ct_program_spec s = *spec;
    if (spec->parts <= 1) return s;
    s.part = spec->parts - 1;
    s.members = spec->parts;
    s.model.row = spec->batch * s.part / spec->parts;
    s.model.of = spec->batch;
    s.batch = spec->batch - s.model.row;
    return s;
}

static ct_status peak_of(const ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts,
                         int64_t *peak, ct_device_info *info)
{
    ct_program p = { .graph = NULL };
    ct_layout layout;
    ct_arenas *store = NULL;
    ct_plan *plan = NULL;
    ct_plan_stats stats;
    const ct_program_spec part = ct_spec_of_part(spec);
    ct_arenas_needs needs = ct_program_needs(&part, true);
    ct_status st;
    CT_GOTO(st,
            ct_program_build(&part, spec->accumulate > 1 ? CT_PROGRAM_MICRO_FIRST : CT_PROGRAM_STEP, NULL, &layout,
                             &p));
    CT_GOTO(st, ct_arenas_create(backend, opts, &layout, &needs, true, &store));
    CT_GOTO(st, ct_plan_create(store, p.graph, false, &plan));
    CT_GOTO(st, backend->info(store->device, info));
    ct_plan_get_stats(plan, &stats);
    *peak = stats.peak_bytes;
fail:
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    return st;
}

ct_status ct_spec_peak(const ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts,
                       int64_t *peak, uint64_t *memory)
{
    ct_device_info info;
    int64_t bytes;
    CT_TRY(peak_of(spec, backend, opts, &bytes, &info));
    if (peak) *peak = bytes;
    if (memory) *memory = info.memory_total;
    return CT_OK;
}

void ct_spec_fit_device(ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts)
{
    spec->channel_multiple = backend->channel_multiple ? backend->channel_multiple(opts, spec->compute) : 1;
    spec->skip_still = spec->fuse_more = true;
    /* a device on which starting a call costs something */
    spec->flat_casts = spec->join_sums = backend->capture_begin != NULL;
    /* one whose kernels pass over memory once less for it */
    spec->sum_in_place = spec->measure = !spec->join_sums;
}

ct_status ct_spec_settle(ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts)
{
    const bool asked = spec->recompute == CT_RECOMPUTE_AUTO, own = backend->host_alloc != NULL;
    ct_device_info info;
    int64_t all, least = 0;
    if (!asked && spec->recompute >= 0) return CT_OK;
    ct_program_spec tried = *spec;
    tried.recompute = -1;
    tried.norms_kept = CT_NORMS_ALL;
    CT_TRY(peak_of(&tried, backend, opts, &all, &info));
    /* A device's own memory is there to be used, so far as it is free: what others hold is no reason to fail that
     * applying norms again avoids. The host's is everybody's. */
    const bool fit = own && (double)all <= CT_MEMORY_SHARE * (double)info.memory_free;
    tried.norms_kept = 0;
    if (!own || (asked && !fit)) CT_TRY(peak_of(&tried, backend, opts, &least, &info));
    const int64_t more = own ? 0 : least / NORMS_SHARE;
    const double memory = CT_MEMORY_SHARE * (double)info.memory_total;
    if (fit) spec->norms_kept = CT_NORMS_ALL;
    else if ((double)(least + more) > memory) spec->norms_kept = 0;
    else spec->norms_kept = !own && all <= least + more ? CT_NORMS_ALL : more;
    spec->recompute = asked && (double)least > memory ? 0 : -1;
    return CT_OK;
}
