/* Where the characters of a text stand, as models with time steps tell. */
#include "config.h"

#include "base/alloc.h"
#include "task/text/findings.h"

ct_status ct_text_locate(ct_findings *f)
{
    ct_text_findings *t = (ct_text_findings *)f;
    const size_t n = (size_t)(t->n > 0 ? t->n : 1), cells = n * (size_t)t->columns;
    if (!t->sequence) return CT_OK;
    ct_text_want_scores(f);
    if (!(t->place = ct_calloc(cells, sizeof *t->place, "places of characters"))) return CT_ENOMEM;
    if (!(t->steps = ct_calloc(n, sizeof *t->steps, "time steps"))) return CT_ENOMEM;
    return ct_beam_new(1, t->characters + 1, &t->placer);
}

ct_status ct_text_place(ct_text_findings *t, const ct_outcome *o, int64_t i, const int32_t *text, int64_t n)
{
    const int64_t at = o->place[i];
    ct_text_scores s;
    CT_TRY(ct_text_scores_of(o, i, &s));
    t->steps[at] = (int32_t)o->output[0].desc.dim[1];
    return ct_beam_places(t->placer, s.type, s.score, s.first, s.stride, s.steps, text, n, t->place + at * t->columns);
}
