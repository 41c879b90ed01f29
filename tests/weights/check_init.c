/* Weights from elsewhere: the last layer by character, import and export, name rules, frozen parameters. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "captrain.h"
#include "models/torch_map.h"
#include "program/spec.h"
#include "task/text/text.h"
#include "tests/ct_check.h"
#include "weights/checkpoint.h"
#include "weights/init.h"
#include "weights/name_map.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static char dir[64];

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-init.XXXXXX");
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

/* A model with drawn weights. */
typedef struct model {
    ct_config *cfg;
    struct ct_text_facts text;
    const ct_facts *facts; /* &text */
    ct_session s;
} model;

static void open_model(model *m, const char *name, const char *charset, int positions, uint64_t seed)
{
    char text[400];
    ct_program_spec spec;
    bool ctc = strncmp(name, "crnn", 4) == 0;
    snprintf(text, sizeof text,
             "model: {name: %s, width: 0.25, hidden: 8}\n"
             "data: {charset: \"%s\", height: %d, width: %d, length: %d, synth: {length: %d}}\n",
             name, charset, ctc ? 32 : 16, ctc ? 48 : 24, positions, positions);
    memset(m, 0, sizeof *m);
    m->text.positions = positions;
    m->facts = (const ct_facts *)&m->text;
    ok(ct_config_parse(text, strlen(text), "test", NULL, 0, &m->cfg));
    ok(ct_charset_parse(charset, &m->text.charset));
    ok(ct_spec_from_config(m->cfg, m->facts, (int)m->cfg->data.height, (int)m->cfg->data.width, 0, 1, &spec));
    ct_device_opts opts = { .threads = 1 };
    ok(ct_session_begin(&m->s, &spec, false, "cpu", &opts, NULL, 0));
    ok(ct_session_add(&m->s, CT_PROGRAM_EVAL, 2, m->cfg->data.width, 1, false));
    ok(ct_session_ready(&m->s));
    ok(ct_arenas_init(m->s.store, m->s.ref_graph, seed));
}

static void close_model(model *m)
{
    ct_session_end(&m->s);
    ct_charset_free(&m->text.charset);
    ct_config_free(m->cfg);
}

static void save_model(model *m, const char *path)
{
    ct_progress p;
    ct_model_meta meta;
    memset(&p, 0, sizeof p);
    memset(&meta, 0, sizeof meta);
    meta.config = ct_config_json(m->cfg);
    meta.kernels = ct_session_kernels(&m->s, true);
    meta.backend = "cpu";
    meta.facts = m->facts;
    ok(ct_checkpoint_write(&m->s, &meta, &p, false, path));
    ct_model_meta_free(&meta);
}

/* A copy of tensor `name` of a session; *desc gets its shape. */
static float *tensor(model *m, const char *name, ct_desc *desc)
{
    for (size_t i = 0; i < m->s.tensors; i++) {
        if (strcmp(m->s.tensor[i].name, name) != 0) continue;
        float *v = malloc(ct_desc_bytes(&m->s.tensor[i].desc));
        ok(ct_session_get(&m->s, i, m->s.tensor[i].arena, v));
        *desc = m->s.tensor[i].desc;
        return v;
    }
    ck_abort_msg("no tensor %s", name);
    return NULL;
}

/* ---- the last layer by character ---- */

/* Rows of `name`: each of `now`'s positions and classes from `old` where both have them, else as drawn. */
static void check_rows(model *old, float *drawn, model *now, const char *name, bool ctc, const char *what)
{
    ct_desc a, b;
    float *had = tensor(old, name, &a), *has = tensor(now, name, &b);
    int64_t row = ct_desc_numel(&b) / b.dim[0], taken = 0;
    const ct_charset *co = &old->text.charset, *cn = &now->text.charset;
    const int old_classes = co->n + ctc, classes = cn->n + ctc;
    for (int64_t r = 0; r < b.dim[0]; r++) {
        int64_t p = r / classes, c = r % classes, from = -1;
        if (ctc && c == 0) from = 0;
        else {
            int k = ct_charset_find(co, cn->cp[c - ctc]);
            if (k >= 0 && p < (ctc ? 1 : old->text.positions)) from = p * old_classes + k + ctc;
        }
        const float *want = from >= 0 ? had + from * row : drawn + r * row;
        taken += from >= 0;
        ck_assert_msg(memcmp(has + r * row, want, (size_t)row * sizeof(float)) == 0, "%s: %s: row %d", what, name,
                      (int)r);
    }
    ck_assert_int_gt(taken, 0);
    free(had);
    free(has);
}

