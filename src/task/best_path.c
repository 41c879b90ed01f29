#include "config.h"

#include "task/best_path.h"

#include <math.h>

#include "base/alloc.h"

/* Where a path came from. */
enum { STAYS, FROM_BLANK, FROM_FIRST, FROM_SECOND };

void ct_restriction_free(ct_restriction *r)
{
    ct_free(r->symbol);
    ct_free(r->may);
    *r = (ct_restriction){ 0 };
}

int64_t ct_restriction_reach(const ct_restriction *r, int64_t steps)
{
    return r->symbols > 1 ? steps : (steps + 1) / 2;
}

void ct_best_path_free(ct_best_path *m)
{
    ct_free(m->score);
    ct_free(m->from);
    ct_free(m->top);
    *m = (ct_best_path){ 0 };
}

static ct_status room(void **p, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap) return CT_OK;
    void *more = ct_realloc(*p, need, size, "best paths");
    if (!more) return CT_ENOMEM;
    *p = more;
    *cap = need;
    return CT_OK;
}

typedef struct scores {
    const ct_restriction *r;
    ct_dtype type;
    const void *logp;
    int64_t first, stride;
} scores;

/* Of class c (0: the blank) at step t. */
static double at(const scores *s, int64_t t, int64_t c)
{
    const double v = ct_load(s->type, s->logp, s->first + t * s->stride + c);
    return isnan(v) ? -INFINITY : v;
}

/* Without a length every step is its own. */
static int64_t free_length(const scores *s, int64_t steps, int32_t *row)
{
    int64_t n = 0;
    int32_t last = -1;
    for (int64_t t = 0; t < steps; t++) {
        int32_t best = -1;
        double most = at(s, t, 0);
        for (int64_t k = 0; k < s->r->symbols; k++) {
            const double v = at(s, t, s->r->symbol[k] + 1);
            if (v > most) most = v, best = s->r->symbol[k];
        }
        if (best >= 0 && best != last) row[n++] = best;
        last = best;
    }
    return n;
}

/* One step of a level: cell 0 ends in a blank, cell 1+k in symbol k; `now`, `before` of this level, `below` of the one
 * below a step ago, top its two best symbols then. */
static void advance(const scores *s, int64_t t, double *now, const double *before, const double *below,
                    const int32_t *top, const int32_t *top_below, uint8_t *from)
{
    const double blank = at(s, t, 0);
    const double ended = top[0] >= 0 ? before[1 + top[0]] : -INFINITY;
    from[0] = ended > before[0] ? FROM_FIRST : STAYS;
    now[0] = (ended > before[0] ? ended : before[0]) + blank;
    for (int64_t k = 0; k < s->r->symbols; k++) {
        double best = before[1 + k];
        from[1 + k] = STAYS;
        if (below) {
            const int other = top_below[0] == k; /* the same symbol again needs a blank between */
            const double v = top_below[other] >= 0 ? below[1 + top_below[other]] : -INFINITY;
            if (below[0] > best) best = below[0], from[1 + k] = FROM_BLANK;
            if (v > best) best = v, from[1 + k] = other ? FROM_SECOND : FROM_FIRST;
        }
        now[1 + k] = best + at(s, t, s->r->symbol[k] + 1);
    }
}

static void find_top(const double *level, int64_t symbols, int32_t top[2])
{
    top[0] = top[1] = -1;
    for (int32_t k = 0; k < symbols; k++) {
        const double v = level[1 + k];
        if (v == -INFINITY) continue;
        if (top[0] < 0 || v > level[1 + top[0]]) top[1] = top[0], top[0] = k;
        else if (top[1] < 0 || v > level[1 + top[1]]) top[1] = k;
    }
}

/* Walks back from cell `cell` of `level`; fills row from its end. */
static void spell(const ct_best_path *m, const ct_restriction *r, int64_t steps, int64_t levels, int64_t level,
                  int64_t cell, int32_t *row)
{
    const int64_t cells = 1 + r->symbols;
    for (int64_t t = steps - 1; t >= 0; t--) {
        const int how = m->from[(t * levels + level) * cells + cell];
        const int64_t was = cell;
        if (how == STAYS) continue;
        if (was > 0) row[--level] = r->symbol[was - 1];
        if (t == 0) break;
        const int32_t *top = m->top + ((t - 1) * levels + level) * 2;
        cell = how == FROM_BLANK ? 0 : 1 + top[how == FROM_SECOND];
    }
}

ct_status ct_best_path_decode(ct_best_path *m, const ct_restriction *r, ct_dtype type, const void *logp, int64_t first,
                              int64_t stride, int64_t steps, int32_t *row, int64_t *n)
{
    const scores s = { r, type, logp, first, stride };
    const int64_t most = r->most < steps ? r->most : steps, levels = most + 1, cells = 1 + r->symbols;
    if (r->most == 0) return *n = free_length(&s, steps, row), CT_OK;
    *n = -1;
    CT_TRY(room((void **)&m->score, &m->cap_score, (size_t)(2 * levels * cells), sizeof *m->score));
    CT_TRY(room((void **)&m->from, &m->cap_from, (size_t)(steps * levels * cells), 1));
    CT_TRY(room((void **)&m->top, &m->cap_top, (size_t)((steps + 1) * levels * 2), sizeof *m->top));
    double *before = m->score, *now = m->score + levels * cells;
    int32_t start[2] = { -1, -1 };
    for (int64_t i = 0; i < levels * cells; i++) before[i] = -INFINITY;
    before[0] = 0; /* nothing yet: as after a blank */
    for (int64_t t = 0; t < steps; t++) {
        const int32_t *top = t > 0 ? m->top + (t - 1) * levels * 2 : NULL;
        for (int64_t k = 0; k < levels; k++)
            advance(&s, t, now + k * cells, before + k * cells, k > 0 ? before + (k - 1) * cells : NULL,
                    top ? top + 2 * k : start, top && k > 0 ? top + 2 * (k - 1) : start,
                    m->from + (t * levels + k) * cells);
        for (int64_t k = 0; k < levels; k++) find_top(now + k * cells, r->symbols, m->top + (t * levels + k) * 2);
        double *other = before;
        before = now;
        now = other;
    }
    double best = -INFINITY;
    int64_t level = -1, cell = 0;
    for (int64_t k = r->least; k < levels; k++) {
        const int32_t end = steps > 0 ? m->top[((steps - 1) * levels + k) * 2] : -1;
        if (before[k * cells] > best) best = before[k * cells], level = k, cell = 0;
        if (end < 0 || before[k * cells + 1 + end] <= best) continue;
        best = before[k * cells + 1 + end];
        level = k;
        cell = 1 + end;
    }
    if (level < 0) return CT_OK;
    *n = level;
    spell(m, r, steps, levels, level, cell, row);
    return CT_OK;
}
