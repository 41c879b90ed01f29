/* Files of torch.save (.pth, .pt): archives of torch 1.6 and later, and the streams of older ones. Nothing in them is
 * run. Of a checkpoint the state dict is found, whatever else is beside it. */
#ifndef CT_PICKLE_TORCH_FILE_H
#define CT_PICKLE_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct ct_torch_file ct_torch_file;

typedef struct ct_torch_tensor {
    char *name;          /* its key in the state dict */
    ct_desc desc;        /* if odd is NULL; its dtype: as which it is read (bool as u8) */
    const char *odd;     /* why it cannot be read here: its type, or "more than 5 dimensions"; NULL: it can */
    uint32_t storage;
    int64_t offset, stride[CT_MAX_DIMS]; /* elements of the storage */
} ct_torch_tensor;

/* Do the first bytes of a file say that it is one of torch.save, or any other pickle or archive? */
bool ct_torch_is_file(const uint8_t *data, size_t size);

/* Maps a file and finds its state dict: `key` (parts of a path with dots between: "ema", "state.net"), or NULL: what
 * checkpoints call it (state_dict, model, ...), or the file's only dict of tensors, or the file itself. What was taken
 * and what is beside it is logged. CT_EIO, CT_EFORMAT, CT_EUNSUPPORTED, CT_ENOMEM; the message names what was refused
 * and, where Python can help, the line that does. *out: ct_torch_close(); NULL on failure. */
ct_status ct_torch_open(const char *path, const char *key, ct_torch_file **out);
/* The same for a block of memory, which must stay valid while *out is open. */
ct_status ct_torch_open_memory(const void *data, size_t size, const char *source, const char *key,
                               ct_torch_file **out);
void ct_torch_close(ct_torch_file *f); /* NULL is fine */

/* Tensors in the order of the dict. */
size_t ct_torch_count(const ct_torch_file *f);
const ct_torch_tensor *ct_torch_at(const ct_torch_file *f, size_t i);

/* Elements of tensor i, which is not odd, row-major and in this machine's byte order, to dst: ct_desc_bytes(&desc).
 * CT_EFORMAT where the archive is damaged. */
ct_status ct_torch_read(ct_torch_file *f, size_t i, void *dst);

#endif