START_TEST(by_character)
{
    static const struct { const char *model, *old, *now, *weight, *bias; int p_old, p_now; } row[] = {
        { "textcnn-small", "0123", "a0b13", "fc.weight", "fc.bias", 2, 2 },
        { "textcnn-small", "012", "210", "fc.weight", "fc.bias", 2, 3 },
        { "textcnn", "xyz", "wxyz", "fc2.weight", "fc2.bias", 3, 2 },
        { "crnn-small", "bcd", "abde", "fc.weight", "fc.bias", 4, 6 },
        { "crnn", "0123", "0123", "fc.weight", "fc.bias", 4, 4 },
    };
    model old, now;
    const size_t i = (size_t)_i;
    const bool ctc = strncmp(row[i].model, "crnn", 4) == 0;
    open_model(&old, row[i].model, row[i].old, row[i].p_old, 5);
    save_model(&old, in_dir("old.safetensors"));
    open_model(&now, row[i].model, row[i].now, row[i].p_now, 6);
    ct_desc d;
    float *weight = tensor(&now, row[i].weight, &d), *bias = tensor(&now, row[i].bias, &d);
    ok(ct_init_weights(&now.s, in_dir("old.safetensors"), now.cfg, now.facts));
    check_rows(&old, weight, &now, row[i].weight, ctc, row[i].model);
    check_rows(&old, bias, &now, row[i].bias, ctc, row[i].model);
    for (size_t k = 0; k < now.s.tensors; k++) { /* all others are the file's */
        const char *name = now.s.tensor[k].name;
        if (strcmp(name, row[i].weight) == 0 || strcmp(name, row[i].bias) == 0) continue;
        float *a = tensor(&old, name, &d), *b = tensor(&now, name, &d);
        ck_assert_msg(memcmp(a, b, ct_desc_bytes(&d)) == 0, "%s: %s was not taken over", row[i].model, name);
        free(a);
        free(b);
    }
    free(weight);
    free(bias);
    close_model(&old);
    close_model(&now);
}
END_TEST

START_TEST(init_errors)
{
    model a, b;
    open_model(&a, "textcnn-small", "01", 2, 1);
    save_model(&a, in_dir("a.safetensors"));
    close_model(&a);
    open_model(&b, "textcnn", "01", 2, 1);
    ck_assert_int_eq(ct_init_weights(&b.s, in_dir("a.safetensors"), b.cfg, b.facts), CT_EFORMAT);
    ck_message("fc1.weight (not in the file)");
    ck_message("features.11.weight (f32[16,3,3,16] in the file, f32[32,3,3,16] here)");
    close_model(&b);
    open_model(&b, "crnn-small", "01", 2, 1);
    ck_assert_int_eq(ct_init_weights(&b.s, in_dir("a.safetensors"), b.cfg, b.facts), CT_ECONFIG);
    ck_message("textcnn-small, which reads texts of a fixed length; model.name: crnn-small");
    ck_assert_int_eq(ct_init_weights(&b.s, in_dir("none.safetensors"), b.cfg, b.facts), CT_EIO);
    close_model(&b);
}
END_TEST

/* ---- names ---- */

