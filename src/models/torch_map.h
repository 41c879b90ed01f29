/* The order of a parameter's elements in PyTorch and here: the map behind import of torch weights and golden files.
 * Names are equal. */
#ifndef CT_MODELS_TORCH_MAP_H
#define CT_MODELS_TORCH_MAP_H

#include "graph/graph.h"

/* Shape PyTorch gives to parameter or buffer v (same dtype): [K,C,R,S] for filters [K,R,S,C], [K,C,S] for those of one
 * dimension [K,1,S,C], [I,O] for transposed ones [O,I], otherwise the same. */
ct_desc ct_torch_desc(const ct_value *v);

/* Copies all elements of v from PyTorch's order to ours, or back. The two arrays must not overlap; both have
 * ct_desc_numel(&v->desc) elements of elem_bytes bytes each. */
void ct_from_torch(const ct_value *v, size_t elem_bytes, const void *theirs, void *ours);
void ct_to_torch(const ct_value *v, size_t elem_bytes, const void *ours, void *theirs);

#endif
