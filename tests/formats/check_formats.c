/* safetensors, SVG plots, JSON helpers. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "formats/svg.h"
#include "tests/ct_check.h"
#include "tests/ct_dir.h"

/* ---- safetensors ---- */

static const float f32_data[6] = { 1.5f, -2, 3, 4e-20f, 5, 6 };
static const double f64_data[2] = { M_PI, -1e300 };
static const uint16_t half_data[3] = { 0x3C00, 0xC000, 0x7BFF }; /* 1, -2, 65504 as f16 */
static const uint8_t u8_data[5] = { 0, 1, 127, 128, 255 };
static const int32_t i32_data[4] = { INT32_MIN, -1, 0, INT32_MAX };
static const int64_t i64_data[1] = { INT64_C(1) << 52 };

static void write_sample(const char *path)
{
    ct_st_writer *w;
    ct_desc scalar = { .dtype = CT_I64, .ndim = 0 }, bf = ct_desc1(CT_BF16, 3), half = ct_desc1(CT_F16, 3);
    ct_desc a = ct_desc2(CT_F32, 2, 3), b = ct_desc1(CT_F64, 2), u = ct_desc1(CT_U8, 5);
    ct_desc i = ct_desc4(CT_I32, 1, 2, 2, 1), none = ct_desc2(CT_F32, 0, 7);
    ck_assert_int_eq(ct_st_writer_new(&w), CT_OK);
    ck_assert_int_eq(ct_st_writer_meta(w, "format", "pt"), CT_OK);
    ck_assert_int_eq(ct_st_writer_meta(w, "charset", "\"\\ \xc3\xa4\n"), CT_OK);
    ck_assert_int_eq(ct_st_writer_meta(w, "format", "again"), CT_EINVAL);
    ck_assert_int_eq(ct_st_writer_meta(w, "xxh3:u8", "x"), CT_EINVAL);
    ck_assert_int_eq(ct_st_writer_add(w, "__metadata__", &a, f32_data), CT_EINVAL);
    ck_assert_int_eq(ct_st_writer_add(w, "u8", &u, u8_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "f16", &half, half_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "model.weight", &a, f32_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "bf16", &bf, half_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "empty", &none, NULL), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "i32", &i, i32_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "f64", &b, f64_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "step", &scalar, i64_data), CT_OK);
    ck_assert_msg(ct_st_writer_save(w, path) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_st_writer_add(w, "u8", &u, u8_data), CT_OK);
    ck_assert_int_eq(ct_st_writer_save(w, path), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "tensor 'u8' was given twice"));
    ct_st_writer_free(w);
    ct_st_writer_free(NULL);
}

START_TEST(st_round_trip)
{
    const char *path = in_dir("a.safetensors");
    ct_safetensors *st;
    char text[CT_DESC_STR];
    double d[6];
    float f[6];
    write_sample(path);
    ck_assert_msg(ct_safetensors_open(path, &st) == CT_OK, "%s", ct_error_message());
    ck_assert(ct_safetensors_has_checksums(st));
    ck_assert_uint_eq(ct_safetensors_count(st), 8);
    ck_assert_uint_eq(ct_safetensors_meta_count(st), 2);
    ck_assert_str_eq(ct_safetensors_meta_key(st, 0), "charset");
    ck_assert_str_eq(ct_safetensors_meta(st, "charset"), "\"\\ \xc3\xa4\n");
    ck_assert_ptr_null(ct_safetensors_meta(st, "xxh3"));
    ck_assert_ptr_null(ct_safetensors_find(st, "nothing"));
    for (size_t i = 0; i < 8; i++) {
        const ct_st_tensor *t = ct_safetensors_at(st, i);
        if (i > 0) ck_assert_int_lt(strcmp(ct_safetensors_at(st, i - 1)->name, t->name), 0);
        ck_assert_uint_eq((uintptr_t)t->data % ct_dtype_size(t->desc.dtype), 0);
        ck_assert_ptr_eq(ct_safetensors_find(st, t->name), t);
    }
    ck_assert_str_eq(ct_desc_str(&ct_safetensors_find(st, "model.weight")->desc, text), "f32[2,3]");
    ck_assert_int_eq(ct_safetensors_find(st, "step")->desc.ndim, 0);
    ck_assert_mem_eq(ct_safetensors_find(st, "i32")->data, i32_data, sizeof i32_data);
    ck_assert_mem_eq(ct_safetensors_find(st, "u8")->data, u8_data, sizeof u8_data);
    ct_st_read(ct_safetensors_find(st, "f16"), CT_F64, d);
    ck_assert(d[0] == 1 && d[1] == -2 && d[2] == 65504);
    ct_st_read(ct_safetensors_find(st, "i32"), CT_F64, d);
    ck_assert(d[0] == INT32_MIN && d[3] == INT32_MAX);
    ct_desc want = ct_desc2(CT_F32, 2, 3);
    ck_assert_int_eq(ct_safetensors_get(st, "model.weight", &want, f), CT_OK);
    ck_assert_mem_eq(f, f32_data, sizeof f);
    want = ct_desc2(CT_F32, 3, 2);
    ck_assert_int_eq(ct_safetensors_get(st, "model.weight", &want, f), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "tensor 'model.weight' is f32[2,3], expected f32[3,2]"));
    ck_assert_int_eq(ct_safetensors_get(st, "model.bias", &want, f), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "no tensor 'model.bias'"));
    ct_safetensors_close(st);
    ct_safetensors_close(NULL);
}
END_TEST