START_TEST(names)
{
    static const struct { const char *name, *want; } row[] = {
        { "module.cnn.0.weight", "cnn.0.weight" }, { "backbone.0.bias", "cnn.0.bias" }, { "backbone", "cnn" },
        { "backbone2.0.bias", "backbone2.0.bias" }, { "fc.weight", "fc.weight" }, { "head", "fc" },
    };
    ct_name_map m = { NULL, NULL, 0, 0, 0 };
    ok(ct_name_map_add(&m, "module.=", "--map"));
    ok(ct_name_map_add(&m, "backbone=cnn", "--map"));
    static const char text[] = "# a comment\n\n  head=fc  \r\nhead=other\n";
    ok(ct_file_write_atomic(in_dir("map"), text, strlen(text)));
    ok(ct_name_map_read(&m, in_dir("map")));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *got = ct_name_map_apply(&m, row[i].name);
        ck_assert_str_eq(got, row[i].want);
        ct_free(got);
    }
    ck_assert_int_eq(ct_name_map_add(&m, "nothing", "--map"), CT_ECONFIG);
    ck_message("--map: 'nothing' is not of the form OLD=NEW");
    ck_assert_int_eq(ct_name_map_add(&m, "=", "--map"), CT_ECONFIG);
    ok(ct_file_write_atomic(in_dir("map"), "a=b\nwrong\n", 10));
    ck_assert_int_eq(ct_name_map_read(&m, in_dir("map")), CT_ECONFIG);
    ck_message("map:2: 'wrong'");
    ck_assert_int_eq(ct_name_map_read(&m, in_dir("nomap")), CT_EIO);
    ct_name_map_free(&m);
    ok(ct_name_map_add(&m, "=net.", "--map")); /* in front of everything */
    char *got = ct_name_map_apply(&m, "fc.bias");
    ck_assert_str_eq(got, "net.fc.bias");
    ct_free(got);
    ct_name_map_free(&m);

    ck_assert(ct_name_matches("cnn.1", "cnn.1.weight") && ct_name_matches("cnn.1.weight", "cnn.1.weight"));
    ck_assert(!ct_name_matches("cnn.1", "cnn.10.weight") && !ct_name_matches("cnn.1.", "cnn.1"));
    ck_assert(ct_name_matches("*.bias", "cnn.1.bias") && !ct_name_matches("*.bias", "cnn.1.bias_x"));
    ck_assert(ct_name_matches("rnn[12].*", "rnn2.weight_ih_l0") && !ct_name_matches("rnn?", "rnn12"));
}
END_TEST

/* ---- import and export ---- */

/* A tensor of the model as exported: PyTorch's order, by what kind of tensor it is. */
static void check_exported(const ct_value *v, const ct_desc *d, const float *ours, const ct_st_tensor *have)
{
    float *theirs = malloc(have->bytes);
    memcpy(theirs, have->data, have->bytes);
    const int64_t K = d->dim[0], R = d->dim[1], S = d->dim[2], C = d->dim[3];
    if (v->layout == CT_PARAM_FILTER) {
        const int64_t *dim = have->desc.dim;
        ck_assert(dim[0] == K && dim[1] == C && dim[2] == R && dim[3] == S);
        for (int64_t k = 0; k < K; k++)
            for (int64_t c = 0; c < C; c++)
                for (int64_t r = 0; r < R; r++)
                    for (int64_t s = 0; s < S; s++)
                        ck_assert(theirs[((k * C + c) * R + r) * S + s] == ours[((k * R + r) * S + s) * C + c]);
    } else if (v->layout == CT_PARAM_FLATTEN) {
        const int64_t px = v->hwc[0] * v->hwc[1], ch = v->hwc[2];
        for (int64_t o = 0; o < K; o++)
            for (int64_t p = 0; p < px; p++)
                for (int64_t c = 0; c < ch; c++)
                    ck_assert(theirs[o * px * ch + c * px + p] == ours[o * px * ch + p * ch + c]);
    } else {
        ck_assert(ct_desc_equal(&have->desc, d));
        ck_assert_mem_eq(ours, theirs, have->bytes);
    }
    free(theirs);
}

/* Every tensor of the model is in the exported file, and nothing else. */
static void check_export(model *m, const char *path, bool ctc)
{
    ct_safetensors *file;
    int filters = 0, flattened = 0;
    ok(ct_safetensors_open(path, &file));
    ck_assert_uint_eq(ct_safetensors_count(file), m->s.tensors);
    for (size_t i = 0; i < m->s.tensors; i++) {
        const ct_tensor_ref *t = &m->s.tensor[i];
        const ct_value *v = &m->s.ref_graph->values[t->val];
        const ct_st_tensor *have = ct_safetensors_find(file, t->name);
        ck_assert_msg(have != NULL, "%s is not exported", t->name);
        ct_desc d;
        float *ours = tensor(m, t->name, &d);
        check_exported(v, &d, ours, have);
        filters += v->layout == CT_PARAM_FILTER;
        flattened += v->layout == CT_PARAM_FLATTEN;
        free(ours);
    }
    ct_safetensors_close(file);
    ck_assert_int_ge(filters, 3);
    if (!ctc) ck_assert_int_eq(flattened, 1);
}

