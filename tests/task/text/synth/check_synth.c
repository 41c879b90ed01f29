/* The text generator: a pure function of (parameters, seed, index), geometry, styles, errors. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "image/font.h"
#include "tests/data/data_util.h"
#include "tests/task/text/synth/synth_util.h"

START_TEST(pure_function)
{
    for (int i = 0; ct_text_style_name(i); i++) {
        ct_text_params p = style(ct_text_style_name(i));
        ct_text_gen *g;
        ct_text_pen *pen;
        ck_assert_int_eq(ct_text_gen_open(&p, 3, &g), CT_OK);
        ck_assert_int_eq(ct_text_pen_open(g, &pen), CT_OK);
        static const int64_t order[] = { 7, 0, 7, 123456789012, 1, 7 };
        ct_image seven = { 0 };
        for (int k = 0; k < 6; k++) {
            char a[CT_TEXT_BYTES], b[CT_TEXT_BYTES];
            ct_image x, y = draw(&p, 3, order[k], b);
            ck_assert_int_eq(ct_text_pen_draw(pen, order[k], &x, a), CT_OK);
            ck_assert(x.w == 160 && x.h == 60 && x.c == 3);
            ck_assert_str_eq(a, b);
            ck_assert_mem_eq(x.px, y.px, 160 * 60 * 3);
            ck_assert_int_eq(ct_utf8_len(a), 4);
            if (order[k] == 7 && seven.px) ck_assert_mem_eq(seven.px, x.px, 160 * 60 * 3);
            if (order[k] == 0) ck_assert_mem_ne(seven.px, x.px, 160 * 60 * 3);
            ct_image_free(&y);
            if (order[k] == 7 && !seven.px) seven = x;
            else ct_image_free(&x);
        }
        char label[CT_TEXT_BYTES];
        ct_image other = draw(&p, 4, 7, label); /* another seed */
        ck_assert_mem_ne(other.px, seven.px, 160 * 60 * 3);
        ct_image_free(&other);
        static const int64_t far[] = { 7 + (1 << 16), 7 + ((int64_t)1 << 32), 7 + ((int64_t)1 << 48) };
        for (int k = 0; k < 3; k++) { /* every bit of the index counts */
            other = draw(&p, 3, far[k], label);
            ck_assert_mem_ne(other.px, seven.px, 160 * 60 * 3);
            ct_image_free(&other);
        }
        other = draw(&p, 3 + ((uint64_t)1 << 40), 7, label); /* and of the seed */
        ck_assert_mem_ne(other.px, seven.px, 160 * 60 * 3);
        ct_image_free(&other);
        ct_image_free(&seven);
        ct_text_pen_close(pen);
        ct_text_gen_close(g);
    }
}
END_TEST

START_TEST(labels_uniform)
{
    ct_text_params p = style("plain");
    ct_text_gen *g;
    ct_text_pen *pen;
    int count[3] = { 0 }, lengths[4] = { 0 }, total = 0;
    strcpy(p.alphabet, "A\xc3\xa9" "7"); /* one of them not ASCII */
    p.length_min = 1;
    p.length_max = 3;
    p.width = 32;
    p.height = 16;
    ck_assert_msg(ct_text_gen_open(&p, 1, &g) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_pen_open(g, &pen), CT_OK);
    for (int i = 0; i < 900; i++) {
        ct_image im;
        char label[CT_TEXT_BYTES];
        ck_assert_int_eq(ct_text_pen_draw(pen, i, &im, label), CT_OK);
        lengths[ct_utf8_len(label)]++;
        const char *s = label;
        for (int32_t cp; (cp = ct_utf8_next(&s)) > 0; total++) count[cp == 'A' ? 0 : cp == 0xe9 ? 1 : 2]++;
        ct_image_free(&im);
    }
    for (int k = 0; k < 3; k++) { /* 5 standard deviations */
        ck_assert_msg(fabs(count[k] - total / 3.0) < 5 * sqrt(total * 2.0 / 9.0), "character %d: %d of %d", k,
                      count[k], total);
        ck_assert_msg(fabs(lengths[k + 1] - 300.0) < 5 * sqrt(900 * 2.0 / 9.0), "length %d: %d", k + 1, lengths[k + 1]);
    }
    ct_text_pen_close(pen);
    ct_text_gen_close(g);
}
END_TEST

