/* Bounds of the generator's parameters. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "task/text/synth/synth.h"

static bool bad_range(ct_range r, double lo, double hi)
{
    return !(r.lo <= r.hi && r.lo >= lo && r.hi <= hi);
}

static bool bad_count(int lo, int hi, int least, int most)
{
    return lo < least || hi < lo || hi > most;
}

ct_status ct_text_params_check(const ct_text_params *p)
{
    const ct_range warp_x = { 0, p->warp_x }, warp_y = { 0, p->warp_y };
    const ct_range overlap = { 0, p->overlap }, gap = { 0, p->gap_probability };
    const ct_range outline = { 0, p->outline }, shadow = { 0, p->shadow };
    bool waves = p->wave_x.hi > 0 || p->wave_y.hi > 0;
    const struct { bool bad; const char *what; } rule[] = {
        { bad_count(p->width, p->width, 8, 4096), "the width must be 8 to 4096 pixels" },
        { bad_count(p->height, p->height, 8, 4096), "the height must be 8 to 4096 pixels" },
        { p->channels != 1 && p->channels != 3, "channels must be 1 or 3" },
        { bad_count(p->length_min, p->length_max, 1, CT_TEXT_LENGTH), "the length must be 1 to 64 characters" },
        { bad_count(p->n_fonts, p->n_fonts, !p->mixed, CT_TEXT_MAX_FONTS), "1 to 16 fonts must be given" },
        { bad_count(p->n_sizes, p->n_sizes, !p->mixed, CT_TEXT_MAX_SIZES), "1 to 8 font sizes must be given" },
        { bad_range(p->background, 0, 256), "background colours must be 0 to 256" },
        { bad_range(p->ink, 0, 256), "ink colours must be 0 to 256" },
        { bad_range(p->alpha, 0, 256), "alpha must be 0 to 256" },
        { bad_range(p->dx, -100, 100), "dx must be -100 to 100 pixels" },
        { bad_range(p->dy, -100, 100), "dy must be -100 to 100 pixels" },
        { bad_range(p->rotation, -180, 180), "the rotation must be -180 to 180 degrees" },
        { bad_range(warp_x, 0, 0.45) || bad_range(warp_y, 0, 0.45), "the warp must be 0 to 0.45" },
        { bad_range(p->place, 0, 1), "place must be 0 to 1" },
        { bad_range(overlap, 0, 0.9), "the overlap must be 0 to 0.9" },
        { bad_range(gap, 0, 1), "the gap probability must be 0 to 1" },
        { bad_count(p->dots_min, p->dots_max, 0, 10000), "there must be 0 to 10000 dots" },
        { bad_count(p->lines_min, p->lines_max, 0, 100), "there must be 0 to 100 lines" },
        { bad_count(p->arcs_min, p->arcs_max, 0, 100), "there must be 0 to 100 arcs" },
        { bad_range(p->dot_size, 0, 100), "dot sizes must be 0 to 100 pixels" },
        { bad_range(p->stroke, 0, 100), "strokes must be 0 to 100 pixels wide" },
        { bad_range(outline, 0, 20), "the outline must be 0 to 20 pixels wide" },
        { bad_range(shadow, 0, 1), "the probability of a shadow must be 0 to 1" },
        { bad_range(p->shadow_offset, 0, 100), "shadows must be 0 to 100 pixels away" },
        { p->grid.hi != 0 && bad_range(p->grid, 2, 1000), "grid lines must be 2 to 1000 pixels apart" },
        { bad_range(p->wave_x, 0, 30) || bad_range(p->wave_y, 0, 30), "waves must be 0 to 30 pixels high" },
        { bad_range(p->fade_angle, -360, 360), "the angle of the fade must be -360 to 360 degrees" },
        { bad_range(p->background2, 0, 256), "second background colours must be 0 to 256" },
        { bad_range(p->noise, 0, 128), "the noise must be 0 to 128" },
        { waves && bad_range(p->wave_length, 8, 10000), "waves must be 8 to 10000 pixels long" },
    };
    const char *what = NULL;
    for (size_t i = 0; !what && i < sizeof rule / sizeof *rule; i++) {
        if (rule[i].bad) what = rule[i].what;
    }
    for (int i = 0; !what && i < p->n_sizes; i++) {
        if (!(p->sizes[i] >= 4 && p->sizes[i] <= 400)) what = "font sizes must be 4 to 400";
    }
    return what ? ct_fail(CT_ECONFIG, "text generator: %s", what) : CT_OK;
}

ct_status ct_text_params_fonts(ct_text_params *p, const char *const *fonts, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_FONTS)
        return ct_fail(CT_ECONFIG, "text generator: %zu fonts, at most %d are possible", n, CT_TEXT_MAX_FONTS);
    for (size_t i = 0; i < n; i++) {
        if (strlen(fonts[i]) >= sizeof p->fonts[i])
            return ct_fail(CT_ECONFIG, "text generator: the name of font %s is longer than %zu bytes", fonts[i],
                           sizeof p->fonts[i] - 1);
        snprintf(p->fonts[i], sizeof p->fonts[i], "%s", fonts[i]);
    }
    p->n_fonts = (int)n;
    return CT_OK;
}

ct_status ct_text_params_sizes(ct_text_params *p, const double *sizes, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_SIZES)
        return ct_fail(CT_ECONFIG, "text generator: %zu font sizes, at most %d are possible", n, CT_TEXT_MAX_SIZES);
    memcpy(p->sizes, sizes, n * sizeof *sizes);
    p->n_sizes = (int)n;
    return CT_OK;
}
