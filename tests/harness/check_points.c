/* move_points goes with preprocess: a bright spot is drawn where a point lies, the picture is augmented, and the spot's
 * centre must be where the point was moved to. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "exec/exec.h"
#include "ops/math/image_math.h"
#include "tests/ct_check.h"

enum { SAMPLES = 8, HEIGHT = 64, WIDTH = 72 }; /* of the source, pixels */

#define SIGMA 3.0    /* of the spot, pixels */
#define OFF_CENTRE 6 /* pixels the spot is away from the picture's centre, at most: it stays inside whatever is drawn */
#define NEAR 0.05    /* pixels */

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

/* Runs a call whose tensors lie in host memory. */
static void run(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *host)
{
    ct_call c = *host;
    ct_choice choice;
    ct_stream *s;
    void *scratch = NULL;
    ok(ct_dispatch(b, dev, opts, &c, &choice));
    ok(b->stream_create(dev, &s));
    for (int i = 0; i < c.nin; i++) {
        const size_t bytes = ct_desc_bytes(&c.in[i].desc);
        ok(b->alloc(dev, bytes, "input", &c.in[i].data));
        ok(b->upload(dev, s, c.in[i].data, host->in[i].data, bytes));
    }
    ok(b->alloc(dev, ct_desc_bytes(&c.out[0].desc), "output", &c.out[0].data));
    if (choice.scratch > 0) ok(b->alloc(dev, choice.scratch, "scratch", &scratch));
    ok(choice.impl->run(dev, s, &c, scratch));
    ok(b->download(dev, s, host->out[0].data, c.out[0].data, ct_desc_bytes(&c.out[0].desc)));
    ok(b->stream_sync(dev, s));
    for (int i = 0; i < c.nin; i++) b->free(dev, c.in[i].data);
    b->free(dev, c.out[0].data);
    b->free(dev, scratch);
    b->stream_destroy(dev, s);
}

/* A picture with a spot about (x,y). */
static void draw_spot(uint8_t *picture, double x, double y)
{
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++) {
            const double dx = j + 0.5 - x, dy = i + 0.5 - y;
            picture[i * WIDTH + j] = (uint8_t)lround(250 * exp(-(dx * dx + dy * dy) / (2 * SIGMA * SIGMA)));
        }
}

/* Centre of what is bright in h x w values: bytes or floats, the other is NULL. */
static void centre_of(const uint8_t *bytes, const float *floats, int64_t h, int64_t w, double *x, double *y)
{
    double sum = 0;
    *x = *y = 0;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            const double v = bytes ? bytes[i * w + j] : (double)floats[i * w + j];
            sum += v;
            *x += v * ((double)j + 0.5);
            *y += v * ((double)i + 0.5);
        }
    *x /= sum;
    *y /= sum;
}

#define ALL .augment = 1, .shift_x = 5, .shift_y = 3, .scale = 0.2, .rotate = 30, .shear = 15

static const struct {
    const char *name;
    ct_image_attrs a;
    double moves; /* some point must move by more than this, pixels of the output */
} settings[] = {
    { "nothing", { .out_h = HEIGHT, .out_w = WIDTH }, -1 },
    { "resize", { .out_h = 40, .out_w = 99 }, -1 },
    { "shift", { .out_h = HEIGHT, .out_w = WIDTH, .augment = 1, .prob = 1, .shift_x = 6, .shift_y = 4 }, 4 },
    { "scale", { .out_h = HEIGHT, .out_w = WIDTH, .augment = 1, .prob = 1, .scale = 0.3 }, 1 },
    { "rotate", { .out_h = HEIGHT, .out_w = WIDTH, .augment = 1, .prob = 1, .rotate = 40 }, 2 },
    { "shear", { .out_h = HEIGHT, .out_w = WIDTH, .augment = 1, .prob = 1, .shear = 25 }, 1 },
    { "all", { .out_h = HEIGHT, .out_w = WIDTH, .prob = 1, ALL }, 5 },
    { "all, resized", { .out_h = 48, .out_w = 100, .prob = 1, ALL }, 5 },
    { "some", { .out_h = 80, .out_w = 60, .prob = 0.5, ALL }, 5 },
};

/* One batch of pictures: the largest distance between a spot and its point, and the largest way a point went beyond the
 * resize. */
