/* Sliders in golden files: input.points and, with the losses of loss.yaml, input.fakes, input.fake_count and
 * input.angle_target become fields; metadata slider_loss and slider_fuse become the goal and the model's neck. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "task/slider/goal.h"
#include "task/slider/slider.h"

typedef struct source {
    const char *path;
    const ct_safetensors *st;
    ct_dtype type;      /* of the model */
    ct_golden_batch *b;
} source;

/* A new field of `each` numbers per sample in g->type, all NAN; NULL without memory. */
static void *add(source *g, const char *name, int64_t each)
{
    const int64_t n = g->b->n * each;
    void *host = ct_calloc((size_t)n, ct_dtype_size(g->type), "golden fields");
    if (!host) return NULL;
    for (int64_t i = 0; i < n; i++) ct_store(g->type, host, i, NAN);
    const int k = g->b->fields++;
    g->b->field[k].name = name;
    g->b->field[k].host = host;
    g->b->field[k].dtype = g->type;
    g->b->field[k].elems = n;
    return host;
}

/* Tensor `name` of the file: `each` numbers per sample. */
static ct_status need(const source *g, const char *name, int64_t each, const ct_st_tensor **out)
{
    CT_TRY(ct_safetensors_need(g->st, name, -1, out));
    if (ct_desc_numel(&(*out)->desc) == g->b->n * each) return CT_OK;
    return ct_fail(CT_EFORMAT, "%s: '%s' has %" PRId64 " numbers, not %" PRId64 " for each of %" PRId64 " samples",
                   g->path, name, ct_desc_numel(&(*out)->desc), each, g->b->n);
}

static ct_status copy(source *g, const char *from, const char *name, int64_t each)
{
    const ct_st_tensor *t;
    CT_TRY(need(g, from, each, &t));
    void *host = add(g, name, each);
    if (!host) return CT_ENOMEM;
    ct_st_read(t, g->type, host);
    return CT_OK;
}

/* input.fakes [N,K,2], of which input.fake_count [N] mean something. */
static ct_status read_fakes(source *g)
{
    const ct_st_tensor *t, *counts;
    ct_status st = CT_OK;
    CT_TRY(ct_safetensors_need(g->st, "input.fakes", 3, &t));
    CT_TRY(need(g, "input.fake_count", 1, &counts));
    const int64_t most = t->desc.dim[1];
    CT_TRY(need(g, "input.fakes", most * 2, &t));
    double *all = ct_calloc((size_t)ct_desc_numel(&t->desc) + 1, sizeof *all, "golden fields");
    int32_t *count = ct_calloc((size_t)g->b->n + 1, sizeof *count, "golden fields");
    void *host = all && count ? add(g, "fakes", 2 * CT_SLIDER_MAX_FAKES) : NULL;
    if (!host) CT_GOTO(st, CT_ENOMEM);
    ct_st_read(t, CT_F64, all);
    ct_st_read(counts, CT_I32, count);
    for (int64_t i = 0; i < g->b->n; i++) {
        if (count[i] < 0 || count[i] > most || count[i] > CT_SLIDER_MAX_FAKES)
            CT_GOTO(st, ct_fail(CT_EFORMAT, "%s: input.fake_count of sample %" PRId64 " is %d", g->path, i,
                                (int)count[i]));
        for (int64_t k = 0; k < 2 * (int64_t)count[i]; k++)
            ct_store(g->type, host, 2 * CT_SLIDER_MAX_FAKES * i + k, all[2 * most * i + k]);
    }
fail:
    ct_free(all);
    ct_free(count);
    return st;
}

