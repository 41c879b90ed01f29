/* Every tensor of a file of torch.save, as bytes, against a safetensors file of the same: tests/pickle/same FILE [SAFETENSORS [KEY]].
 * Without the second, all are read. Exit 1 and a message where one differs, is missing or cannot be read. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "pickle/torch_file.h"

static ct_status compare(ct_torch_file *f, const ct_safetensors *want, size_t i)
{
    const ct_torch_tensor *t = ct_torch_at(f, i);
    if (t->odd) return ct_fail(CT_EUNSUPPORTED, "%s: %s", t->name, t->odd);
    const size_t bytes = ct_desc_bytes(&t->desc);
    void *data = malloc(bytes + 1);
    if (!data) return CT_ENOMEM;
    ct_status st = ct_torch_read(f, i, data);
    const ct_st_tensor *w = want ? ct_safetensors_find(want, t->name) : NULL;
    if (st == CT_OK && want && (!w || !ct_desc_equal(&w->desc, &t->desc) || memcmp(w->data, data, bytes) != 0))
        st = ct_fail(CT_EINTERNAL, "%s differs", t->name);
    free(data);
    return st;
}

int main(int argc, char **argv)
{
    ct_torch_file *f = NULL;
    ct_safetensors *want = NULL;
    ct_status st = CT_EINVAL;
    if (argc < 2) return 2;
    if ((st = ct_torch_open(argv[1], argc > 3 ? argv[3] : NULL, &f)) != CT_OK) goto fail;
    if (argc > 2 && (st = ct_safetensors_open(argv[2], &want)) != CT_OK) goto fail;
    for (size_t i = 0; st == CT_OK && i < ct_torch_count(f); i++) st = compare(f, want, i);
    if (st == CT_OK && want && ct_safetensors_count(want) != ct_torch_count(f))
        st = ct_fail(CT_EINTERNAL, "%zu tensors instead of %zu", ct_torch_count(f), ct_safetensors_count(want));
    if (st == CT_OK) printf("%zu tensors\n", ct_torch_count(f));
fail:
    if (st != CT_OK) fprintf(stderr, "%s: %s\n", argv[1], ct_error_message());
    ct_torch_close(f);
    ct_safetensors_close(want);
    return st != CT_OK;
}
