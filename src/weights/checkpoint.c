/* Writing, finding and reading checkpoints. */
#include "config.h"

#include "weights/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/shortest.h"
#include "base/version.h"
#include "program/spec.h"

#define FORMAT_NAME "captrain"
#define FORMAT_VERSION "1"

void ct_model_meta_free(ct_model_meta *m)
{
    if (!m) return;
    ct_free(m->config);
    ct_free(m->kernels);
    ct_free(m->choices);
    memset(m, 0, sizeof *m);
}

/* Host copies of what is in a file, where the host does not read the device's memory; the writer borrows them until it
 * has saved. */
typedef struct snapshot {
    void **block;
    size_t n, cap;
} snapshot;

static void snapshot_free(snapshot *sn)
{
    for (size_t i = 0; i < sn->n; i++) ct_free(sn->block[i]);
    ct_free(sn->block);
}

/* What the writer is to borrow. */
static ct_status lend(ct_session *s, snapshot *sn, size_t i, ct_arena arena, const void **data)
{
    if (s->backend->host_memory) return ct_session_see(s, i, arena, data);
    CT_TRY(ct_grow(&sn->block, sn->n, &sn->cap, sizeof *sn->block, "checkpoint"));
    void *host = ct_malloc(ct_desc_bytes(&s->tensor[i].desc), "a tensor of a checkpoint");
    if (!host) return CT_ENOMEM;
    sn->block[sn->n++] = host;
    *data = host;
    return ct_session_get(s, i, arena, host);
}

/* Adds all tensors of one arena, named prefix + name. Optimizer arenas hold parameters that are trained only. */
static ct_status add_arena(ct_session *s, ct_st_writer *w, snapshot *sn, const char *prefix, ct_arena param,
                           ct_arena buffer, bool trained_only)
{
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        ct_arena arena = t->arena == CT_ARENA_PARAM ? param : buffer;
        if (arena == CT_ARENA_COUNT || (trained_only && !t->trained)) continue;
        const void *data;
        CT_TRY(lend(s, sn, i, arena, &data));
        char *name = ct_asprintf("%s%s", prefix, t->name);
        if (!name) return CT_ENOMEM;
        ct_status st = ct_st_writer_add(w, name, &t->desc, data);
        ct_free(name);
        if (st != CT_OK) return st;
    }
    return CT_OK;
}

static const char *three(const double v[3], char buf[3 * CT_SHORTEST_BYTES])
{
    char a[CT_SHORTEST_BYTES], b[CT_SHORTEST_BYTES], c[CT_SHORTEST_BYTES];
    ct_shortest(v[0], a);
    snprintf(buf, 3 * CT_SHORTEST_BYTES, "%s, %s, %s", a, ct_shortest(v[1], b), ct_shortest(v[2], c));
    return buf;
}

/* What a reader of the file needs without knowing the configuration's keys. */
static char *input_text(const ct_session *s)
{
    const ct_model_spec *ms = &s->spec.model;
    const ct_image_attrs *im = &s->spec.image;
    char mean[3 * CT_SHORTEST_BYTES], std[3 * CT_SHORTEST_BYTES];
    return ct_asprintf("{\"model\": \"%s\", \"height\": %" PRId64 ", \"width\": %" PRId64
                       ", \"channels\": %" PRId64 ", \"classes\": %" PRId64
                       ", \"mean\": [%s], \"std\": [%s], \"loss\": \"%s\"}",
                       ms->name, ms->height, ms->width, ms->channels, ms->classes, three(im->mean, mean),
                       three(im->std, std), s->spec.goal.task->loss_name(&s->spec.goal));
}

