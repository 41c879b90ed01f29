/* A model kept open: what it reads is what predict reads, whatever form pictures come in and how many threads ask; what is wrong with a
 * picture or a call is said, nothing is read behind the bytes given, nothing is printed, no signal handler and no memory is left. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "captrain.h"
#include "data/scan.h"
#include "formats/json.h"
#include "image/image.h"
#include "tests/ct_check.h"

#define PICTURES 12
#define THREADS 4

static char work[64];
static char *picture[PICTURES];       /* paths of drawn texts */
static char run[4][128], clip[2][192]; /* runs of text, ctc, slider, gloss; folders of frames */
enum { TEXT, CTC, SLIDER, GLOSS };

#define ok(call) ck_assert_msg((call) == CT_OK, "%s: %s", #call, ct_error_message())

static const char *at(const char *name, char buf[128])
{
    snprintf(buf, 128, "%s/%s", work, name);
    return buf;
}

/* ---- once: models that were trained for a moment, and something to read ---- */

static void train(int which, const char *name, const char *yaml)
{
    char config[128];
    ct_train_opts o = { .size = sizeof o, .common = { .backend = "cpu", .threads = 1 } };
    ct_train_result r = { .size = sizeof r };
    snprintf(config, sizeof config, "%s/%s.yaml", work, name);
    ok(ct_file_write_atomic(config, yaml, strlen(yaml)));
    o.config = config;
    o.out = at(name, run[which]);
    ok(ct_run_train(&o, &r));
}

static void gen(const char *kind, const char *folder, int64_t count, const ct_option *option, size_t n)
{
    char out[128];
    ct_gen_opts o = { .size = sizeof o, .kind = kind, .count = count, .seed = 5, .threads = 1, .option = option,
                      .noptions = n };
    FILE *nowhere = fopen("/dev/null", "w");
    o.out = at(folder, out);
    ok(ct_run_gen(&o, nowhere));
    fclose(nowhere);
}

static void list_pictures(const char *folder)
{
    char path[128];
    char **name;
    size_t n;
    ok(ct_scan_pictures(at(folder, path), &name, &n));
    ck_assert_uint_ge(n, PICTURES);
    for (size_t i = 0; i < n; i++) {
        if (i < PICTURES) picture[i] = name[i];
        else ct_free(name[i]);
    }
    ct_free(name);
}

/* Two folders of frames. */
static void list_clips(const char *folder)
{
    char path[128];
    int n = 0;
    DIR *d = opendir(at(folder, path));
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)) && n < 2;)
        if (e->d_name[0] != '.') snprintf(clip[n++], sizeof clip[0], "%.100s/%.80s", path, e->d_name);
    closedir(d);
    ck_assert_int_eq(n, 2);
}

#define TINY "train: {batch_size: 8, epochs: 1, workers: 0}\nlog: {interval_steps: 100}\n"

