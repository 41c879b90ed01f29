/* Pieces of report.html. Private to the report. */
#ifndef CT_REPORT_REPORT_HTML_H
#define CT_REPORT_REPORT_HTML_H

#include <stdio.h>

#include "run/run.h"

extern const char ct_report_style[]; /* the style sheet */

/* The curves that metrics.jsonl holds. */
ct_status ct_report_curves(FILE *f, const ct_report *rep);
/* How fast it went, and what the device told while it trained: curves, energy, reasons for low clocks. */
ct_status ct_report_device(FILE *f, const ct_report *rep);
/* Training samples as they were augmented: half as many as report.gallery says. */
ct_status ct_report_samples(FILE *f, const ct_report *rep);

#endif
