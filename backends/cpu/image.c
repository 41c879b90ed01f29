/* preprocess: one sample an item. A sample that is neither resized nor augmented goes through a table of 256 values;
 * where it is cropped or mirrored, its bytes are laid out so in scratch first. The others are sampled into an f64 plane
 * in scratch, blurred there along rows and then columns (the kernel is a product), and finished. With a window, padding
 * and mask are laid over that. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <inttypes.h>
#include <string.h>

#include "ops/math/image_math.h"

typedef struct image {
    const ct_kern *kern;
    const ct_call *call;
    int64_t hs, ws, channels, elements; /* elements of one output image, without channels of padding */
    int64_t stored;                     /* channels of an output pixel */
    bool plain;                         /* output size = size of the crop, or of the source without one */
    bool laid;                          /* plain samples may have their bytes laid out first */
    float table[3][256]; /* result of each byte in channels 0, 1, and 2 and beyond, when plain and not augmented */
    char *threads;
    size_t per_thread;
} image;

#define LINE 1024 /* elements converted at a time */

/* What a thread has of the scratch. */
typedef struct desk {
    uint8_t *bytes;        /* [elements], if g->laid */
    double *plane, *other; /* [elements], if a sample may have to be sampled */
} desk;

static desk desk_at(const image *g, ct_carve *t)
{
    desk k = { NULL, NULL, NULL };
    if (g->laid) k.bytes = ct_carve_take(t, (size_t)g->elements);
    if (g->plain && !g->call->attrs.image.augment) return k;
    k.plane = ct_carve_take(t, (size_t)g->elements * sizeof(double));
    k.other = ct_carve_take(t, (size_t)g->elements * sizeof(double));
    return k;
}

static desk desk_of(const image *g, int thread)
{
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    return desk_at(g, &t);
}

static size_t lay_out(image *g, int threads, void *base)
{
    ct_carve t = { NULL, 0 };
    (void)desk_at(g, &t);
    g->per_thread = t.used;
    g->threads = base;
    return g->per_thread * (size_t)threads;
}

static image make(const ct_device *dev, const ct_call *c)
{
    image g = { .kern = dev->kern,
                .call = c,
                .hs = c->in[0].desc.dim[1],
                .ws = c->in[0].desc.dim[2],
                .channels = c->in[0].desc.dim[3] };
    const ct_image_attrs *a = &c->attrs.image;
    g.elements = a->out_h * a->out_w * g.channels;
    g.stored = c->out[0].desc.dim[3];
    g.plain = a->out_h == ct_image_extent(a->crop_h, g.hs) && a->out_w == ct_image_extent(a->crop_w, g.ws);
    g.laid = g.plain && (a->crop_h > 0 || (a->augment && a->flip > 0));
    return g;
}

/* Where n results for elements at.. of sample `item` are put together: at their place in x, or in line [LINE] where they must still
 * be rounded or spread over pixels with channels of padding. */
static float *open_line(const image *g, int64_t item, int64_t at, float *line)
{
    const ct_tensor *out = &g->call->out[0];
    if (g->stored != g->channels) return line;
    return ct_cpu_write(out->desc.dtype, out->data, item * g->elements + at, line);
}

/* Element i of `from` to element k of `to`, of 4 or 2 bytes: sizes that the compiler knows. */
static inline void put_element(char *to, const char *from, size_t size, int64_t k, int64_t i)
{
    if (size == 4)
        memcpy(to + 4 * k, from + 4 * i, 4);
    else
        memcpy(to + 2 * k, from + 2 * i, 2);
}

/* Puts what open_line() gave into x. */
static void close_line(const image *g, int64_t item, int64_t at, int64_t n, const float *y)
{
    const ct_tensor *out = &g->call->out[0];
    const ct_dtype type = out->desc.dtype;
    if (g->stored == g->channels) {
        ct_cpu_write_end(g->kern, type, out->data, item * g->elements + at, n, y);
        return;
    }
    const size_t size = ct_dtype_size(type);
    const int64_t first = item * (g->elements / g->channels);
    char typed[LINE * sizeof(float)], *to = (char *)out->data + (size_t)((first + at / g->channels) * g->stored) * size;
    int64_t ch = at % g->channels;
    ct_cpu_to_type(g->kern, type, y, n, typed, 0);
    for (int64_t i = 0; i < n; i++) {
        put_element(to, typed, size, ch, i);
        if (++ch < g->channels) continue; /* the rest of the last pixel comes with the next line */
        memset(to + size * (size_t)g->channels, 0, size * (size_t)(g->stored - g->channels));
        to += size * (size_t)g->stored;
        ch = 0;
    }
}

