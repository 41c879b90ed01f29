/* What the tests of the generator of gestures share. */
#ifndef CT_TESTS_GESTURE_UTIL_H
#define CT_TESTS_GESTURE_UTIL_H

#include <stdlib.h>
#include <string.h>

#include "task/gloss/synth/internal.h"
#include "tests/ct_check.h"

#define ck_ok(call) ck_assert_msg((call) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

/* The defaults with frames of another size. */
static inline ct_gesture_params params(int size)
{
    ct_gesture_params p;
    ct_gesture_params_init(&p);
    p.size = size;
    return p;
}

static inline ct_gesture_gen *open_gen(const ct_gesture_params *p, uint64_t seed)
{
    ct_gesture_gen *g;
    ck_ok(ct_gesture_gen_open(p, seed, &g));
    return g;
}

/* A frame by a pen of its own. */
static inline ct_image frame_alone(const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast, int frame)
{
    ct_gesture_pen *pen;
    ct_image im;
    ck_ok(ct_gesture_pen_open(g, &pen));
    ck_ok(ct_gesture_pen_frame(pen, index, cast, frame, &im));
    ct_gesture_pen_close(pen);
    return im;
}

static inline size_t bytes_of(const ct_image *im) { return (size_t)im->w * (size_t)im->h * (size_t)im->c; }

#endif
