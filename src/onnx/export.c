/* captrain export: a model for other programs. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "onnx/write.h"
#include "session/evaluate.h"
#include "weights/export.h"

#define PROVE 2000 /* pictures, at most */

/* ---- what is asked for ---- */

static ct_status parse_target(const char *name, ct_onnx_target *out)
{
    *out = CT_ONNX_ANYONE;
    if (!name) return CT_OK;
    if (strcmp(name, "ddddocr") == 0)
        *out = CT_ONNX_DDDDOCR;
    else if (strcmp(name, "ddddocr-1.5") == 0)
        *out = CT_ONNX_DDDDOCR_15;
    else
        return ct_fail(CT_ECONFIG, "export: --for '%s' is not known; there are ddddocr (1.6) and ddddocr-1.5", name);
    return CT_OK;
}

static ct_status parse_form(const ct_export_opts *o, ct_onnx_form *f)
{
    CT_TRY(parse_target(o->target, &f->target));
    const bool old = f->target == CT_ONNX_DDDDOCR_15;
    const char *usual = old ? "outside" : "inside", *where = o->normalise ? o->normalise : usual;
    f->opset = o->opset ? o->opset : old ? 12 : CT_ONNX_OPSET;
    f->fold = !o->no_fold;
    f->inside = strcmp(where, "inside") == 0;
    if (!f->inside && strcmp(where, "outside") != 0)
        return ct_fail(CT_ECONFIG, "export: --normalise '%s' is neither inside nor outside", where);
    if (f->target != CT_ONNX_ANYONE && strcmp(where, usual) != 0)
        return ct_fail(CT_ECONFIG, "export: --for %s has pixels normalised %s the graph, not --normalise %s", o->target,
                       usual, where);
    if (f->opset < CT_ONNX_OPSET_LEAST || f->opset > CT_ONNX_OPSET_MOST)
        return ct_fail(CT_ECONFIG, "export: --opset %" PRId64 " is not written; there are %d to %d", f->opset,
                       CT_ONNX_OPSET_LEAST, CT_ONNX_OPSET_MOST);
    return CT_OK;
}

/* The form that a file says it has. */
static ct_status form_of(const char *path, const Onnx__ModelProto *m, ct_onnx_form *f)
{
    const char *where = ct_onnx_meta(m, "normalise"), *norms = ct_onnx_meta(m, "batch_norms");
    if (!where || !norms || !ct_onnx_meta(m, "captrain"))
        return ct_fail(CT_EFORMAT,
                       "%s: no file of captrain's export: it lacks the properties captrain, normalise or "
                       "batch_norms",
                       path);
    CT_TRY(parse_target(ct_onnx_meta(m, "for"), &f->target));
    f->opset = m->opset_import[0]->version;
    f->inside = strcmp(where, "inside") == 0;
    f->fold = strcmp(norms, "folded") == 0;
    return CT_OK;
}

/* ---- the model, the file ---- */

/* All numbers in single precision at least: what is compared is the file, not what 16 bits would have made of it. */
static ct_status open_model(const char *path, ct_model_use *use)
{
    const ct_common cpu = { .backend = "cpu" };
    CT_TRY(ct_model_use_begin(use, path, &cpu));
    ct_program_spec *s = &use->session.spec;
    s->compute = s->model.dtype;
    s->tf32 = s->flat_casts = false;
    return CT_OK;
}

static ct_status make(const char *path, const ct_onnx_form *form, ct_onnx_maker *k)
{
    ct_model_use use;
    ct_status st;
    memset(&use, 0, sizeof use);
    CT_GOTO(st, open_model(path, &use));
    CT_GOTO(st, ct_session_add(&use.session, CT_PROGRAM_PREDICT, 1, ct_session_length(&use.session), 1, false));
    CT_GOTO(st, ct_model_use_ready(&use));
    st = ct_onnx_write(k, &use, form);
fail:
    ct_model_use_end(&use);
    return st;
}