static void begin(void)
{
    const ct_option gestures[] = { { "glosses", "4" }, { "signers", "2" }, { "length", "1-2" }, { "size", "32" } };
    char yaml[600];
    snprintf(work, sizeof work, "/tmp/captrain-serve.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(work));
    ct_set_verbosity(0);
    gen("text", "texts", PICTURES, NULL, 0);
    list_pictures("texts");
    train(TEXT, "text", "model: {name: textcnn-small, width: 0.5, hidden: 32}\ndata: {train: 'synth:text', charset: '0123', "
          "height: 16, width: 40, synth: {style: plain, count: 64, val_count: 8, length: 2}}\n" TINY);
    train(CTC, "ctc", "model: {name: crnn-small, width: 0.5, hidden: 16}\ndata: {train: 'synth:text', charset: '01', height: 32, "
          "width: 128, size_rule: fit_height, synth: {style: plain, count: 400, val_count: 8, length: 3}}\n"
          "optimizer: {lr: 5e-3}\ntrain: {batch_size: 8, epochs: 3, workers: 0}\nlog: {interval_steps: 100}\n");
    train(SLIDER, "slider", "model: {name: slider-small, width: 0.25}\ndata: {train: 'synth:slider', synth: {count: 4, val_count: 2}}\n"
          "train: {batch_size: 2, epochs: 1, workers: 0}\n");
    gen("gestures", "clips", 12, gestures, 4);
    snprintf(yaml, sizeof yaml, "model: {name: tfnet-small, width: 0.25, hidden: 8}\ndata: {train: %s/clips/train, val: "
             "%s/clips/dev, height: 32, width: 32, frames_step: 32}\n" TINY, work, work);
    train(GLOSS, "gloss", yaml);
    list_clips("clips/train/A");
}

static void end(void)
{
    char command[128];
    for (int i = 0; i < PICTURES; i++) ct_free(picture[i]);
    snprintf(command, sizeof command, "rm -rf %s", work);
    ck_assert_int_eq(system(command), 0);
}

/* ---- what predict says ---- */

static json_t *predict(int which, const char *const *files, size_t n)
{
    char out[128];
    json_error_t why;
    ct_predict_opts o = { .size = sizeof o, .common = { .backend = "cpu", .threads = 1 }, .model = run[which],
                          .files = files, .nfiles = n, .json = true };
    FILE *to = fopen(at("predicted.json", out), "w");
    ok(ct_run_predict(&o, to));
    fclose(to);
    json_t *all = json_load_file(out, 0, &why);
    ck_assert_ptr_nonnull(all);
    ck_assert_uint_eq(json_array_size(all), n);
    return all;
}

static double number(const json_t *row, const char *key) { return json_number_value(json_object_get(row, key)); }

static void same_numbers(double a, double b) { ck_assert_double_eq_tol(a, b, 1e-4); }

/* A reading beside a row of predict. */
static void same_row(int which, const ct_reading *r, const json_t *row)
{
    ck_assert_int_eq(r->status, CT_OK);
    ck_assert_uint_eq(r->size, sizeof *r);
    same_numbers(r->confidence, number(row, "confidence"));
    if (which == SLIDER) {
        ck_assert_uint_eq(r->points, 2);
        ck_assert_str_eq(r->point[0]->name, "gap");
        ck_assert_str_eq(r->point[1]->name, "slider");
        const json_t *gap = json_object_get(row, "gap"), *piece = json_object_get(row, "slider");
        ck_assert_double_eq_tol(r->point[0]->x, json_number_value(json_array_get(gap, 0)), 1e-3);
        ck_assert_double_eq_tol(r->point[0]->y, json_number_value(json_array_get(gap, 1)), 1e-3);
        ck_assert_double_eq_tol(r->point[1]->x, json_number_value(json_array_get(piece, 0)), 1e-3);
        same_numbers(r->point[1]->confidence, number(row, "slider_confidence"));
        return;
    }
    const json_t *conf = json_object_get(row, which == GLOSS ? "gloss_confidence" : "char_confidence");
    ck_assert_uint_eq(r->symbols, json_array_size(conf));
    for (size_t k = 0; k < r->symbols; k++)
        same_numbers(r->symbol[k]->confidence, json_number_value(json_array_get(conf, k)));
    if (which == GLOSS)
        for (size_t k = 0; k < r->symbols; k++)
            ck_assert_str_eq(r->symbol[k]->text, json_string_value(json_array_get(json_object_get(row, "glosses"), k)));
    else ck_assert_str_eq(r->text, json_string_value(json_object_get(row, "text")));
}

static ct_model *open_one(int which)
{
    ct_model *m;
    ct_model_opts o = { .size = sizeof o, .common = { .backend = "cpu" }, .at_once = 2, .batch = 8 };
    ok(ct_model_open(run[which], &o, &m));
    return m;
}

static void by_path(ct_picture p[PICTURES])
{
    for (int i = 0; i < PICTURES; i++) p[i] = (ct_picture){ .size = sizeof *p, .path = picture[i] };
}

START_TEST(reads_as_predict_does)
{
    const int which = _i;
    ct_picture p[PICTURES];
    ct_readings *all, *one;
    ct_model *m = open_one(which);
    json_t *rows = predict(which, (const char *const *)picture, PICTURES);
    by_path(p);
    ok(ct_model_read(m, p, PICTURES, NULL, &all));
    ck_assert_uint_eq(ct_readings_count(all), PICTURES);
    ck_assert_ptr_null(ct_readings_at(all, PICTURES));
    for (size_t i = 0; i < PICTURES; i++) {
        same_row(which, ct_readings_at(all, i), json_array_get(rows, i));
        ok(ct_model_read(m, &p[i], 1, NULL, &one));
        same_row(which, ct_readings_at(one, 0), json_array_get(rows, i));
        ct_readings_free(one);
    }
    ct_model_close(m); /* readings outlive it */
    same_row(which, ct_readings_at(all, 0), json_array_get(rows, 0));
    ct_readings_free(all);
    json_decref(rows);
}
END_TEST

START_TEST(reads_clips_as_predict_does)
{
    const char *folder[2] = { clip[0], clip[1] };
    ct_picture_row row[2];
    ct_picture *frame[2];
    char **name[2];
    int64_t n[2];
    ct_readings *all;
    ct_model *m = open_one(GLOSS);
    json_t *rows = predict(GLOSS, folder, 2);
    for (int c = 0; c < 2; c++) {
        ok(ct_scan_frames(clip[c], &name[c], &n[c]));
        frame[c] = ct_calloc((size_t)n[c], sizeof *frame[c], "test");
        for (int64_t k = 0; k < n[c]; k++)
            frame[c][k] = (ct_picture){ .size = sizeof **frame, .path = ct_asprintf("%s/%s", clip[c], name[c][k]) };
        row[c] = (ct_picture_row){ .size = sizeof *row, .picture = frame[c], .pictures = (size_t)n[c] };
    }
    const ct_read_opts o = { .size = sizeof o, .json = true };
    ok(ct_model_read_clips(m, row, 2, &o, &all));
    for (size_t c = 0; c < 2; c++) {
        same_row(GLOSS, ct_readings_at(all, c), json_array_get(rows, c));
        ck_assert_ptr_nonnull(strstr(ct_readings_at(all, c)->json, "\"frames\""));
    }
    ct_readings_free(all);
    ck_assert_int_eq(ct_model_read(m, frame[0], 1, NULL, &all), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "ct_model_read_clips"));
    row[1].pictures = 0;
    ck_assert_int_eq(ct_model_read_clips(m, row, 2, NULL, &all), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "clip 1"));
    same_row(GLOSS, ct_readings_at(all, 0), json_array_get(rows, 0));
    ct_readings_free(all);
    for (int c = 0; c < 2; c++) {
        for (int64_t k = 0; k < n[c]; k++) {
            ct_free((char *)(uintptr_t)frame[c][k].path);
            ct_free(name[c][k]);
        }
        ct_free(frame[c]);
        ct_free(name[c]);
    }
    ct_model_close(m);
    json_decref(rows);
}
END_TEST

