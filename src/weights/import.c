/* captrain import-torch: a PyTorch state dict, of torch.save or in a safetensors file, becomes a model file. */
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
#include "weights/match.h"
#include "weights/name_map.h"
#include "weights/names.h"
#include "weights/state.h"

#define SHOWN_TENSORS 8 /* of a message: that lack or do not fit, and as many that are left over; the log has all */

typedef struct complaint {
    char *text, *all; /* lines */
    int n;
} complaint;

typedef struct import {
    const ct_import_opts *o;
    ct_config *cfg;
    const ct_task *task;
    ct_facts *facts;
    ct_name_map map;
    const ct_name_preset *preset; /* NULL: none */
    ct_state_file *file;
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

/* Names of another program, and its normalisation where the configuration has none. */
static ct_status use_preset(import *im)
{
    ct_config *cfg = im->cfg;
    CT_TRY(ct_name_preset_find(im->o->map_preset, im->model->name, &im->preset));
    const ct_name_preset *p = im->preset;
    if (cfg->data.channels != p->channels || ct_config_is_set(cfg, "data.mean") || ct_config_is_set(cfg, "data.std"))
        return CT_OK;
    CT_TRY(ct_config_set(cfg, "data.mean", p->mean, "--map-preset"));
    CT_TRY(ct_config_set(cfg, "data.std", p->std, "--map-preset"));
    ct_info("normalisation of %s: data.mean %s, data.std %s", p->name, p->mean, p->std);
    return CT_OK;
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
    if (o->map_preset) CT_TRY(use_preset(im));
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
    char *all = ct_asprintf("%s\n  %s: %s", c->all ? c->all : "", name, why);
    if (!all) return CT_ENOMEM;
    ct_free(c->all);
    c->all = all;
    if (c->n++ > SHOWN_TENSORS) return CT_OK;
    char *more = c->n > SHOWN_TENSORS ? ct_asprintf("%s\n  ...", c->text)
                                      : ct_asprintf("%s\n  %s: %s", c->text ? c->text : "", name, why);
    if (!more) return CT_ENOMEM;
    ct_free(c->text);
    c->text = more;
    return CT_OK;
}

/* Index of the file's tensor that is called `name` here; -1. Two of that name are complained about. */
static ct_status find(import *im, const char *name, int64_t *out)
{
    *out = -1;
    for (size_t i = 0; i < ct_state_count(im->file); i++) {
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
    for (size_t i = 0; i < ct_state_count(im->file); i++)
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

/* Tensor `at` of the file becomes weight i of the model. masked: it has no channel for the mask. */
static ct_status take(import *im, size_t i, size_t at, bool masked)
{
    ct_session *s = &im->session;
    const ct_tensor_ref *t = &s->tensor[i];
    const ct_value *v = &s->ref_graph->values[t->val];
    const ct_desc want = ct_torch_desc(v);
    ct_st_tensor have;
    void *own = NULL;
    ct_status st = CT_ENOMEM;
    void *theirs = ct_malloc(ct_desc_bytes(&t->desc), "a tensor to import");
    if (!theirs) return CT_ENOMEM;
    CT_GOTO(st, ct_state_read(im->file, at, &have, &own));
    CT_GOTO(st, ct_weights_finite(&have, im->o->file));
    ct_st_read(&have, t->desc.dtype, theirs);
    if (masked) {
        add_channel(theirs, &want);
        ct_info("%s: has %" PRId64 " channels in the file; the mask's starts at 0", t->name, have.desc.dim[1]);
    }
    ct_from_torch(v, ct_dtype_size(t->desc.dtype), theirs, s->host);
    st = ct_session_set(s, i, t->arena, s->host);
fail:
    ct_free(own);
    ct_free(theirs);
    return st;
}

/* Weight i of the model from the file's tensor of its name; complains where there is none that fits. */
static ct_status load(import *im, size_t i, bool *used)
{
    ct_session *s = &im->session;
    const ct_tensor_ref *t = &s->tensor[i];
    const ct_desc want = ct_torch_desc(&s->ref_graph->values[t->val]);
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
    const ct_state_tensor have = ct_state_at(im->file, (size_t)at);
    const bool masked = !have.odd && lacks_mask(im, t->name, &have.desc, &want);
    used[at] = true;
    if (have.odd || (!masked && !ct_desc_same_shape(&have.desc, &want)) || !ct_dtype_is_float(have.desc.dtype)) {
        snprintf(why, sizeof why, "is %s in the file, the model needs %s",
                 have.odd ? have.odd : ct_desc_str(&have.desc, a), ct_desc_str(&want, b));
        return complain(&im->needed, t->name, why);
    }
    CT_TRY(take(im, i, (size_t)at, masked));
    im->taken++;
    return CT_OK;
}

/* What the file has that the model has not. */
static ct_status leave_out(import *im, const bool *used)
{
    for (size_t i = 0; i < ct_state_count(im->file); i++) {
        const ct_state_tensor t = ct_state_at(im->file, i);
        if (used[i] || ct_name_is_counter(&t) || ct_name_left_out(im->name[i])) continue;
        if (im->trunk && among(im->model->others, im->name[i])) im->other++;
        else CT_TRY(complain(&im->left, t.name, "not part of the model"));
    }
    return CT_OK;
}

/* Tensors take the model's names where shape and order say which is which. */
static ct_status rename_by(import *im, const ct_match *m)
{
    for (size_t i = 0; i < im->session.tensors; i++) {
        if (m->theirs[i] < 0) continue;
        char **name = &im->name[m->theirs[i]];
        char *to = ct_strdup(im->session.tensor[i].name, "tensor name");
        if (!to) return CT_ENOMEM;
        ct_free(*name);
        *name = to;
    }
    return CT_OK;
}

/* Where names do not fit but shapes and order do: asks, writes the list, or takes them so. *stop: nothing is made. */
static ct_status match(import *im, bool *stop)
{
    const ct_import_opts *o = im->o;
    ct_match m;
    CT_TRY(ct_match_make(&im->session, im->file, im->name, &m));
    ct_status st = CT_OK;
    const bool whole = m.missing == 0 && m.left == 0 && m.by_shape > 0;
    if (o->write_map) {
        *stop = true;
        st = ct_match_write(&m, &im->session, im->file, im->name, o->write_map, o->force);
        if (st == CT_OK)
            ct_info("wrote %s: %zu tensors by name, %zu by shape and order, %zu missing, %zu left over; look through "
                    "it, then --map-file %s", o->write_map, m.by_name, m.by_shape, m.missing, m.left, o->write_map);
    } else if (whole && !im->trunk) {
        ct_info("by shape and order:");
        ct_match_log(&m, &im->session, im->file);
        st = o->yes ? rename_by(im, &m)
                    : ct_fail(CT_EFORMAT, "%s: %zu of %zu names are not those of model %s, but by shape and order each "
                              "tensor has its place (listed above): --yes takes them so, --write-map FILE writes the "
                              "list to look through and change", o->file, m.by_shape, im->session.tensors,
                              im->cfg->model.name);
    }
    ct_match_free(&m);
    return st;
}

/* All that is wrong, in full in the log where the message has no room. */
static ct_status misfit(const import *im)
{
    const complaint *const c[] = { &im->needed, &im->left };
    for (int i = 0; i < 2; i++) {
        const char *at = c[i]->n > SHOWN_TENSORS ? c[i]->all + 1 : NULL;
        if (at) ct_error("%s: all %d tensors that %s:", im->o->file, c[i]->n,
                         i == 0 ? "are missing or of another shape" : "are not part of the model");
        while (at) {
            const int n = (int)strcspn(at, "\n");
            ct_error("%.*s", n, at);
            at = at[n] ? at + n + 1 : NULL;
        }
    }
    return ct_fail(CT_EFORMAT, "%s: does not fit model %s (%d tensors; --map OLD=NEW renames):%s%s", im->o->file,
                   im->cfg->model.name, im->needed.n + im->left.n, im->needed.text ? im->needed.text : "",
                   im->left.text ? im->left.text : "");
}

static ct_status load_all(import *im, bool *stop)
{
    const size_t n = ct_state_count(im->file);
    ct_status st = CT_OK;
    bool *used = ct_calloc(n + 1, sizeof *used, "tensors to import");
    if (!used) return CT_ENOMEM;
    CT_GOTO(st, ct_names_make(im->file, &im->map, im->preset, im->session.ref_graph, &im->name));
    CT_GOTO(st, look_for_trunk(im));
    CT_GOTO(st, match(im, stop));
    if (*stop) goto fail;
    for (size_t i = 0; i < im->session.tensors; i++) CT_GOTO(st, load(im, i, used));
    CT_GOTO(st, leave_out(im, used));
    if (im->needed.n + im->left.n > 0) st = misfit(im);
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
    if (!(m->kernels = ct_session_kernels(&im->session, true))) return CT_ENOMEM;
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
    bool stop = false;
    memset(&im, 0, sizeof im);
    im.o = o;
    if (!o->file || (!o->out && !o->write_map))
        return ct_fail(CT_EINVAL, "import-torch: needs a file of PyTorch weights and a model file to write");
    if (o->out && !o->force && ct_path_exists(o->out))
        return ct_fail(CT_ECONFIG, "%s exists already: give --force to replace it", o->out);
    for (size_t i = 0; i < o->nmaps; i++) CT_GOTO(st, ct_name_map_add(&im.map, o->maps[i], "--map"));
    if (o->map_file) CT_GOTO(st, ct_name_map_read(&im.map, o->map_file));
    CT_GOTO(st, configure(&im));
    ct_config_log_notes(im.cfg);
    CT_GOTO(st, ct_state_open(o->file, o->key, &im.file));
    CT_GOTO(st, open_session(&im));
    CT_GOTO(st, load_all(&im, &stop));
    if (stop) goto fail;
    CT_GOTO(st, save(&im));
    say(&im);
fail:
    if (im.file) ct_names_free(im.name, ct_state_count(im.file));
    ct_free(im.needed.text);
    ct_free(im.needed.all);
    ct_free(im.left.text);
    ct_free(im.left.all);
    ct_session_end(&im.session);
    ct_model_meta_free(&im.meta);
    ct_state_close(im.file);
    ct_name_map_free(&im.map);
    if (im.task) im.task->forget(im.facts);
    ct_config_free(im.cfg);
    return st;
}
