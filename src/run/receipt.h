/* The precision receipt of a run: printed by plan, checked by train.strict, kept as RUN/receipt.json and in
 * report.html. */
#ifndef CT_RUN_RECEIPT_H
#define CT_RUN_RECEIPT_H

#include <stdio.h>

#include "exec/exec.h"
#include "formats/json.h"
#include "run/run.h"

/* One line per row, and below them what is not as it was asked for. Every line begins with `indent`. */
void ct_receipt_print(const ct_receipt_list *l, const char *indent, FILE *to);
/* into["receipt"] = the rows (doc/formats.md). CT_ENOMEM. */
ct_status ct_receipt_json(const ct_receipt_list *l, json_t *into);
/* CT_ECONFIG naming the first row with a fault, its operator, implementation, node and reason, and how many more there
 * are. */
ct_status ct_receipt_strict(const ct_receipt_list *l);

/* Of all programs of a run, once they are planned: the check of train.strict; into RUN/receipt.json; into run.log,
 * behind what its reader wants to know first; a section of the report. */
ct_status ct_receipt_check(const ct_run *r);
ct_status ct_receipt_write(const ct_run *r);
ct_status ct_receipt_log(const ct_run *r);
ct_status ct_receipt_html(const ct_run *r, FILE *to);

#endif
