/* Checkpoints: contents, round trip, what is kept, damage, out of memory, model files. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "program/spec.h"
#include "task/text/text.h"
#include "tests/ct_check.h"
#include "tests/task/text/facts_util.h"
#include "weights/checkpoint.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static const char text[] = "model: {name: textcnn-small, width: 0.25, hidden: 16}\n"
                           "data: {charset: \"01\", height: 16, width: 24, synth: {length: 2}}\n"
                           "optimizer: {ema_decay: 0.9}\n"
                           "train: {batch_size: 4}\n";

static char dir[64];
static ct_config *cfg;
static ct_session s;
static ct_model_meta meta;
static ct_facts *facts;

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-checkpoint.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ct_program_spec spec;
    facts = text_facts(2, 2);
    ok(ct_config_parse(text, strlen(text), "test", NULL, 0, &cfg));
    ok(ct_spec_from_config(cfg, facts, 16, 24, 0, 1, &spec));
    ct_device_opts opts = { .threads = 1, .deterministic = true };
    ok(ct_session_begin(&s, &spec, true, "cpu", &opts, NULL, 0));
    ok(ct_session_add(&s, CT_PROGRAM_STEP, 4, 24, 1, false));
    ok(ct_session_add(&s, CT_PROGRAM_EVAL, 4, 24, 1, true));
    ok(ct_session_ready(&s));
    ok(ct_arenas_init(s.store, s.ref_graph, 5));
    ok(ct_arenas_reset_ema(s.store));
    memset(&meta, 0, sizeof meta);
    meta.config = ct_config_json(cfg);
    meta.kernels = ct_session_kernels(&s, true);
    meta.backend = "cpu";
    meta.facts = facts;
    meta.ema = true;
    ck_assert(meta.config && meta.kernels);
}

static void teardown(void)
{
    char command[128];
    ct_session_end(&s);
    ct_model_meta_free(&meta);
    ct_task_text.forget(facts);
    ct_config_free(cfg);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static char *in_dir(const char *name)
{
    char *p = ct_path_join(dir, name);
    ck_assert_ptr_nonnull(p);
    return p;
}

static bool exists(const char *name)
{
    char *p = in_dir(name);
    bool there = ct_path_exists(p);
    ct_free(p);
    return there;
}

static ct_progress progress(int64_t step)
{
    ct_progress p;
    memset(&p, 0, sizeof p);
    p.step = step;
    p.epoch = step / 10;
    p.batch = step % 10;
    return p;
}

/* Fills every arena with numbers that tell arena, tensor and element, plus `salt`. */
static void paint(double salt)
{
    static const ct_arena arenas[] = { CT_ARENA_PARAM, CT_ARENA_OPT1, CT_ARENA_OPT2, CT_ARENA_EMA };
    for (size_t i = 0; i < s.tensors; i++) {
        int64_t n = ct_desc_numel(&s.tensor[i].desc);
        bool param = s.tensor[i].arena == CT_ARENA_PARAM;
        for (int a = 0; a < (param ? 4 : 2); a++) {
            for (int64_t k = 0; k < n; k++)
                ct_store(s.tensor[i].desc.dtype, s.host, k, salt + 1000.0 * a + (double)i + 0.001 * (double)(k % 100));
            ct_arena where = param ? arenas[a] : a == 0 ? CT_ARENA_BUFFER : CT_ARENA_EMABUF;
            ok(ct_session_set(&s, i, where, s.host));
        }
    }
    double state[CT_STATE_COUNT];
    for (int i = 0; i < CT_STATE_COUNT; i++) state[i] = salt + i / 3.0;
    ok(ct_arenas_set_state(s.store, state));
}

static void expect_painted(double salt)
{
    static const ct_arena arenas[] = { CT_ARENA_PARAM, CT_ARENA_OPT1, CT_ARENA_OPT2, CT_ARENA_EMA };
    for (size_t i = 0; i < s.tensors; i++) {
        int64_t n = ct_desc_numel(&s.tensor[i].desc);
        bool param = s.tensor[i].arena == CT_ARENA_PARAM;
        for (int a = 0; a < (param ? 4 : 2); a++) {
            ct_arena where = param ? arenas[a] : a == 0 ? CT_ARENA_BUFFER : CT_ARENA_EMABUF;
            ok(ct_session_get(&s, i, where, s.host));
            for (int64_t k = 0; k < n; k++) {
                float want = (float)(salt + 1000.0 * a + (double)i + 0.001 * (double)(k % 100));
                ck_assert_msg(ct_load(s.tensor[i].desc.dtype, s.host, k) == (double)want, "%s, arena %d, element %d",
                              s.tensor[i].name, a, (int)k);
            }
        }
    }
    double state[CT_STATE_COUNT];
    ok(ct_arenas_get_state(s.store, state));
    for (int i = 0; i < CT_STATE_COUNT; i++) ck_assert(state[i] == salt + i / 3.0);
}