/* Same tensors and metadata? */
static bool same(const ct_safetensors *a, const ct_safetensors *b)
{
    if (ct_safetensors_count(a) != ct_safetensors_count(b) ||
        ct_safetensors_meta_count(a) != ct_safetensors_meta_count(b))
        return false;
    for (size_t i = 0; i < ct_safetensors_count(a); i++) {
        const ct_st_tensor *x = ct_safetensors_at(a, i), *y = ct_safetensors_at(b, i);
        if (strcmp(x->name, y->name) != 0 || !ct_desc_equal(&x->desc, &y->desc) || x->bytes != y->bytes ||
            memcmp(x->data, y->data, x->bytes) != 0)
            return false;
    }
    for (size_t i = 0; i < ct_safetensors_meta_count(a); i++) {
        const char *k = ct_safetensors_meta_key(a, i);
        const char *v = ct_safetensors_meta(b, k);
        if (!v || strcmp(v, ct_safetensors_meta(a, k)) != 0) return false;
    }
    return true;
}

/* Every byte of the file, header and data, with several damages: an error, or (blanks) the same contents. */
START_TEST(st_damage)
{
    const char *path = in_dir("d.safetensors");
    uint8_t *good;
    size_t size;
    ct_safetensors *a, *b;
    long errors = 0, harmless = 0;
    write_sample(path);
    ck_assert_int_eq(ct_file_read(path, 1 << 20, &good, &size), CT_OK);
    ck_assert_int_eq(ct_safetensors_open_memory(good, size, "good", &a), CT_OK);
    for (size_t i = 0; i < size; i++) {
        uint8_t *copy = ct_malloc(size, "copy"); /* exact size: reading beyond is seen by the sanitizer */
        for (int k = 0; k < 10; k++) {
            memcpy(copy, good, size);
            copy[i] = k < 8 ? good[i] ^ (uint8_t)(1 << k) : k == 8 ? 0 : 0xFF;
            if (copy[i] == good[i]) continue;
            ct_status st = ct_safetensors_open_memory(copy, size, "bad", &b);
            if (st == CT_OK) {
                ck_assert_msg(same(a, b), "byte %zu as 0x%02x was not noticed", i, copy[i]);
                harmless++;
                ct_safetensors_close(b);
            } else {
                ck_assert_msg(st == CT_EFORMAT || st == CT_EUNSUPPORTED, "%s", ct_error_message());
                ck_assert_ptr_null(b);
                ck_assert_int_eq(strncmp(ct_error_message(), "bad: ", 5), 0);
                errors++;
            }
        }
        ct_free(copy);
    }
    ck_assert_int_gt(errors, (long)size * 8);
    ck_assert_int_lt(harmless, 64 * 10);
    for (size_t n = 0; n < size; n++) { /* every truncation */
        uint8_t *copy = ct_malloc(n, "copy");
        memcpy(copy, good, n);
        ck_assert_int_eq(ct_safetensors_open_memory(copy, n, "short", &b), CT_EFORMAT);
        ct_free(copy);
    }
    /* A damaged tensor is named. */
    const ct_st_tensor *t = ct_safetensors_find(a, "model.weight");
    size_t at = (size_t)(t->data - good) + 5;
    good[at] ^= 4;
    ck_assert_int_eq(ct_safetensors_open_memory(good, size, "x", &b), CT_EFORMAT);
    ck_assert_int_eq(strncmp(ct_error_message(), "x: tensor 'model.weight': damaged: the checksum", 47), 0);
    ct_safetensors_close(a);
    ct_free(good);
}
END_TEST

