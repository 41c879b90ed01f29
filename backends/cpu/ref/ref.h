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

/* One set per family. */
#define CT_FAMILY(rules, cases, references) extern const ct_impl_set references;
#include "ops/families.def"
#undef CT_FAMILY

/* The reference of an operator; NULL for views (reshape). dev and stream may be NULL in its accept() and run(). */
const ct_impl *ct_ref_find(ct_op op);

#endif