START_TEST(test_round_trip)
{
    ct_progress p = progress(13), q;
    ct_safetensors *st;
    char *path;
    paint(1);
    ok(ct_checkpoint_save(&s, &meta, &p, dir, 3));
    paint(2);
    ok(ct_checkpoint_newest(dir, &st, &path));
    ck_assert_ptr_nonnull(st);
    ck_assert(ct_safetensors_has_checksums(st));
    ok(ct_checkpoint_restore(&s, st, path, &q));
    expect_painted(1);
    ck_assert_mem_eq(&p, &q, sizeof p);
    static const char *const keys[] = { "config",           "charset", "positions", "decode", "kernels",
                                        "captrain_version", "dataset", "layout",    "rng",    "progress" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ck_assert_msg(ct_safetensors_meta(st, keys[i]) != NULL, "%s", keys[i]);
    ct_safetensors_close(st);
    ct_free(path);
}
END_TEST

/* The hash is the one anybody can compute from the file: XXH3-128 of the model.* bytes in name order. */
START_TEST(test_hash)
{
    ct_progress p = progress(1);
    char a[33], b[33], *path = in_dir("x.safetensors");
    ct_safetensors *st;
    ok(ct_weights_hash(&s, a));
    ok(ct_checkpoint_write(&s, &meta, &p, false, path));
    ok(ct_safetensors_open(path, &st));
    uint8_t *all = ct_malloc(1 << 22, "test");
    size_t n = 0;
    for (size_t i = 0; i < ct_safetensors_count(st); i++) {
        const ct_st_tensor *t = ct_safetensors_at(st, i);
        ck_assert(strncmp(t->name, "optim.", 6) != 0); /* a model file has no optimizer */
        if (strncmp(t->name, "model.", 6) != 0) continue;
        ck_assert_uint_lt(n + t->bytes, 1 << 22);
        memcpy(all + n, t->data, t->bytes);
        n += t->bytes;
    }
    ct_hash_hex(all, n, b);
    ck_assert_str_eq(a, b);
    paint(3);
    ok(ct_weights_hash(&s, b));
    ck_assert_str_ne(a, b);
    ct_free(all);
    ct_safetensors_close(st);
    ct_free(path);
}
END_TEST

START_TEST(test_keep)
{
    for (int64_t step = 1; step <= 5; step++) {
        ct_progress p = progress(step);
        ok(ct_checkpoint_save(&s, &meta, &p, dir, 2));
    }
    ck_assert(!exists("step-00000001.safetensors") && !exists("step-00000002.safetensors"));
    ck_assert(exists("step-00000003.safetensors") && exists("step-00000004.safetensors") &&
              exists("step-00000005.safetensors"));
    ck_assert(exists("last.safetensors"));
    /* going back behind step 5, as a resume from step 3 does: what is newer goes */
    ct_progress p = progress(4);
    ok(ct_checkpoint_save(&s, &meta, &p, dir, 2));
    ck_assert(!exists("step-00000005.safetensors") && exists("step-00000004.safetensors") &&
              exists("step-00000003.safetensors"));
    /* the same step twice, which a step and the end of its epoch do */
    ok(ct_checkpoint_save(&s, &meta, &p, dir, 2));
    ck_assert(exists("step-00000004.safetensors") && exists("last.safetensors"));
}
END_TEST

static void flip(const char *name, long at)
{
    char *path = in_dir(name);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 0x40, f);
    fclose(f);
    ct_free(path);
}

static int64_t newest_step(void)
{
    ct_safetensors *st;
    char *path;
    ct_progress p;
    ok(ct_checkpoint_newest(dir, &st, &path));
    ck_assert_ptr_nonnull(st);
    ok(ct_progress_from_json(ct_safetensors_meta(st, "progress"), path, &p));
    ct_safetensors_close(st);
    ct_free(path);
    return p.step;
}

START_TEST(test_damage)
{
    ct_safetensors *st;
    char *path;
    ok(ct_checkpoint_newest(dir, &st, &path)); /* none is no failure */
    ck_assert(!st && !path);
    for (int64_t step = 1; step <= 3; step++) {
        ct_progress p = progress(step);
        ok(ct_checkpoint_save(&s, &meta, &p, dir, 5));
    }
    ck_assert_int_eq(newest_step(), 3);
    flip("last.safetensors", -100); /* in a tensor; step 3 is the same file */
    ck_assert_int_eq(newest_step(), 2);
    flip("step-00000002.safetensors", 100); /* in the header */
    ck_assert_int_eq(newest_step(), 1);
    char *one = in_dir("step-00000001.safetensors");
    ck_assert_int_eq(truncate(one, 50), 0);
    ct_free(one);
    ck_assert_int_eq(ct_checkpoint_newest(dir, &st, &path), CT_EFORMAT);
    ck_assert(!st && !path);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "none of its 4"));
}
END_TEST