/* Black on white, upright, nothing else. */
static ct_text_params bare(const char *charset, int length)
{
    ct_text_params p = style("plain");
    snprintf(p.alphabet, sizeof p.alphabet, "%s", charset);
    p.length_min = p.length_max = length;
    p.channels = 1;
    p.background = (ct_range){ 255, 255 };
    p.ink = (ct_range){ 0, 0 };
    p.alpha = (ct_range){ 255, 255 };
    p.dx = p.dy = p.rotation = (ct_range){ 0, 0 };
    p.warp_x = p.warp_y = p.overlap = p.gap_probability = 0;
    p.n_sizes = 1;
    p.sizes[0] = 40;
    p.dots_min = p.dots_max = p.lines_min = p.lines_max = p.arcs_min = p.arcs_max = 0;
    p.smooth = false;
    return p;
}

/* Bounding box of what is darker than half, and the ink (sum of darkness, in full pixels) of its four quadrants. */
typedef struct ink_box { int x0, x1, y0, y1; double q[2][2], sum; } ink_box;

static ink_box measure(const ct_image *im)
{
    ink_box b = { im->w, -1, im->h, -1, { { 0 } }, 0 };
    for (int y = 0; y < im->h; y++) {
        for (int x = 0; x < im->w; x++) {
            if (im->px[y * im->w + x] > 127) continue;
            if (x < b.x0) b.x0 = x;
            if (x > b.x1) b.x1 = x;
            if (y < b.y0) b.y0 = y;
            if (y > b.y1) b.y1 = y;
        }
    }
    for (int y = 0; y < im->h; y++) {
        for (int x = 0; x < im->w; x++) {
            double ink = (255 - im->px[y * im->w + x]) / 255.0;
            b.sum += ink;
            b.q[2 * y > b.y0 + b.y1][2 * x > b.x0 + b.x1] += ink;
        }
    }
    return b;
}

START_TEST(geometry)
{
    char label[CT_TEXT_BYTES];
    ct_text_params p = bare("L", 1);
    ct_image im = draw(&p, 1, 0, label);
    ck_assert_str_eq(label, "L");
    ink_box up = measure(&im);
    ct_image_free(&im);
    ck_assert_int_gt(up.y1 - up.y0, up.x1 - up.x0);                      /* higher than wide */
    ck_assert(up.q[0][1] < 0.05 * up.sum && up.q[1][1] > 0.05 * up.sum); /* nothing at the top right */

    p.rotation = (ct_range){ 90, 90 }; /* counter-clockwise: lies on its back, the foot stands up at the right */
    im = draw(&p, 1, 0, label);
    ink_box left = measure(&im);
    ct_image_free(&im);
    ck_assert_int_le(abs(left.x1 - left.x0 - (up.y1 - up.y0)), 1); /* one pixel of edge either way */
    ck_assert_int_le(abs(left.y1 - left.y0 - (up.x1 - up.x0)), 1);
    ck_assert(left.q[0][0] < 0.05 * left.sum);
    ck_assert(fabs(left.sum - up.sum) < 0.01 * up.sum);

    p.rotation = (ct_range){ -90, -90 };
    im = draw(&p, 1, 0, label);
    ink_box right = measure(&im);
    ct_image_free(&im);
    ck_assert(right.q[1][1] < 0.05 * right.sum);

    /* The ink of any small turn is that of the upright letter. */
    for (int a = -40; a <= 40; a += 8) {
        p.rotation = (ct_range){ a, a };
        im = draw(&p, 1, 0, label);
        ink_box b = measure(&im);
        ct_image_free(&im);
        ck_assert_msg(fabs(b.sum - up.sum) < 0.03 * up.sum, "%d degrees: ink %.1f, not %.1f", a, b.sum, up.sum);
    }
}
END_TEST