static ct_status add_meta(ct_st_writer *w, const ct_session *s, const ct_model_meta *m, const ct_progress *p, bool full)
{
    CT_TRY(ct_st_writer_meta(w, "format", FORMAT_NAME));
    CT_TRY(ct_st_writer_meta(w, "format_version", FORMAT_VERSION));
    CT_TRY(ct_st_writer_meta(w, "kind", full ? "checkpoint" : "model"));
    CT_TRY(ct_st_writer_meta(w, "captrain_version", ct_version()));
    CT_TRY(ct_st_writer_meta(w, "config", m->config));
    CT_TRY(ct_st_writer_meta(w, "task", s->spec.goal.task->name));
    CT_TRY(ct_facts_put(w, s, m->facts));
    CT_TRY(ct_st_writer_meta(w, "weights", m->ema ? "ema" : "model"));
    CT_TRY(ct_st_writer_meta(w, "layout",
                             "filters [K,R,S,C]; a linear behind a flatten has its columns in [H,W,C] order"));
    CT_TRY(ct_st_writer_meta(w, "backend", m->backend));
    CT_TRY(ct_st_writer_meta(w, "kernels", m->kernels));
    if (m->choices) CT_TRY(ct_st_writer_meta(w, "choices", m->choices));
    CT_TRY(ct_st_writer_meta(w, "dataset", m->train_key));
    CT_TRY(ct_st_writer_meta(w, "validation", m->val_key));
    char *text = input_text(s);
    if (!text) return CT_ENOMEM;
    ct_status st = ct_st_writer_meta(w, "input", text);
    ct_free(text);
    if (st != CT_OK) return st;
    CT_TRY(ct_st_writer_meta(
        w, "rng",
        "Philox4x32-10; counters are functions of train.seed, state[10] (micro-steps run), epoch and sample"));
    CT_TRY(ct_progress_to_json(p, &text));
    st = ct_st_writer_meta(w, "progress", text);
    ct_free(text);
    return st;
}

static ct_status add_optimizer(ct_session *s, ct_st_writer *w, snapshot *sn)
{
    if (s->spec.optimizer == CT_OPT_SGD)
        return s->store->base[CT_ARENA_OPT1]
                   ? add_arena(s, w, sn, "optim.momentum.", CT_ARENA_OPT1, CT_ARENA_COUNT, true)
                   : CT_OK;
    CT_TRY(add_arena(s, w, sn, "optim.m.", CT_ARENA_OPT1, CT_ARENA_COUNT, true));
    return add_arena(s, w, sn, "optim.v.", CT_ARENA_OPT2, CT_ARENA_COUNT, true);
}

ct_status ct_checkpoint_write(ct_session *s, const ct_model_meta *meta, const ct_progress *p, bool full,
                              const char *path)
{
    ct_status st;
    ct_st_writer *w = NULL;
    snapshot sn = { NULL, 0, 0 };
    double state[CT_STATE_COUNT];
    CT_GOTO(st, ct_st_writer_new(&w));
    CT_GOTO(st, add_meta(w, s, meta, p, full));
    CT_GOTO(st, add_arena(s, w, &sn, "model.", CT_ARENA_PARAM, CT_ARENA_BUFFER, false));
    if (s->store->base[CT_ARENA_EMA]) CT_GOTO(st, add_arena(s, w, &sn, "ema.", CT_ARENA_EMA, CT_ARENA_EMABUF, false));
    if (full) {
        CT_GOTO(st, add_optimizer(s, w, &sn));
        CT_GOTO(st, ct_arenas_get_state(s->store, state));
        ct_desc d = ct_desc1(CT_F64, CT_STATE_COUNT);
        CT_GOTO(st, ct_st_writer_add(w, "state", &d, state));
    }
    CT_GOTO(st, ct_st_writer_save(w, path));
fail:
    ct_st_writer_free(w);
    snapshot_free(&sn);
    return st;
}

/* ---- files of a directory ---- */

ct_status ct_checkpoint_link(const char *from, const char *to)
{
    ct_status st = CT_OK;
    char *tmp = ct_asprintf("%s.tmp.%ld", to, (long)getpid());
    if (!tmp) return CT_ENOMEM;
    unlink(tmp);
    if (link(from, tmp) == 0) {
        if (rename(tmp, to) != 0) {
            st = ct_fail(CT_EIO, "%s: cannot be renamed to %s: %s", tmp, to, strerror(errno));
            unlink(tmp);
        } else {
            unlink(tmp); /* rename() leaves both names if they were links to one file already */
            st = ct_file_sync_dir(to);
        }
    } else {
        ct_mmap m;
        st = ct_mmap_open(from, &m);
        if (st == CT_OK) {
            st = ct_file_write_atomic(to, m.data, m.size);
            ct_mmap_close(&m);
        }
    }
    ct_free(tmp);
    return st;
}