static int64_t clamp_index(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* One axis of the blur: n lines of `count` cells, `step` apart, in groups of `inner` neighbours; border cells are
 * repeated. */
static void blur(const ct_image_draw *d, const double *in, double *out, int64_t outer, int64_t count, int64_t inner)
{
    for (int64_t o = 0; o < outer; o++, in += count * inner, out += count * inner)
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < inner; k++) {
                double sum = d->tap[0] * in[i * inner + k];
                for (int r = 1; r <= d->radius; r++)
                    sum += d->tap[r] *
                           (in[clamp_index(i - r, count) * inner + k] + in[clamp_index(i + r, count) * inner + k]);
                out[i * inner + k] = sum;
            }
}

/* The bytes [H,W,C] that a plain sample of draw d consists of: those of the source, or laid out in `to`. */
static const uint8_t *lay_bytes(const image *g, const uint8_t *src, const ct_image_draw *d, uint8_t *to)
{
    const int64_t h = g->call->attrs.image.out_h, w = g->call->attrs.image.out_w;
    const size_t pixel = (size_t)g->channels, row = pixel * (size_t)w;
    if (h == g->hs && w == g->ws && !d->mirrored) return src;
    const uint8_t *from = src + ((int64_t)d->top * g->ws + (int64_t)d->left) * g->channels;
    for (int64_t i = 0; i < h; i++, from += g->ws * g->channels, to += row) {
        if (!d->mirrored) memcpy(to, from, row);
        for (int64_t j = 0; d->mirrored && j < w; j++)
            for (size_t ch = 0; ch < pixel; ch++) to[pixel * (size_t)j + ch] = from[pixel * (size_t)(w - 1 - j) + ch];
    }
    return to - row * (size_t)h;
}

/* The values of `src` as they are, through the table. */
static void copy_values(const image *g, int64_t item, const uint8_t *src)
{
    float line[LINE];
    for (int64_t i = 0; i < g->elements; i += LINE) {
        const int64_t n = ct_min64(LINE, g->elements - i);
        float *y = open_line(g, item, i, line);
        int64_t ch = i % g->channels;
        for (int64_t k = 0; k < n; k++) {
            y[k] = g->table[ch < 2 ? ch : 2][src[i + k]];
            if (++ch == g->channels) ch = 0;
        }
        close_line(g, item, i, n, y);
    }
}

/* Does every pixel come from its own place? The values that interpolation would give are those of the source, then. */
static bool in_place(const image *g, const ct_image_draw *d)
{
    return g->plain && d->shift_x == 0 && d->shift_y == 0 && d->ixx == 1 && d->ixy == 0 && d->iyx == 0 && d->iyy == 1;
}

/* own->plane [H,W,C]: the values of `src` where draw d takes them from, in 0..255. */
static void fetch_values(const image *g, const uint8_t *src, const ct_image_draw *d, const desk *own)
{
    const ct_image_attrs *a = &g->call->attrs.image;
    double *v = own->plane;
    if (in_place(g, d)) {
        const uint8_t *bytes = lay_bytes(g, src, d, own->bytes);
        for (int64_t i = 0; i < g->elements; i++) v[i] = bytes[i];
        return;
    }
    for (int64_t i = 0; i < a->out_h; i++)
        for (int64_t j = 0; j < a->out_w; j++) {
            const ct_image_point p = ct_image_locate(d, g->hs, g->ws, i, j);
            for (int64_t ch = 0; ch < g->channels; ch++)
                *v++ = ct_image_fetch(src, g->ws, g->channels, &p, ch, a->fill);
        }
}

/* The values of `src` where draw d takes them from, with what it does to them. */
static void sample_values(const image *g, int64_t item, const uint8_t *src, const ct_image_draw *draw, int thread)
{
    const ct_image_attrs *a = &g->call->attrs.image;
    const ct_image_draw d = *draw;
    float line[LINE];
    const desk own = desk_of(g, thread);
    double *plane = own.plane, *other = own.other;
    fetch_values(g, src, &d, &own);
    if (d.radius > 0) {
        blur(&d, plane, other, a->out_h, a->out_w, g->channels);
        blur(&d, other, plane, 1, a->out_h, a->out_w * g->channels);
    }
    for (int64_t i = 0; i < g->elements; i += LINE) { /* LINE is a multiple of 4: whole blocks of random numbers */
        const int64_t n = ct_min64(LINE, g->elements - i);
        float *y = open_line(g, item, i, line);
        for (int64_t k = 0; k < n; k += 4) {
            double normal[4] = { 0 };
            if (d.noise > 0) ct_image_noise4(&d, (uint64_t)(i + k) >> 2, normal);
            for (int64_t e = 0; e < 4 && k + e < n; e++) {
                const int64_t at_e = i + k + e;
                y[k + e] = (float)ct_image_finish(a, &d, plane[at_e], normal[e], at_e % g->channels);
            }
        }
        close_line(g, item, i, n, y);
    }
}

