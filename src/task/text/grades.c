#include "config.h"

#include "task/text/grades.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

typedef struct ranked {
    double sure;
    int64_t i;
} ranked;

static int by_confidence(const void *pa, const void *pb)
{
    const ranked *a = pa, *b = pb;
    if (a->sure != b->sure) return a->sure > b->sure ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

void ct_text_grades_free(ct_text_grades *g)
{
    ct_free(g->order);
    ct_free(g->right);
    ct_free(g->sure);
    ct_free(g->character);
    *g = (ct_text_grades){ 0 };
}

static void mark(ct_grade *g, bool right)
{
    g->n++;
    g->right += right;
}

/* Characters of label i. */
static ct_status grade_characters(ct_text_grades *g, int64_t i, ct_edit *e)
{
    const ct_text_findings *d = g->of;
    const int32_t *pred = d->pred + i * d->columns;
    int64_t chars;
    const int32_t *label = ct_found_label(d, i, &chars);
    if (chars <= CT_LABEL_MAX) mark(&g->length[chars], g->right[i]);
    if (!d->sequence) {
        for (int64_t k = 0; k < chars && k < d->columns; k++) mark(&g->character[label[k]], label[k] == pred[k]);
        return CT_OK;
    }
    CT_TRY(ct_edit_align(e, label, chars, pred, ct_found_length(d, i)));
    for (int64_t k = 0; k < e->pairs; k++)
        if (e->pair[k].label >= 0) mark(&g->character[e->pair[k].label], e->pair[k].label == e->pair[k].pred);
    return CT_OK;
}

static void grade_confidence(ct_text_grades *g, int64_t i)
{
    const double sure = fmin(fmax(g->sure[i], 0), 1);
    int b = (int)(sure * CT_RELIABILITY_BINS);
    if (b == CT_RELIABILITY_BINS) b--; /* a confidence of 1 belongs to the last */
    mark(&g->bin[b], g->right[i]);
    g->bin_sure[b] += sure;
}

ct_status ct_text_grade(const ct_text_findings *d, ct_text_grades *g)
{
    const size_t n = (size_t)(d->n > 0 ? d->n : 1);
    ct_edit e = { 0 };
    ct_status st = CT_OK;
    *g = (ct_text_grades){ .of = d };
    ranked *rank = ct_calloc(n, sizeof *rank, "grades");
    g->order = ct_calloc(n, sizeof *g->order, "grades");
    g->right = ct_calloc(n, sizeof *g->right, "grades");
    g->sure = ct_calloc(n, sizeof *g->sure, "grades");
    g->character = ct_calloc((size_t)d->characters + 1, sizeof *g->character, "grades");
    if (!rank || !g->order || !g->right || !g->sure || !g->character) CT_GOTO(st, CT_ENOMEM);
    for (int64_t i = 0; i < d->n; i++) {
        g->right[i] = ct_text_right(&d->base, i);
        const double sure = ct_found_confidence(d, i);
        g->sure[i] = isfinite(sure) ? sure : 0;
        rank[i] = (ranked){ g->sure[i], i };
        grade_confidence(g, i);
        CT_GOTO(st, grade_characters(g, i, &e));
    }
    qsort(rank, (size_t)d->n, sizeof *rank, by_confidence);
    for (int64_t i = 0; i < d->n; i++) g->order[i] = rank[i].i;
    for (int b = 0; b < CT_RELIABILITY_BINS; b++)
        g->ece += fabs((double)g->bin[b].right - g->bin_sure[b]) / (double)n;
fail:
    ct_free(rank);
    ct_edit_free(&e);
    if (st != CT_OK) ct_text_grades_free(g);
    return st;
}