START_TEST(fits)
{
    char label[CT_TEXT_BYTES];
    ct_text_params p = bare("W", 12); /* much too wide: squeezed */
    ct_image im = draw(&p, 1, 0, label);
    ink_box b = measure(&im);
    ck_assert(b.x0 > 0 && b.x1 < 159 && b.x1 - b.x0 > 120);
    ct_image_free(&im);
    p = bare("W", 1); /* too high: scaled down */
    p.sizes[0] = 120;
    im = draw(&p, 1, 0, label);
    b = measure(&im);
    ck_assert(b.y0 > 0 && b.y1 < 59 && b.y1 - b.y0 > 50);
    ct_image_free(&im);
    p = bare("W", 1);
    p.place = (ct_range){ 1, 1 };
    im = draw(&p, 1, 0, label);
    b = measure(&im);
    ck_assert_int_gt(b.x0, 110);
    ct_image_free(&im);
}
END_TEST

START_TEST(noise)
{
    static const struct { int dots, lines, arcs; double lo, hi; } row[] = { /* ink in pixels */
        { 0, 0, 0, 0, 0 },
        { 10, 0, 0, 40, 85 }, /* discs of 3 pixels: 7.1 each */
        { 0, 1, 0, 2 * 53, 2 * 171 },
        { 0, 0, 1, 2 * 96, 2 * 300 },
    };
    char label[CT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ct_text_params p = bare("I", 1), none = p;
        p.dots_min = p.dots_max = row[i].dots;
        p.lines_min = p.lines_max = row[i].lines;
        p.arcs_min = p.arcs_max = row[i].arcs;
        p.dot_size = (ct_range){ 3, 3 };
        p.stroke = (ct_range){ 2, 2 };
        for (int k = 0; k < 5; k++) {
            ct_image a = draw(&none, 1, k, label), b = draw(&p, 1, k, label);
            double more = measure(&b).sum - measure(&a).sum;
            ck_assert_msg(more >= row[i].lo * 0.7 && more <= row[i].hi, "row %zu: %.1f pixels of noise", i, more);
            ct_image_free(&a);
            ct_image_free(&b);
        }
    }
}
END_TEST

START_TEST(smoothing)
{
    char label[CT_TEXT_BYTES];
    ct_text_params p = bare("AB", 3);
    ct_image a = draw(&p, 1, 0, label);
    p.smooth = true;
    ct_image b = draw(&p, 1, 0, label);
    for (int y = 0; y < 60; y++) {
        for (int x = 0; x < 160; x++) {
            double sum = 4.0 * a.px[y * 160 + x];
            bool edge = x == 0 || y == 0 || x == 159 || y == 59;
            for (int k = 0; k < 9 && !edge; k++) sum += a.px[(y + k / 3 - 1) * 160 + x + k % 3 - 1];
            int want = edge ? a.px[y * 160 + x] : (int)floor(sum / 13.0 + 0.5);
            ck_assert_int_eq(b.px[y * 160 + x], want);
        }
    }
    ct_image_free(&a);
    ct_image_free(&b);
}
END_TEST

/* Mean difference of two pictures, 0..255. */
static double difference(const ct_image *a, const ct_image *b)
{
    double sum = 0;
    size_t n = (size_t)a->w * (size_t)a->h * (size_t)a->c;
    for (size_t i = 0; i < n; i++) sum += abs(a->px[i] - b->px[i]);
    return sum / (double)n;
}

START_TEST(outline)
{
    char label[CT_TEXT_BYTES];
    ct_text_params p = bare("I", 1);
    snprintf(p.fonts[0], sizeof p.fonts[0], "DejaVuSans-Bold.ttf"); /* its I is a bar */
    ct_image full = draw(&p, 1, 0, label);
    p.outline = 2;
    ct_image hollow = draw(&p, 1, 0, label);
    ink_box a = measure(&full), b = measure(&hollow);
    int mid_x = (b.x0 + b.x1) / 2, mid_y = (b.y0 + b.y1) / 2;
    ck_assert_int_eq(full.px[mid_y * 160 + mid_x], 0);
    ck_assert_int_eq(hollow.px[mid_y * 160 + mid_x], 255);
    ck_assert_int_le(abs(b.y1 - b.y0 - (a.y1 - a.y0 + 2)), 1); /* one of the two pixels stands outside, on each side */
    ck_assert_int_le(abs(b.x1 - b.x0 - (a.x1 - a.x0 + 2)), 1);
    double edge = 2.0 * (a.y1 - a.y0 + 1 + a.x1 - a.x0 + 1) * 2;
    ck_assert_msg(fabs(b.sum - edge) < 0.06 * edge, "ink %.1f, not %.1f", b.sum, edge);
    ct_image_free(&full);
    ct_image_free(&hollow);
}
END_TEST