/* Two files hold the same tensors. */
static void check_same_file(const char *first, const char *second, const char *what)
{
    ct_safetensors *a, *b;
    ok(ct_safetensors_open(first, &a));
    ok(ct_safetensors_open(second, &b));
    ck_assert_uint_eq(ct_safetensors_count(a), ct_safetensors_count(b));
    for (size_t i = 0; i < ct_safetensors_count(a); i++) {
        const ct_st_tensor *x = ct_safetensors_at(a, i), *y = ct_safetensors_at(b, i);
        ck_assert_str_eq(x->name, y->name);
        ck_assert(ct_desc_equal(&x->desc, &y->desc));
        const bool same = x->bytes == 0 || memcmp(x->data, y->data, x->bytes) == 0;
        ck_assert_msg(same, "%s: %s changed on the way", what, x->name);
    }
    ct_safetensors_close(a);
    ct_safetensors_close(b);
}

/* The facts a model file carries. */
static void check_facts(const char *path, const ct_facts *facts)
{
    ct_model_file file;
    char why[256] = "";
    ok(ct_model_file_open(path, &file));
    ck_assert_ptr_eq(file.task, &ct_task_text);
    ck_assert_msg(ct_task_text.same(file.facts, facts, why, sizeof why), "%s", why);
    ct_model_file_close(&file);
}

/* The exported file holds PyTorch's shapes and order, and comes back as it was. */
START_TEST(round_trip)
{
    static const char *const models[] = { "textcnn", "textcnn-small", "crnn", "crnn-stacked", "crnn-small" };
    const char *name = models[_i];
    bool ctc = strncmp(name, "crnn", 4) == 0;
    model m;
    open_model(&m, name, "0123", 2, 7);
    save_model(&m, in_dir("m.safetensors"));
    ct_export_opts e = { .size = sizeof e, .model = in_dir("m.safetensors"), .out = in_dir("torch.safetensors") };
    ok(ct_run_export(&e));
    ck_assert_int_eq(ct_run_export(&e), CT_ECONFIG);
    ck_message("exists already");
    check_export(&m, e.out, ctc);

    const char *const sets[] = { "model.width=0.25", "model.hidden=8", ctc ? "data.height=32" : "data.height=16",
                                 ctc ? "data.width=48" : "data.width=24" };
    static const ct_option option[] = { { "charset", "0123" }, { "length", "2" } };
    ct_import_opts o = { .size = sizeof o, .file = e.out, .out = in_dir("back.safetensors"), .model = name,
                         .sets = sets, .nsets = 4, .option = option, .noptions = 2 };
    ok(ct_run_import(&o));
    check_same_file(in_dir("m.safetensors"), in_dir("back.safetensors"), name);
    check_facts(in_dir("m.safetensors"), m.facts);
    check_facts(in_dir("back.safetensors"), m.facts);
    close_model(&m);
}
END_TEST

/* Of an exported file: good.safetensors, f64, under other names and with a counter; bad.safetensors, which lacks a
 * tensor, has one of another shape and one too many. */
static void write_cases(const char *path)
{
    ct_safetensors *file;
    ct_st_writer *good, *bad;
    int64_t counted = 100;
    ct_desc scalar = { .dtype = CT_I64, .ndim = 0 }, one = ct_desc1(CT_I64, 1);
    ok(ct_safetensors_open(path, &file));
    ok(ct_st_writer_new(&good));
    ok(ct_st_writer_new(&bad));
    const size_t n = ct_safetensors_count(file);
    void **block = calloc(n, sizeof *block);
    for (size_t i = 0; i < n; i++) {
        const ct_st_tensor *t = ct_safetensors_at(file, i);
        ct_desc d = t->desc;
        char name[100];
        d.dtype = CT_F64;
        block[i] = malloc(ct_desc_bytes(&d));
        ct_st_read(t, CT_F64, block[i]);
        snprintf(name, sizeof name, "net.%s", t->name);
        ok(ct_st_writer_add(good, name, &d, block[i]));
        if (strcmp(t->name, "fc.bias") == 0) continue; /* missing */
        if (strcmp(t->name, "features.0.bias") == 0) d.dim[0] /= 2;
        ok(ct_st_writer_add(bad, t->name, &d, block[i]));
    }
    ok(ct_st_writer_add(good, "net.features.1.num_batches_tracked", &scalar, &counted));
    ok(ct_st_writer_add(bad, "extra.weight", &one, &counted));
    ok(ct_st_writer_save(good, in_dir("good.safetensors")));
    ok(ct_st_writer_save(bad, in_dir("bad.safetensors")));
    ct_st_writer_free(good);
    ct_st_writer_free(bad);
    ct_safetensors_close(file);
    for (size_t i = 0; i < n; i++) free(block[i]);
    free(block);
}

