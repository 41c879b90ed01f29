/* Importing a network that was trained for something else: its trunk is taken over, what stands behind it is drawn. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "captrain.h"
#include "config/config.h"
#include "formats/safetensors.h"
#include "models/models.h"
#include "models/torch_map.h"
#include "tests/ct_check.h"
#include "weights/checkpoint.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

enum { STEM = 5, SIZE = 8, CHANNELS = 3, TEXTS = 2 * 4 };

/* conv1, bn1, relu, fc */
static ct_status build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    (void)len;
    CT_TRY(ct_layer_conv2d(g, "conv1", x, STEM, 3, 3, 2, 1, 1, false, true, &x));
    CT_TRY(ct_layer_batchnorm(g, "bn1", x, training, &x));
    CT_TRY(ct_layer_activation(g, "relu1", x, CT_ACT_RELU, &x));
    const int64_t hwc[3] = { SIZE / 2, SIZE / 2, STEM };
    CT_TRY(ct_layer_flatten(g, "flat", x, &x));
    return ct_layer_linear(g, "fc", x, spec->positions * spec->classes, hwc, out);
}

static const ct_model_info stemnet = {
    .name = "stemnet", .doc = "a stem and a last layer", .task = "text", .output = { "logits" },
    .height = SIZE, .width = SIZE, .channels = CHANNELS, .positions = 2, .classes = 4, .head = CT_HEAD_POSITIONS,
    .trunk = "conv1 bn1", .others = "pool classifier", .stem = "conv1.weight", .build = build,
};

static char dir[64];

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-trunk.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ct_log_set_level(CT_LOG_ERROR);
    ok(ct_model_add(&stemnet));
    ok(ct_config_add_value("model.name", stemnet.name));
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

/* What the files below hold: element i of a tensor of the stem. */
static float value(int i) { return (float)i / 64 - 1; }

/* Writes conv1 with that many channels [STEM,channels,3,3], bn1 but for its bias, and the tensors of `more`, which
 * ends with a NULL. */
static const char *write_file(const char *name, int64_t channels, const char *const *more)
{
    static const char *const bn[] = { "bn1.weight", "bn1.running_mean", "bn1.running_var" };
    float data[STEM * (CHANNELS + 1) * 9];
    int64_t counted = 3;
    const ct_desc filter = ct_desc4(CT_F32, STEM, channels, 3, 3), vector = ct_desc1(CT_F32, STEM),
                  scalar = { .dtype = CT_I64 };
    ct_st_writer *w;
    for (int i = 0; i < (int)(sizeof data / sizeof data[0]); i++) data[i] = value(i);
    ok(ct_st_writer_new(&w));
    ok(ct_st_writer_add(w, "conv1.weight", &filter, data));
    for (int i = 0; i < 3; i++) ok(ct_st_writer_add(w, bn[i], &vector, data));
    ok(ct_st_writer_add(w, "bn1.num_batches_tracked", &scalar, &counted));
    for (; *more; more++) ok(ct_st_writer_add(w, *more, &vector, data));
    ok(ct_st_writer_save(w, in_dir(name)));
    ct_st_writer_free(w);
    return in_dir(name);
}

static ct_status import(const char *file, const char *out, const char *seed)
{
    static const ct_option option[] = { { "charset", "0123" }, { "length", "2" } };
    ct_import_opts o = { .size = sizeof o,
                         .file = file,
                         .out = in_dir(out),
                         .model = "stemnet",
                         .sets = &seed,
                         .nsets = 1,
                         .option = option,
                         .noptions = 2,
                         .force = true };
    return ct_run_import(&o);
}

/* Tensor `name` of model file `file` into data [n]. */
static void read_tensor(const char *file, const char *name, float *data, int64_t n)
{
    ct_model_file m;
    char full[160];
    ok(ct_model_file_open(in_dir(file), &m));
    snprintf(full, sizeof full, "%s%s", m.prefix, name);
    const ct_st_tensor *t = ct_safetensors_find(m.st, full);
    ck_assert_msg(t != NULL, "%s has no %s", file, full);
    ck_assert_int_eq(ct_desc_numel(&t->desc), n);
    ct_st_read(t, CT_F32, data);
    ct_model_file_close(&m);
}

/* A stem of three channels, and one without the mask's; a classifier is left out, the last layer drawn from the
 * seed. */
START_TEST(taken_over)
{
    static const char *const more[] = { "bn1.bias", "classifier.weight", "classifier.bias", "pool.0.weight", NULL };
    for (int64_t channels = CHANNELS - 1; channels <= CHANNELS; channels++) {
        float w[STEM * 9 * CHANNELS], bn[STEM], fc[2][TEXTS * SIZE / 2 * SIZE / 2 * STEM], bias[TEXTS];
        ok(import(write_file("trunk", channels, more), "a", "train.seed=1"));
        ok(import(in_dir("trunk"), "b", "train.seed=2"));
        for (int k = 0; k < 2; k++) {
            const char *out = k ? "b" : "a";
            read_tensor(out, "conv1.weight", w, STEM * 9 * CHANNELS); /* [K,R,S,C] */
            for (int i = 0; i < STEM * 9 * CHANNELS; i++) {
                const int c = i % CHANNELS, pixel = i / CHANNELS % 9, filter = i / CHANNELS / 9;
                const float want = c < channels ? value((filter * (int)channels + c) * 9 + pixel) : 0;
                ck_assert_msg(w[i] == want, "%s: element %d: %g, not %g", out, i, (double)w[i], (double)want);
            }
            read_tensor(out, "bn1.running_var", bn, STEM);
            for (int i = 0; i < STEM; i++) ck_assert(bn[i] == value(i));
            read_tensor(out, "fc.weight", fc[k], TEXTS * SIZE / 2 * SIZE / 2 * STEM);
            read_tensor(out, "fc.bias", bias, TEXTS);
            ck_assert(fc[k][0] != 0 && bias[0] != 0);
        }
        ck_assert_mem_ne(fc[0], fc[1], sizeof fc[0]);
        ok(import(in_dir("trunk"), "b", "train.seed=1"));
        read_tensor("b", "fc.weight", fc[1], TEXTS * SIZE / 2 * SIZE / 2 * STEM);
        ck_assert_mem_eq(fc[0], fc[1], sizeof fc[0]);
    }
}
END_TEST

