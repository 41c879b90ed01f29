/* Places that operators agree upon. move_points goes with preprocess: a bright spot is drawn where a point lies, the
 * picture is augmented, and the spot's centre must be where the point was moved to. So does the mask: a window's
 * corners are moved, and pixels are picture where they lie between them. And maps of cells: a point of a picture of any
 * size is put into the frame of a network, drawn as a target, decoded, and must come back to its place. Crops and
 * mirrors take pixels where the draw says, bit for bit. */
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
    for (int i = 0; i < c.nout; i++) ok(b->alloc(dev, ct_desc_bytes(&c.out[i].desc), "output", &c.out[i].data));
    if (choice.scratch > 0) ok(b->alloc(dev, choice.scratch, "scratch", &scratch));
    ok(choice.impl->run(dev, s, &c, scratch));
    for (int i = 0; i < c.nout; i++)
        ok(b->download(dev, s, host->out[i].data, c.out[i].data, ct_desc_bytes(&c.out[i].desc)));
    ok(b->stream_sync(dev, s));
    for (int i = 0; i < c.nin; i++) b->free(dev, c.in[i].data);
    for (int i = 0; i < c.nout; i++) b->free(dev, c.out[i].data);
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
    { "crop", { .out_h = 56, .out_w = 57, .crop_h = 56, .crop_w = 57 }, 1.5 },
    { "any crop", { .out_h = 56, .out_w = 57, .crop_h = 56, .crop_w = 57, .augment = 1 }, 8 },
    { "mirror", { .out_h = HEIGHT, .out_w = WIDTH, .augment = 1, .flip = 0.5 }, 8 },
    { "any crop, mirrored, resized",
      { .out_h = 75, .out_w = 50, .crop_h = 56, .crop_w = 57, .augment = 1, .flip = 0.5 }, 5 },
    { "crop, mirror and all, resized",
      { .out_h = 70, .out_w = 50, .crop_h = 60, .crop_w = 67, .prob = 0.8, .flip = 0.5, ALL }, 5 },
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

/* The CUDA backend on an emulated card. */
static const ct_backend *emulator(void)
{
    const ct_backend *b;
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    ok(ct_backend_load("cuda", &b));
    return b;
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
    follows(emulator(), false, _i, 3);
}
END_TEST

/* ---- the mask of preprocess ---- */

#define CHANNELS 3
#define FILL 0.75
#define CLEAR 0.02 /* pixels from the window's edge; what lies nearer may go either way by rounding */

/* How far (x,y) lies within the quadrilateral of the moved corners, clockwise as seen (y grows downwards) unless it is
 * mirrored: the least of the signed distances to its edges, negative outside. */
static double within(float corner[4][2], double x, double y)
{
    double least = INFINITY;
    const double down = (double)(corner[3][1] - corner[0][1]), right = (double)(corner[1][0] - corner[0][0]);
    const double over = (double)(corner[1][1] - corner[0][1]), back = (double)(corner[3][0] - corner[0][0]);
    const double turn = right * down > over * back ? 1 : -1;
    for (int k = 0; k < 4; k++) {
        const double ax = (double)corner[k][0], ay = (double)corner[k][1];
        const double ex = (double)corner[(k + 1) % 4][0] - ax, ey = (double)corner[(k + 1) % 4][1] - ay;
        least = fmin(least, turn * (ex * (y - ay) - ey * (x - ax)) / hypot(ex, ey));
    }
    return least;
}

/* What one batch of pictures gives with and without windows, and where the windows' corners go. */
typedef struct framed {
    uint8_t src[SAMPLES][HEIGHT * WIDTH * CHANNELS];
    int32_t index[SAMPLES][3];
    float window[SAMPLES][4], corner[SAMPLES][4][2];
    float *plain, *masked; /* [SAMPLES,h,w,CHANNELS] and one channel more */
} framed;

