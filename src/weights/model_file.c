/* Model files, and the hash of a model's weights. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "weights/checkpoint.h"

ct_status ct_weights_hash(ct_session *s, char out[33])
{
    ct_status st = CT_OK;
    ct_hashing *h = ct_hash_begin();
    if (!h) return CT_ENOMEM;
    for (size_t i = 0; i < s->tensors && st == CT_OK; i++) {
        const void *p;
        st = ct_session_see(s, i, s->tensor[i].arena, &p);
        if (st == CT_OK) ct_hash_add(h, p, ct_desc_bytes(&s->tensor[i].desc));
    }
    ct_hash_end_hex(h, out);
    return st;
}

static ct_status need(const ct_safetensors *st, const char *path, const char *key, const char **value)
{
    *value = ct_safetensors_meta(st, key);
    return *value ? CT_OK : ct_fail(CT_EFORMAT, "%s: not a captrain model (its metadata has no '%s')", path, key);
}

static ct_status put_meta(void *user, const char *key, const char *value)
{
    return ct_st_writer_meta(user, key, value);
}

ct_status ct_facts_put(ct_st_writer *w, const ct_session *s, const ct_facts *facts)
{
    const ct_place p = { .facts = facts, .model = &s->spec.model, .goal = &s->spec.goal };
    return s->spec.goal.task->write(&p, put_meta, w);
}

static const char *get_meta(const void *user, const char *key)
{
    return ct_safetensors_meta(user, key);
}

ct_status ct_facts_get(const ct_safetensors *st, const char *path, const ct_task *task, ct_facts **out)
{
    return task->read(path, get_meta, st, out);
}

ct_status ct_model_path(const char *given, char **out)
{
    if (!ct_path_is_dir(given)) return (*out = ct_strdup(given, "path of the model")) ? CT_OK : CT_ENOMEM;
    if (!(*out = ct_path_join(given, "checkpoints/best.safetensors"))) return CT_ENOMEM;
    if (ct_path_exists(*out)) return CT_OK;
    ct_free(*out);
    *out = NULL;
    char *last = ct_path_join(given, "checkpoints/last.safetensors");
    if (!last) return CT_ENOMEM;
    const ct_status st =
        ct_path_exists(last) ? ct_fail(CT_EIO, "%s: was stopped before any weights were scored, so that none are the "
                                       "best; %s has those it was saved with", given, last)
                             : ct_fail(CT_EIO, "%s: is a folder, and holds no checkpoints/best.safetensors of a run",
                                       given);
    ct_free(last);
    return st;
}

/* What a file says twice must be the same. Files of 0.1 do not say the task. */
static ct_status check_words(const ct_model_file *m, const char *path, const char *weights)
{
    const char *task = ct_safetensors_meta(m->st, "task");
    if (strcmp(weights, "ema") != 0 && strcmp(weights, "model") != 0)
        return ct_fail(CT_EFORMAT, "%s: its metadata has weights '%.40s', which is neither 'model' nor 'ema'", path,
                       weights);
    if (task && strcmp(task, m->task->name) != 0)
        return ct_fail(CT_EFORMAT, "%s: its metadata has task '%.40s', its configuration is of task '%s'", path, task,
                       m->task->name);
    return CT_OK;
}

ct_status ct_model_file_note(const char *path, const char *key, const char *value)
{
    ct_safetensors *from;
    ct_st_writer *w = NULL;
    ct_status st;
    CT_TRY(ct_safetensors_open(path, &from));
    CT_GOTO(st, ct_st_writer_new(&w));
    for (size_t i = 0; i < ct_safetensors_meta_count(from); i++) {
        const char *have = ct_safetensors_meta_key(from, i);
        if (strcmp(have, key) != 0) CT_GOTO(st, ct_st_writer_meta(w, have, ct_safetensors_meta(from, have)));
    }
    CT_GOTO(st, ct_st_writer_meta(w, key, value));
    for (size_t i = 0; i < ct_safetensors_count(from); i++) {
        const ct_st_tensor *t = ct_safetensors_at(from, i);
        CT_GOTO(st, ct_st_writer_add(w, t->name, &t->desc, t->data));
    }
    st = ct_st_writer_save(w, path);
fail:
    ct_st_writer_free(w);
    ct_safetensors_close(from);
    return st;
}

ct_status ct_model_file_open(const char *path, ct_model_file *m)
{
    ct_status st;
    const char *config, *weights, *version;
    memset(m, 0, sizeof *m);
    CT_GOTO(st, ct_safetensors_open(path, &m->st));
    CT_GOTO(st, need(m->st, path, "format_version", &version));
    if (strcmp(version, "1") != 0) {
        st = ct_fail(CT_EUNSUPPORTED, "%s: model format %s, this captrain reads 1", path, version);
        goto fail;
    }
    CT_GOTO(st, need(m->st, path, "config", &config));
    CT_GOTO(st, need(m->st, path, "weights", &weights));
    st = ct_config_parse(config, strlen(config), path, NULL, 0, &m->cfg);
    if (st != CT_OK) {
        ct_fail_context(st == CT_ECONFIG ? (st = CT_EFORMAT) : st, "configuration in the model file");
        goto fail;
    }
    if (!(m->task = ct_task_of(m->cfg->model.name))) CT_GOTO(st, ct_fail_context(CT_EFORMAT, "%s", path));
    CT_GOTO(st, check_words(m, path, weights));
    CT_GOTO(st, ct_facts_get(m->st, path, m->task, &m->facts));
    m->prefix = strcmp(weights, "ema") == 0 ? "ema." : "model.";
    return CT_OK;
fail:
    ct_model_file_close(m);
    return st;
}

void ct_model_file_close(ct_model_file *m)
{
    if (!m) return;
    ct_safetensors_close(m->st);
    ct_config_free(m->cfg);
    if (m->task) m->task->forget(m->facts);
    memset(m, 0, sizeof *m);
}
