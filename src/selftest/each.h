/* Which backends a self-test runs on. */
#ifndef CT_SELFTEST_EACH_H
#define CT_SELFTEST_EACH_H

#include <stdio.h>

#include "exec/exec.h"

typedef ct_status ct_backend_visit(void *user, const ct_backend *b);

/* Visits the backend of that name; for NULL, "" and "auto" all that work here, with a line on `to` for each that does
 * not, where one may expect it to (ct_backend_is_news). Ends with the first error: that of a visit, or CT_EBACKEND for
 * a name that there is not, or that does not work. */
ct_status ct_backend_each(const char *name, FILE *to, ct_backend_visit *visit, void *user);

#endif