static void frame_batch(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_image_attrs *a,
                        framed *f)
{
    ct_rng rng;
    float corners[SAMPLES][4][2];
    ct_rng_init(&rng, (uint64_t)a->seed, CT_RNG_TEST, 78);
    for (int n = 0; n < SAMPLES; n++) {
        for (int i = 0; i < HEIGHT * WIDTH * CHANNELS; i++) f->src[n][i] = (uint8_t)ct_rng_below(&rng, 256);
        float *w = f->window[n];
        w[0] = (float)ct_rng_uniform(&rng, 0, 0.5 * WIDTH - 2);
        w[1] = (float)ct_rng_uniform(&rng, 0, 0.5 * HEIGHT - 2);
        w[2] = (float)ct_rng_uniform(&rng, 0.5 * WIDTH + 2, WIDTH);
        w[3] = (float)ct_rng_uniform(&rng, 0.5 * HEIGHT + 2, HEIGHT);
        for (int k = 0; k < 4 && n % 2; k++) w[k] = roundf(w[k]);
        for (int k = 0; k < 4; k++) {
            corners[n][k][0] = w[k == 1 || k == 2 ? 2 : 0];
            corners[n][k][1] = w[k >= 2 ? 3 : 1];
        }
        f->index[n][0] = n;
        f->index[n][1] = (int32_t)ct_rng_below(&rng, 1000000);
        f->index[n][2] = (int32_t)ct_rng_below(&rng, 100);
    }
    ct_call p = { .op = CT_OP_PREPROCESS, .nin = 2, .nout = 1, .attrs = { .image = *a } };
    p.in[0] = (ct_tensor){ ct_desc4(CT_U8, SAMPLES, HEIGHT, WIDTH, CHANNELS), f->src };
    p.in[1] = (ct_tensor){ ct_desc2(CT_I32, SAMPLES, 3), f->index };
    ok(ct_call_infer(&p));
    ck_assert_ptr_nonnull(p.out[0].data = f->plain = ct_malloc(ct_desc_bytes(&p.out[0].desc), "pictures"));
    run(b, dev, opts, &p);
    p.nin = 3;
    p.in[2] = (ct_tensor){ ct_desc2(CT_F32, SAMPLES, 4), f->window };
    ok(ct_call_infer(&p));
    ck_assert_ptr_nonnull(p.out[0].data = f->masked = ct_malloc(ct_desc_bytes(&p.out[0].desc), "masked pictures"));
    run(b, dev, opts, &p);
    ct_call m = { .op = CT_OP_MOVE_POINTS, .nin = 2, .nout = 1 };
    m.attrs.image = ct_image_geometry(a, HEIGHT, WIDTH);
    m.in[0] = (ct_tensor){ { CT_F32, 3, { SAMPLES, 4, 2 } }, corners };
    m.in[1] = p.in[1];
    ok(ct_call_infer(&m));
    m.out[0].data = f->corner;
    run(b, dev, opts, &m);
}

/* Pixels within the moved window are those of the picture without one, bit for bit, and 1 in the mask; the others are
 * padding. */
static void check_frame(const ct_image_attrs *a, const char *name, framed *f, int64_t count[2])
{
    for (int64_t e = 0; e < SAMPLES * a->out_h * a->out_w; e++) {
        const int64_t n = e / (a->out_h * a->out_w), i = e / a->out_w % a->out_h, j = e % a->out_w;
        const float *y = f->masked + e * (CHANNELS + 1);
        const double in = within(f->corner[n], (double)j + 0.5, (double)i + 0.5);
        const bool picture = y[CHANNELS] == 1;
        ck_assert_msg(picture || y[CHANNELS] == 0, "%s: the mask is %g", name, (double)y[CHANNELS]);
        ck_assert_msg(fabs(in) < CLEAR || picture == (in > 0),
                      "%s: pixel (%lld,%lld) of sample %lld is %.3f within the window, the mask %g", name, (long long)j,
                      (long long)i, (long long)n, in, (double)y[CHANNELS]);
        for (int ch = 0; ch < CHANNELS; ch++) {
            const float want = picture ? f->plain[e * CHANNELS + ch] : (float)((FILL - a->mean[ch]) / a->std[ch]);
            ck_assert_msg(y[ch] == want, "%s: channel %d is %.9g, should be %.9g", name, ch, (double)y[ch],
                          (double)want);
        }
        count[picture]++;
    }
}

