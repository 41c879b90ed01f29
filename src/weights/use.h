/* A trained model in use: what eval and predict share. */
#ifndef CT_WEIGHTS_USE_H
#define CT_WEIGHTS_USE_H

#include "captrain.h"
#include "formats/json.h"
#include "session/session.h"
#include "weights/checkpoint.h"

typedef struct ct_model_use {
    char *path; /* of the model file */
    ct_model_file file;
    ct_session session;
} ct_model_use;

/* Puts the backend that common names into the file's configuration, whose strings all move: before any session.
 * CT_ECONFIG. */
ct_status ct_model_choose(ct_model_file *file, const ct_common *common);
/* Begins a session for a model file that is open; common: which backend, threads. The file must outlive it. */
ct_status ct_model_session(const ct_model_file *file, const ct_common *common, ct_session *out);
/* Opens the model file, or the best one of a run's folder, and a session for it. Programs are added to use->session
 * next. The model's own precision is used. */
ct_status ct_model_use_begin(ct_model_use *use, const char *path, const ct_common *common);
/* Allocates, plans, and loads the weights the file says are to be used. */
ct_status ct_model_use_ready(ct_model_use *use);
void ct_model_use_end(ct_model_use *use); /* a zeroed one is fine */

#endif
