/* Pieces of report.html. Private to the report. */
#ifndef CT_REPORT_REPORT_HTML_H
#define CT_REPORT_REPORT_HTML_H

#include <stdio.h>

#include "run/run.h"

extern const char ct_report_style[]; /* the style sheet */

/* The curves that metrics.jsonl holds. */
ct_status ct_report_curves(FILE *f, const char *run_dir);
/* How fast it went, and what the device told while it trained: curves, energy, reasons for low clocks. */
ct_status ct_report_device(FILE *f, const ct_report *rep);
/* Errors per position, confusions, and the wrong predictions with their pictures. */
ct_status ct_report_errors(FILE *f, const ct_report *rep);
/* Base64 (RFC 4648) of n bytes. */
void ct_report_base64(FILE *f, const uint8_t *data, size_t n);

#endif
