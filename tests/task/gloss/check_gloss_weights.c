/* Weights of PyTorch: a whole state comes in, gives PyTorch's scores, and goes out as it came; a classifier of ImageNet
 * becomes the trunk.
 *
 * The golden file holds a state that PyTorch left (param3.*, buffer3.*: after three steps) and what its network made of
 * the batch then (eval3.*). */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "captrain.h"
#include "models/torch_map.h"
#include "selftest/golden.h"
#include "session/session.h"
#include "task/gloss/gloss.h"
#include "tests/ct_check.h"
#include "weights/checkpoint.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static char dir[64];

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-weights.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ct_log_set_level(CT_LOG_ERROR);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static char *in_dir(const char *name)
{
    static char path[8][128];
    static int at;
    at = (at + 1) % 8;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

/* A vocabulary of so many words, one in each line. */
static const char *write_words(int64_t n)
{
    FILE *f = fopen(in_dir("words"), "w");
    ck_assert_ptr_nonnull(f);
    for (int64_t i = 0; i < n; i++) fprintf(f, "word%03d\n", (int)i);
    ck_assert_int_eq(fclose(f), 0);
    return in_dir("words");
}

static ct_status import(const char *file, const char *out, int64_t words, const char *const *sets, size_t nsets)
{
    const ct_option option[] = { { "vocab", write_words(words) } };
    const ct_import_opts o = { .size = sizeof o, .file = file, .out = out, .model = "tfnet", .sets = sets,
                               .nsets = nsets, .option = option, .noptions = 1 };
    return ct_run_import(&o);
}

static ct_status export(const char *model, const char *out)
{
    const ct_export_opts o = { .size = sizeof o, .model = model, .out = out };
    return ct_run_export(&o);
}

/* Tensors "param3.NAME" and "buffer3.NAME" of the golden file as NAME, as state_dict() has them: *n of them. */
static void write_state(const ct_golden *g, const char *path, int *n)
{
    ct_st_writer *w;
    *n = 0;
    ok(ct_st_writer_new(&w));
    for (size_t i = 0; i < ct_safetensors_count(g->st); i++) {
        const ct_st_tensor *t = ct_safetensors_at(g->st, i);
        const char *dot = strchr(t->name, '.');
        if (strncmp(t->name, "param3.", 7) != 0 && strncmp(t->name, "buffer3.", 8) != 0) continue;
        ok(ct_st_writer_add(w, dot + 1, &t->desc, t->data));
        *n += strstr(t->name, "num_batches_tracked") == NULL;
    }
    ok(ct_st_writer_save(w, path));
    ct_st_writer_free(w);
}

/* lp5 of the golden batch by the weights of a model file, as evaluation has it: [T,N,classes], free(). */
static float *scores_of(const ct_golden *g, const char *model, ct_desc *d)
{
    ct_session s = { 0 };
    ct_model_file file;
    char why[256];
    const ct_device_opts opts = { .threads = 1 };
    const int64_t frames = g->spec.model.frames;
    ok(ct_model_file_open(model, &file));
    ok(ct_session_begin(&s, &g->spec, false, "cpu", &opts, why, sizeof why));
    ok(ct_session_add(&s, CT_PROGRAM_PREDICT, g->spec.batch, frames, 1, false));
    ok(ct_session_ready(&s));
    ok(ct_checkpoint_load_weights(&s, file.st, model, file.prefix, false));
    ct_unit *u = ct_session_predictor(&s, frames, 1);
    const ct_val lp5 = ct_program_port(&u->prog, "lp5");
    ok(ct_plan_upload(u->plan, ct_program_role(&u->prog, CT_PORT_READY), g->x));
    ok(ct_plan_upload(u->plan, ct_program_role(&u->prog, CT_PORT_STEPS), g->batch.steps));
    ok(ct_plan_run(u->plan));
    *d = *ct_graph_desc(u->prog.graph, lp5);
    float *out = malloc(ct_desc_bytes(d));
    ok(ct_plan_download(u->plan, lp5, out));
    ct_session_end(&s);
    ct_model_file_close(&file);
    return out;
}

/* Every float of the state is in the file of that name, bit by bit, and nothing else. */
static void same_state(const char *state, const char *again, int n)
{
    ct_safetensors *a, *b;
    ok(ct_safetensors_open(state, &a));
    ok(ct_safetensors_open(again, &b));
    ck_assert_int_eq((int)ct_safetensors_count(b), n);
    for (size_t i = 0; i < ct_safetensors_count(b); i++) {
        const ct_st_tensor *t = ct_safetensors_at(b, i), *want = ct_safetensors_find(a, t->name);
        ck_assert_msg(want && ct_desc_same_shape(&want->desc, &t->desc) && t->bytes == want->bytes, "%s", t->name);
        ck_assert_msg(memcmp(t->data, want->data, t->bytes) == 0, "%s has changed", t->name);
    }
    ct_safetensors_close(a);
    ct_safetensors_close(b);
}

START_TEST(whole_state)
{
    char *path = ct_asprintf("%s/tests/golden/tfnet-f32.safetensors", ct_check_srcdir());
    const char *const sets[] = { "model.width=0.01", "model.hidden=8", "data.height=16", "data.width=24" };
    ct_golden g;
    ct_desc d;
    int n;
    ok(ct_golden_open(path, &g));
    write_state(&g, in_dir("state"), &n);
    ck_assert_int_gt(n, 200);
    ok(import(in_dir("state"), in_dir("model"), g.spec.model.classes - 1, sets, 4));

    float *ours = scores_of(&g, in_dir("model"), &d), *theirs = malloc(ct_desc_bytes(&d));
    double most = 0, least = 0, likely = -HUGE_VAL;
    const ct_st_tensor *t = ct_safetensors_find(g.st, "eval3.lp5");
    ck_assert(t && ct_desc_numel(&t->desc) == ct_desc_numel(&d));
    ct_st_read(t, CT_F32, theirs);
    ct_gloss_golden_score(&g.spec.goal, "lp5", &d, theirs);
    for (int64_t i = 0; i < ct_desc_numel(&d); i++) {
        most = fmax(most, fabs((double)ours[i] - (double)theirs[i]));
        least = fmin(least, (double)ours[i]);
        likely = fmax(likely, (double)ours[i]);
    }
    ck_assert_msg(most < 1e-5, "lp5 differs by %g", most);
    ck_assert_msg(likely - least > 0.1, "lp5 says nothing: %g to %g", least, likely);

    ok(export(in_dir("model"), in_dir("again.safetensors")));
    same_state(in_dir("state"), in_dir("again.safetensors"), n);
    free(ours);
    free(theirs);
    ct_golden_close(&g);
    ct_free(path);
}
END_TEST

/* What torchvision's ResNet34 has of the model, at an eighth of its width, each tensor with other numbers; a layer that
 * classifies. One tensor, `without`, is left out. */
static void write_resnet(const char *path, const char *without)
{
    ct_model_spec spec = { .name = "tfnet", .width_mult = 0.125, .height = 32, .width = 32, .frames = 16, .hidden = 8,
                           .classes = 4 };
    ct_graph *g;
    ct_val x, len, out[CT_MODEL_OUTPUTS];
    ct_st_writer *w;
    static float data[1 << 16], classifier[10 * 64];
    int64_t counted = 7;
    const ct_desc fc = ct_desc2(CT_F32, 10, 64), bias = ct_desc1(CT_F32, 10), scalar = { .dtype = CT_I64 };
    for (int i = 0; i < (int)(sizeof data / sizeof data[0]); i++) data[i] = (float)(i % 89 + 1);
    ok(ct_model_resolve(&spec));
    ok(ct_graph_create(&g));
    ok(ct_graph_input(g, "x", ct_desc4(CT_F32, 16, 32, 32, 3), &x));
    ok(ct_graph_input(g, "len", ct_desc1(CT_I32, 1), &len));
    ok(ct_model_build(g, &spec, x, len, false, out));
    ok(ct_st_writer_new(&w));
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        const char *c = v->name;
        if (!ct_graph_is_weight(g, (ct_val)i) || (without && strcmp(c, without) == 0)) continue;
        if (strncmp(c, "conv1.", 6) && strncmp(c, "bn1.", 4) && strncmp(c, "layer", 5)) continue;
        const ct_desc d = ct_torch_desc(v);
        ck_assert_int_le(ct_desc_numel(&d), (int64_t)(sizeof data / sizeof data[0]) - 1000);
        ok(ct_st_writer_add(w, c, &d, data + i));
    }
    ok(ct_st_writer_add(w, "bn1.num_batches_tracked", &scalar, &counted));
    ok(ct_st_writer_add(w, "fc.weight", &fc, classifier));
    ok(ct_st_writer_add(w, "fc.bias", &bias, classifier));
    ok(ct_st_writer_save(w, path));
    ct_st_writer_free(w);
    ct_graph_free(g);
}

