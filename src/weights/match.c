#include "config.h"

#include "weights/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "models/torch_map.h"
#include "weights/names.h"

/* ---- the model's tensors in the order in which PyTorch has them ---- */

typedef struct place { const char *name; ct_val val; size_t index; } place;

/* A block's shortcut: PyTorch registers it behind the block's convolutions, here it comes before them. Gives where
 * "downsample." begins; NULL: it is none. */
static const char *shortcut(const char *name) { return strstr(name, "downsample."); }

static int by_order(const void *a, const void *b)
{
    const place *x = a, *y = b;
    const char *p = shortcut(x->name), *q = shortcut(y->name);
    const size_t n = p ? (size_t)(p - x->name) : q ? (size_t)(q - y->name) : 0;
    if (!p != !q && n > 0 && strncmp(x->name, y->name, n) == 0) return p ? 1 : -1;
    return (x->val > y->val) - (x->val < y->val);
}

static ct_status in_order(const ct_session *s, place **out)
{
    place *p = ct_calloc(s->tensors + 1, sizeof *p, "tensors to import");
    *out = p;
    if (!p) return CT_ENOMEM;
    for (size_t i = 0; i < s->tensors; i++) p[i] = (place){ s->tensor[i].name, s->tensor[i].val, i };
    /* insertion: the order is none between blocks, where a shortcut and another block's layers are compared by place */
    for (size_t i = 1; i < s->tensors; i++) {
        const place x = p[i];
        size_t j = i;
        for (; j > 0 && p[j - 1].val > x.val; j--) p[j] = p[j - 1];
        p[j] = x;
    }
    for (size_t i = 1; i < s->tensors; i++) {
        const place x = p[i];
        size_t j = i;
        for (; j > 0 && by_order(&p[j - 1], &x) > 0; j--) p[j] = p[j - 1];
        p[j] = x;
    }
    return CT_OK;
}

/* ---- matching ---- */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool alike(const ct_session *s, size_t i, const ct_state_tensor *t)
{
    const ct_desc want = ct_torch_desc(&s->ref_graph->values[s->tensor[i].val]);
    return !t->odd && ct_dtype_is_float(t->desc.dtype) && ct_desc_same_shape(&want, &t->desc) &&
           strcmp(last_part(s->tensor[i].name), last_part(t->name)) == 0;
}

static void match_shapes(const ct_session *s, const ct_state_file *file, const place *order, bool *used, ct_match *m)
{
    for (size_t k = 0; k < s->tensors; k++) {
        const size_t i = order[k].index;
        for (size_t j = 0; m->theirs[i] < 0 && j < ct_state_count(file); j++) {
            const ct_state_tensor t = ct_state_at(file, j);
            if (used[j] || !alike(s, i, &t)) continue;
            m->theirs[i] = (int64_t)j;
            used[j] = true;
            m->by_shape++;
        }
    }
}

ct_status ct_match_make(const ct_session *s, const ct_state_file *file, char *const *name, ct_match *m)
{
    const size_t n = ct_state_count(file);
    bool *used = ct_calloc(n + 1, sizeof *used, "tensors to import");
    place *order = NULL;
    ct_status st = CT_ENOMEM;
    *m = (ct_match){ .theirs = ct_calloc(s->tensors + 1, sizeof *m->theirs, "tensors to import") };
    if (!used || !m->theirs) goto fail;
    CT_GOTO(st, in_order(s, &order));
    for (size_t j = 0; j < n; j++) {
        const ct_state_tensor t = ct_state_at(file, j);
        used[j] = ct_name_is_counter(&t) || ct_name_left_out(name[j]);
    }
    for (size_t i = 0; i < s->tensors; i++) {
        m->theirs[i] = -1;
        for (size_t j = 0; m->theirs[i] < 0 && j < n; j++)
            if (!used[j] && strcmp(name[j], s->tensor[i].name) == 0) m->theirs[i] = (int64_t)j;
        if (m->theirs[i] < 0) continue;
        used[m->theirs[i]] = true;
        m->by_name++;
    }
    if (ct_state_ordered(file)) match_shapes(s, file, order, used, m);
    m->missing = s->tensors - m->by_name - m->by_shape;
    for (size_t j = 0; j < n; j++) m->left += !used[j];
fail:
    ct_free(order);
    ct_free(used);
    if (st != CT_OK) ct_match_free(m);
    return st;
}

void ct_match_free(ct_match *m)
{
    ct_free(m->theirs);
    m->theirs = NULL;
}

/* ---- for people ---- */

void ct_match_log(const ct_match *m, const ct_session *s, const ct_state_file *file)
{
    char shape[CT_DESC_STR];
    for (size_t i = 0; i < s->tensors; i++) {
        if (m->theirs[i] < 0) continue;
        const ct_state_tensor t = ct_state_at(file, (size_t)m->theirs[i]);
        if (strcmp(t.name, s->tensor[i].name) != 0)
            ct_info("  %s = %s  %s", t.name, s->tensor[i].name, ct_desc_str(&t.desc, shape));
    }
}

static ct_status line(ct_atomic_file *f, const char *front, const char *a, const char *eq, const char *b)
{
    const char *const part[] = { front, a, eq, b, "\n" };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) CT_TRY(ct_atomic_write(f, part[i], strlen(part[i])));
    return CT_OK;
}

/* The list behind its head: what belongs together, what is missing, what is left over. */
static ct_status write_lines(const ct_match *m, const ct_session *s, const ct_state_file *file, char *const *name,
                             const bool *used, ct_atomic_file *f)
{
    char shape[CT_DESC_STR];
    for (size_t i = 0; i < s->tensors; i++)
        if (m->theirs[i] >= 0)
            CT_TRY(line(f, "", ct_state_at(file, (size_t)m->theirs[i]).name, "=", s->tensor[i].name));
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_desc want = ct_torch_desc(&s->ref_graph->values[s->tensor[i].val]);
        if (m->theirs[i] < 0) CT_TRY(line(f, "# missing: =", s->tensor[i].name, "  ", ct_desc_str(&want, shape)));
    }
    for (size_t j = 0; j < ct_state_count(file); j++) {
        const ct_state_tensor t = ct_state_at(file, j);
        if (used[j] || ct_name_is_counter(&t) || ct_name_left_out(name[j])) continue;
        CT_TRY(line(f, "# left over (nothing behind '=' leaves it out): ", t.name, "=  ",
                    t.odd ? t.odd : ct_desc_str(&t.desc, shape)));
    }
    return CT_OK;
}

ct_status ct_match_write(const ct_match *m, const ct_session *s, const ct_state_file *file, char *const *name,
                         const char *path, bool force)
{
    ct_atomic_file *f;
    ct_status st = CT_OK;
    if (!force && ct_path_exists(path))
        return ct_fail(CT_ECONFIG, "%s exists already: give --force to replace it", path);
    bool *used = ct_calloc(ct_state_count(file) + 1, sizeof *used, "tensors to import");
    if (!used) return CT_ENOMEM;
    for (size_t i = 0; i < s->tensors; i++)
        if (m->theirs[i] >= 0) used[m->theirs[i]] = true;
    CT_GOTO(st, ct_atomic_open(path, &f));
    st = line(f, "# Names in the file = names in model ", s->spec.model.name, ": rules for import-torch --map-file",
              "");
    if (st == CT_OK) st = write_lines(m, s, file, name, used, f);
    if (st == CT_OK) st = ct_atomic_commit(f);
    else ct_atomic_abort(f);
fail:
    ct_free(used);
    return st;
}
