/* What numbers go into a graph, and what numbers its model takes. */
#include "config.h"

#include "onnx/onnx.h"

ct_onnx_affine ct_onnx_wanted(const ct_model_use *use)
{
    const ct_image_attrs *a = &use->session.spec.image;
    ct_onnx_affine x;
    const ct_model_spec *m = &use->session.spec.model;
    const ct_model_info *info = ct_model_find(m->name);
    const int64_t pixels = m->channels - (info && info->mask); /* the mask stays as it is */
    for (int c = 0; c < CT_ONNX_CHANNELS; c++) {
        x.mean[c] = c < pixels && c < a->nmean ? a->mean[c] : 0;
        x.std[c] = c < pixels && c < a->nstd ? a->std[c] : 1;
    }
    return x;
}

ct_onnx_affine ct_onnx_given(const ct_onnx_form *form, const ct_model_use *use)
{
    /* What ddddocr up to 1.5 makes of pixels, whatever model is loaded: one channel, three. */
    static const ct_onnx_affine gray = { { 0.456 }, { 0.224, 1, 1, 1 } },
                                colour = { { 0.485, 0.456, 0.406 }, { 0.229, 0.224, 0.225, 1 } },
                                none = { { 0 }, { 1, 1, 1, 1 } };
    if (form->target == CT_ONNX_DDDDOCR_15) return use->session.spec.model.channels == 1 ? gray : colour;
    return form->inside ? none : ct_onnx_wanted(use);
}

const char *ct_onnx_sample(const ct_model_use *use)
{
    return ct_model_clip(&use->session.spec.model) ? "clip" : "picture";
}

bool ct_onnx_spread(const ct_onnx_form *form, const ct_model_use *use)
{
    return form->target != CT_ONNX_ANYONE && ct_model_head(&use->session.spec.model) == CT_HEAD_POSITIONS;
}
