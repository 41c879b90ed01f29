/* The styles of the text generator: what each looks like is said here and nowhere else. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "task/text/synth/internal.h"

#define RANGE(a, b) ((ct_range){ (a), (b) })

static void set_fonts(ct_text_params *p, int n, const char *const *names)
{
    p->n_fonts = n;
    for (int i = 0; i < n; i++) snprintf(p->fonts[i], sizeof p->fonts[i], "%s", names[i]);
}

static void set_sizes(ct_text_params *p, int n, const double *sizes)
{
    p->n_sizes = n;
    memcpy(p->sizes, sizes, (size_t)n * sizeof *sizes);
}

#define FONTS(p, ...) \
    set_fonts(p, (int)(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)), \
              (const char *const[]){ __VA_ARGS__ })
#define SIZES(p, ...) \
    set_sizes(p, (int)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), (const double[]){ __VA_ARGS__ })

/* What all styles start from: nothing but upright letters. */
static void bare(ct_text_params *p)
{
    memset(p, 0, sizeof *p);
    p->width = 160;
    p->height = 60;
    p->channels = 3;
    snprintf(p->alphabet, sizeof p->alphabet, "%s", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    p->length_min = p->length_max = 4;
    p->place = RANGE(0.35, 0.65);
    p->alpha = RANGE(240, 256);
    p->stroke = RANGE(1, 1.5);
    p->dot_size = RANGE(1.5, 2.5);
    p->fade_angle = RANGE(0, 360);
    p->smooth = true;
}

static void simple(ct_text_params *p)
{
    FONTS(p, "DejaVuSansMono.ttf");
    SIZES(p, 42, 50, 56);
    p->background = RANGE(238, 256);
    p->ink = RANGE(10, 201);
    p->alpha = RANGE(220, 256);
    p->dx = RANGE(0, 4);
    p->dy = RANGE(-3, 3);
    p->rotation = RANGE(-30, 30);
    p->warp_x = 0.2;
    p->warp_y = 0.25;
    p->place = RANGE(0, 0);
    p->overlap = 0.25;
    p->gap_probability = 0.5;
    p->dots_min = p->dots_max = 30;
    p->dot_size = RANGE(2.5, 3.5);
    p->arcs_min = p->arcs_max = 1;
}

static void plain(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf");
    SIZES(p, 40, 46);
    p->background = RANGE(225, 256);
    p->ink = RANGE(0, 120);
    p->dx = RANGE(0, 4);
    p->dy = RANGE(-4, 4);
    p->rotation = RANGE(-10, 10);
    p->warp_x = p->warp_y = 0.06;
    p->overlap = 0.05;
    p->dots_min = 8;
    p->dots_max = 16;
    p->lines_min = p->lines_max = 1;
}

static void hard(ct_text_params *p)
{
    FONTS(p, "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf",
          "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf");
    SIZES(p, 36, 42, 48, 54);
    p->background = RANGE(200, 256);
    p->ink = RANGE(0, 170);
    p->ink_per_char = true;
    p->alpha = RANGE(190, 256);
    p->dx = RANGE(-2, 5);
    p->dy = RANGE(-6, 6);
    p->rotation = RANGE(-35, 35);
    p->warp_x = p->warp_y = 0.25;
    p->place = RANGE(0, 1);
    p->overlap = 0.35;
    p->gap_probability = 0.2;
    p->dots_min = 30;
    p->dots_max = 80;
    p->dot_size = RANGE(1, 3.5);
    p->lines_min = 1;
    p->lines_max = 3;
    p->arcs_min = 1;
    p->arcs_max = 3;
    p->stroke = RANGE(1, 2.5);
}

static void lines(ct_text_params *p)
{
    FONTS(p, "DejaVuSans.ttf", "DejaVuSerif-Bold.ttf");
    SIZES(p, 36, 40, 44);
    p->background = RANGE(235, 256);
    p->ink = RANGE(0, 150);
    p->ink_per_char = true;
    p->dx = RANGE(0, 6);
    p->dy = RANGE(-6, 6);
    p->rotation = RANGE(-18, 18);
    p->warp_x = p->warp_y = 0.06;
    p->lines_min = 6;
    p->lines_max = 12;
    p->stroke = RANGE(0.8, 2);
}

static void dots(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf", "DejaVuSansMono-Bold.ttf");
    SIZES(p, 40, 46);
    p->background = RANGE(225, 256);
    p->ink = RANGE(0, 160);
    p->ink_per_char = true;
    p->alpha = RANGE(200, 256);
    p->dx = RANGE(0, 5);
    p->dy = RANGE(-5, 5);
    p->rotation = RANGE(-20, 20);
    p->warp_x = p->warp_y = 0.1;
    p->dots_min = 250;
    p->dots_max = 500;
    p->dot_size = RANGE(0.8, 2.2);
}

static void warp(ct_text_params *p)
{
    FONTS(p, "DejaVuSerif.ttf", "DejaVuSans.ttf");
    SIZES(p, 46, 50);
    p->background = RANGE(240, 256);
    p->ink = RANGE(0, 110);
    p->dy = RANGE(-2, 2);
    p->rotation = RANGE(-6, 6);
    p->overlap = 0.12;
    p->lines_min = 0;
    p->lines_max = 1;
    p->stroke = RANGE(1.5, 2.5);
    p->wave_x = RANGE(2, 4);
    p->wave_y = RANGE(3, 6);
    p->wave_length = RANGE(45, 100);
}

static void dense(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf", "DejaVuSerif-Bold.ttf");
    SIZES(p, 50, 56, 60);
    p->background = RANGE(235, 256);
    p->ink = RANGE(0, 90);
    p->dx = RANGE(-3, 0);
    p->dy = RANGE(-4, 4);
    p->rotation = RANGE(-20, 20);
    p->warp_x = p->warp_y = 0.12;
    p->overlap = 0.45;
    p->arcs_min = 0;
    p->arcs_max = 1;
    p->stroke = RANGE(2, 3);
}

static void dark(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSerif.ttf");
    SIZES(p, 40, 46, 50);
    p->background = RANGE(0, 60);
    p->fade = true;
    p->ink = RANGE(150, 256);
    p->ink_per_char = true;
    p->alpha = RANGE(210, 256);
    p->dx = RANGE(0, 5);
    p->dy = RANGE(-5, 5);
    p->rotation = RANGE(-25, 25);
    p->warp_x = p->warp_y = 0.12;
    p->overlap = 0.15;
    p->dots_min = 20;
    p->dots_max = 60;
    p->dot_size = RANGE(1, 2.5);
    p->arcs_min = 1;
    p->arcs_max = 2;
    p->lines_max = 2;
    p->stroke = RANGE(1, 2);
}

static void outline(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf", "DejaVuSerif-Bold.ttf");
    SIZES(p, 46, 52);
    p->background = RANGE(225, 256);
    p->ink = RANGE(0, 120);
    p->ink_per_char = true;
    p->dx = RANGE(0, 4);
    p->dy = RANGE(-4, 4);
    p->rotation = RANGE(-20, 20);
    p->warp_x = p->warp_y = 0.1;
    p->outline = 1.6;
    p->dots_min = 10;
    p->dots_max = 40;
    p->dot_size = RANGE(1, 2);
    p->lines_min = 1;
    p->lines_max = 2;
}

static void shadow(ct_text_params *p)
{
    FONTS(p, "DejaVuSans-Bold.ttf", "DejaVuSerif-Bold.ttf", "DejaVuSansMono-Bold.ttf");
    SIZES(p, 42, 48);
    p->background = RANGE(150, 256);
    p->fade = true;
    p->ink = RANGE(0, 100);
    p->dx = RANGE(0, 5);
    p->dy = RANGE(-4, 4);
    p->rotation = RANGE(-15, 15);
    p->warp_x = p->warp_y = 0.08;
    p->shadow = 1;
    p->shadow_offset = RANGE(2, 4);
    p->dots_min = 10;
    p->dots_max = 40;
    p->arcs_min = 1;
    p->arcs_max = 1;
}

static void grid(ct_text_params *p)
{
    FONTS(p, "DejaVuSerif-Bold.ttf", "DejaVuSans-Bold.ttf");
    SIZES(p, 42, 48);
    p->background = RANGE(225, 256);
    p->ink = RANGE(0, 130);
    p->dx = RANGE(0, 5);
    p->dy = RANGE(-5, 5);
    p->rotation = RANGE(-15, 15);
    p->warp_x = p->warp_y = 0.08;
    p->grid = RANGE(8, 16);
    p->wave_x = RANGE(0, 2);
    p->wave_y = RANGE(0, 3);
    p->wave_length = RANGE(50, 120);
}

static void clutter(ct_text_params *p)
{
    FONTS(p, "DejaVuSans.ttf", "DejaVuSansMono-Bold.ttf");
    SIZES(p, 38, 42);
    p->background = RANGE(255, 256);
    p->ink = RANGE(0, 128);
    p->ink_per_char = true;
    p->dx = RANGE(0, 8);
    p->dy = RANGE(-5, 5);
    p->shadow = 0.5;
    p->shadow_offset = RANGE(1, 3);
    p->lines_min = 5;
    p->lines_max = 8;
    p->stroke = RANGE(1, 3);
    p->dots_min = 100;
    p->dots_max = 300;
    p->dot_size = RANGE(1, 1);
    p->smooth = false;
}

static void mixed(ct_text_params *p)
{
    p->mixed = true;
}

static const struct { const char *name, *doc; void (*set)(ct_text_params *p); } styles[] = {
    { "simple", "like the `captcha` package: turned and warped letters, thirty dots, an arc", simple },
    { "plain", "easy to read: bold, hardly turned, few dots, a line", plain },
    { "hard", "six fonts, a colour per letter, overlap, lines, arcs and dots", hard },
    { "lines", "letters behind six to twelve straight lines of other colours", lines },
    { "dots", "letters under hundreds of small dots of other colours", dots },
    { "warp", "the whole picture bent along sine waves", warp },
    { "dense", "large letters that run into each other", dense },
    { "dark", "light letters on a dark background that changes across the picture", dark },
    { "outline", "hollow letters: only their contour is drawn", outline },
    { "shadow", "letters with a shadow on a background that changes across the picture", shadow },
    { "grid", "letters on a slightly bent grid", grid },
    { "clutter", "upright coloured letters on white, some with a shadow, lines and single pixels over them", clutter },
    { "mixed", "each picture in one of the styles above, drawn by lot", mixed },
};
enum { STYLES = sizeof styles / sizeof *styles };
_Static_assert(STYLES - 1 <= CT_TEXT_MAX_STYLES, "the mixed style holds all others");

const char *ct_text_style_name(int i)
{
    return i >= 0 && i < STYLES ? styles[i].name : NULL;
}

const char *ct_text_style_doc(int i)
{
    return i >= 0 && i < STYLES ? styles[i].doc : NULL;
}

void ct_text_style_list(FILE *to)
{
    for (int i = 0; i < STYLES; i++) fprintf(to, "%-10s%s\n", styles[i].name, styles[i].doc);
}

ct_status ct_text_params_init(ct_text_params *p, const char *style)
{
    char known[256] = "";
    size_t n = 0;
    if (ct_text_style_is_file(style)) {
        bare(p);
        return ct_text_style_read(style, p);
    }
    for (int i = 0; i < STYLES; i++) {
        if (strcmp(style, styles[i].name) == 0) {
            bare(p);
            styles[i].set(p);
            return CT_OK;
        }
        if (n < sizeof known) n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", styles[i].name);
    }
    return ct_fail(CT_ECONFIG, "unknown text style '%s'; the styles are %s, and files (.yaml)", style, known);
}

ct_status ct_text_style_of_mixed(const ct_text_params *mixed, int i, ct_text_params *out)
{
    CT_TRY(ct_text_params_init(out, styles[i].name));
    out->width = mixed->width;
    out->height = mixed->height;
    out->channels = mixed->channels;
    out->length_min = mixed->length_min;
    out->length_max = mixed->length_max;
    memcpy(out->alphabet, mixed->alphabet, sizeof out->alphabet);
    if (mixed->n_fonts > 0) {
        out->n_fonts = mixed->n_fonts;
        memcpy(out->fonts, mixed->fonts, sizeof out->fonts);
    }
    if (mixed->n_sizes > 0) {
        out->n_sizes = mixed->n_sizes;
        memcpy(out->sizes, mixed->sizes, sizeof out->sizes);
    }
    return CT_OK;
}