/* A file with this header and `bytes` zeros of data. */
static ct_status open_header(const char *header, size_t bytes, ct_safetensors **out)
{
    static uint8_t file[4096];
    size_t n = strlen(header);
    memset(file, 0, sizeof file);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)n >> (8 * i));
    memcpy(file + 8, header, n);
    return ct_safetensors_open_memory(file, 8 + n + bytes, "f", out);
}

START_TEST(st_headers)
{
    static const struct { const char *header; size_t bytes; const char *message; } bad[] = {
        { "[]", 0, "f: not a safetensors file: no JSON header" },
        { "{", 0, "f: damaged header: byte 9: string or '}' expected near end of file" },
        { "{\"a\":1}", 0, "f: tensor 'a': not a JSON object" },
        { "{\"a\":{}}", 0, "f: tensor 'a': no dtype" },
        { "{\"a\":{\"dtype\":\"F8\"}}", 0, "f: tensor 'a': dtype 'F8' is not supported" },
        { "{\"a\":{\"dtype\":\"F32\"}}", 0, "f: tensor 'a': no shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
          "f: tensor 'a': 6 dimensions, at most 5 are supported" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
          "f: tensor 'a': dimension 0 is not a size" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
          "f: tensor 'a': dimension 0 is not a size" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,4]}}", 4,
          "f: tensor 'a': its shape is too large" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
          "f: tensor 'a': its shape is too large" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "f: tensor 'a': no data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "f: tensor 'a': no data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
          "f: tensor 'a': data_offsets [4, 0] are outside the 4 bytes of data" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 4,
          "f: tensor 'a': data_offsets [0, 8] are outside the 4 bytes of data" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
          "f: tensor 'a': 4 bytes of data, its shape takes 8" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
          "f: tensor 'a' begins at byte 4 of the data, behind a hole from byte 0" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
          "f: 8 bytes of data, the tensors take 4" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}", 5,
          "f: tensor 'b' begins at byte 2 of the data, inside the tensor that ends at byte 4" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{}}", 0,
          "f: damaged header: byte 65: duplicate object key near '\"a\"'" },
        { "{\"__metadata__\":[]}", 0, "f: __metadata__ is not a JSON object" },
        { "{\"__metadata__\":{\"k\":1}}", 0, "f: __metadata__ 'k' is not a string" },
    };
    ct_safetensors *st;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(open_header(bad[i].header, bad[i].bytes, &st) != CT_OK, "accepted: %s", bad[i].header);
        ck_assert_ptr_null(st);
        ck_assert_str_eq(ct_error_message(), bad[i].message);
    }
    /* Files of other programs: no checksums, unaligned data, members in any order. */
    ck_assert_int_eq(open_header("{}", 0, &st), CT_OK);
    ck_assert_uint_eq(ct_safetensors_count(st), 0);
    ck_assert_ptr_null(ct_safetensors_find(st, "a"));
    ct_safetensors_close(st);
    ck_assert_int_eq(open_header("{\"z\":{\"shape\":[1],\"data_offsets\":[3,11],\"dtype\":\"F64\"},"
                                 "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                                 "\"__metadata__\":{\"k\":\"v\"}}",
                                 11, &st), CT_OK);
    ck_assert(!ct_safetensors_has_checksums(st));
    ck_assert_str_eq(ct_safetensors_at(st, 0)->name, "a");
    double d = 1;
    ct_st_read(ct_safetensors_at(st, 1), CT_F64, &d);
    ck_assert_double_eq(d, 0);
    float f = 1;
    ct_st_read(ct_safetensors_at(st, 1), CT_F32, &f);
    ck_assert_float_eq(f, 0);
    ct_safetensors_close(st);
    ck_assert_int_eq(ct_safetensors_open("/nonexistent/x", &st), CT_EIO);
}
END_TEST

