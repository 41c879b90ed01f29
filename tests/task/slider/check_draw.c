/* Drawn slider pictures as a data set and as files, and what `captrain gen slider` takes and tells. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "task/slider/draw.h"
#include "tests/data/data_util.h"
#include "tests/task/slider/synth/slider_util.h"

static json_t *labels_of(const char *dir)
{
    json_t *list;
    ck_ok(ct_json_read(ct_util_path(dir, "labels/all_labels.json"), 64 << 20, &list));
    ck_assert(json_is_array(list));
    return list;
}

static void same_file(const char *a, const char *b, const char *name)
{
    uint8_t *x, *y;
    size_t n, m;
    ck_ok(ct_file_read(ct_util_path(a, name), 64 << 20, &x, &n));
    ck_ok(ct_file_read(ct_util_path(b, name), 64 << 20, &y, &m));
    ck_assert_msg(n == m && memcmp(x, y, n) == 0, "%s", name);
    ct_free(x);
    ct_free(y);
}

static double number(const json_t *o, const char *part, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(json_object_get(o, part), key), i));
}

static const char *path_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(json_object_get(entry, "paths"), key));
}

/* Name and JSON say the same, and the piece is where both say, as its file over white and over black shows. */
static void check_entry(const char *dir, const json_t *entry)
{
    const char *composite = path_of(entry, "composite");
    char hash[16], end[16];
    int pic, g[2], s[2];
    ct_image im, over[2], background;
    ck_assert_int_eq(sscanf(composite, "captchas/Pic%d_Bgx%dBgy%d_Sdx%dSdy%d_%8[0-9a-f]%8s", &pic, &g[0], &g[1], &s[0],
                            &s[1], hash, end), 7);
    ck_assert(strcmp(end, ".png") == 0 && strlen(hash) == 8);
    for (size_t k = 0; k < 2; k++) {
        ck_assert(fabs(number(entry, "labels", "bg_gap_center", k) - g[k]) <= 0.5);
        ck_assert(fabs(number(entry, "labels", "comp_piece_center", k) - s[k]) <= 0.5);
    }
    ck_ok(ct_image_read_file(ct_util_path(dir, composite), NULL, &im));
    const json_t *size = json_object_get(entry, "image_size");
    ck_assert(json_integer_value(json_object_get(size, "width")) == im.w);
    ck_assert(json_integer_value(json_object_get(size, "height")) == im.h);
    for (int k = 0; k < 2; k++) {
        const uint8_t v = k ? 255 : 0;
        const ct_image_opts o = { 3, { v, v, v } };
        ck_ok(ct_image_read_file(ct_util_path(dir, path_of(entry, "piece")), &o, &over[k]));
        ck_assert(over[k].w == im.w && over[k].h == im.h);
    }
    double n = 0, sx = 0, sy = 0;
    for (int i = 0; i < im.w * im.h; i++) {
        const double a = 255 - (over[1].px[3 * i] - over[0].px[3 * i]);
        n += a;
        sx += a * (i % im.w + 0.5);
        sy += a * (i / im.w + 0.5);
    }
    ck_assert(fabs(sx / n - number(entry, "labels", "comp_piece_center", 0)) < 0.05);
    ck_assert(fabs(sy / n - number(entry, "labels", "comp_piece_center", 1)) < 0.05);
    ck_ok(ct_image_read_file(ct_util_path(dir, path_of(entry, "background")), NULL, &background));
    ck_assert(background.w == im.w && background.h == im.h && !same_picture(&background, &im));
    ct_image_free(&background);
    ct_image_free(&over[0]);
    ct_image_free(&over[1]);
    ct_image_free(&im);
}

START_TEST(files)
{
    enum { N = 42 };
    const ct_slider_params p = params(NULL, 0, 0);
    char *one = ct_util_tempdir(), *two = ct_util_tempdir();
    ct_slider_written w;
    ck_ok(ct_slider_write(&p, 5, N, one, false, true, 1, &w));
    ck_assert(w.images == N && w.draw_s > 0 && w.total_s > w.draw_s);
    ck_ok(ct_slider_write(&p, 5, N, two, false, true, 2, &w));
    json_t *list = labels_of(one);
    ck_assert_int_eq((int)json_array_size(list), N);
    same_file(one, two, "labels/all_labels.json");
    for (size_t i = 0; i < N; i++) {
        const json_t *entry = json_array_get(list, i);
        char pic[16];
        static const char *const kind[] = { "composite", "background", "piece" };
        for (int k = 0; k < 3; k++) same_file(one, two, path_of(entry, kind[k]));
        check_entry(one, entry);
        snprintf(pic, sizeof pic, "Pic%04d", (int)i / p.per_background);
        ck_assert_str_eq(json_string_value(json_object_get(entry, "pic_id")), pic);
        const bool combined = strcmp(json_string_value(json_object_get(entry, "confusion")), "combined") == 0;
        ck_assert(combined == (json_object_get(entry, "confusions") != NULL));
    }
    json_decref(list);
    ck_assert_int_eq(ct_slider_write(&p, 5, 1, one, false, false, 1, &w), CT_EIO);
    ck_message("not empty");
    ck_ok(ct_slider_write(&p, 6, 1, one, true, false, 1, &w));
    list = labels_of(one);
    ck_assert(json_array_size(list) == 1 && path_of(json_array_get(list, 0), "piece") == NULL);
    json_decref(list);
    ct_util_remove(one);
    ct_util_remove(two);
}
END_TEST