/* The trunk is taken over whole, the classifier left out; what is behind and between it is drawn, by the seed. */
START_TEST(trunk)
{
    const char *sets[] = { "model.width=0.125", "model.hidden=8", "data.height=32", "data.width=32", "train.seed=1" };
    ct_safetensors *from, *one, *two;
    int taken = 0;
    write_resnet(in_dir("resnet"), NULL);
    ok(import(in_dir("resnet"), in_dir("one"), 3, sets, 5));
    sets[4] = "train.seed=2";
    ok(import(in_dir("resnet"), in_dir("two"), 3, sets, 5));
    ok(export(in_dir("one"), in_dir("one.safetensors")));
    ok(export(in_dir("two"), in_dir("two.safetensors")));
    ok(ct_safetensors_open(in_dir("resnet"), &from));
    ok(ct_safetensors_open(in_dir("one.safetensors"), &one));
    ok(ct_safetensors_open(in_dir("two.safetensors"), &two));
    for (size_t i = 0; i < ct_safetensors_count(one); i++) {
        const ct_st_tensor *t = ct_safetensors_at(one, i), *u = ct_safetensors_find(two, t->name),
                           *want = ct_safetensors_find(from, t->name);
        ck_assert_ptr_nonnull(u);
        if (want) {
            taken++;
            ck_assert_msg(memcmp(t->data, want->data, want->bytes) == 0, "%s has changed", t->name);
            ck_assert_msg(memcmp(u->data, want->data, want->bytes) == 0, "%s has changed", t->name);
        } else if (strstr(t->name, "weight") && !strstr(t->name, ".bn")) {
            ck_assert_msg(memcmp(t->data, u->data, t->bytes) != 0, "%s is not drawn", t->name);
        }
    }
    ck_assert_int_eq(taken, 36 * 5); /* a filter and four of its norm */
    ck_assert_ptr_null(ct_safetensors_find(one, "fc.weight"));
    ck_assert_ptr_nonnull(ct_safetensors_find(one, "mam3.convs.3.bias"));
    ct_safetensors_close(from);
    ct_safetensors_close(one);
    ct_safetensors_close(two);
}
END_TEST

START_TEST(trunk_in_part)
{
    const char *const sets[] = { "model.width=0.125", "model.hidden=8", "data.height=32", "data.width=32" };
    write_resnet(in_dir("resnet"), "layer3.0.downsample.0.weight");
    ck_assert_int_eq(import(in_dir("resnet"), in_dir("one"), 3, sets, 4), CT_EFORMAT);
    ck_assert_msg(strstr(ct_error_message(), "(1 tensors;") && strstr(ct_error_message(),
                  "layer3.0.downsample.0.weight: missing, the model needs f32[32,16,1,1]"), "%s", ct_error_message());
}
END_TEST

int main(void)
{
    Suite *s = suite_create("weights");
    TCase *c = tcase_create("weights");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, whole_state);
    tcase_add_test(c, trunk);
    tcase_add_test(c, trunk_in_part);
    suite_add_tcase(s, c);
    return ct_check_main(s);
}
