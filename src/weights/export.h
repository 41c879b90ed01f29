/* Weights of a model as a safetensors file that other programs read. */
#ifndef CT_WEIGHTS_EXPORT_H
#define CT_WEIGHTS_EXPORT_H

#include "captrain.h"

/* ct_run_export() for format safetensors; o has been looked at, and has a name to write. */
ct_status ct_export_weights(const ct_export_opts *o);

#endif
