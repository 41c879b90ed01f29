/* Pictures in memory become a data set as drawn ones do: what is done to their pixels is done by the same code. */
#include "config.h"

#include "serve/stack.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sized.h"
#include "data/build.h"

ct_status ct_stack_make(ct_stack *s, const ct_dataset_spec *spec, int64_t most)
{
    *s = (ct_stack){ .spec = spec, .cap = most };
    s->sample = ct_calloc((size_t)(most > 0 ? most : 1), sizeof *s->sample, "pictures");
    return s->sample ? CT_OK : CT_ENOMEM;
}

static void sample_free(ct_stack_sample *x)
{
    for (int k = 0; k < x->frames; k++) ct_image_free(&x->frame[k]);
    ct_free(x->frame);
    *x = (ct_stack_sample){ 0 };
}

void ct_stack_free(ct_stack *s)
{
    for (int64_t i = 0; i < s->n; i++) sample_free(&s->sample[i]);
    ct_free(s->sample);
    *s = (ct_stack){ 0 };
}

/* ---- one picture ---- */

static ct_status from_file(const ct_picture *p, const char *name, const ct_image_opts *opts, ct_image *out)
{
    uint8_t *data;
    size_t size;
    if (p->data) return ct_image_read_mem(p->data, p->bytes, name, opts, out);
    if (!p->path) return ct_fail(CT_EINVAL, "%s: has neither data nor a path", name);
    CT_TRY(ct_file_read(p->path, CT_IMAGE_MAX_FILE, &data, &size));
    const ct_status st = ct_image_read_mem(data, size, name, opts, out);
    ct_free(data);
    return st;
}

static ct_status decode(const ct_dataset_spec *spec, const ct_picture *p, const char *name, ct_image *out)
{
    ct_image_opts opts = { .channels = spec->channels };
    memcpy(opts.background, spec->background, sizeof opts.background);
    if (p->pixels == CT_PIXELS_FILE) return from_file(p, name, &opts, out);
    if (p->pixels != CT_PIXELS_GRAY && p->pixels != CT_PIXELS_RGB && p->pixels != CT_PIXELS_RGBA)
        return ct_fail(CT_EINVAL, "%s: there is no ct_pixels %d", name, (int)p->pixels);
    const ct_pixel_block block = { .px = p->data, .bytes = p->bytes, .stride = p->stride, .w = p->width,
                                   .h = p->height, .c = (int)p->pixels };
    return ct_image_read_pixels(name, &block, &opts, out);
}

/* The next frame of sample x. */
static ct_status add_frame(const ct_stack *s, ct_stack_sample *x, const ct_picture *list, const char *name)
{
    ct_picture p;
    char own[320];
    const void *given;
    CT_TRY(ct_sized_at(list, (size_t)x->frames, "ct_picture", &given));
    CT_TRY(ct_sized_take(&p, sizeof p, given, "ct_picture"));
    const char *called = p.name ? p.name : p.path && !p.data ? p.path : x->frames == 0 ? name : own;
    snprintf(own, sizeof own, "%.256s, picture %d", name, x->frames);
    ct_image *im = &x->frame[x->frames];
    CT_TRY(decode(s->spec, &p, called, im));
    x->frames++;
    CT_TRY(ct_fit_check(s->spec, called, im->w, im->h));
    if (im->w == x->frame[0].w && im->h == x->frame[0].h) return CT_OK;
    return ct_fail(CT_EDATA, "%s: has %dx%d pixels, the first one of the clip has %dx%d", called, im->w, im->h,
                   x->frame[0].w, x->frame[0].h);
}

ct_status ct_stack_add(ct_stack *s, const ct_picture *picture, size_t frames, const char *name)
{
    ct_stack_sample x = { 0 };
    ct_status st = CT_OK;
    if (s->n == s->cap) return ct_fail(CT_EINTERNAL, "more pictures than there is room for");
    if (!picture || frames == 0 || frames > INT32_MAX) return ct_fail(CT_EINVAL, "%s: has no pictures", name);
    if (!(x.frame = ct_calloc(frames, sizeof *x.frame, "pictures"))) return CT_ENOMEM;
    for (size_t k = 0; k < frames && st == CT_OK; k++) st = add_frame(s, &x, picture, name);
    if (st == CT_OK) s->sample[s->n++] = x;
    else sample_free(&x);
    return st;
}

/* ---- the source of a data set; its indices are the samples' numbers ---- */

static ct_status source_open(const void *user, void **state)
{
    *state = (void *)(uintptr_t)user; /* the stack, which gives its pixels away */
    return CT_OK;
}

static ct_status give_frame(void *state, int64_t index, int frame, ct_image *out)
{
    ct_image *im = &((ct_stack *)state)->sample[index].frame[frame];
    *out = *im;
    *im = (ct_image){ 0 };
    return CT_OK;
}

static ct_status no_label(const void *user, int64_t index, char **label)
{
    (void)user;
    (void)index;
    return (*label = ct_strdup("", "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status render(void *state, int64_t index, ct_image *out, char **label)
{
    CT_TRY(no_label(NULL, index, label));
    return give_frame(state, index, 0, out);
}

static int count_frames(const void *user, int64_t index) { return ((const ct_stack *)user)->sample[index].frames; }

static void source_close(void *state) { (void)state; }

ct_status ct_stack_open(ct_stack *s, const ct_clip_rule *clip, ct_dataset **out)
{
    static const ct_clip_source clips = { count_frames, no_label, give_frame };
    ct_dataset_spec spec = *s->spec;
    ct_labels *none;
    *out = NULL;
    spec.cache = false;
    const ct_source source = { .name = "picture", .n = s->n, .user = s, .open = source_open, .render = render,
                               .clip = clip ? &clips : NULL, .close = source_close };
    CT_TRY(ct_labels_none(clip, &none));
    return ct_dataset_open_source(&spec, &source, none, 1, out);
}
