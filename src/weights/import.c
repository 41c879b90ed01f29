/* captrain import-torch: a PyTorch state dict in a safetensors file becomes a model file. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "captrain.h"
#include "models/torch_map.h"
#include "program/spec.h"
#include "weights/checkpoint.h"
#include "weights/name_map.h"

#define SHOWN_TENSORS 8 /* that lack or do not fit, and as many that are left over */

typedef struct complaint {
    char *text; /* lines */
    int n;
} complaint;

typedef struct import {
    const ct_import_opts *o;
    ct_config *cfg;
    const ct_task *task;
    ct_facts *facts;
    ct_name_map map;
    ct_safetensors *file;
    char **name;     /* [count of the file's tensors] what they are called here */
    ct_session session;
    ct_model_meta meta;
    complaint needed, left; /* what the model lacks, and what it has no place for */
    const ct_model_info *model;
    bool trunk;             /* the file holds the layers of model->trunk alone */
    int taken, drawn; /* tensors of the file, and those of the model that it does not have */
    int other;        /* tensors of the file for what such a trunk was trained for */
} import;

/* ---- configuration ---- */

static ct_status set_number(ct_config *cfg, const char *key, int64_t v)
{
    char text[24];
    if (ct_config_is_set(cfg, key)) return CT_OK;
    snprintf(text, sizeof text, "%" PRId64, v);
    return ct_config_set(cfg, key, text, "the model's own size");
}

/* The configuration the model file will carry: --config and --set, then the options, then the model's own size. */
static ct_status configure(import *im)
{
    const ct_import_opts *o = im->o;
    if (o->config) CT_TRY(ct_config_load(o->config, o->sets, o->nsets, &im->cfg));
    else CT_TRY(ct_config_parse("{}", 2, "captrain import-torch", o->sets, o->nsets, &im->cfg));
    if (o->model) CT_TRY(ct_config_set(im->cfg, "model.name", o->model, "--model"));
    const ct_model_info *m = im->model = ct_model_find(im->cfg->model.name);
    if (!m) return CT_ECONFIG;
    CT_TRY(set_number(im->cfg, "data.height", m->height));
    CT_TRY(set_number(im->cfg, "data.width", m->width));
    CT_TRY(set_number(im->cfg, "data.channels", m->channels - (m->mask ? 1 : 0)));
    if (!(im->task = ct_task_of(m->name))) return CT_ECONFIG;
    if (!im->task->given)
        return ct_fail(CT_ECONFIG, "import-torch: models of the task %s cannot be imported", im->task->name);
    CT_TRY(ct_options_check(im->task, "import-torch", o->option, o->noptions));
    return im->task->given(im->cfg, o->option, o->noptions, &im->facts);
}

static ct_status open_session(import *im)
{
    const ct_config *cfg = im->cfg;
    char why[256] = "";
    ct_program_spec spec;
    CT_TRY(ct_spec_from_config(cfg, im->facts, (int)cfg->data.height, (int)cfg->data.width, 0, 1, &spec));
    spec.accumulate = 1;
    spec.freezes = 0;
    ct_device_opts opts = { .threads = 1 };
    CT_TRY(ct_session_begin(&im->session, &spec, false, "cpu", &opts, why, sizeof why));
    CT_TRY(ct_session_add(&im->session, CT_PROGRAM_PREDICT, 1, ct_session_length(&im->session), 1, false));
    CT_TRY(ct_session_ready(&im->session));
    im->meta.facts = im->facts;
    return CT_OK;
}

/* ---- tensors ---- */

static ct_status complain(complaint *c, const char *name, const char *why)
{
    if (c->n++ > SHOWN_TENSORS) return CT_OK;
    char *more = c->n > SHOWN_TENSORS ? ct_asprintf("%s\n  ...", c->text)
                                      : ct_asprintf("%s\n  %s: %s", c->text ? c->text : "", name, why);
    if (!more) return CT_ENOMEM;
    ct_free(c->text);
    c->text = more;
    return CT_OK;
}

/* A counter of batch norm that nothing here needs. */
static bool is_counter(const ct_st_tensor *t)
{
    static const char tail[] = "num_batches_tracked";
    size_t n = strlen(t->name), k = sizeof tail - 1;
    return n >= k && strcmp(t->name + n - k, tail) == 0 && (n == k || t->name[n - k - 1] == '.') &&
           !ct_dtype_is_float(t->desc.dtype);
}