static void frames(const ct_backend *b, bool ref, int setting, int batches)
{
    const ct_device_opts opts = { .threads = 2, .reference = ref };
    int64_t count[2] = { 0, 0 };
    ct_device *dev;
    framed *f = ct_malloc(sizeof *f, "a batch of pictures");
    ck_assert_ptr_nonnull(f);
    ok(b->open(&opts, &dev));
    for (int k = 0; k < batches; k++) {
        ct_image_attrs a = settings[setting].a;
        a.seed = 1000 * setting + k;
        a.fill = FILL;
        a.nmean = a.nstd = CHANNELS;
        for (int ch = 0; ch < CHANNELS; ch++) a.mean[ch] = 0.4 + 0.05 * ch, a.std[ch] = 0.2 + 0.01 * ch;
        if (a.augment && k % 2) a.brightness = 0.3, a.contrast = 0.3, a.noise = 0.2, a.blur = 1;
        frame_batch(b, dev, &opts, &a, f);
        check_frame(&a, settings[setting].name, f, count);
        ct_free(f->plain);
        ct_free(f->masked);
    }
    b->close(dev);
    ct_free(f);
    for (int k = 0; k < 2; k++)
        ck_assert_msg(count[k] > 1000, "%s: %lld pixels have a mask of %d", settings[setting].name, (long long)count[k],
                      k);
}

START_TEST(masked)
{
    for (int ref = 0; ref < 2; ref++) frames(&ct_backend_cpu, ref, _i, 4);
}
END_TEST

START_TEST(masked_emulated)
{
    frames(emulator(), false, _i, 2);
}
END_TEST

/* ---- crops and mirrors, bit for bit ---- */

enum { CROP_H = 11, CROP_W = 14, VIEWS = 24 };

typedef struct views {
    uint8_t src[SAMPLES][HEIGHT * WIDTH * CHANNELS];
    int32_t index[VIEWS][3];
    float x[VIEWS * HEIGHT * WIDTH * CHANNELS], want[VIEWS * HEIGHT * WIDTH * CHANNELS];
} views;

/* Pictures of noise, and an index: rows at random, every sample id twice. */
static void fill_views(views *v, int64_t seed)
{
    ct_rng rng;
    ct_rng_init(&rng, (uint64_t)seed, CT_RNG_TEST, 81);
    for (int n = 0; n < SAMPLES; n++)
        for (int i = 0; i < HEIGHT * WIDTH * CHANNELS; i++) v->src[n][i] = (uint8_t)ct_rng_below(&rng, 256);
    for (int n = 0; n < VIEWS; n++) {
        v->index[n][0] = (int32_t)ct_rng_below(&rng, SAMPLES);
        v->index[n][1] = n % 2 ? v->index[n - 1][1] : (int32_t)ct_rng_below(&rng, 1000000);
        v->index[n][2] = 5;
    }
}

/* x [VIEWS,H,W,CHANNELS] of n pictures [HEIGHT,WIDTH,CHANNELS]. */
static void preprocess(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_image_attrs *a, views *v,
                       float *x)
{
    ct_call p = { .op = CT_OP_PREPROCESS, .nin = 2, .nout = 1, .attrs = { .image = *a } };
    p.attrs.image.nmean = p.attrs.image.nstd = CHANNELS;
    for (int ch = 0; ch < CHANNELS; ch++) p.attrs.image.mean[ch] = 0.1 * ch, p.attrs.image.std[ch] = 0.2 + 0.1 * ch;
    p.in[0] = (ct_tensor){ ct_desc4(CT_U8, SAMPLES, HEIGHT, WIDTH, CHANNELS), v->src };
    p.in[1] = (ct_tensor){ ct_desc2(CT_I32, VIEWS, 3), v->index };
    ok(ct_call_infer(&p));
    p.out[0].data = x;
    run(b, dev, opts, &p);
}

