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

/* The places of struct pack_header in pack.c; a check that nothing has moved is in make_whole(). */
enum { HEADER = 4096, H = 12, FILES = 28, N = 32, PX_BYTES = 40, RECORD_BYTES = 48, KEY = 56, PX_HASH = 96, RECORD_HASH = 136, HASH = 176 };

static const char key[33] = "0123456789abcdef0123456789abcdef";

static void get(const uint8_t *p, size_t at, void *to, size_t n) { memcpy(to, p + at, n); }

/* Whole files, of pixels and of files: three items, the last one bad. */
static struct { uint8_t *data; size_t size; } whole[2];

static void make_whole(int kind)
{
    const ct_pack_shape shape = { .h = 2, .w = 8, .c = 1, .step = kind ? 0 : 4, .files = kind == 1 };
    char path[] = "/tmp/captrain-fuzz.XXXXXX";
    ct_pack p, q;
    int32_t h;
    int64_t n;
    const int fd = mkstemp(path);
    if (fd < 0 || ct_pack_make(3, &shape, &p) != CT_OK) abort();
    p.width[1] = 3;
    p.own_state[2] = CT_PACK_BAD;
    for (int i = 0; i < 3; i++) {
        if (kind) p.size[i] = 5 + 7 * i;
        p.from[i][0] = p.from[i][1] = 20 + i;
        if (!(p.own_text[i] = ct_strdup(i < 2 ? "a label" : "why it is bad", "text"))) abort();
    }
    if (ct_pack_add_pixels(&p, NULL) != CT_OK) abort();
    memset(p.own_px, 7, p.px_bytes);
    if (ct_pack_store(path, key, &p) != CT_OK || ct_pack_load(path, key, 3, &shape, &q) != CT_OK) abort();
    if (ct_file_read(path, 1 << 20, &whole[kind].data, &whole[kind].size) != CT_OK) abort();
    get(whole[kind].data, H, &h, sizeof h);
    get(whole[kind].data, N, &n, sizeof n);
    if (h != 2 || n != 3 || memcmp(whole[kind].data + KEY, key, 33) != 0) abort();
    ct_pack_free(&p);
    ct_pack_free(&q);
    close(fd);
    remove(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    make_whole(0);
    make_whole(1);
    return 0;
}

/* Begins with a whole file, and changes the header's beginning and what stands behind it, which is what counts. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size > 1 + HEADER && seed % 8) {
        uint8_t small[512];
        size_t rest = size - 1 - HEADER, part = rest < 400 ? rest : 400;
        memcpy(small, data + 1, 56);
        memcpy(small + 56, data + 1 + HEADER, part);
        size_t k = LLVMFuzzerMutate(small, 56 + part, sizeof small);
        if (k < 56 || max < 1 + HEADER + k - 56) return size;
        memcpy(data + 1, small, 56);
        memcpy(data + 1 + HEADER, small + 56, k - 56);
        return 1 + HEADER + k - 56;
    }
    const int kind = seed / 8 % 2;
    if (max < 1 + whole[kind].size) return LLVMFuzzerMutate(data, size, max);
    data[0] = 1;
    memcpy(data + 1, whole[kind].data, whole[kind].size);
    return 1 + whole[kind].size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 20];
    int32_t shape[4];
    uint32_t files;
    int64_t n;
    uint64_t px, records;
    if (size < 1 + HEADER || size > sizeof file) return 0;
    const size_t all = size - 1;
    memcpy(file, data + 1, all);
    get(file, H, shape, sizeof shape);
    get(file, FILES, &files, sizeof files);
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
    const ct_pack_shape s = { .h = shape[0], .w = shape[1], .c = shape[2], .step = shape[3], .files = files == 1 };
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
