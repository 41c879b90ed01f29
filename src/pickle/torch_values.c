#include "config.h"

#include "pickle/torch_values.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_VIEWS = 1 << 18 };

/* ---- names ---- */

enum what { ORDERED_DICT, DICT_OF, TUPLE_OF, LIST_OF, TENSOR, PARAMETER, STORAGE /* and the types from there on */ };

static const ct_torch_type types[] = {
    { "FloatStorage", "float32", 4, true, CT_F32 },      { "DoubleStorage", "float64", 8, true, CT_F64 },
    { "HalfStorage", "float16", 2, true, CT_F16 },       { "BFloat16Storage", "bfloat16", 2, true, CT_BF16 },
    { "LongStorage", "int64", 8, true, CT_I64 },         { "IntStorage", "int32", 4, true, CT_I32 },
    { "ByteStorage", "uint8", 1, true, CT_U8 },          { "BoolStorage", "bool", 1, true, CT_U8 },
    { "ShortStorage", "int16", 2, false, CT_F32 },       { "CharStorage", "int8", 1, false, CT_F32 },
    { "ComplexFloatStorage", "complex64", 8, false, CT_F32 },
    { "ComplexDoubleStorage", "complex128", 16, false, CT_F32 },
};
#define TYPES (sizeof types / sizeof types[0])

/* `what` < 0: what is made of it is passed over. Names that Python 2 gave are here, too. */
static const struct { const char *module, *name; int what; } names[] = {
    { "collections", "OrderedDict", ORDERED_DICT },
    { "collections", "defaultdict", DICT_OF },
    { "collections", "Counter", DICT_OF },
    { "torch", "Size", TUPLE_OF },
    { "builtins", "set", LIST_OF },
    { "__builtin__", "set", LIST_OF },
    { "builtins", "frozenset", LIST_OF },
    { "__builtin__", "frozenset", LIST_OF },
    { "torch._utils", "_rebuild_tensor_v2", TENSOR },
    { "torch._utils", "_rebuild_parameter", PARAMETER },
    { "torch._utils", "_rebuild_parameter_with_state", PARAMETER },
    /* what training scripts leave beside a state dict */
    { "argparse", "Namespace", CT_PICKLE_LEFT },
    { "types", "SimpleNamespace", CT_PICKLE_LEFT },
    { "builtins", "list", CT_PICKLE_LEFT }, /* a defaultdict's */
    { "builtins", "dict", CT_PICKLE_LEFT },
    { "builtins", "int", CT_PICKLE_LEFT },
    { "builtins", "float", CT_PICKLE_LEFT },
    { "builtins", "complex", CT_PICKLE_LEFT },
    { "torch", "device", CT_PICKLE_LEFT },
    { "torch", "Generator", CT_PICKLE_LEFT },
    { "torch.serialization", "_get_layout", CT_PICKLE_LEFT },
    { "pathlib", "PosixPath", CT_PICKLE_LEFT },
    { "pathlib", "WindowsPath", CT_PICKLE_LEFT },
    { "pathlib._local", "PosixPath", CT_PICKLE_LEFT },
    { "pathlib._local", "WindowsPath", CT_PICKLE_LEFT },
    { "datetime", "datetime", CT_PICKLE_LEFT },
    { "datetime", "timedelta", CT_PICKLE_LEFT },
    { "numpy", "dtype", CT_PICKLE_LEFT },
    { "numpy", "ndarray", CT_PICKLE_LEFT },
    { "numpy.core.multiarray", "scalar", CT_PICKLE_LEFT },
    { "numpy.core.multiarray", "_reconstruct", CT_PICKLE_LEFT },
    { "numpy._core.multiarray", "scalar", CT_PICKLE_LEFT },
    { "numpy._core.multiarray", "_reconstruct", CT_PICKLE_LEFT },
    { "_codecs", "encode", CT_PICKLE_LEFT },
};

/* Part "torch.nn" of module "torch.nn.modules.conv". */
static bool within(const char *module, const char *part)
{
    const size_t n = strlen(part);
    return strncmp(module, part, n) == 0 && (module[n] == '.' || module[n] == '\0');
}

/* Does a name look like a class of a network: one of torch.nn, or of a program of the user's? What Python itself has is
 * none, whatever it is called. */
static bool is_class(const char *module, const char *name)
{
    static const char *const networks[] = { "torch.nn", "torchvision", "timm", "__main__", "models", "model" };
    static const char *const own[] = { "os",     "posix",    "nt",          "sys",     "subprocess", "builtins",
                                       "runpy",  "torch",    "__builtin__", "shutil",  "importlib",  "socket",
                                       "ctypes", "pickle",   "code",        "types",   "functools",  "operator",
                                       "io",     "copyreg",  "collections", "threading", "multiprocessing" };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (within(module, networks[i])) return true;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (within(module, own[i])) return false;
    return name[0] >= 'A' && name[0] <= 'Z';
}