START_TEST(shadow_grid_fade_wave)
{
    char label[CT_TEXT_BYTES];
    ct_text_params p = bare("I", 1), q;
    ct_image none = draw(&p, 1, 0, label), im;
    ink_box a = measure(&none);

    q = p;
    q.shadow = 1;
    q.shadow_offset = (ct_range){ 5, 5 };
    im = draw(&q, 1, 0, label);
    double more = 0;
    for (int i = 0; i < 160 * 60; i++) { /* never lighter; in the shadow 45 % of the way to the ink */
        ck_assert_int_le(im.px[i], none.px[i]);
        if (none.px[i] == 255) more += im.px[i] < 255;
        if (none.px[i] == 255 && im.px[i] < 255) ck_assert_int_ge(im.px[i], 140);
    }
    ck_assert_msg(more > 0.2 * a.sum && more < 1.5 * a.sum, "%.0f pixels of shadow", more);
    ct_image_free(&im);

    q = p;
    q.grid = (ct_range){ 10, 10 };
    im = draw(&q, 1, 0, label);
    more = measure(&im).sum - a.sum; /* 16 columns of 60, 6 rows of 160 pixels, 30 to 60 % of the ink */
    ck_assert_msg(more > 0.25 * 1800 && more < 0.65 * 1920, "grid of %.1f pixels", more);
    ct_image_free(&im);

    q = p;
    q.background = (ct_range){ 100, 256 };
    q.fade = true;
    bool changes = false;
    for (int k = 0; k < 4; k++) {
        im = draw(&q, 1, k, label);
        changes = changes || abs(im.px[0] - im.px[160 * 60 - 1]) > 20 || abs(im.px[159] - im.px[160 * 59]) > 20;
        ct_image_free(&im);
    }
    ck_assert(changes);

    q = p;
    q.wave_x = (ct_range){ 4, 4 };
    q.wave_length = (ct_range){ 30, 30 };
    im = draw(&q, 1, 0, label);
    ink_box b = measure(&im);
    ck_assert_msg(b.x1 - b.x0 >= a.x1 - a.x0 + 6 && b.y0 == a.y0 && b.y1 == a.y1, "columns %d to %d, not %d to %d", b.x0,
                  b.x1, a.x0, a.x1); /* swings by 4 to either side */
    ck_assert(fabs(b.sum - a.sum) < 0.02 * a.sum);
    ct_image_free(&im);
    ct_image_free(&none);
}
END_TEST

START_TEST(styles_differ)
{
    enum { MOST = 32 };
    ct_image im[MOST];
    int n = 0;
    for (; ct_text_style_name(n); n++) {
        char label[CT_TEXT_BYTES];
        ct_text_params p = style(ct_text_style_name(n));
        ck_assert_int_lt(n, MOST);
        ck_assert_ptr_nonnull(ct_text_style_doc(n));
        if (p.mixed) strcpy(p.alphabet, "XYZ"); /* the rest shares one of the others' looks */
        im[n] = draw(&p, 2, 3, label);
    }
    ck_assert_int_ge(n, 10);
    ck_assert_ptr_null(ct_text_style_doc(n));
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            ck_assert_msg(difference(&im[i], &im[k]) > 4, "%s and %s differ by %.2f", ct_text_style_name(i),
                          ct_text_style_name(k), difference(&im[i], &im[k]));
        }
    }
    for (int i = 0; i < n; i++) ct_image_free(&im[i]);
}
END_TEST

