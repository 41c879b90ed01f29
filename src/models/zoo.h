/* Inside src/models only: the builders, and what they share that is no layer. */
#ifndef CT_MODELS_ZOO_H
#define CT_MODELS_ZOO_H

#include "models/models.h"

ct_status ct_build_textcnn(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_textcnn_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_resnet18(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_resnet34(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_resnet50(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);

ct_status ct_build_crnn(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_crnn_stacked(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
ct_status ct_build_crnn_small(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val *logits);
int64_t ct_steps_crnn(const ct_model_spec *spec, int64_t width);
int64_t ct_steps_crnn_small(const ct_model_spec *spec, int64_t width);

/* layers.c: c channels at spec->width_mult: max(8, round(c*width_mult/8)*8) with ties to even, c itself at 1. */
int64_t ct_model_channels(const ct_model_spec *spec, int64_t c);

#endif
