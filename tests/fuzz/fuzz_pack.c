/* libFuzzer target: any bytes as a packed cache. Their checksums are made right first, where the first byte says so,
 * and what is asked for is what the header claims, so that what lies behind these doors is reached. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/pack.h"
#include "tests/fuzz/fuzz_util.h"

/* The places of struct pack_header in pack.c; a check that nothing has moved is in LLVMFuzzerInitialize. */
enum { HEADER = 4096, H = 12, N = 32, PX_BYTES = 40, RECORD_BYTES = 48, KEY = 56, PX_HASH = 96, RECORD_HASH = 136, HASH = 176 };

static const char key[33] = "0123456789abcdef0123456789abcdef";

static void get(const uint8_t *p, size_t at, void *to, size_t n) { memcpy(to, p + at, n); }

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const ct_pack_shape shape = { .h = 2, .w = 8, .c = 1, .step = 4 };
    char path[] = "/tmp/captrain-fuzz.XXXXXX";
    ct_pack p, q;
    uint8_t *data;
    size_t size;
    int32_t h;
    int64_t n;
    (void)argc;
    (void)argv;
    const int fd = mkstemp(path);
    if (fd < 0 || ct_pack_make(3, &shape, &p) != CT_OK || ct_pack_add_pixels(&p) != CT_OK) abort();
    memset(p.own_px, 7, p.px_bytes);
    if (ct_pack_store(path, key, &p) != CT_OK || ct_pack_load(path, key, 3, &shape, &q) != CT_OK) abort();
    if (ct_file_read(path, 1 << 20, &data, &size) != CT_OK) abort();
    get(data, H, &h, sizeof h);
    get(data, N, &n, sizeof n);
    if (h != 2 || n != 3 || memcmp(data + KEY, key, 33) != 0) abort();
    ct_free(data);
    ct_pack_free(&p);
    ct_pack_free(&q);
    close(fd);
    remove(path);
    return 0;
}

/* A whole file: three items of different widths. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char magic[8] = { 'C', 'T', 'P', 'A', 'C', 'K', '2', '\n' };
    static const uint8_t records[] = { 0, 8, 0, 0, 0, 'a', 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'b', 'a', 'd', 0 };
    const uint32_t order = 0x01020304;
    const int32_t shape[4] = { 2, 8, 1, 4 };
    const int64_t n = 3, px = 24, bytes = sizeof records;
    if (size > HEADER && seed % 8) {
        /* what counts is the header's beginning and what stands behind it */
        uint8_t small[512];
        size_t rest = size - 1 - HEADER, part = rest < 400 ? rest : 400;
        if (size < 1 + HEADER) return LLVMFuzzerMutate(data, size, max);
        memcpy(small, data + 1, 56);
        memcpy(small + 56, data + 1 + HEADER, part);
        size_t k = LLVMFuzzerMutate(small, 56 + part, sizeof small);
        if (k < 56 || max < 1 + HEADER + k - 56) return size;
        memcpy(data + 1, small, 56);
        memcpy(data + 1 + HEADER, small + 56, k - 56);
        return 1 + HEADER + k - 56;
    }
    if (max < 1 + HEADER + 24 + sizeof records) return LLVMFuzzerMutate(data, size, max);
    memset(data, 0, 1 + HEADER + 24);
    data[0] = 1;
    uint8_t *p = data + 1;
    memcpy(p, magic, 8);
    memcpy(p + 8, &order, 4);
    memcpy(p + H, shape, sizeof shape);
    memcpy(p + N, &n, 8);
    memcpy(p + PX_BYTES, &px, 8);
    memcpy(p + RECORD_BYTES, &bytes, 8);
    memcpy(p + HEADER + 24, records, sizeof records);
    return 1 + HEADER + 24 + sizeof records;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 20];
    int32_t shape[4];
    int64_t n;
    uint64_t px, records;
    if (size < 1 + HEADER || size > sizeof file) return 0;
    const size_t all = size - 1;
    memcpy(file, data + 1, all);
    get(file, H, shape, sizeof shape);
    get(file, N, &n, sizeof n);
    get(file, PX_BYTES, &px, sizeof px);
    get(file, RECORD_BYTES, &records, sizeof records);
    /* the caller asks for what it has pictures for: these numbers are its own, and sane */
    if (n < 1 || n > 4096) return 0;
    for (int i = 0; i < 3; i++)
        if (shape[i] < 1 || shape[i] > 4096) return 0;
    if (shape[3] < 0 || shape[3] > 4096) return 0;
    if (data[0] & 1) {
        if (px > all - HEADER || records > all - HEADER - px) return 0;
        memcpy(file + KEY, key, 33);
        ct_hash_hex(file + HEADER, px, (char *)file + PX_HASH);
        ct_hash_hex(file + HEADER + px, records, (char *)file + RECORD_HASH);
        ct_hash_hex(file, HASH, (char *)file + HASH);
    }
    const ct_pack_shape s = { .h = shape[0], .w = shape[1], .c = shape[2], .step = shape[3] };
    ct_pack p;
    if (ct_pack_load(fuzz_file(file, all), key, n, &s, &p) != CT_OK) return 0;
    unsigned sum = 0;
    for (int64_t i = 0; i < p.n; i++) {
        const size_t bytes = ct_pack_bytes(&p, i);
        if (p.at[i] + bytes > p.px_bytes) abort();
        for (size_t k = 0; k < bytes; k += 64) sum += p.px[p.at[i] + k];
        sum += (unsigned)strlen(p.text[i]);
    }
    ct_pack_free(&p);
    static volatile unsigned read_all;
    read_all = sum;
    (void)read_all;
    return 0;
}
