/* Inside src/models only: the families of models, and what builders share that is no layer. */
#ifndef CT_MODELS_ZOO_H
#define CT_MODELS_ZOO_H

#include "models/models.h"

/* The last row has no name. */
extern const ct_model_info ct_models_textcnn[], ct_models_crnn[], ct_models_resnet[], ct_models_slider[], ct_models_hrnet[],
    ct_models_tfnet[], ct_models_reader[];

/* layers.c: c channels at spec->width_mult: max(8, round(c*width_mult/8)*8) with ties to even, c itself at 1. */
int64_t ct_model_channels(const ct_model_spec *spec, int64_t c);
/* The same with another unit than 8. */
int64_t ct_model_channels_by(const ct_model_spec *spec, int64_t c, int64_t unit);

#endif