/* A mixed generator draws what one of its styles would, each as often. */
START_TEST(mixed_styles)
{
    enum { MOST = 32, N = 600 };
    ct_text_gen *g, *one[MOST];
    ct_text_pen *pen, *single[MOST];
    int styles = 0, hits[MOST] = { 0 };
    ct_text_params p = style("mixed");
    p.width = 64;
    p.height = 24;
    p.length_min = 2;
    p.length_max = 3;
    p.channels = 1;
    ck_assert_msg(ct_text_gen_open(&p, 3, &g) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_text_pen_open(g, &pen), CT_OK);
    for (int i = 0; ct_text_style_name(i); i++) {
        ct_text_params q = style(ct_text_style_name(i));
        if (q.mixed) continue;
        q.width = 64;
        q.height = 24;
        q.length_min = 2;
        q.length_max = 3;
        q.channels = 1;
        ck_assert_int_eq(ct_text_gen_open(&q, 3, &one[styles]), CT_OK);
        ck_assert_str_ne(ct_text_gen_key(one[styles]), ct_text_gen_key(g));
        ck_assert_int_eq(ct_text_pen_open(one[styles], &single[styles]), CT_OK);
        styles++;
    }
    for (int k = 0; k < N; k++) {
        ct_image im, other;
        char label[CT_TEXT_BYTES], text[CT_TEXT_BYTES];
        int found = 0;
        ck_assert_int_eq(ct_text_pen_draw(pen, k, &im, label), CT_OK);
        for (int i = 0; i < styles; i++) {
            ck_assert_int_eq(ct_text_pen_draw(single[i], k, &other, text), CT_OK);
            if (strcmp(label, text) == 0 && memcmp(im.px, other.px, 64 * 24) == 0) {
                hits[i]++;
                found++;
            }
            ct_image_free(&other);
        }
        ck_assert_int_eq(found, 1);
        ct_image_free(&im);
    }
    double want = (double)N / styles;
    for (int i = 0; i < styles; i++)
        ck_assert_msg(fabs(hits[i] - want) < 5 * sqrt(want), "style %d was drawn %d times", i, hits[i]);
    for (int i = 0; i < styles; i++) {
        ct_text_pen_close(single[i]);
        ct_text_gen_close(one[i]);
    }
    ct_text_pen_close(pen);
    ct_text_gen_close(g);

    /* fonts and charset of the mixed style go for all of them */
    const char *const font[] = { "DejaVuSansMono.ttf" };
    const double size[] = { 30, 44 };
    ck_assert_int_eq(ct_text_params_fonts(&p, font, 1), CT_OK);
    ck_assert_int_eq(ct_text_params_sizes(&p, size, 2), CT_OK);
    ck_assert_msg(ct_text_gen_open(&p, 3, &g) == CT_OK, "%s", ct_error_message());
    ct_text_gen_close(g);
    strcpy(p.alphabet, "AB\xe6\xbc\xa2");
    ck_assert_int_eq(ct_text_gen_open(&p, 3, &g), CT_ECONFIG);
    ck_message("no glyph for '\xe6\xbc\xa2' (U+6F22)");
}
END_TEST

/* A charset far longer than a line: letters of two and three bytes. */
START_TEST(long_charset)
{
    ct_text_params p = bare("A", 5);
    char *at = p.alphabet;
    ct_text_gen *g, *h;
    snprintf(p.fonts[0], sizeof p.fonts[0], "DejaVuSans.ttf");
    for (uint32_t cp = 0x100; cp < 0x100 + 280; cp++) at += ct_utf8_put(cp, at);
    for (uint32_t cp = 0x1e00; cp < 0x1e00 + 250; cp++) at += ct_utf8_put(cp, at);
    ck_assert_int_gt(strlen(p.alphabet), 1200);
    ck_assert_msg(ct_text_gen_open(&p, 1, &g) == CT_OK, "%s", ct_error_message());
    at[-3] = '\0';
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &h), CT_OK);
    ck_assert_str_ne(ct_text_gen_key(g), ct_text_gen_key(h));
    ct_text_gen_close(g);
    ct_text_gen_close(h);
    char label[CT_TEXT_BYTES];
    ct_image im = draw(&p, 1, 5, label);
    ck_assert_int_eq(ct_utf8_len(label), 5);
    ct_image_free(&im);
}
END_TEST

START_TEST(too_many_fonts)
{
    ct_text_params p = style("plain");
    const char *many[17];
    for (int i = 0; i < 17; i++) many[i] = "DejaVuSans.ttf";
    ck_assert_int_eq(ct_text_params_fonts(&p, many, 17), CT_ECONFIG);
}
END_TEST