static void *js_alloc(size_t n)
{
    return ct_malloc(n, "JSON");
}

/* _i 0: our allocations fail in turn; 1: jansson's, too. jansson takes a failed allocation for a syntax error in some
 * places, loses a character in others (which the header's checksum finds) and can do without a few. */
START_TEST(st_memory)
{
    const int jansson = _i;
    const char *path = in_dir("m.safetensors");
    ct_desc a = ct_desc2(CT_F32, 2, 3), u = ct_desc1(CT_U8, 5);
    long failed[2] = { 0, 0 };
    if (jansson) json_set_alloc_funcs(js_alloc, ct_free);
    for (long n = 0;; n++) {
        ct_st_writer *w = NULL;
        ct_alloc_fail_after(n);
        ct_status st = ct_st_writer_new(&w);
        if (st == CT_OK) st = ct_st_writer_meta(w, "k", "v");
        if (st == CT_OK) st = ct_st_writer_add(w, "a", &a, f32_data);
        if (st == CT_OK) st = ct_st_writer_add(w, "b", &u, u8_data);
        if (st == CT_OK) st = ct_st_writer_save(w, path);
        ct_st_writer_free(w);
        long made = ct_alloc_fail_after(-1);
        if (st == CT_OK && made <= n) break;
        failed[0]++;
        ck_assert(st == CT_ENOMEM || (jansson && st == CT_OK));
        if (ct_path_exists(path)) { /* whatever happened: never half a file */
            ct_safetensors *f;
            ck_assert_msg(ct_safetensors_open(path, &f) == CT_OK, "%s", ct_error_message());
            ck_assert_uint_eq(ct_safetensors_count(f), 2);
            ct_safetensors_close(f);
            ck_assert_int_eq(unlink(path), 0);
        }
    }
    for (long n = 0;; n++) {
        ct_safetensors *st;
        ct_alloc_fail_after(n);
        ct_status s = ct_safetensors_open(path, &st);
        long made = ct_alloc_fail_after(-1);
        if (s == CT_OK && made <= n) {
            ct_safetensors_close(st);
            break;
        }
        failed[1]++;
        if (jansson && s == CT_OK) {
            ck_assert_uint_eq(ct_safetensors_count(st), 2);
            ct_safetensors_close(st);
            continue;
        }
        bool blamed = jansson && s == CT_EFORMAT && strstr(ct_error_message(), ": damaged");
        ck_assert_msg(s == CT_ENOMEM || blamed, "allocation %ld: %s", n, ct_error_message());
        ck_assert_ptr_null(st);
    }
    ck_assert_int_gt(failed[0], jansson ? 40 : 15);
    ck_assert_int_gt(failed[1], jansson ? 40 : 8);
}
END_TEST

/* A tensor of 64 MB, zeros but for four elements, is checked and read in windows: each element once, in order, and what is in
 * memory at a time is a small part of it. Pages of zeros that are only read take no memory, so writing it takes none. */