/* Index of the file's tensor that is called `name` here; -1. Two of that name are complained about. */
static ct_status find(import *im, const char *name, int64_t *out)
{
    *out = -1;
    for (size_t i = 0; i < ct_safetensors_count(im->file); i++) {
        if (strcmp(im->name[i], name) != 0) continue;
        if (*out >= 0) return complain(&im->left, name, "two tensors of the file have this name after --map");
        *out = (int64_t)i;
    }
    return CT_OK;
}

/* ---- weights of a network that was trained for something else ---- */

/* Whether a tensor belongs to one of the layers in `words`; NULL: there are none. */
static bool among(const char *words, const char *name)
{
    while (words && *words) {
        const size_t len = strcspn(words, " ");
        if (strncmp(name, words, len) == 0 && (name[len] == '.' || name[len] == '\0')) return true;
        words += len + strspn(words + len, " ");
    }
    return false;
}

static bool in_file(const import *im, const char *name)
{
    for (size_t i = 0; i < ct_safetensors_count(im->file); i++)
        if (strcmp(im->name[i], name) == 0) return true;
    return false;
}

/* The file holds a trunk alone if it has something of the trunk and nothing of what stands behind it in the model. */
static ct_status look_for_trunk(import *im)
{
    bool has = false;
    for (size_t i = 0; im->model->trunk && i < im->session.tensors; i++) {
        const char *name = im->session.tensor[i].name;
        if (!in_file(im, name)) continue;
        if (!among(im->model->trunk, name)) return CT_OK;
        has = true;
    }
    im->trunk = has;
    /* as a training run with this seed would draw them */
    return has ? ct_arenas_init(im->session.store, im->session.ref_graph, (uint64_t)im->cfg->train.seed) : CT_OK;
}

/* Whether `have` [K,C-1,R,S] is the model's first filters without those of its last channel, the mask's. */
static bool lacks_mask(const import *im, const char *name, const ct_desc *have, const ct_desc *want)
{
    ct_desc d = *have;
    if (!im->model->stem || strcmp(name, im->model->stem) != 0 || d.ndim != 4) return false;
    d.dim[1]++;
    return ct_desc_same_shape(&d, want);
}

/* [K,C-1,R,S] -> [K,C,R,S], zeros in the last channel, in place. */
static void add_channel(void *theirs, const ct_desc *want)
{
    const size_t pixels = (size_t)(want->dim[2] * want->dim[3]) * ct_dtype_size(want->dtype);
    const size_t row = (size_t)want->dim[1] * pixels;
    for (size_t k = (size_t)want->dim[0]; k-- > 0;) {
        char *to = (char *)theirs + k * row;
        memmove(to, (char *)theirs + k * (row - pixels), row - pixels);
        memset(to + row - pixels, 0, pixels);
    }
}

/* ---- */

static ct_status load(import *im, size_t i, bool *used)
{
    ct_session *s = &im->session;
    const ct_tensor_ref *t = &s->tensor[i];
    const ct_value *v = &s->ref_graph->values[t->val];
    ct_desc want = ct_torch_desc(v);
    char a[CT_DESC_STR], b[CT_DESC_STR], why[2 * CT_DESC_STR + 48];
    int64_t at;
    if (im->trunk && !among(im->model->trunk, t->name)) {
        im->drawn++;
        return CT_OK;
    }
    CT_TRY(find(im, t->name, &at));
    if (at < 0) {
        snprintf(why, sizeof why, "missing, the model needs %s", ct_desc_str(&want, a));
        return complain(&im->needed, t->name, why);
    }
    const ct_st_tensor *have = ct_safetensors_at(im->file, (size_t)at);
    const bool masked = lacks_mask(im, t->name, &have->desc, &want);
    used[at] = true;
    if ((!masked && !ct_desc_same_shape(&have->desc, &want)) || !ct_dtype_is_float(have->desc.dtype)) {
        snprintf(why, sizeof why, "is %s in the file, the model needs %s", ct_desc_str(&have->desc, a),
                 ct_desc_str(&want, b));
        return complain(&im->needed, t->name, why);
    }
    CT_TRY(ct_weights_finite(have, im->o->file));
    void *theirs = ct_malloc(ct_desc_bytes(&t->desc), "a tensor to import");
    if (!theirs) return CT_ENOMEM;
    ct_st_read(have, t->desc.dtype, theirs);
    if (masked) {
        add_channel(theirs, &want);
        ct_info("%s: has %" PRId64 " channels in the file; the mask's starts at 0", t->name, have->desc.dim[1]);
    }
    ct_from_torch(v, ct_dtype_size(t->desc.dtype), theirs, s->host);
    ct_free(theirs);
    im->taken++;
    return ct_session_set(s, i, t->arena, s->host);
}

