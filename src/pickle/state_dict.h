/* Inside src/pickle only: where in a checkpoint the state dict is. */
#ifndef CT_PICKLE_STATE_DICT_H
#define CT_PICKLE_STATE_DICT_H

#include "pickle/torch_values.h"

/* The dict of tensors that `key` names, NULL: as ct_torch_open() says. Logs what was taken and what was not.
 * CT_EFORMAT: there is none, or more than one and none that is usual. */
ct_status ct_state_dict_find(const ct_torch_values *t, const ct_pickle *p, const char *key, ct_ref *out);

#endif