/* Step number of "step-NNNNNNNN.safetensors"; -1 for other names. */
static int64_t step_of(const char *name)
{
    static const char head[] = "step-", tail[] = ".safetensors";
    if (strncmp(name, head, sizeof head - 1) != 0) return -1;
    char *end;
    errno = 0;
    long long n = strtoll(name + sizeof head - 1, &end, 10);
    return errno == 0 && end > name + sizeof head - 1 && n >= 0 && strcmp(end, tail) == 0 ? (int64_t)n : -1;
}

static int falling(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Steps for which DIR has a file, newest first. A DIR that does not exist has none. */
static ct_status list_steps(const char *dir, int64_t **steps, size_t *n)
{
    size_t cap = 0;
    *steps = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT ? CT_OK : ct_fail(CT_EIO, "%s: %s", dir, strerror(errno));
    ct_status st = CT_OK;
    for (struct dirent *e; st == CT_OK && (e = readdir(d));) {
        int64_t step = step_of(e->d_name);
        if (step < 0) continue;
        st = ct_grow(steps, *n, &cap, sizeof **steps, "list of checkpoints");
        if (st == CT_OK) (*steps)[(*n)++] = step;
    }
    closedir(d);
    if (*n > 1) qsort(*steps, *n, sizeof **steps, falling);
    return st;
}

static char *step_path(const char *dir, int64_t step)
{
    return ct_asprintf("%s/step-%08" PRId64 ".safetensors", dir, step);
}

/* Removes step files older than the newest and `keep` before it, counted down from the one just written. Newer ones are
 * left over from a part of the run that a resume has gone back behind; they go, too, since their steps are being done
 * again. */
static ct_status prune(const char *dir, int64_t newest, int64_t keep)
{
    int64_t *steps = NULL;
    size_t n = 0;
    ct_status st = list_steps(dir, &steps, &n);
    int64_t older = 0;
    for (size_t i = 0; st == CT_OK && i < n; i++) {
        if (steps[i] == newest || (steps[i] < newest && ++older <= keep)) continue;
        char *path = step_path(dir, steps[i]);
        if (!path) {
            st = CT_ENOMEM;
            break;
        }
        if (unlink(path) != 0 && errno != ENOENT)
            st = ct_fail(CT_EIO, "%s: cannot be removed: %s", path, strerror(errno));
        ct_free(path);
    }
    ct_free(steps);
    return st;
}

ct_status ct_checkpoint_sweep(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT ? CT_OK : ct_fail(CT_EIO, "%s: %s", dir, strerror(errno));
    ct_status st = CT_OK;
    for (struct dirent *e; st == CT_OK && (e = readdir(d));) {
        if (!strstr(e->d_name, ".safetensors.tmp.")) continue;
        if (unlinkat(dirfd(d), e->d_name, 0) != 0 && errno != ENOENT)
            st = ct_fail(CT_EIO, "%s/%s: cannot be removed: %s", dir, e->d_name, strerror(errno));
    }
    closedir(d);
    return st;
}

ct_status ct_checkpoint_save(ct_session *s, const ct_model_meta *meta, const ct_progress *p, const char *dir,
                             int64_t keep)
{
    ct_status st;
    char *step = step_path(dir, p->step), *last = ct_path_join(dir, "last.safetensors");
    if (!step || !last) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_checkpoint_write(s, meta, p, true, step));
    CT_GOTO(st, ct_checkpoint_link(step, last));
    CT_GOTO(st, prune(dir, p->step, keep));
fail:
    if (st != CT_OK) ct_fail_context(st, "checkpoint of step %" PRId64, p->step);
    ct_free(step);
    ct_free(last);
    return st;
}

/* Opens a file that must be a checkpoint; damage is told apart from other failures by CT_EFORMAT. */
static ct_status open_checkpoint(const char *path, ct_safetensors **out)
{
    CT_TRY(ct_safetensors_open(path, out));
    const char *kind = ct_safetensors_meta(*out, "kind"), *version = ct_safetensors_meta(*out, "format_version");
    ct_status st = CT_OK;
    if (!kind || strcmp(kind, "checkpoint") != 0 || !ct_safetensors_meta(*out, "progress"))
        st = ct_fail(CT_EFORMAT, "%s: not a captrain checkpoint", path);
    else if (!version || strcmp(version, FORMAT_VERSION) != 0)
        st = ct_fail(CT_EUNSUPPORTED, "%s: checkpoint format %s, this captrain reads " FORMAT_VERSION, path,
                     version ? version : "(none)");
    else if (!ct_safetensors_has_checksums(*out))
        st = ct_fail(CT_EFORMAT, "%s: its checksums are missing", path);
    if (st != CT_OK) {
        ct_safetensors_close(*out);
        *out = NULL;
    }
    return st;
}

