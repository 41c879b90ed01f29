/* Reading a golden file: metadata to a program specification, tensors to our order. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/json.h"
#include "models/torch_map.h"
#include "selftest/golden.h"

/* ---- metadata ---- */

static ct_status need_meta(const ct_golden *g, const char *key, const char **out)
{
    *out = ct_safetensors_meta(g->st, key);
    return *out ? CT_OK : ct_fail(CT_EFORMAT, "%s: not a golden file: no '%s' in its metadata", g->path, key);
}

static ct_status meta_json(const ct_golden *g, const char *key, json_t **out)
{
    const char *text;
    CT_TRY(need_meta(g, key, &text));
    return ct_json_parse(text, strlen(text), g->path, out);
}

/* A number of object `o`; 0 if it has none. */
static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static ct_status read_model(ct_golden *g)
{
    const char *format, *name, *dtype, *variant = ct_safetensors_meta(g->st, "crnn_variant");
    ct_model_spec *m = &g->spec.model;
    CT_TRY(need_meta(g, "format", &format));
    if (strcmp(format, "peer_torch golden 1") != 0)
        return ct_fail(CT_EFORMAT, "%s: golden format '%s' is unknown; this program reads 'peer_torch golden 1'",
                       g->path, format);
    CT_TRY(need_meta(g, "model", &name));
    CT_TRY(need_meta(g, "dtype", &dtype));
    bool stacked = variant && strcmp(variant, "stacked") == 0;
    if (variant && *variant && !stacked && strcmp(variant, "ref") != 0)
        return ct_fail(CT_EFORMAT, "%s: crnn_variant '%s' is unknown", g->path, variant);
    snprintf(g->model, sizeof g->model, "%s%s", name, stacked ? "-stacked" : "");
    if (!ct_model_find(g->model)) return ct_fail_context(CT_EFORMAT, "%s", g->path);
    m->name = g->model;
    if (strcmp(dtype, "F64") == 0) m->dtype = CT_F64;
    else if (strcmp(dtype, "F32") == 0) m->dtype = CT_F32;
    else return ct_fail(CT_EFORMAT, "%s: dtype '%s' is neither F32 nor F64", g->path, dtype);
    g->spec.compute = m->dtype;
    json_t *config = NULL;
    CT_TRY(meta_json(g, "config", &config));
    m->width_mult = number(config, "width_mult");
    m->hidden = (int64_t)number(config, "hidden");
    json_decref(config);
    return CT_OK;
}

static ct_status read_optimizer(ct_golden *g)
{
    json_t *o = NULL;
    CT_TRY(meta_json(g, "optimizer", &o));
    const char *name = json_string_value(json_object_get(o, "name"));
    const json_t *betas = json_object_get(o, "betas");
    bool fine = name && strcmp(name, "AdamW") == 0 && json_array_size(betas) == 2;
    g->spec.optimizer = CT_OPT_ADAMW;
    g->spec.decay_norm_bias = true;
    g->spec.schedule.kind = CT_SCHED_CONSTANT;
    g->spec.schedule.base_lr = number(o, "lr");
    g->spec.optim.beta1 = json_number_value(json_array_get(betas, 0));
    g->spec.optim.beta2 = json_number_value(json_array_get(betas, 1));
    g->spec.optim.eps = number(o, "eps");
    g->spec.optim.weight_decay = number(o, "weight_decay");
    json_decref(o);
    return fine ? CT_OK : ct_fail(CT_EFORMAT, "%s: optimizer is not AdamW with two betas", g->path);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median of what the file says of its gradients. */
static ct_status read_usual_noise(ct_golden *g)
{
    const size_t n = json_object_size(g->noise);
    const char *name;
    json_t *value;
    size_t i = 0;
    if (n == 0) return CT_OK;
    double *all = ct_calloc(n, sizeof *all, "noise of gradients");
    if (!all) return CT_ENOMEM;
    json_object_foreach(g->noise, name, value) all[i++] = json_number_value(value);
    qsort(all, n, sizeof *all, rising);
    g->usual_noise = all[n / 2];
    ct_free(all);
    return CT_OK;
}

static ct_status read_lists(ct_golden *g)
{
    CT_TRY(meta_json(g, "no_grad_params", &g->no_grad));
    CT_TRY(meta_json(g, "zero_grad_params", &g->zero_grad));
    if (!json_is_array(g->no_grad) || !json_is_array(g->zero_grad))
        return ct_fail(CT_EFORMAT, "%s: no_grad_params and zero_grad_params must be lists", g->path);
    if (ct_safetensors_meta(g->st, "left_out_grads")) CT_TRY(meta_json(g, "left_out_grads", &g->left_out));
    if (!ct_safetensors_meta(g->st, "fp32_noise")) return CT_OK;
    json_t *noise = NULL;
    CT_TRY(meta_json(g, "fp32_noise", &noise));
    g->noise = json_incref(json_object_get(noise, "grad_rel_l2"));
    json_decref(noise);
    return read_usual_noise(g);
}

/* ---- inputs ---- */

/* input.x [N,C,H,W] -> [N,H,W,C], that of clips [N,F,C,H,W] -> [N*F,H,W,C]. */
static ct_status read_images(ct_golden *g)
{
    const ct_st_tensor *t;
    ct_model_spec *m = &g->spec.model;
    const int clip = ct_model_clip(m) ? 1 : 0;
    CT_TRY(ct_safetensors_need(g->st, "input.x", 4 + clip, &t));
    const int64_t *dim = t->desc.dim + clip;
    for (int k = 0; k < 4 + clip; k++)
        if (t->desc.dim[k] < 1) return ct_fail(CT_EFORMAT, "%s: 'input.x' is empty", g->path);
    m->frames = clip ? t->desc.dim[1] : 1;
    int64_t n = t->desc.dim[0] * m->frames, c = dim[1], h = dim[2], w = dim[3];
    size_t e = ct_dtype_size(m->dtype);
    g->spec.batch = t->desc.dim[0];
    m->channels = c;
    m->height = h;
    m->width = w;
    char *nchw = ct_aligned_alloc((size_t)ct_desc_numel(&t->desc) * e + 1, "golden input");
    g->x = ct_aligned_alloc((size_t)ct_desc_numel(&t->desc) * e + 1, "golden input");
    if (!nchw || !g->x) {
        ct_free(nchw);
        return CT_ENOMEM;
    }
    ct_st_read(t, m->dtype, nchw);
    char *nhwc = g->x;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t p = 0; p < h * w; p++)
                memcpy(nhwc + (size_t)((i * h * w + p) * c + k) * e, nchw + (size_t)((i * c + k) * h * w + p) * e, e);
    ct_free(nchw);
    return CT_OK;
}