START_TEST(st_windows)
{
    const int64_t n = (16 << 20) + 3, marks[] = { 0, 1 << 20, (1 << 20) + 1, n - 1 };
    const char *path = in_dir("large.safetensors");
    const ct_desc d = ct_desc1(CT_F32, n);
    float *data = calloc((size_t)n, sizeof *data);
    struct rusage before, after;
    ct_safetensors *st;
    ct_st_writer *w;
    ck_assert_ptr_nonnull(data);
    for (int i = 0; i < 4; i++) data[marks[i]] = (float)(i + 1);
    ck_assert_int_eq(ct_st_writer_new(&w), CT_OK);
    ck_assert_int_eq(ct_st_writer_add(w, "large", &d, data), CT_OK);
    ck_assert_msg(ct_st_writer_save(w, path) == CT_OK, "%s", ct_error_message());
    ct_st_writer_free(w);
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
    ck_assert_msg(ct_safetensors_open(path, &st) == CT_OK, "%s", ct_error_message());
    ck_assert(ct_safetensors_has_checksums(st));
    const ct_st_tensor *t = ct_safetensors_find(st, "large");
    ct_st_tensor win;
    int found = 0;
    size_t from = 0;
    for (size_t at = 0; (win = ct_st_window(t, &at)).bytes; from = at) {
        ck_assert_uint_le(win.bytes, 4 << 20);
        ck_assert_uint_eq(win.bytes, (at - from) * sizeof(float));
        ck_assert_int_eq(win.desc.dim[0], (int64_t)(at - from));
        for (size_t i = 0; i < at - from; i++) {
            float v;
            memcpy(&v, win.data + i * sizeof v, sizeof v);
            if (v == 0) continue;
            ck_assert_int_eq((int64_t)(from + i), marks[found]);
            ck_assert(v == (float)++found);
        }
        ct_safetensors_rest(st, &win);
    }
    ck_assert_int_eq(found, 4);
    ck_assert_uint_eq(from, (size_t)n);
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
    ck_assert_msg(after.ru_maxrss - before.ru_maxrss < 24 << 10, "%ld kB more in memory", after.ru_maxrss - before.ru_maxrss);
    ct_safetensors_close(st);
    free(data);
}
END_TEST

/* Memory that ends while JSON is read, at every place of it, an escape among them (see json.c), and more often than
 * what is set aside for jansson to come to its end in would last if it were not given back. */
START_TEST(json_memory)
{
    int failed = 0;
    for (int i = 0; i < 30000; i++) {
        char text[160];
        const int n = snprintf(text, sizeof text, "{\"a\": [\"%.*s\\n two\", {\"b\": 1}], \"c\": \"\\\"quoted\\\"\"}",
                               i / 20 % 36, "one that is so long that blocks grow");
        json_t *v = NULL;
        ct_alloc_fail_after(i % 20);
        const ct_status st = ct_json_load(text, (size_t)n, 0, &(json_error_t){ 0 }, &v);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) json_decref(v);
        else ck_assert_int_eq(st, CT_ENOMEM);
        failed += st != CT_OK;
    }
    ck_assert_int_gt(failed, 10000);
    json_t *v;
    ck_assert_int_eq(ct_json_load("{}", 2, 0, &(json_error_t){ 0 }, &v), CT_OK);
    json_decref(v);
}
END_TEST

/* ---- SVG ---- */

static char *svg(const ct_svg_plot *p, ct_status want)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    ck_assert_msg(ct_svg_write(f, p) == want, "%s", ct_error_message());
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

/* Tags are closed in order, and no number is broken. */
static void check_well_formed(const char *s)
{
    char stack[32][16];
    int depth = 0;
    ck_assert_ptr_null(strstr(s, "nan"));
    ck_assert_ptr_null(strstr(s, "inf"));
    for (const char *p = s; (p = strchr(p, '<')); p++) {
        const char *end = strchr(p, '>');
        ck_assert_ptr_nonnull(end);
        if (p[1] == '/') {
            size_t n = strcspn(p + 2, ">");
            ck_assert_int_gt(depth, 0);
            depth--;
            ck_assert_msg(strncmp(stack[depth], p + 2, n) == 0, "</%.*s> closes <%s>", (int)n, p + 2, stack[depth]);
        } else if (end[-1] != '/') {
            size_t n = strcspn(p + 1, " >");
            ck_assert_int_lt(depth, 32);
            snprintf(stack[depth++], 16, "%.*s", (int)n, p + 1);
        }
    }
    ck_assert_int_eq(depth, 0);
}

/* Where the legend's first text stands. */
static double first_key(const char *svg_text)
{
    static const char key[] = "<text class=\"k\" x=\"";
    size_t i = 0;
    while (svg_text[i] && strncmp(svg_text + i, key, strlen(key)) != 0) i++;
    return svg_text[i] ? strtod(svg_text + i + strlen(key), NULL) : INFINITY;
}