ct_status ct_checkpoint_newest(const char *dir, ct_safetensors **out, char **path)
{
    int64_t *steps = NULL;
    size_t n = 0, damaged = 0;
    char *candidate = NULL;
    ct_status st;
    *out = NULL;
    *path = NULL;
    CT_GOTO(st, list_steps(dir, &steps, &n));
    /* last.safetensors first: it is what people look at, and damage to it should be told even if its twin is whole;
     * then the step files, newest first. One newer than last (a crash between the two) wins. */
    candidate = ct_path_join(dir, "last.safetensors");
    if (!candidate) CT_GOTO(st, CT_ENOMEM);
    if (ct_path_exists(candidate)) {
        st = open_checkpoint(candidate, out);
        if (st == CT_OK) {
            ct_progress p;
            st = ct_progress_from_json(ct_safetensors_meta(*out, "progress"), candidate, &p);
            *path = candidate;
            candidate = NULL;
            if (st != CT_OK || n == 0 || steps[0] <= p.step) goto fail;
        } else if (st == CT_EFORMAT) {
            damaged++;
            ct_warn("damaged checkpoint passed over: %s", ct_error_message());
        } else {
            goto fail;
        }
    }
    for (size_t i = 0; i < n; i++) {
        ct_free(candidate);
        candidate = step_path(dir, steps[i]);
        if (!candidate) CT_GOTO(st, CT_ENOMEM);
        ct_safetensors *found = NULL;
        if (*out) { /* last is whole; only newer files matter */
            ct_progress p;
            CT_GOTO(st, ct_progress_from_json(ct_safetensors_meta(*out, "progress"), *path, &p));
            if (steps[i] <= p.step) break;
        }
        st = open_checkpoint(candidate, &found);
        if (st == CT_OK) {
            ct_safetensors_close(*out);
            ct_free(*path);
            *out = found;
            *path = candidate;
            candidate = NULL;
            break;
        }
        if (st != CT_EFORMAT) goto fail;
        damaged++;
        ct_warn("damaged checkpoint passed over: %s", ct_error_message());
    }
    st = CT_OK;
    if (!*out && damaged > 0)
        st = ct_fail(CT_EFORMAT,
                     "%s: none of its %zu checkpoints can be read; to start anew give another --out or remove them",
                     dir, damaged);
    else if (*out && damaged > 0)
        ct_warn("the previous checkpoint is used instead: %s", *path);
fail:
    ct_free(candidate);
    ct_free(steps);
    if (st != CT_OK) {
        ct_safetensors_close(*out);
        ct_free(*path);
        *out = NULL;
        *path = NULL;
    }
    return st;
}

/* ---- reading ---- */

/* t: a tensor, or a window of it from element `from` on. */
static ct_status all_finite(const ct_st_tensor *t, int64_t from, const char *path)
{
    const int64_t at = ct_st_not_finite(t);
    if (at < 0) return CT_OK;
    return ct_fail(CT_EFORMAT,
                   "%s: tensor %s: element %" PRId64 " is not a finite number: these weights cannot be used", path,
                   t->name, from + at);
}

ct_status ct_weights_finite(const ct_st_tensor *t, const char *path)
{
    return all_finite(t, 0, path);
}

/* Copies `have` to tensor i of the arena, a window after the other, so that the file's copy is not in memory whole
 * beside the model's. */
static ct_status load_tensor(ct_session *s, size_t i, ct_arena arena, const ct_safetensors *st,
                             const ct_st_tensor *have, const char *path, bool weights)
{
    const ct_dtype d = s->tensor[i].desc.dtype;
    const size_t size = ct_dtype_size(d);
    ct_status r = CT_OK;
    ct_st_tensor w;
    for (size_t at = 0, from = 0; r == CT_OK && (w = ct_st_window(have, &at)).bytes; from = at) {
        const bool same = w.desc.dtype == d;
        if (weights) r = all_finite(&w, (int64_t)from, path);
        if (r == CT_OK && !same) ct_st_read(&w, d, s->host);
        const void *ready = same ? (const void *)w.data : s->host;
        if (r == CT_OK) r = ct_session_set_part(s, i, arena, from * size, ready, (at - from) * size);
        ct_safetensors_rest(st, &w);
    }
    ct_safetensors_rest(st, have);
    return r;
}

