/* Starting a model from another one's weights: the rows of the last layer are characters. */
#include "config.h"

#include <inttypes.h>

#include "base/log.h"
#include "task/text/text.h"

#define SHOWN_CHARACTERS 40

static bool any_length(const ct_place *p) { return ct_model_head(p->model) == CT_HEAD_CTC; }

ct_status ct_text_related(const char *path, const ct_place *now, const ct_place *old)
{
    if (any_length(now) == any_length(old)) return CT_OK;
    return ct_fail(CT_ECONFIG, "%s holds a %s, which reads texts %s; model.name: %s does not", path, old->model->name,
                   any_length(now) ? "of a fixed length" : "of any length", now->model->name);
}

static int64_t classes_of(const ct_place *p) { return ct_text_facts(p->facts)->charset.n + any_length(p); }

static int64_t positions_of(const ct_place *p) { return any_length(p) ? 1 : ct_text_facts(p->facts)->positions; }

int64_t ct_text_rows(const ct_place *p, const char *output)
{
    (void)output; /* there is one */
    return positions_of(p) * classes_of(p);
}

int64_t ct_text_old_row(const ct_remap *m, int64_t r)
{
    const ct_charset *now = &ct_text_facts(m->now->facts)->charset, *old = &ct_text_facts(m->old->facts)->charset;
    const int64_t blank = any_length(m->now), position = r / classes_of(m->now), class = r % classes_of(m->now);
    if (position >= positions_of(m->old)) return -1;
    if (blank && class == 0) return 0;
    const int k = ct_charset_find(old, now->cp[class - blank]);
    return k < 0 ? -1 : position * classes_of(m->old) + k + blank;
}

/* Characters of a that b has not, into buf (the first of them, with "..." behind); returns how many. */
static int without(const ct_charset *a, const ct_charset *b, char *buf, size_t size)
{
    int32_t id[SHOWN_CHARACTERS];
    int n = 0;
    for (int k = 0; k < a->n; k++) {
        if (ct_charset_find(b, a->cp[k]) >= 0) continue;
        if (n < SHOWN_CHARACTERS) id[n] = k;
        n++;
    }
    ct_charset_decode(a, id, n < SHOWN_CHARACTERS ? n : SHOWN_CHARACTERS, buf, size);
    return n;
}

void ct_text_remapped(const ct_place *now, const ct_place *old)
{
    const ct_charset *new_cs = &ct_text_facts(now->facts)->charset, *old_cs = &ct_text_facts(old->facts)->charset;
    char fresh[4 * SHOWN_CHARACTERS + 1], gone[4 * SHOWN_CHARACTERS + 1];
    const int nfresh = without(new_cs, old_cs, fresh, sizeof fresh), ngone = without(old_cs, new_cs, gone, sizeof gone);
    if (nfresh + ngone > 0 || !ct_charset_equal(new_cs, old_cs))
        ct_info("  last layer: %d characters taken over, %d new%s%s%s, %d dropped%s%s%s", new_cs->n - nfresh, nfresh,
                nfresh ? " (" : "", fresh, nfresh > SHOWN_CHARACTERS ? " ...)" : nfresh ? ")" : "", ngone,
                ngone ? " (" : "", gone, ngone > SHOWN_CHARACTERS ? " ...)" : ngone ? ")" : "");
    const int64_t p = positions_of(now), q = positions_of(old);
    if (p != q)
        ct_info("  last layer: %" PRId64 " positions, the model had %" PRId64 "%s", p, q,
                p > q ? "; the others are new" : "");
}