/* ---- forms of pixels ---- */

/* Picture i as pixels of c bytes in a block that ends where the last pixel does; rows are `gap` bytes apart. */
static uint8_t *pixels_of(int i, int c, size_t gap, ct_picture *p)
{
    ct_image im;
    ok(ct_image_read_file(picture[i], &(ct_image_opts){ .channels = c == 1 ? 1 : 3, .background = { 255, 255, 255 } }, &im));
    const size_t row = (size_t)im.w * (size_t)c, stride = row + gap, bytes = stride * (size_t)(im.h - 1) + row;
    uint8_t *px = malloc(bytes);
    memset(px, 0xA5, bytes);
    for (int y = 0; y < im.h; y++)
        for (int x = 0; x < im.w; x++)
            for (int k = 0; k < c; k++)
                px[(size_t)y * stride + (size_t)x * (size_t)c + (size_t)k] =
                    k == 3 ? 255 : im.px[((size_t)y * (size_t)im.w + (size_t)x) * (size_t)im.c + (size_t)k];
    *p = (ct_picture){ .size = sizeof *p, .data = px, .bytes = bytes, .pixels = (ct_pixels)c, .width = im.w, .height = im.h,
                       .stride = gap ? stride : 0 };
    ct_image_free(&im);
    return px;
}

