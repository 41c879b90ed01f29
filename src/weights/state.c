#include "config.h"

#include "weights/state.h"

#include "base/alloc.h"
#include "base/file.h"
#include "pickle/torch_file.h"

struct ct_state_file {
    ct_safetensors *plain; /* one of the two */
    ct_torch_file *torch;
};

static ct_status is_torch(const char *path, bool *yes)
{
    ct_mmap m;
    CT_TRY(ct_mmap_open(path, &m));
    *yes = ct_torch_is_file(m.data, m.size);
    if (m.data) ct_mmap_close(&m);
    return CT_OK;
}

ct_status ct_state_open(const char *path, const char *key, ct_state_file **out)
{
    bool torch;
    ct_status st;
    *out = NULL;
    CT_TRY(is_torch(path, &torch));
    if (key && !torch) return ct_fail(CT_ECONFIG, "--key %s: %s is no file of torch.save and has no dicts", key, path);
    ct_state_file *s = ct_calloc(1, sizeof *s, "state dict");
    if (!s) return CT_ENOMEM;
    st = torch ? ct_torch_open(path, key, &s->torch) : ct_safetensors_open(path, &s->plain);
    if (st == CT_OK) *out = s;
    else ct_state_close(s);
    return st;
}

void ct_state_close(ct_state_file *s)
{
    if (!s) return;
    ct_safetensors_close(s->plain);
    ct_torch_close(s->torch);
    ct_free(s);
}

size_t ct_state_count(const ct_state_file *s)
{
    return s->torch ? ct_torch_count(s->torch) : ct_safetensors_count(s->plain);
}

ct_state_tensor ct_state_at(const ct_state_file *s, size_t i)
{
    if (s->torch) {
        const ct_torch_tensor *t = ct_torch_at(s->torch, i);
        return (ct_state_tensor){ t->name, t->desc, t->odd };
    }
    const ct_st_tensor *t = ct_safetensors_at(s->plain, i);
    return (ct_state_tensor){ t->name, t->desc, NULL };
}

bool ct_state_ordered(const ct_state_file *s) { return s->torch != NULL; }

ct_status ct_state_read(ct_state_file *s, size_t i, ct_st_tensor *t, void **own)
{
    *own = NULL;
    if (s->plain) {
        *t = *ct_safetensors_at(s->plain, i);
        return CT_OK;
    }
    const ct_torch_tensor *from = ct_torch_at(s->torch, i);
    *t = (ct_st_tensor){ .name = from->name, .desc = from->desc, .bytes = ct_desc_bytes(&from->desc) };
    if (!(*own = ct_malloc(t->bytes, "a tensor to import"))) return CT_ENOMEM;
    t->data = *own;
    const ct_status st = ct_torch_read(s->torch, i, *own);
    if (st != CT_OK) {
        ct_free(*own);
        *own = NULL;
    }
    return st;
}
