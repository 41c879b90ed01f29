/* The bytes of pictures, which are files, or values of a database: DIR/data.mdb/KEY is the value of KEY in the database
 * in folder DIR. */
#ifndef CT_DATA_PICTURES_H
#define CT_DATA_PICTURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_pictures ct_pictures;

/* To be asked by any number of threads. CT_ENOMEM. */
ct_status ct_pictures_open(ct_pictures **out);
void ct_pictures_close(ct_pictures *p); /* NULL is fine */
/* The file or value dir/name; dir may be "". *data: ct_free(). Messages begin with dir/name. CT_EIO, CT_EFORMAT (larger
 * than a picture may be), CT_EUNSUPPORTED, CT_ENOMEM. */
ct_status ct_pictures_read(ct_pictures *p, const char *dir, const char *name, uint8_t **data, size_t *size);

#endif