START_TEST(svg_plots)
{
    enum { N = 20001 };
    static double x[N], y[N];
    char *text;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = exp(-i / 4000.0) + 0.1 * ct_u01(ct_philox4x32(1, 2, (uint64_t)i).v[0]);
    }
    ct_svg_series s[2] = { { .label = "train <loss>", .x = x, .y = y, .n = N },
                           { .label = "val & test", .x = x, .y = y, .n = 40, .dashed = true, .markers = true } };
    ct_svg_plot p = { .title = "Loss \"of\" the run", .x_label = "step", .y_label = "loss", .series = s, .count = 2 };
    text = svg(&p, CT_OK);
    check_well_formed(text);
    ck_assert_uint_lt(strlen(text), 40000); /* thinned */
    ck_assert_int_eq(count(text, "<circle class=\"m\""), 40);
    const int told = count(text, "<circle class=\"h\""); /* of the long line some, of the short one all */
    ck_assert(told > 40 + 30 && told <= 40 + 60);
    ck_assert_int_eq(count(text, "</title></circle>"), told);
    ck_assert_ptr_nonnull(strstr(text, "train &lt;loss&gt;"));
    ck_assert_ptr_nonnull(strstr(text, "aria-label=\"Loss &quot;of&quot; the run\""));
    ck_assert_ptr_nonnull(strstr(text, ">20k<"));
    ck_assert_double_lt(first_key(text), 320); /* behind the title: seen where a narrow page cuts the plot off */
    ck_assert_ptr_null(strstr(text, "http://www.w3.org/1999")); /* nothing is loaded from elsewhere */
    free(text);
    /* nothing but zeros: the axis does not go below them */
    static const double none[3] = { 0 };
    ct_svg_series zeros = { .x = x, .y = none, .n = 3 };
    p = (ct_svg_plot){ .series = &zeros, .count = 1 };
    text = svg(&p, CT_OK);
    ck_assert_ptr_null(strstr(text, ">-"));
    ck_assert_ptr_nonnull(strstr(text, ">1<"));
    free(text);
    p = (ct_svg_plot){ .title = "Loss \"of\" the run", .x_label = "step", .y_label = "loss", .series = s, .count = 2 };
    p.log_y = true;
    y[5] = 0;
    y[6] = -1;
    text = svg(&p, CT_OK);
    check_well_formed(text);
    free(text);
    y[7] = NAN;
    y[8] = INFINITY;
    x[9] = NAN;
    p.log_y = false;
    text = svg(&p, CT_OK);
    check_well_formed(text);
    free(text);
    /* Corner cases: one point, constants, nothing, huge and tiny. */
    static const double one[2] = { 3, 4 }, flat[2] = { 7, 7 }, zero[2] = { 0, 0 }, big[2] = { -1e18, 1e18 },
                        tiny[2] = { 1e-9, 3e-9 }, nothing[2] = { NAN, NAN };
    const double *cases[] = { flat, zero, big, tiny, nothing };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 4; k++) {
            s[0] = (ct_svg_series){ .label = "a", .x = one, .y = cases[i], .n = k == 3 ? 1 : 2 };
            p = (ct_svg_plot){ .series = s, .count = 1, .log_y = k == 1, .y_from_zero = k == 2 };
            text = svg(&p, CT_OK);
            check_well_formed(text);
            ck_assert_int_eq(count(text, "no data"), i == 4 || (k == 1 && i == 1));
            free(text);
        }
    p.count = 0;
    free(svg(&p, CT_EINVAL));
    p.count = CT_SVG_MAX_SERIES + 1;
    free(svg(&p, CT_EINVAL));
    p.count = 1;
    p.width = -5; /* the default */
    p.height = 20;
    free(svg(&p, CT_EINVAL));
}
END_TEST

