/* safetensors files (https://github.com/huggingface/safetensors, "Format"): 8 bytes little-endian header length,
 * a JSON header {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {..}},
 * then the tensors' bytes, row-major, little-endian, without holes.
 *
 * Files written here carry checksums in __metadata__ (other readers ignore them): "xxh3:<tensor>" is the XXH3-128 of
 * that tensor's bytes in hex, and "xxh3" that of the header's contents (all other metadata, names, dtypes, shapes,
 * offsets). Where they are present they are verified on opening, so a damaged file is an error naming the tensor. */
#ifndef CT_FORMATS_SAFETENSORS_H
#define CT_FORMATS_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct ct_safetensors ct_safetensors;

typedef struct ct_st_tensor {
    const char *name;
    ct_desc desc;        /* F32 F64 BF16 F16 U8 I32 I64, at most CT_MAX_DIMS dimensions */
    const uint8_t *data; /* in the map; may be unaligned in files of other programs: use memcpy or ct_st_read() */
    size_t bytes;
} ct_st_tensor;

/* Maps and validates a file: header length, JSON, dtypes, shapes, offsets (in range, no overlap, no hole), duplicate
 * names, checksums where present. CT_EIO, CT_EFORMAT, CT_EUNSUPPORTED (a dtype or rank captrain has not), CT_ENOMEM;
 * the message names the file and the tensor. *out: ct_safetensors_close(); NULL on failure. */
ct_status ct_safetensors_open(const char *path, ct_safetensors **out);

/* The same for a block of memory, which must stay valid while *out is open; `source` names it in messages. */
ct_status ct_safetensors_open_memory(const void *data, size_t size, const char *source, ct_safetensors **out);

void ct_safetensors_close(ct_safetensors *st); /* NULL is fine */

/* Tensors in byte-wise name order; the pointers belong to st. */
size_t ct_safetensors_count(const ct_safetensors *st);
const ct_st_tensor *ct_safetensors_at(const ct_safetensors *st, size_t i);
const ct_st_tensor *ct_safetensors_find(const ct_safetensors *st, const char *name); /* NULL: none */
/* The same, but CT_EFORMAT if there is none or it has not `ndim` dimensions (-1: any number). */
ct_status ct_safetensors_need(const ct_safetensors *st, const char *name, int ndim, const ct_st_tensor **out);
bool ct_safetensors_has_checksums(const ct_safetensors *st);

/* Metadata in byte-wise key order, the checksums left out. */
size_t ct_safetensors_meta_count(const ct_safetensors *st);
const char *ct_safetensors_meta_key(const ct_safetensors *st, size_t i);
const char *ct_safetensors_meta(const ct_safetensors *st, const char *key); /* NULL: none */

/* Copies tensor `name` to dst, which has the dtype and shape of *want. A missing tensor or another dtype or shape is
 * CT_EFORMAT with both named. */
ct_status ct_safetensors_get(const ct_safetensors *st, const char *name, const ct_desc *want, void *dst);

/* The first element of a floating point tensor that is no finite number; -1: all are. */
int64_t ct_st_not_finite(const ct_st_tensor *t);

/* Copies a tensor's elements to dst, converted to dtype d (through double; equal dtypes are copied bit by bit). */
void ct_st_read(const ct_st_tensor *t, ct_dtype d, void *dst);

/* The tensor is not wanted soon: of a file the memory that it took goes back, and it is read anew when it is. */
void ct_safetensors_rest(const ct_safetensors *st, const ct_st_tensor *t);

/* A tensor that is read once need not lie in memory whole: the next window of its elements, at most 4 MiB, from element
 * *at on, which then is the first one behind them. It is a tensor of one dimension; bytes 0: none are left. */
ct_st_tensor ct_st_window(const ct_st_tensor *t, size_t *at);

/* ---- writing ---- */

typedef struct ct_st_writer ct_st_writer;

ct_status ct_st_writer_new(ct_st_writer **out);
void ct_st_writer_free(ct_st_writer *w); /* NULL is fine */

/* Metadata string (copied). Keys "xxh3" and "xxh3:..." are the writer's own: CT_EINVAL, as is a key given twice. */
ct_status ct_st_writer_meta(ct_st_writer *w, const char *key, const char *value);

/* Adds a tensor; name and desc are copied, data (ct_desc_bytes(desc) bytes) must stay valid and unchanged until the
 * file has been written. The name "__metadata__" is CT_EINVAL, as is, found by ct_st_writer_save(), a name given
 * twice. */
ct_status ct_st_writer_add(ct_st_writer *w, const char *name, const ct_desc *desc, const void *data);

/* Writes the file atomically (base/file.h): an old file survives any failure. May be called again. Tensors lie in
 * order of falling element size, then of adding, so each is aligned to its element, the first to 64 bytes. */
ct_status ct_st_writer_save(ct_st_writer *w, const char *path);

#endif
