/* Starting a model from another one's weights: the rows of the classifiers are words. */
#include "config.h"

#include <inttypes.h>

#include "base/log.h"
#include "task/gloss/gloss.h"

int64_t ct_gloss_rows(const ct_place *p, const char *output)
{
    (void)output; /* all have the same */
    return ct_gloss_facts(p->facts)->vocabulary.n + 1;
}

int64_t ct_gloss_old_row(const ct_remap *m, int64_t r)
{
    const ct_vocabulary *now = &ct_gloss_facts(m->now->facts)->vocabulary;
    const ct_vocabulary *old = &ct_gloss_facts(m->old->facts)->vocabulary;
    if (r == 0) return 0; /* the blank */
    const int64_t k = ct_vocabulary_find(old, now->word[r - 1]);
    return k < 0 ? -1 : k + 1;
}

void ct_gloss_remapped(const ct_place *now, const ct_place *old)
{
    const ct_vocabulary *x = &ct_gloss_facts(now->facts)->vocabulary, *y = &ct_gloss_facts(old->facts)->vocabulary;
    int64_t kept = 0;
    for (int64_t i = 0; i < x->n; i++) kept += ct_vocabulary_find(y, x->word[i]) >= 0;
    if (kept < x->n || kept < y->n)
        ct_info("  classifiers: %" PRId64 " words taken over, %" PRId64 " new, %" PRId64 " dropped", kept, x->n - kept,
                y->n - kept);
}
