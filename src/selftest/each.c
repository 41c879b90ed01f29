/* Which backends a self-test runs on. */
#include "config.h"

#include "selftest/each.h"

#include <string.h>

ct_status ct_backend_each(const char *name, FILE *to, ct_backend_visit *visit, void *user)
{
    const ct_backend *b;
    if (name && *name && strcmp(name, "auto") != 0) {
        CT_TRY(ct_backend_load(name, &b));
        return visit(user, b);
    }
    for (size_t i = 0; i < ct_backend_count(); i++) {
        const ct_status st = ct_backend_load(ct_backend_name(i), &b);
        if (st == CT_ENOMEM) return st;
        if (st == CT_OK)
            CT_TRY(visit(user, b));
        else if (ct_backend_is_news(i))
            fprintf(to, "not checked: %s\n", ct_error_message());
    }
    return CT_OK;
}
