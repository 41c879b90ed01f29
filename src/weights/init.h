/* The weights a run starts from when it continues another model (--init). */
#ifndef CT_WEIGHTS_INIT_H
#define CT_WEIGHTS_INIT_H

#include "task/text/label.h"
#include "session/session.h"

/* Loads the weights of model file `path` into a session whose parameters have been drawn already and which reads
 * `charset`. All tensors must agree in name and shape with the file's but those of the last layer, whose rows are
 * copied by character: CTC heads blank to blank, heads of fixed length position by position. Rows of characters (and
 * positions) that the file does not have keep what was drawn; what is taken over, new and dropped is logged. CT_EFORMAT
 * naming every tensor that does not agree; CT_ECONFIG when the file's model has another kind of head. */
ct_status ct_init_weights(ct_session *s, const char *path, const ct_charset *charset);

#endif
