/* What the tests of the slider generator share. */
#ifndef CT_TESTS_SLIDER_UTIL_H
#define CT_TESTS_SLIDER_UTIL_H

#include <string.h>

#include "task/slider/synth/internal.h"
#include "tests/ct_check.h"

#define ck_ok(call) ck_assert_msg((call) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

/* All styles, or one. w 0: sizes by lot. */
static inline ct_slider_params params(const char *style, int w, int h)
{
    ct_slider_params p;
    ct_slider_params_init(&p);
    if (style) ck_ok(ct_slider_params_styles(&p, &style, 1, NULL, 0));
    p.width = w;
    p.height = h;
    return p;
}

typedef struct pair { ct_slider_gen *g; ct_slider_pen *pen; } pair;

static inline pair pair_open(const ct_slider_params *p, uint64_t seed)
{
    pair x;
    ck_ok(ct_slider_gen_open(p, seed, &x.g));
    ck_ok(ct_slider_pen_open(x.g, &x.pen));
    return x;
}

static inline void pair_close(pair *x)
{
    ct_slider_pen_close(x->pen);
    ct_slider_gen_close(x->g);
}

/* Picture `index` by a generator of its own. */
static inline ct_slider_drawn draw_alone(const ct_slider_params *p, uint64_t seed, int64_t index)
{
    ct_slider_drawn d;
    pair x = pair_open(p, seed);
    ck_ok(ct_slider_pen_draw(x.pen, index, false, &d));
    pair_close(&x);
    return d;
}

static inline size_t image_bytes(const ct_image *im) { return (size_t)im->w * (size_t)im->h * (size_t)im->c; }

static inline bool same_picture(const ct_image *a, const ct_image *b)
{
    return a->w == b->w && a->h == b->h && memcmp(a->px, b->px, image_bytes(a)) == 0;
}

#endif