START_TEST(errors)
{
    ct_text_params p;
    ct_text_gen *g;
    char *path;
    ck_assert_int_eq(ct_text_params_init(&p, "fancy"), CT_ECONFIG);
    ck_message("unknown text style 'fancy'; the styles are simple, plain, hard, lines");

    ck_assert_int_eq(ct_font_find("DejaVuNoSuch.ttf", &path), CT_ECONFIG);
    ck_message("font DejaVuNoSuch.ttf is not installed; on Debian and Ubuntu: apt install fonts-dejavu-core");
    ck_assert_int_eq(ct_font_find("/no/such.ttf", &path), CT_ECONFIG);

    p = style("plain");
    strcpy(p.alphabet, "AB\xe6\xbc\xa2");
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_ECONFIG);
    ck_message("DejaVuSans-Bold.ttf: this font has no glyph for '\xe6\xbc\xa2' (U+6F22)");
    strcpy(p.alphabet, "ABA");
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_ECONFIG);

    char *dir = ct_util_tempdir();
    ct_util_text(dir, "Fake.ttf", "this is no font");
    p = style("plain");
    snprintf(p.fonts[0], sizeof p.fonts[0], "%s/Fake.ttf", dir);
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_EFORMAT);
    ck_message("Fake.ttf: not a font");
    setenv("CAPTRAIN_FONT_PATH", "/none::/tmp", 1);
    ck_assert_int_eq(ct_font_find("Fake.ttf", &path), CT_ECONFIG);
    char list[4200];
    snprintf(list, sizeof list, "/none:%s", dir);
    setenv("CAPTRAIN_FONT_PATH", list, 1);
    ck_assert_int_eq(ct_font_find("Fake.ttf", &path), CT_OK);
    ck_assert_str_eq(path, ct_util_path(dir, "Fake.ttf"));
    ct_free(path);
    ct_util_remove(dir);

    static const struct { size_t at; double v; const char *want; } wrong[] = {
        { offsetof(ct_text_params, rotation.hi), 200, "rotation" },
        { offsetof(ct_text_params, warp_x), 0.6, "warp" },
        { offsetof(ct_text_params, overlap), -0.1, "overlap" },
        { offsetof(ct_text_params, ink.lo), 250, "colours" },
        { offsetof(ct_text_params, sizes[0]), 1000, "font sizes" },
        { offsetof(ct_text_params, sizes[1]), NAN, "font sizes" },
        { offsetof(ct_text_params, place.hi), 1.5, "place" },
        { offsetof(ct_text_params, outline), -1, "outline" },
        { offsetof(ct_text_params, shadow), 2, "shadow" },
        { offsetof(ct_text_params, shadow_offset.lo), 1, "shadows" },
        { offsetof(ct_text_params, grid.hi), 1, "grid" },
        { offsetof(ct_text_params, wave_x.hi), 31, "waves" },
        { offsetof(ct_text_params, wave_y.hi), 3, "long" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        p = style("plain");
        memcpy((char *)&p + wrong[i].at, &wrong[i].v, sizeof(double));
        ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_ECONFIG);
        ck_message(wrong[i].want);
    }
    p = style("plain");
    p.length_max = 65;
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_ECONFIG);
    p = style("plain");
    p.width = 5;
    ck_assert_int_eq(ct_text_gen_open(&p, 1, &g), CT_ECONFIG);
}
END_TEST

START_TEST(out_of_memory)
{
    ct_text_params p = style(_i == 0 ? "hard" : "outline");
    p.width = 40;
    p.height = 20;
    for (long n = 0;; n++) {
        ct_image im;
        char label[CT_TEXT_BYTES];
        ct_alloc_fail_after(n);
        ct_status st = ct_synth_text(&p, 1, 2, &im, label);
        long made = ct_alloc_fail_after(-1);
        ct_image_free(&im);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            ck_assert_int_gt(n, 40);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld failed, status %d: %s", n, (int)st, ct_error_message());
        if (n > 200) n += 37; /* FreeType makes a thousand small blocks */
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("synth");
    TCase *t = tcase_create("synth");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, pure_function);
    tcase_add_test(t, labels_uniform);
    tcase_add_test(t, geometry);
    tcase_add_test(t, fits);
    tcase_add_test(t, noise);
    tcase_add_test(t, smoothing);
    tcase_add_test(t, outline);
    tcase_add_test(t, shadow_grid_fade_wave);
    tcase_add_test(t, styles_differ);
    tcase_add_test(t, mixed_styles);
    tcase_add_test(t, long_charset);
    tcase_add_test(t, too_many_fonts);
    tcase_add_test(t, errors);
    tcase_add_loop_test(t, out_of_memory, 0, 2);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