static double confidence_of(ct_model *m, const ct_picture *p)
{
    ct_readings *r;
    ok(ct_model_read(m, p, 1, NULL, &r));
    const double c = ct_readings_at(r, 0)->confidence;
    ct_readings_free(r);
    return c;
}

START_TEST(all_forms_are_one_picture)
{
    static const int channels[] = { 1, 3, 4 };
    static const size_t gaps[] = { 0, 1, 61 };
    ct_model *m = open_one(TEXT);
    for (int i = 0; i < 2; i++) {
        size_t size;
        uint8_t *file;
        const ct_picture path = { .size = sizeof path, .path = picture[i] };
        const double want = confidence_of(m, &path);
        ok(ct_file_read(picture[i], 1 << 20, &file, &size));
        ck_assert_double_eq(confidence_of(m, &(ct_picture){ .size = sizeof path, .data = file, .bytes = size }), want);
        ct_free(file);
        for (int k = 0; k < 3; k++)
            for (int g = 0; g < 3; g++) {
                ct_picture p;
                uint8_t *px = pixels_of(i, channels[k], gaps[g], &p);
                /* gray of colours is a formula of the decoders'; here every form comes from the same file */
                ck_assert_double_eq(confidence_of(m, &p), want);
                free(px);
            }
    }
    ct_picture clear;
    uint8_t *px = pixels_of(0, 4, 0, &clear), *white;
    memset(px, 0, clear.bytes); /* black, wholly transparent: the background shows, which is white */
    const double seen = confidence_of(m, &clear);
    ct_picture blank;
    white = pixels_of(0, 1, 0, &blank);
    memset(white, 255, blank.bytes);
    ck_assert_double_eq(seen, confidence_of(m, &blank));
    free(px);
    free(white);
    ct_model_close(m);
}
END_TEST

/* ---- what is refused ---- */

static void refused(ct_model *m, ct_picture p, const char *why)
{
    ct_readings *r;
    ck_assert_int_eq(ct_model_read(m, &p, 1, NULL, &r), CT_EDATA);
    ck_assert_msg(strstr(ct_error_message(), why) != NULL, "'%s' is not in: %s", why, ct_error_message());
    ck_assert_ptr_nonnull(r);
    ck_assert_int_ne(ct_readings_at(r, 0)->status, CT_OK);
    ck_assert_str_eq(ct_readings_at(r, 0)->error, ct_error_message());
    ck_assert_str_eq(ct_readings_at(r, 0)->text, "");
    ct_readings_free(r);
}