static void one_batch(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, ct_image_attrs a, int64_t seed,
                      double *far, double *moved)
{
    static uint8_t src[SAMPLES][HEIGHT * WIDTH];
    float points[SAMPLES][2], out[SAMPLES][2];
    int32_t index[SAMPLES][3];
    ct_rng rng;
    ct_rng_init(&rng, (uint64_t)seed, CT_RNG_TEST, 77);
    a.seed = seed;
    a.nstd = 1;
    a.std[0] = 1;
    for (int n = 0; n < SAMPLES; n++) {
        double x = 0.5 * WIDTH + ct_rng_uniform(&rng, -OFF_CENTRE, OFF_CENTRE);
        double y = 0.5 * HEIGHT + ct_rng_uniform(&rng, -OFF_CENTRE, OFF_CENTRE);
        draw_spot(src[n], x, y);
        centre_of(src[n], NULL, HEIGHT, WIDTH, &x, &y);
        points[n][0] = (float)x;
        points[n][1] = (float)y;
        index[n][0] = n;
        index[n][1] = (int32_t)ct_rng_below(&rng, 1000000);
        index[n][2] = (int32_t)ct_rng_below(&rng, 100);
    }
    ct_call p = { .op = CT_OP_PREPROCESS, .nin = 2, .nout = 1, .attrs = { .image = a } };
    p.in[0] = (ct_tensor){ ct_desc4(CT_U8, SAMPLES, HEIGHT, WIDTH, 1), src };
    p.in[1] = (ct_tensor){ ct_desc2(CT_I32, SAMPLES, 3), index };
    ok(ct_call_infer(&p));
    float *x = ct_malloc(ct_desc_bytes(&p.out[0].desc), "pictures");
    ck_assert_ptr_nonnull(p.out[0].data = x);
    run(b, dev, opts, &p);
    ct_call m = { .op = CT_OP_MOVE_POINTS, .nin = 2, .nout = 1 };
    m.attrs.image = ct_image_geometry(&a, HEIGHT, WIDTH);
    m.in[0] = (ct_tensor){ { CT_F32, 3, { SAMPLES, 1, 2 } }, points };
    m.in[1] = p.in[1];
    ok(ct_call_infer(&m));
    m.out[0].data = out;
    run(b, dev, opts, &m);
    for (int n = 0; n < SAMPLES; n++) {
        const double px = (double)out[n][0], py = (double)out[n][1];
        const double rx = (double)points[n][0] * (double)a.out_w / WIDTH;
        const double ry = (double)points[n][1] * (double)a.out_h / HEIGHT;
        double sx, sy;
        centre_of(NULL, x + n * a.out_h * a.out_w, a.out_h, a.out_w, &sx, &sy);
        *far = fmax(*far, hypot(px - sx, py - sy));
        *moved = fmax(*moved, hypot(px - rx, py - ry));
    }
    ct_free(x);
}

static void follows(const ct_backend *b, bool reference, int setting, int batches)
{
    const ct_device_opts opts = { .threads = 2, .reference = reference };
    double far = 0, moved = 0;
    ct_device *dev;
    ok(b->open(&opts, &dev));
    for (int i = 0; i < batches; i++) one_batch(b, dev, &opts, settings[setting].a, 1000 * setting + i, &far, &moved);
    b->close(dev);
    ck_assert_msg(far < NEAR, "%s: a spot is %.3f pixels from its point", settings[setting].name, far);
    ck_assert_msg(moved > settings[setting].moves, "%s: points went at most %.3f pixels", settings[setting].name,
                  moved);
}

START_TEST(reference)
{
    follows(&ct_backend_cpu, true, _i, 25);
}
END_TEST

START_TEST(tuned)
{
    follows(&ct_backend_cpu, false, _i, 25);
}
END_TEST

START_TEST(emulated)
{
    const ct_backend *b;
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    ok(ct_backend_load("cuda", &b));
    follows(b, false, _i, 3);
}
END_TEST

/* Without augmentation a point goes with the resize alone; a NaN in either coordinate makes it absent and leaves its
 * neighbour alone. */
START_TEST(absent)
{
    static const float points[2][2][2] = { { { 10, 20 }, { NAN, 5 } }, { { 3, NAN }, { 40, 0 } } };
    const ct_device_opts opts = { .threads = 1 };
    int32_t index[2][3] = { { 0, 1, 2 }, { 0, 3, 4 } };
    float out[2][2][2];
    ct_device *dev;
    ct_image_attrs a = { .out_h = 128, .out_w = 36, .noise = 1, .rotate = 3 };
    ct_call m = { .op = CT_OP_MOVE_POINTS, .nin = 2, .nout = 1 };
    m.attrs.image = ct_image_geometry(&a, HEIGHT, WIDTH);
    ok(ct_backend_cpu.open(&opts, &dev));
    m.in[0] = (ct_tensor){ { CT_F32, 3, { 2, 2, 2 } }, (void *)(uintptr_t)points };
    m.in[1] = (ct_tensor){ ct_desc2(CT_I32, 2, 3), index };
    ok(ct_call_infer(&m));
    m.out[0].data = out;
    run(&ct_backend_cpu, dev, &opts, &m);
    ck_assert(out[0][0][0] == 5 && out[0][0][1] == 40 && out[1][1][0] == 20 && out[1][1][1] == 0);
    for (int k = 0; k < 2; k++) ck_assert(isnan(out[0][1][k]) && isnan(out[1][0][k]));
    ct_backend_cpu.close(dev);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("points");
    TCase *t = tcase_create("follow");
    const int count = (int)(sizeof settings / sizeof settings[0]);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, reference, 0, count);
    tcase_add_loop_test(t, tuned, 0, count);
    if (getenv("CT_SANITIZERS") && *getenv("CT_SANITIZERS"))
        puts("not emulated: sanitizers do not know the emulator's fibers");
    else
        tcase_add_loop_test(t, emulated, 0, count);
    tcase_add_test(t, absent);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
