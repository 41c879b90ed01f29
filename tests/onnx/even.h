/* Models of text whose pictures are standardized first, for tests alone: those of the library behind that layer. */
#ifndef CT_TESTS_ONNX_EVEN_H
#define CT_TESTS_ONNX_EVEN_H

#include <string.h>

#include "config/config.h"
#include "models/models.h"

#define EVEN_MODELS 2
static const char *const even_of[EVEN_MODELS] = { "textcnn-small", "crnn-small" };
static const char *const even_names[EVEN_MODELS] = { "textcnn-small-even", "crnn-small-even" };

static inline ct_status even_build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[])
{
    const ct_model_info *of = ct_model_find(even_of[strcmp(spec->name, even_names[1]) == 0]);
    CT_TRY(ct_layer_standardize(g, "even", x, &x));
    return of->build(g, spec, x, len, training, out);
}

/* Adds them to those that the program knows. */
static inline ct_status even_models_add(void)
{
    static ct_model_info row[EVEN_MODELS];
    for (int i = 0; i < EVEN_MODELS; i++) {
        row[i] = *ct_model_find(even_of[i]);
        row[i].name = even_names[i];
        row[i].build = even_build;
        CT_TRY(ct_model_add(&row[i]));
        CT_TRY(ct_config_add_value("model.name", row[i].name));
    }
    return CT_OK;
}

#endif
