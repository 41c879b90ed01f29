/* libFuzzer target: any bytes as the checkpoint that a training of a small model is restored from. */
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
    must(ct_spec_from_config(cfg, facts, 8, 16, 1, &spec));
    must(ct_session_begin(&session, &spec, true, "cpu", &opts, NULL, 0));
    must(ct_session_add(&session, CT_PROGRAM_STEP, 4, 16, 1, false));
    must(ct_session_add(&session, CT_PROGRAM_EVAL, 4, 16, 1, true));
    must(ct_session_ready(&session));
    must(ct_arenas_init(session.store, session.ref_graph, 5));
    must(ct_arenas_reset_ema(session.store));
    meta.config = ct_config_json(cfg);
    meta.kernels = ct_session_kernels(&session);
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

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return fuzz_mutate_safetensors(data, size, max, seed, base, base_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_safetensors *st;
    ct_progress p;
    if (ct_safetensors_open_memory(data, size, "fuzz", &st) != CT_OK) return 0;
    if (ct_safetensors_meta(st, "progress") && ct_checkpoint_restore(&session, st, "fuzz", &p) != CT_OK &&
        ct_error_message()[0] == '\0')
        abort();
    ct_safetensors_close(st);
    return 0;
}