/* What is in a file against the model that it is to be of: number by number, then by what both read. */
static ct_status prove_file(const ct_export_opts *o, const char *path, const char *called, const ct_onnx_form *form,
                            const Onnx__ModelProto *must)
{
    ct_onnx_proof proof;
    ct_model_use use;
    Onnx__ModelProto *is = NULL;
    ct_status st;
    memset(&use, 0, sizeof use);
    CT_GOTO(st, ct_onnx_open(path, &is));
    CT_GOTO(st, ct_onnx_compare(called, must, is));
    CT_GOTO(st, open_model(o->model, &use));
    CT_GOTO(st, ct_onnx_prove(&use, is, form, called, o->prove > 0 ? o->prove : PROVE, &proof));
    ct_info("%s: read back and run on the CPU: %" PRId64 " of %" PRId64
            " %ss (%s) are read as the model reads them, "
            "%" PRId64 " different ones; the largest difference of a score is %.2g",
            called, proof.samples, proof.samples, ct_onnx_sample(&use), proof.from, proof.distinct, proof.worst);
    if (proof.distinct < 2 && proof.samples > 1)
        ct_warn("%s: the model reads the same in all %ss: a model that is not trained proves little", called,
                ct_onnx_sample(&use));
fail:
    ct_onnx_close(is);
    ct_model_use_end(&use);
    return st;
}

static ct_status write_bytes(const Onnx__ModelProto *m, const char *path)
{
    const size_t n = onnx__model_proto__get_packed_size(m);
    if (n >= CT_ONNX_FILE_MOST)
        return ct_fail(CT_EUNSUPPORTED, "%s: more than 2 GiB do not go into one ONNX file", path);
    uint8_t *data = ct_malloc(n, "ONNX file");
    if (!data) return CT_ENOMEM;
    onnx__model_proto__pack(m, data);
    const ct_status st = ct_file_write_atomic(path, data, n);
    ct_free(data);
    return st;
}

/* Writes beside the name, proves what was written, and renames it. */
static ct_status write_proved(const ct_export_opts *o, const ct_onnx_form *form, const Onnx__ModelProto *m)
{
    char *part = ct_asprintf("%s.part.%ld", o->out, (long)getpid());
    if (!part) return CT_ENOMEM;
    ct_status st = write_bytes(m, part);
    if (st == CT_OK) st = prove_file(o, part, o->out, form, m);
    if (st == CT_OK && rename(part, o->out) != 0) st = ct_fail(CT_EIO, "%s: cannot be renamed to %s", part, o->out);
    if (st == CT_OK) st = ct_file_sync_dir(o->out);
    if (st != CT_OK) unlink(part);
    ct_free(part);
    return st;
}

/* A file that the program wants beside `out`: the task makes it. *path, *text: ct_free(). */
static ct_status make_beside(const ct_export_opts *o, char **path, char **text)
{
    ct_model_use use;
    ct_status st;
    char *name = NULL;
    const char *slash = strrchr(o->out, '/');
    memset(&use, 0, sizeof use);
    CT_GOTO(st, open_model(o->model, &use));
    if (!use.file.task->beside)
        CT_GOTO(st, ct_fail(CT_EUNSUPPORTED, "export: --for %s: %s has no use for %s", o->target, o->target,
                            use.session.spec.model.name));
    const ct_place place = ct_session_place(&use.session, use.file.cfg, use.file.facts);
    CT_GOTO(st, use.file.task->beside(&place, &name, text));
    *path = ct_asprintf("%.*s%s", slash ? (int)(slash - o->out) + 1 : 0, o->out, name);
    st = *path ? CT_OK : CT_ENOMEM;
fail:
    ct_free(name);
    ct_model_use_end(&use);
    return st;
}