/* What textcnn-small with the characters 01 is imported with; o points into the struct. */
typedef struct import_in {
    const char *sets[4], *maps[1];
    ct_option option[2];
    ct_import_opts o;
} import_in;

static void import_of(import_in *in)
{
    *in = (import_in){ .sets = { "model.width=0.25", "model.hidden=8", "data.height=16", "data.width=24" },
                       .maps = { "net.=" },
                       .option = { { "length", "2" }, { "charset", "01" } } };
    in->o = (ct_import_opts){ .size = sizeof in->o, .file = in_dir("good.safetensors"), .out = in_dir("o.safetensors"),
                              .model = "textcnn-small", .sets = in->sets, .nsets = 4, .maps = in->maps, .nmaps = 1,
                              .option = in->option, .noptions = 2 };
}

/* A model to import, and the files of it. */
static void open_import(model *m)
{
    open_model(m, "textcnn-small", "01", 2, 7);
    save_model(m, in_dir("m.safetensors"));
    ct_export_opts e = { .size = sizeof e, .model = in_dir("m.safetensors"), .out = in_dir("t.safetensors") };
    ok(ct_run_export(&e));
    write_cases(e.out);
}

/* Other float types are converted; a counter is passed over. */
START_TEST(import_converts)
{
    model m, back;
    import_in in;
    open_import(&m);
    import_of(&in);
    ok(ct_run_import(&in.o));
    open_model(&back, "textcnn-small", "01", 2, 8);
    ok(ct_init_weights(&back.s, in.o.out, back.cfg, back.facts));
    for (size_t i = 0; i < m.s.tensors; i++) {
        ct_desc d;
        float *x = tensor(&m, m.s.tensor[i].name, &d), *y = tensor(&back, m.s.tensor[i].name, &d);
        ck_assert_mem_eq(x, y, ct_desc_bytes(&d));
        free(x);
        free(y);
    }
    close_model(&back);
    close_model(&m);
}
END_TEST

/* Everything that does not fit is named. */
START_TEST(import_errors)
{
    model m;
    import_in in;
    open_import(&m);
    import_of(&in);
    ct_import_opts *o = &in.o;
    o->nmaps = 0;
    ck_assert_int_eq(ct_run_import(o), CT_EFORMAT);
    ck_message("fc.weight: missing");
    o->file = in_dir("bad.safetensors");
    ck_assert_int_eq(ct_run_import(o), CT_EFORMAT);
    ck_message("(3 tensors");
    ck_message("fc.bias: missing, the model needs f32[4]");
    ck_message("features.0.bias: is f64[4] in the file, the model needs f32[8]");
    ck_message("extra.weight: not part of the model");
    o->file = in_dir("good.safetensors");
    o->nmaps = 1;
    o->noptions = 1; /* the length alone */
    ck_assert_int_eq(ct_run_import(o), CT_ECONFIG);
    ck_message("--charset");
    o->noptions = 2;
    in.option[1].value = "012";
    ck_assert_int_eq(ct_run_import(o), CT_EFORMAT);
    ck_message("fc.bias: is f64[4] in the file, the model needs f32[6]");
    in.option[1].value = "01";
    o->model = "nonsense";
    ck_assert_int_eq(ct_run_import(o), CT_ECONFIG);
    o->model = "textcnn-small";
    o->size = 0; /* a caller that does not say which version of the struct it has */
    ck_assert_int_eq(ct_run_import(o), CT_EINVAL);
    ck_message("ct_import_opts");
    ck_assert(!ct_path_exists(o->out));
    /* with all of it right, what is there already stays unless the caller forces it */
    o->size = sizeof *o;
    ok(ct_run_import(o));
    ck_assert_int_eq(ct_run_import(o), CT_ECONFIG);
    ck_message("o.safetensors exists already");
    o->force = true;
    ok(ct_run_import(o));
    close_model(&m);
}
END_TEST

/* ---- frozen parameters ---- */