/* ---- the goal ---- */

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static ct_status take_loss(const source *g, const json_t *o, ct_goal *goal)
{
    const char *name = json_string_value(json_object_get(o, "name"));
    const char *at = json_string_value(json_object_get(o, "sample_at"));
    const json_t *focal = json_object_get(o, "focal");
    double *v = goal->value;
    if (!name || !at || !focal) return ct_fail(CT_EFORMAT, "%s: slider_loss lacks name, sample_at or focal", g->path);
    if (strcmp(at, "centre") != 0)
        return ct_fail(CT_EFORMAT, "%s: slider_loss.sample_at is '%s'; maps are read at the middles of cells (centre)",
                       g->path, at);
    ct_slider_goal(strcmp(name, "early") == 0 ? CT_SLIDER_LOSS_EARLY : CT_SLIDER_LOSS_LATE, goal);
    v[CT_SLIDER_ALPHA] = number(focal, "alpha");
    v[CT_SLIDER_BETA] = number(focal, "beta");
    v[CT_SLIDER_POSITIVE] = number(focal, "pos_threshold");
    v[CT_SLIDER_EPS] = number(focal, "eps");
    v[CT_SLIDER_MARGIN] = number(o, "margin");
    v[CT_SLIDER_ANGLE_POSITIVE] = number(o, "angle_threshold");
    v[CT_SLIDER_CAP] = number(o, "padding_cap");
    v[CT_SLIDER_TAU] = number(o, "tau");
    v[CT_SLIDER_SIGMA] = number(o, "sigma");
    v[CT_SLIDER_W_HEAT] = number(o, "heat");
    v[CT_SLIDER_W_OFFSET] = number(o, "offset");
    v[CT_SLIDER_W_HARD_NEGATIVE] = number(o, "hard_negative");
    v[CT_SLIDER_W_ANGLE] = number(o, "angle");
    v[CT_SLIDER_W_PADDING] = number(o, "padding_bce");
    v[CT_SLIDER_W_ROW_CE] = number(o, "y_axis") * number(o, "row_ce");
    v[CT_SLIDER_W_ROW_EMD] = number(o, "y_axis") * number(o, "emd");
    if (number(o, "padding_clamp") != CT_SLIDER_PADDING_EPS || number(o, "row_eps") != CT_SLIDER_ROW_EPS)
        return ct_fail(CT_EFORMAT, "%s: slider_loss has another padding_clamp or row_eps than %g and %g", g->path,
                       CT_SLIDER_PADDING_EPS, CT_SLIDER_ROW_EPS);
    return CT_OK;
}

static ct_status read_goal(const source *g, ct_goal *goal)
{
    const char *text = ct_safetensors_meta(g->st, "slider_loss");
    json_t *o = NULL;
    ct_slider_goal(CT_SLIDER_LOSS_BASIC, goal);
    if (!text) {
        if (ct_safetensors_find(g->st, "input.angle_target")) goal->value[CT_SLIDER_W_ANGLE] = 0.5;
        return CT_OK;
    }
    CT_TRY(ct_json_parse(text, strlen(text), g->path, &o));
    ct_status st = take_loss(g, o, goal);
    json_decref(o);
    return st;
}

static ct_status read_neck(const source *g, ct_model_spec *model)
{
    static const ct_fuse kinds[] = { CT_FUSE_WEIGHTED, CT_FUSE_ADD, CT_FUSE_ATTENTION };
    const char *fuse = ct_safetensors_meta(g->st, "slider_fuse");
    if (!fuse) { /* files of the basic loss do not say it: its parameters do */
        model->fuse = ct_safetensors_find(g->st, "param.fuse.0.w")            ? CT_FUSE_WEIGHTED
                      : ct_safetensors_find(g->st, "param.fuse.0.fc1.weight") ? CT_FUSE_ATTENTION
                                                                              : CT_FUSE_ADD;
        return CT_OK;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (strcmp(fuse, ct_fuse_name(kinds[k])) == 0) {
            model->fuse = kinds[k];
            return CT_OK;
        }
    return ct_fail(CT_EFORMAT, "%s: slider_fuse '%s' is none of weighted, add, attention", g->path, fuse);
}

ct_status ct_slider_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                           ct_golden_batch *b)
{
    source g = { path, st, model->dtype, b };
    CT_TRY(read_neck(&g, model));
    CT_TRY(read_goal(&g, goal));
    CT_TRY(copy(&g, "input.points", "points", 4));
    void *scale = add(&g, "scale", 1);
    if (!scale) return CT_ENOMEM;
    for (int64_t i = 0; i < b->n; i++) ct_store(g.type, scale, i, 1);
    if (goal->value[CT_SLIDER_W_HARD_NEGATIVE] > 0) CT_TRY(read_fakes(&g));
    return goal->value[CT_SLIDER_W_ANGLE] > 0 ? copy(&g, "input.angle_target", "pose", 2) : CT_OK;
}