static ct_status may_write(const ct_export_opts *o, const char *path)
{
    if (o->force || !ct_path_exists(path)) return CT_OK;
    return ct_fail(CT_ECONFIG, "%s exists already: give --force to replace it", path);
}

static ct_status export_onnx(const ct_export_opts *o)
{
    ct_onnx_form form;
    ct_onnx_maker k = { 0 };
    ct_status st;
    char *beside = NULL, *text = NULL;
    CT_TRY(parse_form(o, &form));
    CT_TRY(may_write(o, o->out));
    if (form.target != CT_ONNX_ANYONE) {
        CT_GOTO(st, make_beside(o, &beside, &text));
        CT_GOTO(st, may_write(o, beside));
    }
    CT_GOTO(st, ct_onnx_maker_begin(&k));
    CT_GOTO(st, make(o->model, &form, &k));
    CT_GOTO(st, write_proved(o, &form, k.model));
    if (beside) {
        CT_GOTO(st, ct_file_write_atomic(beside, text, strlen(text)));
        ct_info("wrote %s, which %s loads with it", beside, o->target);
    }
    ct_info("wrote %s: %zu nodes, %zu initializers of %s, opset %" PRId64, o->out, k.model->graph->n_node,
            k.model->graph->n_initializer, k.model->graph->name, form.opset);
fail:
    ct_onnx_maker_end(&k);
    ct_free(beside);
    ct_free(text);
    return st;
}

static ct_status check_onnx(const ct_export_opts *o)
{
    ct_onnx_form form;
    ct_onnx_maker k = { 0 };
    Onnx__ModelProto *is;
    ct_status st;
    CT_TRY(ct_onnx_open(o->check, &is));
    st = form_of(o->check, is, &form);
    ct_onnx_close(is);
    CT_TRY(st);
    CT_GOTO(st, ct_onnx_maker_begin(&k));
    CT_GOTO(st, make(o->model, &form, &k));
    st = prove_file(o, o->check, o->check, &form, k.model);
fail:
    ct_onnx_maker_end(&k);
    return st;
}

/* ---- the verb ---- */

static bool ends_in(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static const char *only_onnx(const ct_export_opts *o)
{
    if (o->opset) return "--opset";
    if (o->normalise) return "--normalise";
    if (o->no_fold) return "--no-fold";
    if (o->prove) return "--prove";
    return NULL;
}

ct_status ct_run_export(const ct_export_opts *given)
{
    ct_export_opts o;
    CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_export_opts"));
    if (o.check && !o.out) return o.model ? check_onnx(&o) : ct_fail(CT_EINVAL, "export: needs a model file");
    if (!o.model || !o.out) return ct_fail(CT_EINVAL, "export: needs a model file and a file to write");
    const bool onnx = o.format ? strcmp(o.format, "onnx") == 0 : o.target != NULL;
    const char *end = onnx ? ".onnx" : ".safetensors";
    if (o.format && !onnx && strcmp(o.format, "safetensors") != 0)
        return ct_fail(CT_ECONFIG, "export: there is no format '%s'; there are safetensors and onnx", o.format);
    if (!ends_in(o.out, end))
        return ct_fail(CT_ECONFIG,
                       onnx ? "%s: --format onnx writes ONNX, which other programs know by its ending: give a name "
                              "that ends in %s%s"
                            : "%s: export writes safetensors, which other programs know by their ending: give a "
                              "name that ends in %s%s",
                       o.out, end, !onnx && ends_in(o.out, ".onnx") ? ", or --format onnx" : "");
    if (onnx && (o.layout || o.nmaps > 0 || o.map_file))
        return ct_fail(CT_ECONFIG, "export: --layout and --map are of --format safetensors");
    if (!onnx && (only_onnx(&o) || o.target))
        return ct_fail(CT_ECONFIG, "export: %s is of --format onnx", o.target ? "--for" : only_onnx(&o));
    return onnx ? export_onnx(&o) : ct_export_weights(&o);
}
