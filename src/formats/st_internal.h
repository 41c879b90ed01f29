/* Shared by the reader and the writer of safetensors files. */
#ifndef CT_FORMATS_ST_INTERNAL_H
#define CT_FORMATS_ST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "formats/safetensors.h"

#define CT_ST_MAX_HEADER 100000000u /* bytes; the limit of the format's own library */

typedef struct ct_st_meta { const char *key, *value; } ct_st_meta;

const char *ct_st_dtype_name(ct_dtype d); /* "F32" */

typedef struct ct_st_index {
    const char *name;
    const ct_desc *desc;
    size_t offset; /* bytes from the beginning of the data */
} ct_st_index;

/* The header's checksum ("xxh3" itself is left out of the metadata). Sorts both arrays. CT_ENOMEM. */
ct_status ct_st_header_hash(ct_st_index *t, size_t count, ct_st_meta *m, size_t metas, char out[33]);

#endif