/* Words about a name that is refused. */
static ct_status refuse(const ct_torch_values *t, const char *module, const char *name)
{
    if (is_class(module, name))
        return ct_fail(CT_EUNSUPPORTED,
                       "refused: %s.%s is a class: the file holds a whole pickled module or another object, which "
                       "could only be had by running its program. Where that is trusted, keep its weights alone "
                       "(m['model'] where it stands in a dict): python3 -c \"import torch; m = torch.load('%s', "
                       "map_location='cpu', weights_only=False); torch.save(m.state_dict(), 'state.pth')\"",
                       module, name, t->quoted);
    if (strcmp(module, "torch._utils") == 0 || strcmp(module, "torch._tensor") == 0 ||
        strcmp(module, "torch.storage") == 0)
        return ct_fail(CT_EUNSUPPORTED,
                       "refused: %s.%s is not among what dense tensors of usual types need. Convert them in Python and "
                       "save again: torch.save({k: v.to_dense().float() for k, v in state.items()}, 'state.pth')",
                       module, name);
    return ct_fail(CT_EUNSUPPORTED,
                   "refused: %s.%s is nothing that a state dict needs; nothing was run. Who does not trust the file "
                   "should not load it with Python either; who does saves the weights alone: "
                   "torch.save(model.state_dict(), 'state.pth')", module, name);
}

static ct_status global(void *user, const char *module, const char *name, int *what)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].module, module) != 0 || strcmp(names[i].name, name) != 0) continue;
        *what = names[i].what;
        return CT_OK;
    }
    const bool torch = strcmp(module, "torch") == 0;
    for (size_t i = 0; i < TYPES; i++) {
        if (torch && strcmp(types[i].name, name) == 0) {
            *what = CT_PICKLE_LEFT; /* torch.float32 as a value */
            return CT_OK;
        }
        if ((!torch && strcmp(module, "torch.cuda") != 0) || strcmp(types[i].storage, name) != 0) continue;
        *what = STORAGE + (int)i;
        return CT_OK;
    }
    return refuse(user, module, name);
}

/* ---- storages ---- */

static bool is_size(const ct_pickle_value *v) { return v->kind == CT_PY_INT && v->u.i >= 0; }

/* ('storage', type, key, location, elements), old files with None or a view behind it. */
static ct_status persistent(void *user, ct_pickle *p, ct_ref id, ct_ref *out)
{
    ct_torch_values *t = user;
    const ct_pickle_value *v = ct_pickle_at(p, id), *type, *key, *numel;
    if (v->kind != CT_PY_TUPLE || v->n < 5 || !ct_pickle_is(p, v->u.item[0], "storage"))
        return ct_fail(CT_EFORMAT, "a persistent id that names no storage");
    type = ct_pickle_at(p, v->u.item[1]);
    key = ct_pickle_at(p, v->u.item[2]);
    numel = ct_pickle_at(p, v->u.item[4]);
    if (type->kind != CT_PY_GLOBAL || type->u.i < STORAGE || key->kind != CT_PY_STR || key->n > 64 || !is_size(numel))
        return ct_fail(CT_EFORMAT, "a storage without a type, key or size");
    if (v->n > 5 && ct_pickle_at(p, v->u.item[5])->kind != CT_PY_NONE)
        return ct_fail(CT_EUNSUPPORTED, "a storage that is part of another (torch 0.1)");
    const ct_torch_type *ty = &types[type->u.i - STORAGE];
    if (numel->u.i > INT64_MAX / (int64_t)ty->bytes)
        return ct_fail(CT_EFORMAT, "a storage of %" PRId64 " elements", numel->u.i);
    for (size_t i = t->storages; i-- > 0 && i + 2 > t->storages;) { /* tensors that share one follow each other */
        const ct_torch_storage *s = &t->storage[i];
        if (s->type == ty && s->numel == numel->u.i && s->key_len == key->n && memcmp(s->key, key->s, key->n) == 0)
            return ct_pickle_own(p, (int64_t)i << 1, out);
    }
    CT_TRY(ct_grow(&t->storage, t->storages, &t->cap_storages, sizeof *t->storage, "storages"));
    t->storage[t->storages] = (ct_torch_storage){ key->s, key->n, ty, numel->u.i };
    return ct_pickle_own(p, (int64_t)t->storages++ << 1, out);
}

/* ---- tensors: own values are 2 * storage and 2 * view + 1 ---- */

static bool is_own(const ct_pickle_value *v, int64_t kind) { return v->kind == CT_PY_OWN && (v->u.i & 1) == kind; }