START_TEST(hostile_pictures_are_refused)
{
    ct_model *m = open_one(TEXT);
    ct_picture p, good;
    uint8_t *px = pixels_of(0, 3, 5, &good);
#define WITH(change, why) do { p = good; change; refused(m, p, why); } while (0)
    WITH(p.stride = (size_t)p.width * 3 - 1, "stride");
    WITH(p.bytes--, "do not lie within");
    WITH(p.bytes = 0, "do not lie within");
    WITH(p.stride = SIZE_MAX, "do not lie within");
    WITH(p.stride = SIZE_MAX / (size_t)p.height + 1, "do not lie within");
    WITH(p.stride = (size_t)1 << 63, "do not lie within");
    WITH(p.height++, "do not lie within");
    WITH(p.width = 0, "no picture");
    WITH(p.height = 0, "no picture");
    WITH(p.width = -1, "no picture");
    WITH(p.height = INT32_MIN, "no picture");
    WITH(p.width = 32768, "too large");
    WITH(p.height = INT32_MAX, "too large");
    WITH((p.width = 32767, p.height = 32767), "too large");
    WITH(p.pixels = (ct_pixels)2, "ct_pixels 2");
    WITH(p.pixels = (ct_pixels)-1, "ct_pixels -1");
    WITH(p.data = NULL, "without data");
    WITH((p.pixels = CT_PIXELS_FILE, p.bytes = 9), "picture 0");
    WITH((p.pixels = CT_PIXELS_FILE, p.bytes = 0), "empty");
    WITH((p.data = NULL, p.pixels = CT_PIXELS_FILE), "neither data nor a path");
    WITH((p.data = NULL, p.pixels = CT_PIXELS_FILE, p.path = "/nonexistent.png"), "/nonexistent.png");
    WITH((p.name = "the third one", p.width = 0), "the third one");
    free(px);
    ct_model_close(m);
}
END_TEST

START_TEST(one_bad_picture_leaves_the_others)
{
    ct_picture p[PICTURES];
    ct_readings *all;
    ct_model *m = open_one(TEXT);
    json_t *rows = predict(TEXT, (const char *const *)picture, PICTURES);
    by_path(p);
    p[3] = (ct_picture){ .size = sizeof *p, .data = "no picture", .bytes = 10 };
    p[7].path = "/nonexistent/x.png";
    ck_assert_int_eq(ct_model_read(m, p, PICTURES, NULL, &all), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "2 of 12 pictures could not be read; the first: picture 3: none of PNG"));
    for (size_t i = 0; i < PICTURES; i++) {
        if (i == 3) ck_assert_int_eq(ct_readings_at(all, i)->status, CT_EFORMAT);
        else if (i == 7) ck_assert_int_eq(ct_readings_at(all, i)->status, CT_EIO);
        else same_row(TEXT, ct_readings_at(all, i), json_array_get(rows, i));
    }
    ct_readings_free(all);
    ct_model_close(m);
    json_decref(rows);
}
END_TEST