/* Pixel (i,j) of sample n in x, of pictures h x w. */
static const float *at(const float *x, int64_t n, int64_t i, int64_t j, int64_t h, int64_t w)
{
    return x + ((n * h + i) * w + j) * CHANNELS;
}

/* A crop of its own size has the very values that the whole picture has there, in the middle or where the draw says,
 * mirrored or not; rows of one sample id have the same crop and the same mirror. */
static void crops(const ct_backend *b, bool ref, bool augment)
{
    const ct_device_opts opts = { .threads = 2, .reference = ref };
    const ct_image_attrs all = { .out_h = HEIGHT, .out_w = WIDTH };
    const ct_image_attrs a = { .out_h = CROP_H, .out_w = CROP_W, .crop_h = CROP_H, .crop_w = CROP_W, .seed = 12,
                               .augment = augment, .flip = 0.5 };
    int mirrored = 0, places = 0;
    ct_device *dev;
    views *v = ct_malloc(sizeof *v, "pictures");
    ck_assert_ptr_nonnull(v);
    ok(b->open(&opts, &dev));
    fill_views(v, 3);
    preprocess(b, dev, &opts, &a, v, v->x);
    preprocess(b, dev, &opts, &all, v, v->want);
    for (int n = 0; n < VIEWS; n++) {
        const ct_image_draw d = ct_image_draw_sample(&a, HEIGHT, WIDTH, v->index[n][1], v->index[n][2]);
        const int64_t top = augment ? (int64_t)d.top : (HEIGHT - CROP_H) / 2;
        const int64_t left = augment ? (int64_t)d.left : (WIDTH - CROP_W) / 2;
        ck_assert(augment || !d.mirrored);
        mirrored += d.mirrored;
        places += top != (HEIGHT - CROP_H) / 2 || left != (WIDTH - CROP_W) / 2;
        for (int i = 0; i < CROP_H; i++)
            for (int j = 0; j < CROP_W; j++)
                ck_assert_mem_eq(at(v->x, n, i, j, CROP_H, CROP_W),
                                 at(v->want, n, top + i, left + (d.mirrored ? CROP_W - 1 - j : j), HEIGHT, WIDTH),
                                 CHANNELS * sizeof(float));
    }
    ck_assert_int_eq(mirrored % 2, 0); /* of both rows of an id, or of none */
    ck_assert(augment ? mirrored > 2 && mirrored < VIEWS - 2 && places > VIEWS / 2 : mirrored == 0 && places == 0);
    b->close(dev);
    ct_free(v);
}

/* Mirrored, resized pictures are mirror pictures of the resized: on the CPU bit for bit, in f32 to rounding. */
static void mirrors(const ct_backend *b, bool ref, double tolerance)
{
    const ct_device_opts opts = { .threads = 2, .reference = ref };
    static const int64_t sizes[][2] = { { HEIGHT, WIDTH }, { 29, 31 }, { 33, WIDTH } };
    ct_device *dev;
    views *v = ct_malloc(sizeof *v, "pictures");
    ck_assert_ptr_nonnull(v);
    ok(b->open(&opts, &dev));
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int64_t h = sizes[k][0], w = sizes[k][1];
        ct_image_attrs a = { .out_h = h, .out_w = w, .seed = 12, .augment = 1 };
        fill_views(v, (int64_t)k);
        preprocess(b, dev, &opts, &a, v, v->want);
        a.flip = 1;
        preprocess(b, dev, &opts, &a, v, v->x);
        for (int64_t e = 0; e < VIEWS * h * w; e++) {
            const float *got = at(v->x, e / (h * w), e / w % h, e % w, h, w);
            const float *want = at(v->want, e / (h * w), e / w % h, w - 1 - e % w, h, w);
            for (int ch = 0; ch < CHANNELS; ch++)
                ck_assert_double_le(fabs((double)got[ch] - (double)want[ch]), k == 0 ? 0 : tolerance);
        }
    }
    b->close(dev);
    ct_free(v);
}