/* Sizes and strides, and whether the last element lies in the storage. */
static ct_status read_view(const ct_torch_values *t, const ct_pickle *p, ct_ref sizes, ct_ref strides, ct_torch_view *w)
{
    const ct_pickle_value *a = ct_pickle_at(p, sizes), *b = ct_pickle_at(p, strides);
    const int64_t numel = t->storage[w->storage].numel;
    int64_t last = w->offset, n = 1;
    bool empty = false;
    if (a->kind != CT_PY_TUPLE || b->kind != CT_PY_TUPLE || a->n != b->n || a->n > 64)
        return ct_fail(CT_EFORMAT, "a tensor without sizes and strides");
    w->ndim = (int)a->n;
    for (uint32_t i = 0; i < a->n; i++) {
        const ct_pickle_value *d = ct_pickle_at(p, a->u.item[i]), *s = ct_pickle_at(p, b->u.item[i]);
        if (!is_size(d) || !is_size(s)) return ct_fail(CT_EFORMAT, "dimension %d of a tensor is no size", (int)i);
        if (i < CT_MAX_DIMS) w->dim[i] = d->u.i, w->stride[i] = s->u.i;
        empty |= d->u.i == 0;
        if (d->u.i > 0 && n > INT64_MAX / 64 / d->u.i) return ct_fail(CT_EFORMAT, "a tensor's shape is too large");
        if (d->u.i > 0) n *= d->u.i;
        if (d->u.i > 1 && s->u.i > (INT64_MAX - last) / (d->u.i - 1))
            return ct_fail(CT_EFORMAT, "a tensor's strides are too large");
        if (d->u.i > 1) last += (d->u.i - 1) * s->u.i;
    }
    if (!empty && last >= numel)
        return ct_fail(CT_EFORMAT, "element %" PRId64 " of a tensor is outside its storage of %" PRId64, last, numel);
    return CT_OK;
}

/* (storage, offset, size, stride, requires_grad, hooks[, metadata]) */
static ct_status tensor(ct_torch_values *t, ct_pickle *p, const ct_pickle_value *args, ct_ref *out)
{
    ct_torch_view w = { 0 };
    if (args->n < 4) return ct_fail(CT_EFORMAT, "a tensor of %d parts", (int)args->n);
    const ct_pickle_value *s = ct_pickle_at(p, args->u.item[0]), *offset = ct_pickle_at(p, args->u.item[1]);
    if (!is_own(s, 0) || !is_size(offset)) return ct_fail(CT_EFORMAT, "a tensor without a storage");
    if (args->n > 6) {
        const ct_pickle_value *meta = ct_pickle_at(p, args->u.item[6]);
        if (meta->kind != CT_PY_NONE && (meta->kind != CT_PY_DICT || meta->n > 0))
            return ct_fail(CT_EUNSUPPORTED, "refused: a tensor that is a conjugate or negative view; save "
                                            "tensor.resolve_conj().resolve_neg() instead");
    }
    w.storage = (uint32_t)(s->u.i >> 1);
    w.offset = offset->u.i;
    CT_TRY(read_view(t, p, args->u.item[2], args->u.item[3], &w));
    if (t->views >= MAX_VIEWS) return ct_fail(CT_EFORMAT, "more than %d tensors", MAX_VIEWS);
    CT_TRY(ct_grow(&t->view, t->views, &t->cap_views, sizeof *t->view, "tensors"));
    t->view[t->views] = w;
    return ct_pickle_own(p, (int64_t)(t->views++) << 1 | 1, out);
}

static ct_status call(void *user, ct_pickle *p, int what, ct_ref args, ct_ref *out)
{
    const ct_pickle_value a = *ct_pickle_at(p, args);
    const ct_ref first = a.n > 0 ? a.u.item[0] : 0;
    switch (what) {
    case ORDERED_DICT:
        if (a.n == 0) return ct_pickle_dict(p, out);
        return ct_fail(CT_EUNSUPPORTED, "refused: an OrderedDict made of a list (Python 2); load and save it once in "
                                        "Python 3");
    case DICT_OF: /* Counter(dict), defaultdict(type) */
        if (first == 0 || ct_pickle_at(p, first)->kind != CT_PY_DICT) return ct_pickle_dict(p, out);
        *out = first;
        return CT_OK;
    case TUPLE_OF:
        if (a.n != 1 || ct_pickle_at(p, first)->kind != CT_PY_TUPLE)
            return ct_fail(CT_EFORMAT, "a size without a tuple");
        *out = first;
        return CT_OK;
    case LIST_OF:
        if (a.n != 1 || ct_pickle_at(p, first)->kind != CT_PY_LIST) return ct_fail(CT_EFORMAT, "a set without a list");
        *out = first;
        return CT_OK;
    case TENSOR: return tensor(user, p, &a, out);
    case PARAMETER:
        if (!is_own(ct_pickle_at(p, first), 1)) return ct_fail(CT_EFORMAT, "a parameter without a tensor");
        *out = first;
        return CT_OK;
    default: return ct_fail(CT_EFORMAT, "a type is called as if it were a function");
    }
}

ct_pickle_rules ct_torch_rules(ct_torch_values *t) { return (ct_pickle_rules){ global, call, persistent, t }; }

void ct_torch_values_free(ct_torch_values *t)
{
    ct_free(t->storage);
    ct_free(t->view);
    t->storage = NULL;
    t->view = NULL;
    t->storages = t->cap_storages = t->views = t->cap_views = 0;
}

const ct_torch_view *ct_torch_view_of(const ct_torch_values *t, const ct_pickle *p, ct_ref r)
{
    const ct_pickle_value *v = ct_pickle_at(p, r);
    return is_own(v, 1) ? &t->view[v->u.i >> 1] : NULL;
}
