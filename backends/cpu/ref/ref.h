/* Reference implementations: a plain loop for every operator of the catalogue that runs (all but reshape, a view). They
 * are the specification every other implementation is tested against.
 *
 * All arithmetic is done in f64, whatever the storage type (f32, f64, bf16, f16), and every output element is rounded
 * once, when it is stored. Whole-tensor operators (conv, linear) ask for scratch to hold f64 copies of operands that
 * are not f64; the others work row by row. Nothing depends on the number of threads: there is one. */
#ifndef CT_BACKENDS_CPU_REF_REF_H
#define CT_BACKENDS_CPU_REF_REF_H

#include <stddef.h>

#include "backends/backend.h"

/* One table per family, in catalogue order; the sizes are part of the type. */
extern const ct_impl ct_ref_conv_impls[3];
extern const ct_impl ct_ref_linear_impls[4];
extern const ct_impl ct_ref_norm_impls[3];
extern const ct_impl ct_ref_activation_impls[4];
extern const ct_impl ct_ref_elementwise_impls[6];
extern const ct_impl ct_ref_pool_impls[6];
extern const ct_impl ct_ref_resample_impls[2];
extern const ct_impl ct_ref_sequence_impls[3];
extern const ct_impl ct_ref_loss_impls[6];
extern const ct_impl ct_ref_softmax_impls[2];
extern const ct_impl ct_ref_ctc_impls[2];
extern const ct_impl ct_ref_metric_impls[5];
extern const ct_impl ct_ref_optim_impls[7];
extern const ct_impl ct_ref_image_impls[2];

/* The reference of an operator; NULL for views (reshape). dev and stream may be NULL in its accept() and run(). */
const ct_impl *ct_ref_find(ct_op op);

#endif
