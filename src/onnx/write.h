/* Inside src/onnx: a trained model as messages of ONNX. */
#ifndef CT_ONNX_WRITE_H
#define CT_ONNX_WRITE_H

#include "onnx/make.h"
#include "onnx/onnx.h"

/* Makes the whole model. `use` is ready. CT_EUNSUPPORTED naming the model and the operator that ONNX has no words for
 * here. */
ct_status ct_onnx_write(ct_onnx_maker *k, ct_model_use *use, const ct_onnx_form *form);

/* write_text.c: the metadata. */
ct_status ct_onnx_write_text(ct_onnx_maker *k, const ct_model_use *use, const ct_onnx_form *form);

#endif
