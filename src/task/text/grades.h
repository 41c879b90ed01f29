/* How well texts are read, broken down: by character, by length, by confidence. Private to this folder. */
#ifndef CT_TASK_TEXT_GRADES_H
#define CT_TASK_TEXT_GRADES_H

#include <stdio.h>

#include "task/text/findings.h"

typedef struct ct_grade {
    int64_t n, right;
} ct_grade;

#define CT_RELIABILITY_BINS 15

/* All arrays are owned: ct_text_grades_free(). */
typedef struct ct_text_grades {
    const ct_text_findings *of; /* must outlive the grades */
    int64_t *order;             /* [n] samples of the view: the surest first, ties by number */
    bool *right;                /* [n] of each sample of the view */
    double *sure;               /* [n] its confidence, 0..1 */
    ct_grade *character;        /* [characters] of labels */
    ct_grade length[CT_LABEL_MAX + 1]; /* strings by the characters of their label */
    ct_grade bin[CT_RELIABILITY_BINS]; /* strings by confidence, bins of equal width */
    double bin_sure[CT_RELIABILITY_BINS]; /* sum of confidences */
    double ece;                 /* expected calibration error: mean of |accuracy - confidence| over bins, by strings */
} ct_text_grades;

/* Settled findings of labelled samples. CT_ENOMEM. */
ct_status ct_text_grade(const ct_text_findings *d, ct_text_grades *out);
void ct_text_grades_free(ct_text_grades *g); /* zeroed is fine */

/* A section of report.html with all of it. CT_EIO, CT_ENOMEM. */
ct_status ct_text_grades_html(const ct_text_grades *g, FILE *f);

#endif