static ct_status build(char *const *patterns, size_t n, ct_program *p, ct_layout *l)
{
    ct_program_spec s;
    ct_program_defaults(&s);
    s.model = (ct_model_spec){ .name = "textcnn-small",
                               .height = 16,
                               .width = 24,
                               .channels = 1,
                               .positions = 2,
                               .classes = 3,
                               .width_mult = 0.25,
                               .hidden = 8,
                               .dropout = 0,
                               .dtype = CT_F32 };
    s.batch = 4;
    s.freeze = patterns;
    s.freezes = n;
    return ct_program_build(&s, CT_PROGRAM_STEP, NULL, l, p);
}

static int nodes(const ct_program *p, ct_phase phase, const char *part)
{
    int n = 0;
    for (size_t i = 0; i < p->graph->nnodes; i++)
        n += p->graph->nodes[i].phase == phase && strstr(p->graph->nodes[i].name, part) != NULL;
    return n;
}

START_TEST(freeze_graph)
{
    char features[] = "features", first[] = "features.0", second[] = "features.1", bias[] = "*.bias",
         none[] = "feature", all[] = "*";
    char *p[2];
    ct_program prog;
    ct_layout l, free_layout;
    ok(build(NULL, 0, &prog, &free_layout));
    ck_assert_int_gt(nodes(&prog, CT_PHASE_BACKWARD, "features."), 10);
    ct_program_free(&prog);

    p[0] = features; /* nothing is differentiated below the last layer */
    ok(build(p, 1, &prog, &l));
    ck_assert_int_eq(nodes(&prog, CT_PHASE_BACKWARD, "features."), 0);
    ck_assert_int_gt(nodes(&prog, CT_PHASE_BACKWARD, "fc"), 0);
    for (size_t i = 0; i < prog.graph->nnodes; i++) ck_assert_int_ne(prog.graph->nodes[i].op, CT_OP_BATCHNORM);
    ck_assert_int_eq(l.params, free_layout.params);
    ck_assert_int_lt(l.train_elems, free_layout.train_elems);
    int trained = 0;
    for (size_t i = 0; i < prog.graph->nvalues; i++) {
        const ct_value *v = &prog.graph->values[i];
        if (!ct_graph_is_weight(prog.graph, (ct_val)i) || v->arena != CT_ARENA_PARAM) continue;
        bool frozen = strncmp(v->name, "features.", 9) == 0;
        ck_assert_int_eq(frozen, v->offset / 4 >= l.train_elems);
        trained += !frozen;
    }
    ck_assert_int_eq(trained, 2);
    ct_program_free(&prog);

    p[0] = first; /* the first convolution and its batch norm: only their statistics and gradients go */
    p[1] = second;
    ok(build(p, 2, &prog, &l));
    ck_assert_int_eq(nodes(&prog, CT_PHASE_BACKWARD, "features.0."), 0);
    ck_assert_int_eq(nodes(&prog, CT_PHASE_BACKWARD, "features.1."), 0);
    ck_assert_int_gt(nodes(&prog, CT_PHASE_BACKWARD, "features.4."), 0);
    int infer = 0;
    for (size_t i = 0; i < prog.graph->nnodes; i++) /* in the backward part others are applied again */
        infer += prog.graph->nodes[i].op == CT_OP_BATCHNORM_INFER && prog.graph->nodes[i].phase == CT_PHASE_FORWARD;
    ck_assert_int_eq(infer, 1);
    ct_program_free(&prog);

    p[0] = bias; /* the scales are trained: statistics go on */
    ok(build(p, 1, &prog, &l));
    for (size_t i = 0; i < prog.graph->nnodes; i++)
        ck_assert(prog.graph->nodes[i].op != CT_OP_BATCHNORM_INFER || prog.graph->nodes[i].phase != CT_PHASE_FORWARD);
    ct_program_free(&prog);

    p[0] = none;
    ck_assert_int_eq(build(p, 1, &prog, &l), CT_ECONFIG);
    ck_message("train.freeze: 'feature' matches no parameter of the model");
    p[0] = all;
    ck_assert_int_eq(build(p, 1, &prog, &l), CT_ECONFIG);
    ck_message("nothing to train");
    p[0] = second;
    ck_assert_int_eq(build(p, 1, &prog, &l), CT_ECONFIG);
    ck_message("batch norm 'features.1' is frozen, but layers in front of it are trained");
}
END_TEST