/* What the file has that the model has not. */
static ct_status leave_out(import *im, const bool *used)
{
    for (size_t i = 0; i < ct_safetensors_count(im->file); i++) {
        const ct_st_tensor *t = ct_safetensors_at(im->file, i);
        if (used[i] || is_counter(t)) continue;
        if (im->trunk && among(im->model->others, im->name[i])) im->other++;
        else CT_TRY(complain(&im->left, t->name, "not part of the model"));
    }
    return CT_OK;
}

static ct_status load_all(import *im)
{
    size_t n = ct_safetensors_count(im->file);
    bool *used = ct_calloc(n + 1, sizeof *used, "tensors to import");
    ct_status st = CT_OK;
    if (!used) return CT_ENOMEM;
    if (!(im->name = ct_calloc(n + 1, sizeof *im->name, "tensors to import"))) CT_GOTO(st, CT_ENOMEM);
    for (size_t i = 0; i < n; i++)
        if (!(im->name[i] = ct_name_map_apply(&im->map, ct_safetensors_at(im->file, i)->name))) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, look_for_trunk(im));
    for (size_t i = 0; i < im->session.tensors; i++) CT_GOTO(st, load(im, i, used));
    CT_GOTO(st, leave_out(im, used));
    if (im->needed.n + im->left.n > 0)
        st = ct_fail(CT_EFORMAT, "%s: does not fit model %s (%d tensors; --map OLD=NEW renames):%s%s", im->o->file,
                     im->cfg->model.name, im->needed.n + im->left.n, im->needed.text ? im->needed.text : "",
                     im->left.text ? im->left.text : "");
fail:
    ct_free(used);
    return st;
}

/* ---- writing ---- */

static ct_status save(import *im)
{
    ct_model_meta *m = &im->meta;
    ct_progress p;
    memset(&p, 0, sizeof p);
    if (!(m->config = ct_config_json(im->cfg))) return CT_ENOMEM;
    if (!(m->kernels = ct_session_kernels(&im->session))) return CT_ENOMEM;
    m->backend = im->session.backend->name;
    return ct_checkpoint_write(&im->session, m, &p, false, im->o->out);
}

static void say(const import *im)
{
    char out[128];
    const ct_place place = {
        .cfg = im->cfg, .facts = im->facts, .model = &im->session.spec.model, .goal = &im->session.spec.goal
    };
    ct_info("wrote %s: %s, %" PRId64 " parameters, %s", im->o->out, im->cfg->model.name, im->session.layout.params,
            im->task->outputs(&place, out, sizeof out));
    if (im->trunk)
        ct_info("the file holds a trained trunk: %d tensors taken over, %d behind it drawn (train.seed), %d of another "
                "head left out",
                im->taken, im->drawn, im->other);
}

ct_status ct_run_import(const ct_import_opts *given)
{
    ct_import_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_import_opts"));
    const ct_import_opts *o = &own;
    import im;
    ct_status st = CT_OK;
    memset(&im, 0, sizeof im);
    im.o = o;
    if (!o->file || !o->out)
        return ct_fail(CT_EINVAL, "import-torch: needs a safetensors file and a model file to write");
    if (!o->force && ct_path_exists(o->out))
        return ct_fail(CT_ECONFIG, "%s exists already: give --force to replace it", o->out);
    for (size_t i = 0; i < o->nmaps; i++) CT_GOTO(st, ct_name_map_add(&im.map, o->maps[i], "--map"));
    if (o->map_file) CT_GOTO(st, ct_name_map_read(&im.map, o->map_file));
    CT_GOTO(st, configure(&im));
    ct_config_log_notes(im.cfg);
    CT_GOTO(st, ct_safetensors_open(o->file, &im.file));
    CT_GOTO(st, open_session(&im));
    CT_GOTO(st, load_all(&im));
    CT_GOTO(st, save(&im));
    say(&im);
fail:
    for (size_t i = 0; im.name && i < ct_safetensors_count(im.file); i++) ct_free(im.name[i]);
    ct_free(im.name);
    ct_free(im.needed.text);
    ct_free(im.left.text);
    ct_session_end(&im.session);
    ct_model_meta_free(&im.meta);
    ct_safetensors_close(im.file);
    ct_name_map_free(&im.map);
    if (im.task) im.task->forget(im.facts);
    ct_config_free(im.cfg);
    return st;
}
