/* The weights of a model file as a safetensors file that other programs read. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "models/torch_map.h"
#include "weights/export.h"
#include "weights/name_map.h"
#include "weights/use.h"

/* Everything a writer borrows until it has saved. */
typedef struct blocks {
    void **v;
    size_t n, cap;
} blocks;

/* Adds tensor i in the layout asked for, under its name after the rules. */
static ct_status add(ct_session *s, size_t i, bool torch, const ct_name_map *map, blocks *b, ct_st_writer *w)
{
    const ct_tensor_ref *t = &s->tensor[i];
    const ct_value *v = &s->ref_graph->values[t->val];
    ct_desc desc = torch ? ct_torch_desc(v) : t->desc;
    CT_TRY(ct_grow(&b->v, b->n, &b->cap, sizeof *b->v, "tensors to export"));
    void *out = ct_malloc(ct_desc_bytes(&t->desc), "a tensor to export");
    if (!out) return CT_ENOMEM;
    b->v[b->n++] = out;
    CT_TRY(ct_session_get(s, i, t->arena, torch ? s->host : out));
    if (torch) ct_to_torch(v, ct_dtype_size(desc.dtype), s->host, out);
    char *name = ct_name_map_apply(map, t->name);
    if (!name) return CT_ENOMEM;
    ct_status st = ct_st_writer_add(w, name, &desc, out);
    ct_free(name);
    return st;
}

static ct_status write_file(ct_model_use *use, const ct_export_opts *o, bool torch, const ct_name_map *map)
{
    ct_st_writer *w = NULL;
    blocks b = { NULL, 0, 0 };
    ct_status st;
    CT_GOTO(st, ct_st_writer_new(&w));
    CT_GOTO(st, ct_st_writer_meta(w, "format", torch ? "pt" : "captrain-weights"));
    CT_GOTO(st, ct_st_writer_meta(w, "model", use->session.spec.model.name));
    CT_GOTO(st, ct_facts_put(w, &use->session, use->file.facts));
    for (size_t i = 0; i < use->session.tensors; i++) CT_GOTO(st, add(&use->session, i, torch, map, &b, w));
    st = ct_st_writer_save(w, o->out);
fail:
    ct_st_writer_free(w);
    for (size_t i = 0; i < b.n; i++) ct_free(b.v[i]);
    ct_free(b.v);
    return st;
}

ct_status ct_export_weights(const ct_export_opts *o)
{
    const ct_common cpu = { .backend = "cpu", .threads = 1 };
    ct_model_use use;
    ct_name_map map = { NULL, NULL, 0, 0, 0 };
    ct_status st;
    bool torch = !o->layout || strcmp(o->layout, "torch") == 0;
    memset(&use, 0, sizeof use);
    if (!torch && strcmp(o->layout, "captrain") != 0)
        return ct_fail(CT_ECONFIG, "export: there is no layout '%s'; there are torch and captrain", o->layout);
    if (!o->force && ct_path_exists(o->out))
        return ct_fail(CT_ECONFIG, "%s exists already: give --force to replace it", o->out);
    for (size_t i = 0; i < o->nmaps; i++) CT_GOTO(st, ct_name_map_add(&map, o->maps[i], "--map"));
    if (o->map_file) CT_GOTO(st, ct_name_map_read(&map, o->map_file));
    CT_GOTO(st, ct_model_use_begin(&use, o->model, &cpu));
    CT_GOTO(st, ct_session_add(&use.session, CT_PROGRAM_PREDICT, 1, ct_session_length(&use.session), 1, false));
    CT_GOTO(st, ct_model_use_ready(&use));
    CT_GOTO(st, write_file(&use, o, torch, &map));
    ct_info("wrote %s: %zu tensors of %s in %s's layout", o->out, use.session.tensors, use.session.spec.model.name,
            torch ? "PyTorch" : "captrain");
fail:
    ct_model_use_end(&use);
    ct_name_map_free(&map);
    return st;
}
