/* Rules of optimizer.groups: parameters with rates and decay of their own. */
#ifndef CT_PROGRAM_GROUPS_H
#define CT_PROGRAM_GROUPS_H

#include <stdbool.h>

#include "base/status.h"

typedef enum ct_by { CT_BY_ANY, CT_BY_MUON, CT_BY_ADAMW } ct_by;

typedef struct ct_group_rule {
    char pattern[160]; /* ct_name_matches() */
    double lr;         /* factor of the rate; -1: not said */
    double decay;      /* weight decay; -1: not said */
    ct_by by;          /* what updates them, where the optimizer is Muon */
} ct_group_rule;

/* Reads "PATTERN lr=0.1 decay=0 by=adamw". CT_ECONFIG, naming optimizer.groups and the word. */
ct_status ct_group_rule_read(const char *text, ct_group_rule *out);

#endif
