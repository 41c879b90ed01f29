#include "config.h"

#include "task/confusions.h"

#include <stdlib.h>

#include "base/alloc.h"

void ct_confusions_free(ct_confusions *c)
{
    ct_free(c->list);
    *c = (ct_confusions){ 0 };
}

ct_status ct_confusions_note(ct_confusions *c, int label, int pred)
{
    int64_t *kind = label < 0 ? &c->insertions : pred < 0 ? &c->deletions : &c->substitutions;
    CT_TRY(ct_grow(&c->list, c->n, &c->cap, sizeof *c->list, "confusions"));
    c->list[c->n++] = (ct_confusion){ label, pred, 1 };
    ++*kind;
    return CT_OK;
}

ct_status ct_confusions_align(ct_confusions *c, const ct_edit *e)
{
    for (int64_t p = 0; p < e->pairs; p++)
        if (e->pair[p].label != e->pair[p].pred) CT_TRY(ct_confusions_note(c, e->pair[p].label, e->pair[p].pred));
    return CT_OK;
}

static int by_ids(const void *pa, const void *pb)
{
    const ct_confusion *a = pa, *b = pb;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return a->pred < b->pred ? -1 : a->pred > b->pred;
}

static int by_count(const void *pa, const void *pb)
{
    const ct_confusion *a = pa, *b = pb;
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    return by_ids(pa, pb);
}

void ct_confusions_sort(ct_confusions *c)
{
    size_t kept = 0;
    if (c->n == 0) return;
    qsort(c->list, c->n, sizeof *c->list, by_ids);
    for (size_t i = 1; i < c->n; i++) {
        if (by_ids(&c->list[i], &c->list[kept]) == 0) c->list[kept].n += c->list[i].n;
        else c->list[++kept] = c->list[i];
    }
    c->n = kept + 1;
    qsort(c->list, c->n, sizeof *c->list, by_count);
}

int ct_confusions_most(const ct_confusions *c, int max, const ct_confusion **list)
{
    *list = c->list;
    return c->n < (size_t)max ? (int)c->n : max;
}