/* Copies all tensors prefix+name into the arenas given; trained_only: of the optimizer, else weights. */
static ct_status load_arena(ct_session *s, const ct_safetensors *st, const char *path, const char *prefix,
                            ct_arena param, ct_arena buffer, bool trained_only)
{
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        ct_arena arena = t->arena == CT_ARENA_PARAM ? param : buffer;
        if (arena == CT_ARENA_COUNT || (trained_only && !t->trained)) continue;
        char *name = ct_asprintf("%s%s", prefix, t->name);
        if (!name) return CT_ENOMEM;
        const ct_st_tensor *have = ct_safetensors_find(st, name);
        char want_str[CT_DESC_STR], have_str[CT_DESC_STR];
        ct_status r = CT_OK;
        if (!have)
            r = ct_fail(CT_EFORMAT, "%s: has no tensor %s %s, which the model needs", path, name,
                        ct_desc_str(&t->desc, want_str));
        else if (!ct_desc_same_shape(&have->desc, &t->desc))
            r = ct_fail(CT_EFORMAT, "%s: tensor %s is %s, the model has %s", path, name,
                        ct_desc_str(&have->desc, have_str), ct_desc_str(&t->desc, want_str));
        ct_free(name);
        if (r == CT_OK) r = load_tensor(s, i, arena, st, have, path, !trained_only);
        if (r != CT_OK) return r;
    }
    return CT_OK;
}

/* A tensor under prefix that the model does not have. */
static ct_status nothing_left(ct_session *s, const ct_safetensors *st, const char *path, const char *prefix)
{
    size_t len = strlen(prefix);
    for (size_t i = 0; i < ct_safetensors_count(st); i++) {
        const char *name = ct_safetensors_at(st, i)->name;
        if (strncmp(name, prefix, len) != 0) continue;
        bool known = false;
        for (size_t k = 0; k < s->tensors && !known; k++) known = strcmp(s->tensor[k].name, name + len) == 0;
        if (!known) return ct_fail(CT_EFORMAT, "%s: tensor %s is not part of the model", path, name);
    }
    return CT_OK;
}

ct_status ct_checkpoint_load_weights(ct_session *s, const ct_safetensors *st, const char *path, const char *prefix,
                                     bool to_ema)
{
    CT_TRY(load_arena(s, st, path, prefix, to_ema ? CT_ARENA_EMA : CT_ARENA_PARAM,
                      to_ema ? CT_ARENA_EMABUF : CT_ARENA_BUFFER, false));
    return nothing_left(s, st, path, prefix);
}

ct_status ct_checkpoint_restore(ct_session *s, const ct_safetensors *st, const char *path, ct_progress *p)
{
    double state[CT_STATE_COUNT];
    ct_desc d = ct_desc1(CT_F64, CT_STATE_COUNT);
    CT_TRY(ct_progress_from_json(ct_safetensors_meta(st, "progress"), path, p));
    CT_TRY(ct_checkpoint_load_weights(s, st, path, "model.", false));
    if (s->store->base[CT_ARENA_EMA]) CT_TRY(ct_checkpoint_load_weights(s, st, path, "ema.", true));
    if (s->spec.optimizer != CT_OPT_SGD) {
        CT_TRY(load_arena(s, st, path, "optim.m.", CT_ARENA_OPT1, CT_ARENA_COUNT, true));
        CT_TRY(load_arena(s, st, path, "optim.v.", CT_ARENA_OPT2, CT_ARENA_COUNT, true));
    } else if (s->store->base[CT_ARENA_OPT1]) {
        CT_TRY(load_arena(s, st, path, "optim.momentum.", CT_ARENA_OPT1, CT_ARENA_COUNT, true));
    }
    CT_TRY(ct_safetensors_get(st, "state", &d, state));
    return ct_arenas_set_state(s->store, state);
}
