/* Names of tensors in other programs' files: rules that turn one name into another. */
#ifndef CT_WEIGHTS_NAME_MAP_H
#define CT_WEIGHTS_NAME_MAP_H

#include <stddef.h>

#include "base/status.h"

/* Rule i: names that are from[i], or begin with from[i] and a dot, have that part replaced by to[i]. A from[i] that is
 * empty or ends in a dot is a plain first part: "module.=" strips it, "=cnn." puts it in front. The first rule that
 * fits is applied, once. */
typedef struct ct_name_map {
    char **from, **to;
    size_t n, cap_from, cap_to;
} ct_name_map;

/* Adds rule "OLD=NEW"; `where` names its origin in messages. CT_ECONFIG without '=', or with nothing on either side. */
ct_status ct_name_map_add(ct_name_map *m, const char *rule, const char *where);
/* Adds the rules of a file: one a line, blank lines and lines that begin with '#' left out. CT_EIO, CT_ECONFIG naming
 * file and line. */
ct_status ct_name_map_read(ct_name_map *m, const char *path);
char *ct_name_map_apply(const ct_name_map *m, const char *name); /* ct_free(); NULL without memory */
void ct_name_map_free(ct_name_map *m);                           /* empties */

#endif
