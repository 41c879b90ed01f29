/* Tensors that have other names, matched by shape and order; and the list of it for people. */
#ifndef CT_WEIGHTS_MATCH_H
#define CT_WEIGHTS_MATCH_H

#include "session/session.h"
#include "weights/state.h"

typedef struct ct_match {
    int64_t *theirs;     /* [session.tensors] the file's tensor for each of the model's; -1: none */
    size_t by_name, by_shape;
    size_t missing, left; /* of the model, of the file, with nothing on the other side */
} ct_match;

/* First by name (name[i]: what tensor i of the file is called here), then, if the file keeps the order of its tensors,
 * what is left: the first of the model's with the first of the file's of the same shape and the same last part of the
 * name (weight, running_var), and so on. */
ct_status ct_match_make(const ct_session *s, const ct_state_file *file, char *const *name, ct_match *out);
void ct_match_free(ct_match *m);

/* Logs what was matched by shape, a line each. */
void ct_match_log(const ct_match *m, const ct_session *s, const ct_state_file *file);
/* Writes all of it as rules for --map-file, what is missing and left over as comments. */
ct_status ct_match_write(const ct_match *m, const ct_session *s, const ct_state_file *file, char *const *name,
                         const char *path, bool force);

#endif