START_TEST(calls_without_meaning_are_refused)
{
    ct_model *m, *none = (ct_model *)1;
    ct_readings *r = (ct_readings *)1;
    ct_picture p[2];
    ct_model_opts o = { .size = 3 };
    ck_assert_int_eq(ct_model_open("/nonexistent", NULL, &none), CT_EIO);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(ct_model_open(picture[0], NULL, &none), CT_EFORMAT);
    ck_assert_int_eq(ct_model_open(NULL, NULL, &none), CT_EINVAL);
    ck_assert_int_eq(ct_model_open(run[TEXT], NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_model_open(run[TEXT], &o, &none), CT_EINVAL);
    o = (ct_model_opts){ .size = sizeof o, .at_once = -1 };
    ck_assert_int_eq(ct_model_open(run[TEXT], &o, &none), CT_EINVAL);
    o = (ct_model_opts){ .size = sizeof o, .common.backend = "abacus" };
    ck_assert_int_eq(ct_model_open(run[TEXT], &o, &none), CT_ECONFIG);
    o = (ct_model_opts){ .size = sizeof o, .option = (ct_option[]){ { "decoder", "beam" } }, .noptions = 1 };
    ck_assert_int_eq(ct_model_open(run[TEXT], &o, &none), CT_ECONFIG); /* reads positions */
    ok(ct_model_open(run[CTC], &o, &none));
    ct_model_close(none);
    o.option = (ct_option[]){ { "colour", "red" } };
    ck_assert_int_eq(ct_model_open(run[CTC], &o, &none), CT_ECONFIG);
    m = open_one(TEXT);
    for (int i = 0; i < 2; i++) p[i] = (ct_picture){ .size = sizeof *p, .path = picture[i] };
    ck_assert_int_eq(ct_model_read(m, p, 0, NULL, &r), CT_EINVAL);
    ck_assert_ptr_null(r);
    ck_assert_int_eq(ct_model_read(m, NULL, 1, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_model_read(m, p, 1, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_model_read(NULL, p, 1, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_model_read_clips(m, (ct_picture_row[]){ { .size = sizeof(ct_picture_row) } }, 1, NULL, &r), CT_EINVAL);
    const ct_read_opts beam = { .size = sizeof beam, .option = (ct_option[]){ { "decoder", "beam" } }, .noptions = 1 };
    ck_assert_int_eq(ct_model_read(m, p, 1, &beam, &r), CT_ECONFIG);
    p[0].size = 4;
    ck_assert_int_eq(ct_model_read(m, p, 1, NULL, &r), CT_EINVAL);
    p[0].size = sizeof *p;
    p[1].size = sizeof *p - 8; /* the sizes of a list differ */
    ck_assert_int_eq(ct_model_read(m, p, 2, NULL, &r), CT_EDATA);
    ck_assert_int_eq(ct_readings_at(r, 1)->status, CT_EINVAL);
    ct_readings_free(r);
    ct_readings_free(NULL);
    ct_model_close(m);
    ct_model_close(NULL);
}
END_TEST

/* A program that was compiled with fewer members, and one with more. */
START_TEST(sizes_say_what_the_caller_knows)
{
    struct { ct_picture p; uint64_t later; } wide[3] = { { .later = 0 } };
    ct_readings *all;
    ct_model *m = open_one(TEXT);
    for (int i = 0; i < 3; i++) wide[i].p = (ct_picture){ .size = sizeof wide[0], .path = picture[i] };
    ok(ct_model_read(m, &wide[0].p, 3, NULL, &all));
    ct_readings_free(all);
    wide[1].later = 7;
    ck_assert_int_eq(ct_model_read(m, &wide[0].p, 3, NULL, &all), CT_EDATA);
    ck_assert_int_eq(ct_readings_at(all, 1)->status, CT_EINVAL);
    ck_assert_int_eq(ct_readings_at(all, 2)->status, CT_OK);
    ct_readings_free(all);
    ct_model_description d = { .size = offsetof(ct_model_description, backend) };
    d.backend = "untouched";
    ok(ct_model_describe(m, &d));
    ck_assert_str_eq(d.task, "text");
    ck_assert_str_eq(d.backend, "untouched");
    ct_model_close(m);
}
END_TEST

START_TEST(models_describe_themselves)
{
    static const struct { const char *task, *model, *rule; int h, w, c, positions; size_t symbols; bool clips; } want[] = {
        { "text", "textcnn-small", "resize", 16, 40, 1, 2, 4, false },
        { "text", "crnn-small", "fit_height", 32, 128, 1, 0, 2, false },
        { "slider", "slider-small", "letterbox", 128, 256, 3, 0, 0, false },
        { "gloss", "tfnet-small", "resize", 32, 32, 3, 0, 4, true },
    };
    ct_model *m = open_one(_i);
    ct_model_description d = { .size = sizeof d };
    ok(ct_model_describe(m, &d));
    ck_assert_str_eq(d.task, want[_i].task);
    ck_assert_str_eq(d.model, want[_i].model);
    ck_assert_str_eq(d.backend, "cpu");
    ck_assert_str_eq(d.precision, "fp32");
    ck_assert_str_eq(d.size_rule, want[_i].rule);
    ck_assert_int_eq(d.height, want[_i].h);
    ck_assert_int_eq(d.width, want[_i].w);
    ck_assert_int_eq(d.channels, want[_i].c);
    ck_assert_int_eq(d.positions, want[_i].positions);
    ck_assert_uint_eq(d.symbols, want[_i].symbols);
    ck_assert_int_eq(d.clips, want[_i].clips);
    if (_i == TEXT) ck_assert_str_eq(d.symbol[3], "3");
    ct_model_close(m);
}
END_TEST

/* Characters of a text of any length stand one behind the other, within the picture. */
START_TEST(places_are_in_order)
{
    ct_picture p[PICTURES];
    ct_readings *all;
    ct_model *m = open_one(CTC);
    int seen = 0;
    by_path(p);
    ok(ct_model_read(m, p, PICTURES, NULL, &all));
    for (size_t i = 0; i < PICTURES; i++) {
        const ct_reading *r = ct_readings_at(all, i);
        double before = 0;
        for (size_t k = 0; k < r->symbols; k++) {
            ck_assert_double_ge(r->symbol[k]->first, before);
            ck_assert_double_gt(r->symbol[k]->last, r->symbol[k]->first);
            ck_assert_double_le(r->symbol[k]->last, 160.0); /* as `gen text` draws them */
            before = r->symbol[k]->last;
            seen++;
        }
    }
    ck_assert_int_gt(seen, 0); /* else this looked at nothing */
    ct_readings_free(all);
    ct_model_close(m);
}
END_TEST

/* ---- threads ---- */

typedef struct reader {
    ct_model *model[2];  /* one for all, one of its own */
    const ct_picture *p;
    const ct_readings *want;
    int first;
    int wrong;
} reader;

static void *read_all(void *arg)
{
    reader *x = arg;
    for (int i = 0; i < 2 * PICTURES; i++) {
        const int k = (x->first + i) % PICTURES;
        ct_readings *r;
        const ct_picture none = { .size = sizeof none, .name = "nothing" };
        const ct_status st = ct_model_read(x->model[i % 2], &x->p[k], 1, NULL, &r);
        const ct_reading *got = ct_readings_at(r, 0), *want = ct_readings_at(x->want, (size_t)k);
        if (st != CT_OK || strcmp(got->text, want->text) != 0 || fabs(got->confidence - want->confidence) > 1e-4) x->wrong++;
        ct_readings_free(r);
        /* the message is this thread's own */
        if (ct_model_read(x->model[i % 2], &none, 1, NULL, &r) != CT_EDATA || !strstr(ct_error_message(), "nothing")) x->wrong++;
        ct_readings_free(r);
    }
    return NULL;
}

static void *open_and_read(void *arg)
{
    reader *x = arg;
    x->model[1] = NULL;
    if (ct_model_open(run[CTC], NULL, &x->model[1]) != CT_OK) x->wrong++;
    else read_all(x);
    ct_model_close(x->model[1]);
    return NULL;
}

START_TEST(threads_read_the_same)
{
    ct_picture p[PICTURES];
    ct_readings *want;
    pthread_t thread[THREADS];
    reader x[THREADS];
    ct_model *m = open_one(CTC); /* two sessions for four threads: some wait */
    by_path(p);
    ok(ct_model_read(m, p, PICTURES, NULL, &want));
    for (int t = 0; t < THREADS; t++) {
        x[t] = (reader){ .model = { m, NULL }, .p = p, .want = want, .first = 3 * t };
        ck_assert_int_eq(pthread_create(&thread[t], NULL, open_and_read, &x[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) ck_assert_int_eq(x[t].wrong, 0);
    ct_readings_free(want);
    ct_model_close(m);
}
END_TEST

/* ---- manners ---- */

static void hear(void *user, int level, const char *line)
{
    int *lines = user;
    ck_assert_int_ge(level, 0);
    ck_assert_uint_gt(strlen(line), 0);
    ++*lines;
}

START_TEST(nothing_is_printed_and_no_handler_stays)
{
    static const int watched[] = { SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGSEGV, SIGXFSZ };
    struct sigaction before[6], after;
    char said[128];
    struct stat info;
    int lines = 0;
    ct_picture p[PICTURES];
    ct_readings *r;
    ct_model *m;
    ct_model_opts o = { .size = sizeof o, .log = hear, .log_user = &lines };
    const int to = open(at("said", said), O_WRONLY | O_CREAT | O_TRUNC, 0600), out = dup(1), err = dup(2);
    ct_set_verbosity(2); /* of the verbs; a model has its own */
    for (int i = 0; i < 6; i++) sigaction(watched[i], NULL, &before[i]);
    fflush(NULL);
    dup2(to, 1);
    dup2(to, 2);
    for (int k = 0; k < 2; k++) {
        if (k == 1) o.log = NULL;
        ok(ct_model_open(run[CTC], &o, &m));
        by_path(p);
        p[2].path = "/nonexistent";
        ct_model_read(m, p, PICTURES, NULL, &r);
        ct_readings_free(r);
        ct_model_close(m);
        if (k == 0) ck_assert_int_gt(lines, 0); /* which backend was taken, at least */
    }
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    ck_assert_int_eq(fstat(to, &info), 0);
    ck_assert_int_eq((int)info.st_size, 0);
    for (int i = 0; i < 6; i++) {
        sigaction(watched[i], NULL, &after);
        ck_assert(after.sa_handler == before[i].sa_handler);
    }
    close(to);
    ct_set_verbosity(0);
}
END_TEST

/* Every allocation fails once, in turn: CT_ENOMEM or the right answer, and the handle goes on. */
START_TEST(memory_may_run_out)
{
    ct_picture p[2];
    ct_readings *r;
    ct_model *m = open_one(TEXT);
    int failed = 0;
    for (int i = 0; i < 2; i++) p[i] = (ct_picture){ .size = sizeof *p, .path = picture[i] };
    ok(ct_model_read(m, p, 2, NULL, &r)); /* what a batch of two needs is there */
    const double want = ct_readings_at(r, 1)->confidence;
    ct_readings_free(r);
    const ct_read_opts o = { .size = sizeof o, .json = true };
    for (long n = 0; n < 4000; n++) {
        ct_alloc_fail_after(n);
        const ct_status st = ct_model_read(m, p, 2, &o, &r);
        const bool through = ct_alloc_fail_after(-1) <= n;
        if (st == CT_OK) ck_assert_double_eq(ct_readings_at(r, 1)->confidence, want);
        else ck_assert_int_eq(st, CT_ENOMEM);
        failed += st != CT_OK;
        ct_readings_free(r);
        if (through) break;
    }
    ck_assert_int_gt(failed, 20);
    ct_model_close(m);
    for (long n = 0; n < 100000; n += 37) {
        ct_alloc_fail_after(n);
        const ct_status st = ct_model_open(run[CTC], NULL, &m);
        const bool through = ct_alloc_fail_after(-1) <= n;
        ct_model_close(m);
        if (through) break;
        if (st != CT_OK) ck_assert_int_eq(st, CT_ENOMEM);
    }
}
END_TEST

static Suite *serve(void)
{
    Suite *s = suite_create("serve");
    TCase *t = tcase_create("model");
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, begin, end);
    tcase_add_loop_test(t, reads_as_predict_does, TEXT, GLOSS);
    tcase_add_test(t, reads_clips_as_predict_does);
    tcase_add_test(t, all_forms_are_one_picture);
    tcase_add_test(t, hostile_pictures_are_refused);
    tcase_add_test(t, one_bad_picture_leaves_the_others);
    tcase_add_test(t, calls_without_meaning_are_refused);
    tcase_add_test(t, sizes_say_what_the_caller_knows);
    tcase_add_loop_test(t, models_describe_themselves, TEXT, GLOSS + 1);
    tcase_add_test(t, places_are_in_order);
    tcase_add_test(t, threads_read_the_same);
    tcase_add_test(t, nothing_is_printed_and_no_handler_stays);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(serve());
}