START_TEST(svg_ticks)
{
    double t[32];
    ck_assert_int_eq(ct_svg_ticks(0, 1, 5, t, 32), 6);
    ck_assert_double_eq_tol(t[1], 0.2, 1e-12);
    ck_assert_double_eq(t[0], 0);
    ck_assert_int_eq(ct_svg_ticks(-3, 17, 4, t, 32), 4);
    ck_assert_double_eq(t[0], 0);
    ck_assert_double_eq(t[3], 15);
    ck_assert_int_eq(ct_svg_ticks(1, 1, 4, t, 32), 0);
    ck_assert_int_eq(ct_svg_ticks(0, 1, 5, t, 2), 2);
    for (int i = 0; i < 500; i++) { /* never too many, always inside, evenly spaced */
        double lo = (ct_u01(ct_philox4x32(5, 0, (uint64_t)i).v[0]) - 0.5) * pow(10, i % 13 - 6);
        double hi = lo + pow(10, i % 7 - 3) * (0.1 + ct_u01(ct_philox4x32(5, 0, (uint64_t)i).v[1]));
        int n = ct_svg_ticks(lo, hi, 6, t, 32);
        ck_assert_msg(n >= 2 && n <= 8, "%d ticks in [%g, %g]", n, lo, hi);
        for (int k = 0; k < n; k++) ck_assert(t[k] >= lo - 1e-6 * (hi - lo) && t[k] <= hi + 1e-6 * (hi - lo));
        for (int k = 2; k < n; k++) ck_assert_double_eq_tol(t[k] - t[k - 1], t[1] - t[0], 1e-6 * (hi - lo));
    }
}
END_TEST

START_TEST(svg_escape)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    ct_svg_escape(f, "a<b>&\"'\xc3\xa4\xe4\xb8\xad|\x01|\xff|\xc3|\xed\xa0\x80|");
    fclose(f);
    ck_assert_str_eq(text, "a&lt;b&gt;&amp;&quot;&#39;\xc3\xa4\xe4\xb8\xad|&#xFFFD;|&#xFFFD;|&#xFFFD;|"
                           "&#xFFFD;&#xFFFD;&#xFFFD;|");
    free(text);
}
END_TEST

/* ---- JSON ---- */

START_TEST(json_helpers)
{
    const char *path = in_dir("x.json");
    json_t *o = json_object(), *r;
    ck_assert_int_eq(ct_json_set(o, "b", ct_json_number(0.1)), CT_OK);
    ck_assert_int_eq(ct_json_set(o, "a", ct_json_number(NAN)), CT_OK);
    ck_assert_int_eq(ct_json_set(o, "c", NULL), CT_ENOMEM);
    char *t = ct_json_text(o, 0);
    ck_assert_str_eq(t, "{\"b\":0.1,\"a\":null}");
    ct_free(t);
    json_t *list = json_pack("[f,i,s,b,n,{},[],{s:[[]]}]", 0.985, -3, "a \"1.50\" \xc3\xa4\n", 1, "k \"");
    ck_assert_int_eq(ct_json_set(o, "list", list), CT_OK);
    json_array_append_new(list, ct_json_float(0.985f));
    ck_assert_int_eq(ct_json_write(path, o, 2), CT_OK);
    ck_assert_int_eq(ct_json_read(path, 1000, &r), CT_OK);
    ck_assert(json_equal(o, r));
    for (int indent = 0; indent <= 2; indent += 2) { /* the form is jansson's */
        json_real_set(json_array_get(list, 0), 0.5);
        json_real_set(json_array_get(list, 8), 0.25);
        char *theirs = json_dumps(list, indent ? JSON_INDENT(2) : JSON_COMPACT), *ours = ct_json_text(list, indent);
        ck_assert_str_eq(ours, theirs);
        free(theirs);
        ct_free(ours);
    }
    json_decref(r);
    json_decref(o);
    ck_assert_int_eq(ct_json_parse("{\"a\":1,\n\"a\":2}", 14, "t.json", &r), CT_EFORMAT);
    ck_assert_int_eq(strncmp(ct_error_message(), "t.json:2:3: not valid JSON: duplicate object key", 48), 0);
    ck_assert_int_eq(ct_json_read("/nonexistent", 10, &r), CT_EIO);
    ck_assert_ptr_null(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("formats");
    TCase *t = tcase_create("formats");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, ct_dir_make, ct_dir_remove);
    tcase_add_test(t, st_round_trip);
    tcase_add_test(t, st_damage);
    tcase_add_test(t, st_headers);
    tcase_add_test(t, st_windows);
    tcase_add_loop_test(t, st_memory, 0, 2);
    tcase_add_test(t, json_memory);
    tcase_add_test(t, svg_plots);
    tcase_add_test(t, svg_ticks);
    tcase_add_test(t, svg_escape);
    tcase_add_test(t, json_helpers);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