/* Tensors of run a and b that differ, by prefix of their names: those that begin with it, and the others. */
static void differences(const char *a, const char *b, const char *prefix, int *with, int *without)
{
    ct_safetensors *x, *y;
    *with = *without = 0;
    ok(ct_safetensors_open(a, &x));
    ok(ct_safetensors_open(b, &y));
    for (size_t i = 0; i < ct_safetensors_count(x); i++) {
        const ct_st_tensor *t = ct_safetensors_at(x, i);
        if (strncmp(t->name, "model.", 6) != 0) continue;
        const ct_st_tensor *u = ct_safetensors_find(y, t->name);
        ck_assert_ptr_nonnull(u);
        bool differs = memcmp(t->data, u->data, t->bytes) != 0;
        if (strncmp(t->name + 6, prefix, strlen(prefix)) == 0) *with += differs;
        else *without += differs;
    }
    ct_safetensors_close(x);
    ct_safetensors_close(y);
}

/* Training leaves frozen tensors, running statistics among them, bit by bit; strong weight decay does not touch them.
 */
START_TEST(freeze_training)
{
    static const char yaml[] = "model: {name: textcnn-small, width: 0.25, hidden: 16}\n"
                               "data: {train: \"synth:text\", charset: \"01\", height: 16, width: 24,\n"
                               "       synth: {style: plain, count: 22, val_count: 7, length: 2}}\n"
                               "optimizer: {lr: 0.01, weight_decay: 0.5, ema_decay: 0.9}\n"
                               "train: {batch_size: 8, epochs: 2, workers: 1, threads: 1}\n";
    char config[128], model_path[4200], last[4200];
    ct_train_result res = { .size = sizeof res };
    ok(ct_file_write_atomic(in_dir("c.yaml"), yaml, strlen(yaml)));
    snprintf(config, sizeof config, "%s", in_dir("c.yaml"));
    ct_train_opts o = { .size = sizeof o, .config = config, .out = in_dir("a") };
    ok(ct_run_train(&o, &res));
    snprintf(model_path, sizeof model_path, "%s/checkpoints/last.safetensors", res.out);

    const char *const sets[] = { "train.freeze=[features]", "train.accumulate=2", "train.seed=9", "eval.ema=false" };
    for (size_t n = 1; n <= 4; n += 3) {
        int with, without;
        ct_train_opts f = { .size = sizeof f,
                            .config = config,
                            .out = in_dir(n == 1 ? "b" : "c"),
                            .init = model_path,
                            .sets = sets,
                            .nsets = n };
        /* the init model is read with its averaged weights: start from those of the unfrozen run instead */
        const char *plain[] = { "eval.ema=false" };
        ct_train_opts start = {
            .size = sizeof start, .config = config, .out = in_dir(n == 1 ? "s1" : "s4"), .sets = plain, .nsets = 1
        };
        ok(ct_run_train(&start, &res));
        snprintf(last, sizeof last, "%s/checkpoints/last.safetensors", res.out);
        f.init = last;
        ok(ct_run_train(&f, &res));
        snprintf(model_path, sizeof model_path, "%s/checkpoints/last.safetensors", res.out);
        differences(last, model_path, "features.", &with, &without);
        ck_assert_int_eq(with, 0);
        ck_assert_int_eq(without, 2);
    }
    /* a run cannot go on with other parts frozen */
    ct_train_opts again = {
        .size = sizeof again, .config = config, .out = in_dir("c"), .resume = true, .sets = sets + 1, .nsets = 3
    };
    ck_assert_int_eq(ct_run_train(&again, &res), CT_ECONFIG);
    ck_message("train.freeze");
    /* an unknown part leaves nothing behind */
    const char *const wrong[] = { "train.freeze=[fc, cnn]" };
    ct_train_opts bad = { .size = sizeof bad, .config = config, .out = in_dir("d"), .sets = wrong, .nsets = 1 };
    ck_assert_int_eq(ct_run_train(&bad, &res), CT_ECONFIG);
    ck_message("train.freeze: 'cnn' matches no parameter");
    ck_assert(!ct_path_exists(in_dir("d/config.yaml")));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("init");
    TCase *t = tcase_create("init");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, by_character, 0, 5);
    tcase_add_test(t, init_errors);
    tcase_add_test(t, names);
    tcase_add_loop_test(t, round_trip, 0, 5);
    tcase_add_test(t, import_converts);
    tcase_add_test(t, import_errors);
    tcase_add_test(t, freeze_graph);
    tcase_add_test(t, freeze_training);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
