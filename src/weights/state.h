/* The state dict of another program in a file: safetensors, or what torch.save wrote; their first bytes tell. */
#ifndef CT_WEIGHTS_STATE_H
#define CT_WEIGHTS_STATE_H

#include "formats/safetensors.h"

typedef struct ct_state_file ct_state_file;

typedef struct ct_state_tensor {
    const char *name;
    ct_desc desc;    /* if odd is NULL */
    const char *odd; /* why it cannot be read here: "int16"; NULL: it can */
} ct_state_tensor;

/* key: the dict in a file of torch.save that is meant, NULL: the usual one (pickle/torch_file.h). *out:
 * ct_state_close(); NULL on failure. CT_ECONFIG for a key where files have none. */
ct_status ct_state_open(const char *path, const char *key, ct_state_file **out);
void ct_state_close(ct_state_file *s); /* NULL is fine */

size_t ct_state_count(const ct_state_file *s);
ct_state_tensor ct_state_at(const ct_state_file *s, size_t i);
bool ct_state_ordered(const ct_state_file *s); /* do tensors stand in the order in which the model has them? */

/* Tensor i with its elements, row-major: *own is what has to be ct_free()d behind it, perhaps NULL. */
ct_status ct_state_read(ct_state_file *s, size_t i, ct_st_tensor *t, void **own);

#endif