START_TEST(cropped)
{
    for (int k = 0; k < 4; k++) crops(&ct_backend_cpu, k & 1, k & 2);
    for (int ref = 0; ref < 2; ref++) mirrors(&ct_backend_cpu, ref, 0);
}
END_TEST

START_TEST(cropped_emulated)
{
    for (int augment = 0; augment < 2; augment++) crops(emulator(), false, augment);
    mirrors(emulator(), false, 1e-5);
}
END_TEST

/* Crops that do not lie within the source are refused, and so is a side alone. */
START_TEST(crop_refused)
{
    static const struct { int64_t h, w; double flip; const char *says; } row[] = {
        { HEIGHT + 1, WIDTH, 0, "crop_h" }, { HEIGHT, WIDTH + 1, 0, "crop_w" }, { 4, 0, 0, "crop_w" },
        { 0, 4, 0, "crop_h" },              { -1, 4, 0, "crop_h" },             { 4, 4, 1.5, "flip" },
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        ct_image_attrs a = { .out_h = 4, .out_w = 4, .nstd = 1, .std = { 1 }, .augment = 1, .flip = row[k].flip,
                             .crop_h = row[k].h, .crop_w = row[k].w };
        ct_call p = { .op = CT_OP_PREPROCESS, .nin = 2, .nout = 1, .attrs = { .image = a } };
        ct_call m = { .op = CT_OP_MOVE_POINTS, .nin = 2, .nout = 1 };
        m.attrs.image = ct_image_geometry(&a, HEIGHT, WIDTH);
        p.in[0].desc = ct_desc4(CT_U8, 1, HEIGHT, WIDTH, 1);
        m.in[0].desc = (ct_desc){ CT_F32, 3, { 1, 1, 2 } };
        p.in[1].desc = m.in[1].desc = ct_desc2(CT_I32, 1, 3);
        ck_assert_int_eq(ct_call_infer(&p), CT_EINVAL);
        ck_assert_msg(strstr(ct_error_message(), row[k].says) != NULL, "%s", ct_error_message());
        ck_assert_int_eq(ct_call_infer(&m), CT_EINVAL);
        ck_assert_msg(strstr(ct_error_message(), row[k].says) != NULL, "%s", ct_error_message());
    }
}
END_TEST

/* ---- from a place in a picture to a cell and back ---- */

enum { FRAME_H = 256, FRAME_W = 512, STRIDE = 4, MAP_H = FRAME_H / STRIDE, MAP_W = FRAME_W / STRIDE, PLACES = 6 };

/* One picture of w x h pixels: PLACES pairs of points in it are put into the frame, drawn, decoded from maps that are
 * as the targets say, and put back. The largest distance, in pixels of the picture. */
