/* The update: what stands behind the backward pass of a step. */
#ifndef CT_PROGRAM_UPDATE_H
#define CT_PROGRAM_UPDATE_H

#include "program/program.h"

/* Elements [first, end) of a flat arena as a value. */
ct_status ct_update_part(ct_graph *g, const char *name, ct_arena arena, const ct_layout *l, int64_t first, int64_t end,
                         ct_val *out);

/* Gives the parameters that one call can update the same number (ct_value.group), for the layout to lay them together.
 * Before it; with ct_graph_ends() done on the model. CT_ECONFIG: optimizer.groups has a pattern that fits none. */
ct_status ct_update_sort(const ct_program_spec *s, ct_graph *g);

/* Appends lr, norm and clip, optimizer, averages, counters. `weights` has the model's parameters in their places,
 * `grad` the gradients but for those that `flat` left in 16 bits. */
ct_status ct_update_build(const ct_program_spec *s, ct_graph *g, const ct_graph *weights, const ct_layout *l,
                          ct_arena grad, const ct_flat *flat);

#endif
