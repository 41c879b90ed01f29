/* Preprocessing: gather rows of the packed cache, augment, scale to [0,1], normalise, cast. And points that move with
 * the pixels. */
#include "config.h"

#include <float.h>
#include <inttypes.h>

#include "ops/math/image_math.h"
#include "ops/family.h"

static const ct_attr_field image_fields[] = { CT_FIELD_INT(image, out_h),
                                              CT_FIELD_INT(image, out_w),
                                              CT_FIELD_INT(image, crop_h),
                                              CT_FIELD_INT(image, crop_w),
                                              CT_FIELD_INT(image, dtype),
                                              CT_FIELD_INT(image, channels),
                                              CT_FIELD_INT(image, augment),
                                              CT_FIELD_INT(image, seed),
                                              CT_FIELD_REAL(image, prob),
                                              CT_FIELD_REAL(image, shift_x),
                                              CT_FIELD_REAL(image, shift_y),
                                              CT_FIELD_REAL(image, scale),
                                              CT_FIELD_REAL(image, rotate),
                                              CT_FIELD_REAL(image, shear),
                                              CT_FIELD_REAL(image, brightness),
                                              CT_FIELD_REAL(image, contrast),
                                              CT_FIELD_REAL(image, noise),
                                              CT_FIELD_REAL(image, blur),
                                              CT_FIELD_REAL(image, flip),
                                              CT_FIELD_REAL(image, fill),
                                              CT_FIELD_REALS(image, mean, nmean),
                                              CT_FIELD_REALS(image, std, nstd),
                                              CT_FIELD_END };

static const ct_attr_field points_fields[] = { CT_FIELD_INT(image, out_h),
                                               CT_FIELD_INT(image, out_w),
                                               CT_FIELD_INT(image, src_h),
                                               CT_FIELD_INT(image, src_w),
                                               CT_FIELD_INT(image, crop_h),
                                               CT_FIELD_INT(image, crop_w),
                                               CT_FIELD_INT(image, augment),
                                               CT_FIELD_INT(image, seed),
                                               CT_FIELD_REAL(image, prob),
                                               CT_FIELD_REAL(image, shift_x),
                                               CT_FIELD_REAL(image, shift_y),
                                               CT_FIELD_REAL(image, scale),
                                               CT_FIELD_REAL(image, rotate),
                                               CT_FIELD_REAL(image, shear),
                                               CT_FIELD_REAL(image, flip),
                                               CT_FIELD_END };

/* Mean and deviation of the channels there are. */
static ct_status check_normalisation(const ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    int64_t channels = c->in[0].desc.dim[3];
    if (channels > CT_IMAGE_CHANNELS)
        return ct_rule_fail(c, "src has %" PRId64 " channels, but at most %d can be normalised", channels,
                            CT_IMAGE_CHANNELS);
    if (a->nmean != 0) CT_TRY(ct_rule_int(c, "mean's length", a->nmean, channels, CT_IMAGE_CHANNELS));
    CT_TRY(ct_rule_int(c, "std's length", a->nstd, channels, CT_IMAGE_CHANNELS));
    for (int64_t i = 0; i < channels; i++) {
        CT_TRY(ct_rule_real(c, "mean", a->mean[i], -DBL_MAX, DBL_MAX));
        CT_TRY(ct_rule_real(c, "std", a->std[i], DBL_MIN, DBL_MAX));
    }
    return CT_OK;
}

/* A crop has two sides, which lie within a source of hs x ws pixels. */
static ct_status check_crop(const ct_call *c, int64_t hs, int64_t ws)
{
    const ct_image_attrs *a = &c->attrs.image;
    if (a->crop_h == 0 && a->crop_w == 0) return CT_OK;
    CT_TRY(ct_rule_int(c, "crop_h", a->crop_h, 1, hs));
    return ct_rule_int(c, "crop_w", a->crop_w, 1, ws);
}

