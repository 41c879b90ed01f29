/* Runs beside each other: captrain compare. Private to the report. */
#ifndef CT_REPORT_COMPARE_H
#define CT_REPORT_COMPARE_H

#include <stdio.h>

#include "config/config.h"
#include "formats/json.h"
#include "task/task.h"

#define CT_COMPARE_MOST 64 /* runs */

/* A curve from metrics.jsonl. */
typedef struct ct_compared_curve {
    double *x, *y; /* [n] optimizer steps; values as people see them */
    size_t n, cap_x, cap_y;
} ct_compared_curve;

typedef struct ct_compared {
    const char *path;         /* as given */
    ct_config *cfg;
    const ct_task *task;
    json_t *result;           /* NULL: the run has not finished */
    json_t *seen;             /* the last "eval" event; NULL: none */
    int64_t step;             /* reached */
    ct_compared_curve loss, val_loss, score; /* score: what chooses the best weights */
} ct_compared;

/* Reads the folder of a run. CT_ECONFIG for one that is none, CT_EFORMAT, CT_EIO, CT_ENOMEM. *r is the caller's,
 * ct_compared_close(), also on failure. */
ct_status ct_compared_open(const char *path, ct_compared *r);
void ct_compared_close(ct_compared *r);
/* The metric that chooses a run's best weights. */
const ct_metric_row *ct_compared_lead(const ct_compared *r);
/* "name (RUN)", for legends and columns: ct_free(), NULL without memory. */
char *ct_compared_name(const ct_compared *r);

/* The document of compare --json: doc/json/compare.schema.json. NULL members: not known. */
ct_status ct_compare_document(const ct_compared *run, size_t n, json_t **out);

/* A row of the table: what, and how it is of each run; best: which runs have the best value, NULL where none is. */
typedef ct_status ct_compare_row(void *user, const char *what, char *const *text, const bool *best);
ct_status ct_compare_rows(const ct_compared *run, size_t n, ct_compare_row *row, void *user);
/* Keys that differ. */
ct_status ct_compare_keys(const ct_compared *run, size_t n, ct_compare_row *row, void *user);

/* The page of compare --html. */
ct_status ct_compare_html(const char *path, const ct_compared *run, size_t n);

#endif