static double there_and_back(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, int w, int h, ct_rng *rng)
{
    static float heat[PLACES * MAP_H * MAP_W * 2], offset[2 * PLACES * MAP_H * MAP_W * 2],
        least[PLACES * MAP_H * MAP_W];
    float points[PLACES][2][2], found[PLACES][2][2], conf[PLACES][2];
    const double s = fmin((double)FRAME_W / w, (double)FRAME_H / h);
    const double pad[2] = { floor((FRAME_W - s * w) / 2), floor((FRAME_H - s * h) / 2) };
    double places[PLACES][2][2], far = 0;
    for (int i = 0; i < PLACES * 4; i++) {
        const double size = i % 2 ? h : w, share = i < 4 ? (i < 2 ? 0 : 1 - 1e-6) : ct_rng_uniform(rng, 0, 1 - 1e-6);
        (&places[0][0][0])[i] = share * size;
        (&points[0][0][0])[i] = (float)(s * share * size + pad[i % 2]);
    }
    for (int64_t i = 0; i < PLACES * MAP_H * MAP_W; i++) least[i] = 1;
    ct_call t = { .op = CT_OP_HEAT_TARGET, .nin = 1, .nout = 2 };
    t.attrs.points = (ct_points_attrs){ .out_h = MAP_H, .out_w = MAP_W, .stride = STRIDE, .sigma = 1.5 };
    t.in[0] = (ct_tensor){ { CT_F32, 3, { PLACES, 2, 2 } }, points };
    ok(ct_call_infer(&t));
    t.out[0].data = heat, t.out[1].data = offset;
    run(b, dev, opts, &t);
    for (int i = 0; i < PLACES * MAP_H * MAP_W * 2; i++) heat[i] = 10 * heat[i] - 5; /* greatest where the heat is */
    ct_call d = { .op = CT_OP_HEAT_DECODE, .nin = 3, .nout = 2, .attrs = { .points = { .stride = STRIDE } } };
    d.in[0] = t.out[0], d.in[1] = t.out[1];
    d.in[2] = (ct_tensor){ { CT_F32, 3, { PLACES, MAP_H, MAP_W } }, least };
    ok(ct_call_infer(&d));
    d.out[0].data = found, d.out[1].data = conf;
    run(b, dev, opts, &d);
    for (int i = 0; i < PLACES * 4; i++) {
        const double back = ((double)(&found[0][0][0])[i] - pad[i % 2]) / s;
        far = fmax(far, fabs(back - (&places[0][0][0])[i]));
        if (isnan(back)) far = INFINITY;
    }
    return far;
}

static void comes_back(const ct_backend *b, bool ref, int pictures)
{
    static const int sizes[][2] = { { 1, 1 },     { 1, 3000 },  { 4000, 1 }, { 4000, 3000 },
                                    { 512, 256 }, { 320, 160 }, { 511, 257 } };
    const ct_device_opts opts = { .threads = 2, .reference = ref };
    const int fixed = (int)(sizeof sizes / sizeof sizes[0]);
    ct_rng rng;
    ct_device *dev;
    ct_rng_init(&rng, 5, CT_RNG_TEST, 79);
    ok(b->open(&opts, &dev));
    for (int k = 0; k < fixed + pictures; k++) {
        const int w = k < fixed ? sizes[k][0] : (int)exp(ct_rng_uniform(&rng, 0, log(4000.999)));
        const int h = k < fixed ? sizes[k][1] : (int)exp(ct_rng_uniform(&rng, 0, log(3000.999)));
        const double far = there_and_back(b, dev, &opts, w, h, &rng);
        ck_assert_msg(far < 0.01, "%d x %d: a point came back %.4f pixels from its place", w, h, far);
    }
    b->close(dev);
}

START_TEST(places)
{
    comes_back(&ct_backend_cpu, true, 20);
    comes_back(&ct_backend_cpu, false, 60);
}
END_TEST

START_TEST(places_emulated)
{
    comes_back(emulator(), false, 3);
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
    tcase_add_loop_test(t, masked, 0, count);
    tcase_add_test(t, cropped);
    tcase_add_test(t, crop_refused);
    tcase_add_test(t, places);
    if (getenv("CT_SANITIZERS") && *getenv("CT_SANITIZERS")) {
        puts("not emulated: sanitizers do not know the emulator's fibers");
    } else {
        tcase_add_loop_test(t, emulated, 0, count);
        tcase_add_loop_test(t, masked_emulated, 0, count);
        tcase_add_test(t, cropped_emulated);
        tcase_add_test(t, places_emulated);
    }
    tcase_add_test(t, absent);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
