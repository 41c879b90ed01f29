#include "config.h"

#include "base/sized.h"

#include <string.h>

static ct_status size_of(const void *given, const char *type, size_t *size)
{
    if (!given) return ct_fail(CT_EINVAL, "%s: a null pointer", type);
    memcpy(size, given, sizeof *size);
    return *size >= sizeof *size
               ? CT_OK
               : ct_fail(CT_EINVAL, "%s: its member size is %zu; it must be sizeof(%s)", type, *size, type);
}

ct_status ct_sized_take(void *own, size_t own_size, const void *given, const char *type)
{
    size_t size = 0;
    CT_TRY(size_of(given, type, &size));
    for (size_t i = own_size; i < size; i++)
        if (((const char *)given)[i] != 0)
            return ct_fail(
                CT_EINVAL,
                "%s: the caller has %zu bytes of a later version, and uses what this one (%zu bytes) does not know",
                type, size, own_size);
    memset(own, 0, own_size);
    memcpy(own, given, size < own_size ? size : own_size);
    return CT_OK;
}

ct_status ct_sized_at(const void *list, size_t i, const char *type, const void **out)
{
    size_t size = 0, own = 0;
    CT_TRY(size_of(list, type, &size));
    *out = (const char *)list + i * size;
    memcpy(&own, *out, sizeof own);
    if (own == size) return CT_OK;
    return ct_fail(CT_EINVAL, "%s: number %zu of a list has a size of %zu, the first one of %zu", type, i, own, size);
}

ct_status ct_sized_give(void *given, const void *own, size_t own_size, const char *type)
{
    size_t size = 0, first = sizeof size;
    CT_TRY(size_of(given, type, &size));
    memcpy((char *)given + first, (const char *)own + first, (size < own_size ? size : own_size) - first);
    return CT_OK;
}
