/* libFuzzer target: any bytes as a safetensors file. Every tensor of an accepted file is read to its last element. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "formats/safetensors.h"

#include "tests/fuzz/fuzz_util.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return fuzz_mutate_safetensors(data, size, max, seed, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_safetensors *st;
    if (ct_safetensors_open_memory(data, size, "fuzz", &st) != CT_OK) return 0;
    for (size_t i = 0; i < ct_safetensors_count(st); i++) {
        const ct_st_tensor *t = ct_safetensors_at(st, i);
        if (ct_safetensors_find(st, t->name) != t) abort();
        if (t->bytes != ct_desc_bytes(&t->desc)) abort();
        double *d = ct_malloc((size_t)ct_desc_numel(&t->desc) * sizeof *d, "tensor");
        if (d) ct_st_read(t, CT_F64, d);
        ct_free(d);
    }
    for (size_t i = 0; i < ct_safetensors_meta_count(st); i++)
        if (!ct_safetensors_meta(st, ct_safetensors_meta_key(st, i))) abort();
    ct_safetensors_close(st);
    return 0;
}
