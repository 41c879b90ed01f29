#include "config.h"

#include "pickle/state_dict.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

/* How checkpoints call the weights of a model, the likelier first; averages of weights come last. */
static const char *const usual[] = {
    "state_dict", "model_state_dict", "model_state", "model", "net", "network", "module", "weights", "params",
    "student", "encoder_q", "state_dict_ema", "model_ema", "ema_state_dict", "ema", "params_ema", "teacher",
};
#define USUAL (sizeof usual / sizeof usual[0])

enum { LIST_BYTES = 1024, NAME_BYTES = 64 };

/* Tensors that a dict holds itself, under names. */
static uint32_t tensors_of(const ct_torch_values *t, const ct_pickle *p, ct_ref r)
{
    const ct_pickle_value *v = ct_pickle_at(p, r);
    uint32_t n = 0;
    for (uint32_t i = 0; v->kind == CT_PY_DICT && i + 1 < v->n; i += 2)
        n += ct_pickle_at(p, v->u.item[i])->kind == CT_PY_STR && ct_torch_view_of(t, p, v->u.item[i + 1]);
    return n;
}

/* A key for people. */
static const char *shown(const ct_pickle *p, ct_ref key, char buf[NAME_BYTES])
{
    const ct_pickle_value *k = ct_pickle_at(p, key);
    char plain[NAME_BYTES];
    if (k->kind != CT_PY_STR) return "(no name)";
    snprintf(plain, sizeof plain, "%.*s", (int)(k->n < NAME_BYTES ? k->n : NAME_BYTES - 1), k->s);
    return ct_text_visible(plain, buf, NAME_BYTES);
}

/* Dicts of tensors of `root` but for `taken`, or (others) what is none: "a, b". */
static const char *list(const ct_torch_values *t, const ct_pickle *p, ct_ref root, ct_ref taken, bool others,
                        char buf[LIST_BYTES])
{
    const ct_pickle_value *v = ct_pickle_at(p, root);
    char name[NAME_BYTES];
    size_t n = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; v->kind == CT_PY_DICT && i + 1 < v->n; i += 2) {
        const ct_ref at = v->u.item[i + 1];
        if (at == taken || (tensors_of(t, p, at) > 0) == others) continue;
        const ct_pickle_value *what = ct_pickle_at(p, at);
        const int m = snprintf(buf + n, LIST_BYTES - n, "%s%s%s%.*s%s", n ? ", " : "", shown(p, v->u.item[i], name),
                               what->kind == CT_PY_LEFT ? " (" : "", what->kind == CT_PY_LEFT ? (int)what->n : 0,
                               what->kind == CT_PY_LEFT ? what->s : "", what->kind == CT_PY_LEFT ? ")" : "");
        if (m < 0 || (size_t)m >= LIST_BYTES - n) {
            memcpy(buf + LIST_BYTES - 4, "...", 4);
            break;
        }
        n += (size_t)m;
    }
    return buf;
}

/* Value of a path: a key, or keys with dots between. */
static ct_ref by_path(const ct_pickle *p, ct_ref r, const char *path)
{
    char part[NAME_BYTES];
    ct_ref at;
    while (r && (at = ct_pickle_get(p, r, path)) == 0) {
        const size_t n = strcspn(path, ".");
        if (path[n] == '\0' || n >= sizeof part) return 0;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        r = ct_pickle_get(p, r, part);
        path += n + 1;
    }
    return r ? at : 0;
}

static ct_status by_key(const ct_torch_values *t, const ct_pickle *p, const char *key, ct_ref *out)
{
    char known[LIST_BYTES];
    const ct_ref root = ct_pickle_root(p);
    *out = by_path(p, root, key);
    if (*out && tensors_of(t, p, *out) > 0) return CT_OK;
    list(t, p, root, 0, false, known);
    return ct_fail(CT_EFORMAT, "%s: --key %s: %s; dicts of tensors here: %s", t->source, key,
                   *out ? "no dict of tensors" : "not there", *known ? known : "none but, perhaps, the file itself");
}

/* The dict of tensors in `root` that is usual, or the only one; *n of them there are. */
static ct_ref choose(const ct_torch_values *t, const ct_pickle *p, ct_ref root, int *n)
{
    const ct_pickle_value *v = ct_pickle_at(p, root);
    ct_ref last = 0;
    *n = 0;
    for (size_t i = 0; i < USUAL; i++) {
        const ct_ref at = ct_pickle_get(p, root, usual[i]);
        if (at && tensors_of(t, p, at) > 0) {
            *n = 1;
            return at;
        }
    }
    for (uint32_t i = 0; v->kind == CT_PY_DICT && i + 1 < v->n; i += 2) {
        if (tensors_of(t, p, v->u.item[i + 1]) == 0) continue;
        last = v->u.item[i + 1];
        (*n)++;
    }
    return last;
}

/* The key under which `at` stands in `root`. */
static const char *name_of(const ct_pickle *p, ct_ref root, ct_ref at, char buf[NAME_BYTES])
{
    const ct_pickle_value *v = ct_pickle_at(p, root);
    for (uint32_t i = 0; i + 1 < v->n; i += 2)
        if (v->u.item[i + 1] == at) return shown(p, v->u.item[i], buf);
    return "";
}

ct_status ct_state_dict_find(const ct_torch_values *t, const ct_pickle *p, const char *key, ct_ref *out)
{
    char dicts[LIST_BYTES], others[LIST_BYTES], name[NAME_BYTES];
    const ct_ref root = ct_pickle_root(p);
    int n = 0;
    *out = 0;
    if (key) return by_key(t, p, key, out);
    if (ct_pickle_at(p, root)->kind != CT_PY_DICT)
        return ct_fail(CT_EFORMAT,
                       "%s: holds no dict but %s; what is read is torch.save(model.state_dict(), ...), or a dict with "
                       "one in it", t->source, ct_torch_view_of(t, p, root) ? "one tensor" : "something else");
    const ct_ref inner = choose(t, p, root, &n);
    if (n == 1) {
        *out = inner;
        list(t, p, root, inner, false, dicts);
        list(t, p, root, inner, true, others);
        ct_info("%s: takes its '%s' (%u tensors)%s%s%s%s", t->source, name_of(p, root, inner, name),
                tensors_of(t, p, inner), *others ? ", not its " : "", others,
                *dicts ? "; --key takes one of: " : "", dicts);
        return CT_OK;
    }
    if (tensors_of(t, p, root) > 0) {
        *out = root;
        return CT_OK;
    }
    list(t, p, root, 0, false, dicts);
    list(t, p, root, 0, true, others);
    if (n > 1)
        return ct_fail(CT_EFORMAT, "%s: which of its dicts of tensors is meant? --key takes one of: %s", t->source,
                       dicts);
    return ct_fail(CT_EFORMAT, "%s: no dict of tensors is in it, only: %s (--key A.B takes one that lies deeper)",
                   t->source, *others ? others : "nothing");
}
