/* Several paths in one text, as data.train may name them. A path alone is such a text, too; what stands between two is
 * no part of any path that somebody writes, and a configuration refuses one that has it. */
#ifndef CT_BASE_PATHS_H
#define CT_BASE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define CT_PATHS_BETWEEN "//\n"

bool ct_paths_several(const char *paths);
/* The next path: *at begins at the text, and is moved on. *one (ct_free()) is NULL behind the last. CT_ENOMEM. */
ct_status ct_paths_next(const char **at, char **one);
/* "a, b": for people. ct_free(); NULL: CT_ENOMEM recorded. */
char *ct_paths_show(const char *paths);

#endif