/* Lays padding and mask over what is in x: the channels of the source, then the mask, which is 0 so far. */
static void lay_window(const image *g, int64_t item, const ct_image_draw *d)
{
    const ct_image_attrs *a = &g->call->attrs.image;
    const ct_tensor *out = &g->call->out[0];
    const size_t size = ct_dtype_size(out->desc.dtype), pixel = size * (size_t)g->stored;
    const float one = 1;
    float padding[CT_IMAGE_CHANNELS + 1] = { 0 };
    char stored_one[sizeof one], stored_padding[sizeof padding]; /* as x has them */
    double window[4];
    char *to = (char *)out->data + (size_t)(item * a->out_h * a->out_w) * pixel;
    for (int k = 0; k < 4; k++) window[k] = (double)((const float *)g->call->in[2].data)[4 * item + k];
    for (int64_t ch = 0; ch < g->channels; ch++) padding[ch] = (float)ct_image_normalise(a, a->fill, ch);
    ct_cpu_to_type(g->kern, out->desc.dtype, &one, 1, stored_one, 0);
    ct_cpu_to_type(g->kern, out->desc.dtype, padding, g->channels, stored_padding, 0);
    for (int64_t i = 0; i < a->out_h; i++)
        for (int64_t j = 0; j < a->out_w; j++, to += pixel) {
            if (ct_image_inside(d, window, g->hs, g->ws, i, j))
                put_element(to, stored_one, size, g->channels, 0);
            else
                for (int64_t ch = 0; ch < g->channels; ch++) put_element(to, stored_padding, size, ch, ch);
        }
}

static void sample_item(void *arg, int64_t item, int thread)
{
    const image *g = arg;
    const int64_t columns = g->call->in[1].desc.dim[1];
    const int32_t *index = (const int32_t *)g->call->in[1].data + columns * item;
    const uint8_t *src = (const uint8_t *)g->call->in[0].data + index[0] * g->hs * g->ws * g->channels;
    const ct_image_draw d = ct_image_draw_row(&g->call->attrs.image, g->hs, g->ws, index, columns);
    if (g->plain && !d.augmented)
        copy_values(g, item, lay_bytes(g, src, &d, desk_of(g, thread).bytes));
    else
        sample_values(g, item, src, &d, thread);
    if (ct_present(&g->call->in[2])) lay_window(g, item, &d);
}

static ct_accept preprocess_accept(const ct_device *dev, const ct_call *c)
{
    if (c->in[0].desc.dtype != CT_U8) return ct_accept_no("cpu: the source is not u8");
    if (c->in[1].desc.dtype != CT_I32) return ct_accept_no("cpu: the index is not i32");
    if (ct_present(&c->in[2]) && c->in[2].desc.dtype != CT_F32) return ct_accept_no("cpu: the window is not f32");
    if (!ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    image g = make(dev, c);
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status preprocess_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const int64_t images = c->in[0].desc.dim[0], samples = c->in[1].desc.dim[0], columns = c->in[1].desc.dim[1];
    const int32_t *index = c->in[1].data;
    for (int64_t n = 0; n < samples; n++)
        if (index[columns * n] < 0 || index[columns * n] >= images)
            return ct_fail(CT_EINVAL, "preprocess: index row %" PRId64 " asks for image %" PRId32 " of %" PRId64, n,
                           index[columns * n], images);
    image g = make(dev, c);
    lay_out(&g, dev->threads, scratch);
    if (g.plain) {
        ct_image_draw d = { .augmented = false };
        for (int ch = 0; ch < 3; ch++)
            for (int v = 0; v < 256; v++)
                g.table[ch][v] = (float)ct_image_finish(&c->attrs.image, &d, (double)v, 0, ch);
    }
    ct_cpu_for(dev, samples, sample_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_PREPROCESS, "cpu.vector", CT_CPU_TUNED, preprocess_accept, preprocess_run },
};
const ct_impl_set ct_cpu_image_impls = CT_IMPL_SET(impls);