/* As the verb has it. */
static ct_status generate(const char *const *kv, size_t n, const char *dir, int64_t count, char **told)
{
    ct_option o[8];
    size_t size;
    for (size_t i = 0; i < n; i++) o[i] = (ct_option){ .key = kv[2 * i], .value = kv[2 * i + 1] };
    FILE *to = open_memstream(told, &size);
    ct_status st = ct_slider_generate(o, n, dir, count, 1, 1, false, to);
    fclose(to);
    return st;
}

START_TEST(options)
{
    static const char *const list[] = { "style", "list" }, *const bad[] = { "style", "nice" };
    static const char *const fog[] = { "confusion", "fog" };
    static const char *const all[] = { "style", "flat", "style", "darker", "without_style", "flat", "width", "240",
                                       "height", "120", "components", "true", "json", "true",
                                       "confusion", "perlin" };
    static const char *const half[] = { "width", "240" }, *const odd[] = { "width", "x", "height", "100" };
    char *dir = ct_util_tempdir(), *told;
    ck_ok(generate(list, 1, NULL, 0, &told));
    for (int i = 0; ct_slider_style_name(i); i++) ck_assert(strstr(told, ct_slider_style_doc(i)) != NULL);
    free(told);
    ck_ok(generate(all, 8, dir, 6, &told));
    json_t *o;
    ck_ok(ct_json_parse(told, strlen(told), "what gen told", &o));
    ck_assert(json_integer_value(json_object_get(o, "images")) == 6);
    ck_assert(json_real_value(json_object_get(o, "draw_per_s_per_thread")) > 0);
    json_decref(o);
    free(told);
    json_t *entries = labels_of(dir);
    for (size_t i = 0; i < 6; i++) {
        const json_t *entry = json_array_get(entries, i);
        ck_assert_str_eq(json_string_value(json_object_get(entry, "style")), "darker");
        ck_assert_str_eq(json_string_value(json_object_get(entry, "confusion")), "perlin");
        check_entry(dir, entry);
    }
    json_decref(entries);
    const struct { const char *const *kv; size_t n; const char *dir, *says; } wrong[] = {
        { bad, 1, dir, "'nice'" }, { half, 1, dir, "go together" }, { odd, 2, dir, "'x'" }, { all, 3, NULL, "--out" },
        { fog, 1, dir, "--confusion: there is no confusion 'fog'" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(generate(wrong[i].kv, wrong[i].n, wrong[i].dir, 1, &told), CT_ECONFIG);
        ck_message(wrong[i].says);
        free(told);
    }
    ct_util_remove(dir);
}
END_TEST

/* What the data set gives is the picture, and its label read again. */
START_TEST(source)
{
    const ct_slider_params p = params(NULL, 0, 0);
    ct_source src;
    void *state;
    ck_ok(ct_slider_source(&p, 8, &src));
    ck_assert(src.width == 0 && src.height == 0 && strlen(src.key) == 32);
    ck_ok(src.open(src.user, &state));
    for (int i = 0; i < 12; i++) {
        ct_slider_drawn d = draw_alone(&p, 8, i);
        ct_slider_label want, got;
        ct_image im;
        char *text;
        ck_ok(src.render(state, i, &im, &text));
        ck_assert(same_picture(&im, &d.picture));
        ct_slider_drawn_label(&d, &want);
        ck_ok(ct_slider_label_parse("it", text, &got));
        ck_assert(got.gap[0] == want.gap[0] && got.gap[1] == want.gap[1] && got.piece[0] == want.piece[0]);
        ck_assert(got.angle == want.angle && got.fakes == want.fakes && got.pic == want.pic && got.side == want.side);
        ck_assert(got.width == im.w && got.height == im.h && strcmp(got.shape, d.shape) == 0);
        for (int k = 0; k < got.fakes; k++)
            ck_assert(got.fake[k][0] == d.fake[k].x && got.fake_scale[k] == d.fake[k].scale);
        ct_free(text);
        ct_image_free(&im);
        ct_slider_drawn_free(&d);
    }
    src.close(state);
    src.release(src.user);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slider files");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, files);
    tcase_add_test(t, options);
    tcase_add_test(t, source);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