/* A crash between the step file and last.safetensors: the newer one wins. A model file is no checkpoint. */
START_TEST(test_newer_step_file)
{
    ct_progress p = progress(1);
    ok(ct_checkpoint_save(&s, &meta, &p, dir, 5));
    p = progress(2);
    char *path = in_dir("step-00000002.safetensors"), *tmp = in_dir("step-00000009.safetensors.tmp.77");
    ok(ct_checkpoint_write(&s, &meta, &p, true, path));
    ck_assert_int_eq(newest_step(), 2);
    ok(ct_checkpoint_write(&s, &meta, &p, false, path));
    ck_assert_int_eq(newest_step(), 1);
    /* remains of killed processes are swept away, nothing else is */
    ok(ct_file_write_atomic(tmp, "half", 4));
    ok(ct_checkpoint_sweep(dir));
    ck_assert(!ct_path_exists(tmp) && ct_path_exists(path) && exists("last.safetensors"));
    ct_free(path);
    ct_free(tmp);
}
END_TEST

START_TEST(test_out_of_memory)
{
    ct_progress p = progress(7);
    long n;
    for (n = 0;; n++) {
        ct_alloc_fail_after(n);
        ct_status st = ct_checkpoint_save(&s, &meta, &p, dir, 2);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) break;
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_msg(strlen(ct_error_message()) > 0, "allocation %ld", n);
    }
    ck_assert_int_gt(n, 50);
    ck_assert_int_eq(newest_step(), 7);
}
END_TEST

START_TEST(test_full_disk)
{
    ct_progress p = progress(1);
    ok(ct_checkpoint_save(&s, &meta, &p, dir, 2));
    struct rlimit old, small;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 10000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    p = progress(2);
    ct_status st = ct_checkpoint_save(&s, &meta, &p, dir, 2);
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert_int_eq(st, CT_EIO);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "step-00000002.safetensors"));
    ck_assert_int_eq(newest_step(), 1);
}
END_TEST

START_TEST(test_model_file)
{
    ct_progress p = progress(1);
    ct_model_file m;
    char *path = in_dir("m.safetensors");
    paint(1);
    ok(ct_checkpoint_write(&s, &meta, &p, false, path));
    ok(ct_model_file_open(path, &m));
    ck_assert_str_eq(m.prefix, "ema.");
    ck_assert_int_eq(ct_text_facts(m.facts)->positions, 2);
    ck_assert_str_eq(ct_text_facts(m.facts)->charset.utf8, "01");
    ck_assert(ct_config_equal(m.cfg, cfg));
    ok(ct_checkpoint_load_weights(&s, m.st, path, "ema.", false)); /* the average becomes the weights */
    ok(ct_session_get(&s, 0, s.tensor[0].arena, s.host));
    ck_assert(ct_load(CT_F32, s.host, 0) > 1000);
    ct_model_file_close(&m);
    /* a file that misses a tensor, or has one of another shape, or one too many */
    ct_st_writer *w;
    float zero[64] = { 0 };
    ct_desc d = ct_desc1(CT_F32, 3);
    ok(ct_st_writer_new(&w));
    ok(ct_st_writer_add(w, "model.nothing", &d, zero));
    char *other = in_dir("o.safetensors");
    ok(ct_st_writer_save(w, other));
    ct_st_writer_free(w);
    ct_safetensors *st;
    ok(ct_safetensors_open(other, &st));
    ck_assert_int_eq(ct_checkpoint_load_weights(&s, st, other, "model.", false), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), s.tensor[0].name));
    ct_safetensors_close(st);
    ck_assert_int_eq(ct_model_file_open(other, &m), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "not a captrain model"));
    ct_model_file_close(&m);
    ct_free(other);
    ct_free(path);
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("checkpoint");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_hash);
    tcase_add_test(t, test_keep);
    tcase_add_test(t, test_damage);
    tcase_add_test(t, test_newer_step_file);
    tcase_add_test(t, test_out_of_memory);
    tcase_add_test(t, test_full_disk);
    tcase_add_test(t, test_model_file);
    suite_add_tcase(su, t);
    return su;
}

int main(void) { return ct_check_main(suite()); }
