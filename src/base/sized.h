/* Structs of the public interface that begin with their size: see captrain.h. */
#ifndef CT_BASE_SIZED_H
#define CT_BASE_SIZED_H

#include <stddef.h>

#include "base/status.h"

/* Copies a caller's struct into ours, of own_size bytes: members that it does not have are 0. CT_EINVAL, naming `type`,
 * without a size, or where the caller's is larger and says something that we do not know. */
ct_status ct_sized_take(void *own, size_t own_size, const void *given, const char *type);
/* Member i of a caller's list, whose members are as far apart as the first one says it is large. CT_EINVAL where this
 * one says another size. */
ct_status ct_sized_at(const void *list, size_t i, const char *type, const void **out);
/* Copies our struct into a caller's, as much of it as that has, and leaves its size alone. CT_EINVAL without a size. */
ct_status ct_sized_give(void *given, const void *own, size_t own_size, const char *type);

#endif