/* A part of the trunk is missing, a part of the last layer is there, something else is there, another number of
 * channels. */
START_TEST(refused)
{
    static const char *const
        without[] = { "classifier.weight", NULL },
        *const headed[] = { "bn1.bias", "fc.bias", NULL }, *const strange[] = { "bn1.bias", "decoder.weight", NULL },
        *const other[] = { "bn1.bias", "classifier.weight", "fc.bias", NULL }, *const whole[] = { "bn1.bias", NULL };
    ck_assert_int_eq(import(write_file("f", 3, without), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("(1 tensors;");
    ck_message("bn1.bias: missing");
    ck_assert_int_eq(import(write_file("f", 3, headed), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("fc.weight: missing");
    ck_message("fc.bias: is f32[5] in the file, the model needs f32[8]");
    ck_assert_int_eq(import(write_file("f", 3, other), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("classifier.weight: not part of the model");
    ck_assert_int_eq(import(write_file("f", 3, strange), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("(1 tensors;");
    ck_message("decoder.weight: not part of the model");
    ck_assert_int_eq(import(write_file("f", 1, whole), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("conv1.weight: is f32[5,1,3,3] in the file, the model needs f32[5,3,3,3]");
    ck_assert_int_eq(import(write_file("f", 4, whole), "a", "train.seed=1"), CT_EFORMAT);
    ck_message("conv1.weight: is f32[5,4,3,3]");
    ck_assert(!ct_path_exists(in_dir("a")));
}
END_TEST

/* Writes all tensors of hrnet-w32's trunk at an eighth of its width, as timm has them: three channels, and a
 * classifier. */
static void write_hrnet(const char *path)
{
    ct_model_spec spec = { .name = "hrnet-w32", .width_mult = 0.125, .height = 64, .width = 64 };
    ct_graph *g;
    ct_val x, out[CT_MODEL_OUTPUTS];
    ct_st_writer *w;
    static float data[1 << 17];
    const ct_desc vector = ct_desc1(CT_F32, 7);
    for (int i = 0; i < (int)(sizeof data / sizeof data[0]); i++) data[i] = (float)(i % 97 + 1);
    ok(ct_model_resolve(&spec));
    ok(ct_graph_create(&g));
    ok(ct_graph_input(g, "x", ct_desc4(CT_F32, 1, spec.height, spec.width, spec.channels), &x));
    ok(ct_model_build(g, &spec, x, CT_NOVAL, false, out));
    ok(ct_st_writer_new(&w));
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        const char *c = v->name;
        if (!ct_graph_is_weight(g, (ct_val)i)) continue;
        if (strncmp(c, "conv", 4) && strncmp(c, "bn", 2) && strncmp(c, "layer1", 6) && strncmp(c, "trans", 5) &&
            strncmp(c, "stage", 5))
            continue;
        ct_desc d = ct_torch_desc(v);
        ck_assert_int_le(ct_desc_numel(&d), (int64_t)(sizeof data / sizeof data[0]));
        if (strcmp(c, "conv1.weight") == 0) d.dim[1] = 3;
        ok(ct_st_writer_add(w, c, &d, data));
    }
    ok(ct_st_writer_add(w, "incre_modules.0.0.bn1.bias", &vector, data));
    ok(ct_st_writer_add(w, "classifier.bias", &vector, data));
    ok(ct_st_writer_save(w, path));
    ct_st_writer_free(w);
    ct_graph_free(g);
}

/* The trunk as it is in the file, the mask unseen; heads as drawn, the heatmaps' prior among them. */
START_TEST(hrnet)
{
    const char *const sets[] = { "model.width=0.125", "data.height=64", "data.width=64" };
    ct_import_opts o = { .size = sizeof o, .file = in_dir("hrnet"), .out = in_dir("m"), .model = "hrnet-w32",
                         .sets = sets, .nsets = 3 };
    float stem[8 * 9 * 4], last[32], bias[1], head[8];
    write_hrnet(in_dir("hrnet"));
    ok(ct_run_import(&o));
    read_tensor("m", "conv1.weight", stem, 8 * 9 * 4);
    for (int i = 0; i < 8 * 9 * 4; i++) {
        const int c = i % 4, pixel = i / 4 % 9, filter = i / 36;
        ck_assert(stem[i] == (c < 3 ? (float)(((filter * 3 + c) * 9 + pixel) % 97 + 1) : 0));
    }
    read_tensor("m", "stage4.2.branches.3.3.bn2.running_var", last, 32);
    ck_assert(last[0] == 1 && last[31] == 32);
    read_tensor("m", "heat_gap.out.bias", bias, 1);
    read_tensor("m", "heat_gap.out.weight", head, 8);
    ck_assert(bias[0] == -2.19f && head[0] != 0 && head[0] < 0.01f && head[0] > -0.01f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trunk");
    TCase *c = tcase_create("import");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, taken_over);
    tcase_add_test(c, refused);
    tcase_add_test(c, hrnet);
    suite_add_tcase(s, c);
    return ct_check_main(s);
}
