/* libFuzzer target: any bytes as a file of torch.save, an archive or an old one. Tensors of an accepted file that are not too large are
 * read to the last element. The checksums of a mutated archive are put right first, or nothing would come further. */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "pickle/torch_file.h"
#include "tests/fuzz/fuzz_util.h"

static uint32_t get(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

/* Gives each entry of a directory the checksum of its stored data; deflated ones keep theirs. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max);
    if (seed % 8 == 0) return size;
    for (size_t i = 0; i + 46 <= size; i++) {
        uint8_t *c = data + i;
        if (memcmp(c, "PK\1\2", 4) != 0 || get(c + 10, 2) != 0) continue;
        const size_t at = get(c + 42, 4), bytes = get(c + 20, 4);
        if (at + 30 > size) continue;
        const size_t from = at + 30 + get(data + at + 26, 2) + get(data + at + 28, 2);
        if (from > size || bytes > size - from) continue;
        const uint32_t crc = (uint32_t)crc32_z(0, data + from, bytes);
        for (int k = 0; k < 4; k++) c[16 + k] = (uint8_t)(crc >> (8 * k));
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_torch_file *f;
    ct_log_set_level(CT_LOG_ERROR);
    if (ct_torch_open_memory(data, size, "fuzz", NULL, &f) != CT_OK) return 0;
    for (size_t i = 0; i < ct_torch_count(f); i++) {
        const ct_torch_tensor *t = ct_torch_at(f, i);
        if (t->odd || ct_desc_numel(&t->desc) > 1 << 16) continue;
        void *to = ct_malloc(ct_desc_bytes(&t->desc) + 1, "tensor");
        if (to) ct_torch_read(f, i, to);
        ct_free(to);
    }
    ct_torch_close(f);
    return 0;
}