/* What the task reads of the labels. */
static ct_status read_fields(ct_golden *g)
{
    const ct_task *task = ct_task_of(g->model);
    if (!task) return CT_ECONFIG;
    if (!task->golden) return ct_fail(CT_EFORMAT, "%s: the task %s has no golden files", g->path, task->name);
    g->batch.n = g->spec.batch;
    g->spec.goal.task = task;
    return task->golden(g->path, g->st, &g->spec.model, &g->spec.goal, &g->batch);
}

static ct_status read_dropout(ct_golden *g)
{
    const char *text;
    g->spec.model.dropout = 0;
    CT_TRY(need_meta(g, "dropout", &text));
    if (strcmp(text, "off") == 0) return CT_OK;
    const ct_st_tensor *t;
    const char *p = strstr(text, "p=");
    double rate = p ? strtod(p + 2, NULL) : 0;
    if (!(rate > 0 && rate < 1)) return ct_fail(CT_EFORMAT, "%s: dropout '%s' has no p", g->path, text);
    CT_TRY(ct_safetensors_need(g->st, "aux.dropout_keep", 2, &t));
    if (t->desc.dim[0] != g->spec.batch || t->desc.dim[1] != g->spec.model.hidden || t->desc.dtype != CT_U8)
        return ct_fail(CT_EFORMAT, "%s: aux.dropout_keep must be U8 [batch, hidden]", g->path);
    g->keep = ct_malloc(t->bytes + 1, "dropout mask");
    if (!g->keep) return CT_ENOMEM;
    ct_st_read(t, CT_U8, g->keep);
    g->spec.model.dropout = rate;
    g->spec.dropout_keep = "aux.dropout_keep";
    return CT_OK;
}

ct_status ct_golden_open(const char *path, ct_golden *out)
{
    *out = (ct_golden){ .path = path };
    ct_status st;
    ct_program_defaults(&out->spec);
    CT_GOTO(st, ct_safetensors_open(path, &out->st));
    CT_GOTO(st, read_model(out));
    CT_GOTO(st, read_optimizer(out));
    CT_GOTO(st, read_lists(out));
    CT_GOTO(st, read_images(out));
    CT_GOTO(st, read_fields(out));
    CT_GOTO(st, read_dropout(out));
    return CT_OK;
fail:
    ct_golden_close(out);
    return st;
}

void ct_golden_close(ct_golden *g)
{
    ct_safetensors_close(g->st);
    json_decref(g->no_grad);
    json_decref(g->zero_grad);
    json_decref(g->left_out);
    json_decref(g->noise);
    ct_free(g->x);
    for (int i = 0; i < g->batch.fields; i++) ct_free(g->batch.field[i].host);
    ct_free(g->batch.steps);
    ct_free(g->keep);
    *g = (ct_golden){ .path = g->path };
}

/* ---- weights ---- */

double ct_golden_noise(const ct_golden *g, const ct_value *v)
{
    const double own = json_number_value(json_object_get(g->noise, v->name));
    return ct_desc_numel(&v->desc) > CT_GOLDEN_FEW ? own : fmax(own, g->usual_noise);
}

bool ct_golden_listed(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *s = json_string_value(json_array_get(names, i));
        if (s && strcmp(s, name) == 0) return true;
    }
    return false;
}

ct_status ct_golden_read(const ct_golden *g, const char *prefix, const ct_value *v, void *ours, bool *found)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    *found = false;
    char *name = ct_asprintf("%s%s", prefix, v->name);
    if (!name) return CT_ENOMEM;
    ct_status st = CT_OK;
    void *theirs = NULL;
    const ct_st_tensor *t = ct_safetensors_find(g->st, name);
    if (!t) goto fail;
    ct_desc want = ct_torch_desc(v);
    if (!ct_desc_same_shape(&t->desc, &want)) {
        st = ct_fail(CT_EFORMAT, "%s: '%s' is %s, but the model has %s", g->path, name, ct_desc_str(&t->desc, a),
                     ct_desc_str(&want, b));
        goto fail;
    }
    theirs = ct_aligned_alloc(ct_desc_bytes(&v->desc) + 1, "golden tensor");
    if (!theirs) {
        st = CT_ENOMEM;
        goto fail;
    }
    ct_st_read(t, v->desc.dtype, theirs);
    ct_from_torch(v, ct_dtype_size(v->desc.dtype), theirs, ours);
    *found = true;
fail:
    ct_free(theirs);
    ct_free(name);
    return st;
}