/* What decides where a pixel of a source of hs x ws goes: input 1, and the attributes of the geometry. */
static ct_status check_geometry(const ct_call *c, int64_t hs, int64_t ws)
{
    const ct_image_attrs *a = &c->attrs.image;
    CT_TRY(ct_rule_ndim(c, 1, "index", 2));
    CT_TRY(ct_rule_dtype(c, 1, "index", CT_I32));
    if (c->in[1].desc.dim[1] != CT_INDEX_OF_CLIPS) CT_TRY(ct_rule_dim(c, 1, "index", 1, CT_INDEX_OF_PICTURES));
    CT_TRY(ct_rule_int(c, "out_h", a->out_h, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "out_w", a->out_w, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(check_crop(c, hs, ws));
    CT_TRY(ct_rule_int(c, "augment", a->augment, 0, 1));
    if (!a->augment) return CT_OK;
    CT_TRY(ct_rule_real(c, "flip", a->flip, 0, 1));
    CT_TRY(ct_rule_real(c, "prob", a->prob, 0, 1));
    CT_TRY(ct_rule_real(c, "shift_x", a->shift_x, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "shift_y", a->shift_y, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "scale", a->scale, 0, 0.99));
    CT_TRY(ct_rule_real(c, "rotate", a->rotate, 0, 180));
    return ct_rule_real(c, "shear", a->shear, 0, 80);
}

/* Input 2 of preprocess, if it is there. */
static ct_status check_window(const ct_call *c)
{
    if (!ct_present(&c->in[2])) return CT_OK;
    CT_TRY(ct_rule_ndim(c, 2, "window", 2));
    CT_TRY(ct_rule_accum(c, 2, "window"));
    CT_TRY(ct_rule_dim(c, 2, "window", 0, c->in[1].desc.dim[0]));
    return ct_rule_dim(c, 2, "window", 1, 4);
}

/* Channels of x that hold data: those of the source, and the mask. */
static int64_t data_channels(const ct_call *c)
{
    return c->in[0].desc.dim[3] + (ct_present(&c->in[2]) ? 1 : 0);
}

static ct_status preprocess_shape(ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    const ct_desc *index = &c->in[1].desc;
    CT_TRY(ct_rule_ndim(c, 0, "src", 4));
    CT_TRY(ct_rule_dtype(c, 0, "src", CT_U8));
    CT_TRY(check_geometry(c, c->in[0].desc.dim[1], c->in[0].desc.dim[2]));
    CT_TRY(check_window(c));
    CT_TRY(ct_rule_attr_float(c, "dtype", a->dtype, false));
    CT_TRY(check_normalisation(c));
    if (a->channels != 0) CT_TRY(ct_rule_int(c, "channels", a->channels, data_channels(c), CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_real(c, "fill", a->fill, 0, 1));
    if (a->augment) {
        CT_TRY(ct_rule_real(c, "brightness", a->brightness, 0, 1));
        CT_TRY(ct_rule_real(c, "contrast", a->contrast, 0, 1));
        CT_TRY(ct_rule_real(c, "noise", a->noise, 0, 1));
        CT_TRY(ct_rule_real(c, "blur", a->blur, 0, DBL_MAX));
    }
    ct_rule_out(c, 0, ct_desc4((ct_dtype)a->dtype, index->dim[0], a->out_h, a->out_w,
                                 a->channels ? a->channels : data_channels(c)));
    return CT_OK;
}

static ct_status points_shape(ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    const ct_desc *points = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "points", 3));
    CT_TRY(ct_rule_accum(c, 0, "points"));
    CT_TRY(ct_rule_dim(c, 0, "points", 2, 2));
    CT_TRY(ct_rule_int(c, "src_h", a->src_h, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "src_w", a->src_w, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(check_geometry(c, a->src_h, a->src_w));
    CT_TRY(ct_rule_dim(c, 1, "index", 0, points->dim[0]));
    ct_rule_out(c, 0, *points);
    return CT_OK;
}

/* A division and, where augmented, four products and six sums for each coordinate. */
static double points_flops(const ct_call *c)
{
    return (c->attrs.image.augment ? 6.0 : 1.0) * (double)ct_desc_numel(&c->in[0].desc);
}

/* Are values made of several pixels of the source? A crop or a mirror alone takes them as they are. */
static bool resampled(const ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    const int64_t *src = c->in[0].desc.dim;
    return a->augment || a->out_h != ct_image_extent(a->crop_h, src[1]) || a->out_w != ct_image_extent(a->crop_w, src[2]);
}

/* Bilinear sampling takes 4 taps of 2 operations, a blur of 5x5 taps 50, the rest a handful; the mask two products and
 * four comparisons. Channels of padding cost none. */
static double preprocess_flops(const ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    const ct_desc *src = &c->in[0].desc;
    double per = 3 + (resampled(c) ? 8 : 0) + (a->augment && a->blur > 0 ? 50 : 0) + (a->augment ? 6 : 0);
    const double mask = ct_present(&c->in[2]) ? 6 : 0;
    return (per * (double)src->dim[3] + mask) * (double)ct_rows(&c->out[0].desc);
}

static int64_t preprocess_reduction(const ct_call *c)
{
    const ct_image_attrs *a = &c->attrs.image;
    return (resampled(c) ? 4 : 1) * (a->augment && a->blur > 0 ? 25 : 1);
}

/* A gather reads the rows that the index names, not the whole data set. */
static double preprocess_read(const ct_call *c, int i)
{
    return i == 0 ? (double)c->in[1].desc.dim[0] / (double)c->in[0].desc.dim[0] : 1;
}

/* Absent points are NaN. */
static const ct_domain points_special = { .kind = CT_DOM_RANGE, .lo = -10, .hi = 60, .poison = CT_POISON_NAN };

const ct_op_rules ct_image_rules[] = {
    { .op = CT_OP_PREPROCESS, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = image_fields, .shape = preprocess_shape, .flops = preprocess_flops, .reduction = preprocess_reduction,
      .roundings = 8, /* a chain of some twenty operations per pixel */
      .read = preprocess_read, .domain = { CT_BELOW(256), CT_IS(ROWS), CT_IS(BOXES) } },
    { .op = CT_OP_MOVE_POINTS, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_ACCUM,
      .fields = points_fields, .shape = points_shape, .flops = points_flops,
      .roundings = 1, .domain = { { .kind = CT_DOM_RANGE, .lo = -10, .hi = 60, .special = &points_special }, CT_IS(ROWS) } },
    { .shape = NULL },
};
