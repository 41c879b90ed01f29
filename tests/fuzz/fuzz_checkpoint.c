/* libFuzzer target: any bytes as the checkpoint that a training of a small model is restored from. An input is a
 * safetensors file without most of its data, which are nine tenths of it: behind the header stand four bytes that say
 * how many bytes of data there are, and those of them that differ from the whole checkpoint's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "program/spec.h"
#include "task/task.h"
#include "tests/fuzz/fuzz_util.h"
#include "weights/checkpoint.h"

static ct_session session;
static ct_facts *facts; /* the session knows them */
static uint8_t *base; /* a whole one */
static size_t base_size;
static uint8_t file[1 << 20]; /* an input with all of its data */

static void must(ct_status st)
{
    if (st == CT_OK) return;
    fprintf(stderr, "fuzz_checkpoint: %s\n", ct_error_message());
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char text[] = "model: {name: textcnn-small, width: 0.25, hidden: 8}\n"
                               "data: {charset: \"01\", height: 8, width: 16, length: 2, synth: {length: 2}}\n"
                               "optimizer: {ema_decay: 0.9}\ntrain: {batch_size: 4}\n";
    const ct_device_opts opts = { .threads = 1, .deterministic = true };
    char path[] = "/tmp/captrain-fuzz.XXXXXX";
    ct_config *cfg;
    ct_program_spec spec;
    ct_model_meta meta = { .backend = "cpu", .ema = true };
    const ct_progress p = { .step = 3, .epoch = 1 };
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    must(ct_config_parse(text, strlen(text), "fuzz", NULL, 0, &cfg));
    const ct_task *task = ct_task_of(cfg->model.name);
    must(task->foresee(cfg, true, &facts));
    must(ct_spec_from_config(cfg, facts, 8, 16, 0, 1, &spec));
    must(ct_session_begin(&session, &spec, true, "cpu", &opts, NULL, 0));
    must(ct_session_add(&session, CT_PROGRAM_STEP, 4, 16, 1, false));
    must(ct_session_add(&session, CT_PROGRAM_EVAL, 4, 16, 1, true));
    must(ct_session_ready(&session));
    must(ct_arenas_init(session.store, session.ref_graph, 5));
    must(ct_arenas_reset_ema(session.store));
    meta.config = ct_config_json(cfg);
    meta.kernels = ct_session_kernels(&session, true);
    meta.facts = facts;
    const int fd = mkstemp(path);
    if (fd < 0) abort();
    must(ct_checkpoint_write(&session, &meta, &p, true, path));
    must(ct_file_read(path, 1 << 24, &base, &base_size));
    remove(path);
    close(fd);
    ct_model_meta_free(&(ct_model_meta){ .config = meta.config, .kernels = meta.kernels });
    ct_config_free(cfg);
    return 0;
}

/* Where the data of a file begin; its size where it has no header. */
static size_t data_at(const uint8_t *p, size_t size)
{
    uint64_t len = 0;
    for (int i = 7; i >= 0 && size >= 8; i--) len = len << 8 | p[i];
    return size >= 8 && len <= size - 8 ? 8 + (size_t)len : size;
}

/* An input into `file`; its size. */
static size_t whole(const uint8_t *data, size_t size)
{
    const size_t head = data_at(data, size);
    uint32_t all = 0;
    if (size > sizeof file) size = sizeof file;
    if (size < head + 4) return memcpy(file, data, size), size;
    memcpy(file, data, head);
    memcpy(&all, data + head, 4);
    if (all > sizeof file - head) all = (uint32_t)(sizeof file - head);
    const size_t own = size - head - 4 < all ? size - head - 4 : all, from = data_at(base, base_size);
    memcpy(file + head, data + head + 4, own);
    const size_t borrowed = all < base_size - from ? all : base_size - from;
    if (borrowed > own) memcpy(file + head + own, base + from + own, borrowed - own);
    const size_t filled = borrowed > own ? borrowed : own;
    memset(file + head + filled, 0, all - filled);
    return head + all;
}

/* A file as input. 0: it is too large. */
static size_t shortened(const uint8_t *from, size_t size, uint8_t *data, size_t max)
{
    const size_t head = data_at(from, size);
    const size_t skip = data_at(base, base_size), known = base_size - skip;
    const uint32_t all = (uint32_t)(size - head);
    size_t own = all;
    while (own > known && from[head + own - 1] == 0) own--;
    while (own > 0 && own <= known && from[head + own - 1] == base[skip + own - 1]) own--;
    if (head + 4 + own > max) return 0;
    memcpy(data, from, head);
    memcpy(data + head, &all, 4);
    memcpy(data + head + 4, from + head, own);
    return head + 4 + own;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    const size_t room = base_size + 8192 < sizeof file ? base_size + 8192 : sizeof file;
    if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max);
    size_t n = whole(data, size);
    if (n > room) n = room;
    n = fuzz_mutate_safetensors(file, n, room, seed, base, base_size);
    n = shortened(file, n, data, max);
    return n > 0 ? n : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_safetensors *st;
    ct_progress p;
    if (ct_safetensors_open_memory(file, whole(data, size), "fuzz", &st) != CT_OK) return 0;
    if (ct_safetensors_meta(st, "progress") && ct_checkpoint_restore(&session, st, "fuzz", &p) != CT_OK &&
        ct_error_message()[0] == '\0')
        abort();
    ct_safetensors_close(st);
    return 0;
}
