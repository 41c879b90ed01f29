#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "selftest/golden.h"

ct_status ct_golden_add(ct_golden_table *t, const char *prefix, const char *name, double error, double tolerance)
{
    CT_TRY(ct_grow(&t->rows, t->n, &t->cap, sizeof *t->rows, "rows of a golden table"));
    ct_golden_row *r = &t->rows[t->n];
    int len = snprintf(r->name, sizeof r->name, "%s%s", prefix, name);
    if (len < 0 || (size_t)len >= sizeof r->name)
        return ct_fail(CT_EFORMAT, "tensor name '%s%s' is too long", prefix, name);
    r->error = error;
    r->tolerance = tolerance;
    t->n++;
    return CT_OK;
}

double ct_golden_difference(ct_dtype d, const void *ours, const void *theirs, int64_t n)
{
    double diff = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double a = ct_load(d, ours, i), b = ct_load(d, theirs, i);
        diff += (a - b) * (a - b);
        norm += b * b;
    }
    return norm > 0 ? sqrt(diff / norm) : sqrt(diff);
}

/* How far beyond (above 1) or within its tolerance a row is; rows that are not judged come last. */
static double badness(const ct_golden_row *r)
{
    if (r->tolerance <= 0) return -1;
    return isfinite(r->error) ? r->error / r->tolerance : HUGE_VAL;
}

static int worst_first(const void *a, const void *b)
{
    const ct_golden_row *p = a, *q = b;
    double x = badness(p), y = badness(q);
    if (x != y) return x < y ? 1 : -1;
    return p->error < q->error ? 1 : p->error > q->error ? -1 : 0;
}

size_t ct_golden_print(ct_golden_table *t, FILE *to)
{
    size_t beyond = 0;
    if (t->n) qsort(t->rows, t->n, sizeof *t->rows, worst_first);
    fprintf(to, "%-56s %10s %10s\n", "tensor", "difference", "allowed");
    for (size_t i = 0; i < t->n; i++) {
        const ct_golden_row *r = &t->rows[i];
        bool judged = r->tolerance > 0, bad = judged && badness(r) > 1;
        beyond += bad;
        if (judged) fprintf(to, "%-56s %10.2e %10.1e %s\n", r->name, r->error, r->tolerance, bad ? "FAIL" : "ok");
        else fprintf(to, "%-56s %10.2e %10s\n", r->name, r->error, "not judged");
    }
    return beyond;
}

void ct_golden_table_free(ct_golden_table *t)
{
    ct_free(t->rows);
    *t = (ct_golden_table){ NULL, 0, 0 };
}
