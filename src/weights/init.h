/* The weights a run starts from when it continues another model (--init). */
#ifndef CT_WEIGHTS_INIT_H
#define CT_WEIGHTS_INIT_H

#include "session/session.h"
#include "task/task.h"

/* Loads the weights of model file `path` into a session whose parameters have been drawn already, for a model with
 * these facts. All tensors must agree in name and shape with the file's but those of the last layer behind each output,
 * whose rows are copied as the task says (ct_task.old_row). Rows that the file does not have keep what was drawn; what
 * is taken over, new and dropped is logged. CT_EFORMAT naming every tensor that does not agree; CT_ECONFIG when the
 * file's model is of another task or has another kind of head. */
ct_status ct_init_weights(ct_session *s, const char *path, const ct_config *cfg, const ct_facts *facts);

#endif
