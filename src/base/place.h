/* Where what was installed lies now: a tree that `make install` made may be moved as a whole, or unpacked elsewhere. */
#ifndef CT_BASE_PLACE_H
#define CT_BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The file this code is in, program or shared library, links followed. False: the system does not tell. */
bool ct_place_self(char *buf, size_t size);
/* The folder that `target` is today, if this code was installed in folder `home` beside it and both were moved:
 * `target` itself where nothing was. Both are absolute, as configure has them. *out NULL: this code does not lie in a
 * folder that could be `home`. ct_free(). CT_ENOMEM. */
ct_status ct_place_moved(const char *self, const char *home, const char *target, char **out);
/* The same for this code, whether it is the program or the library. */
ct_status ct_place_installed(const char *target, char **out);

#endif
