#include "config.h"

#include "task/edit.h"

#include <string.h>

#include "base/alloc.h"

void ct_edit_free(ct_edit *e)
{
    if (!e) return;
    ct_free(e->cost);
    ct_free(e->pair);
    memset(e, 0, sizeof *e);
}

int64_t ct_edit_length(const int32_t *row, int64_t columns)
{
    int64_t n = 0;
    while (n < columns && row[n] >= 0) n++;
    return n;
}

static ct_status reserve(ct_edit *e, int64_t nl, int64_t np)
{
    const size_t cells = (size_t)(nl + 1) * (size_t)(np + 1), pairs = (size_t)(nl + np);
    if (cells > e->cap_cost) {
        int32_t *cost = ct_realloc(e->cost, cells, sizeof *cost, "edit distances");
        if (!cost) return CT_ENOMEM;
        e->cost = cost;
        e->cap_cost = cells;
    }
    if (pairs > e->cap_pair) {
        ct_edit_pair *pair = ct_realloc(e->pair, pairs, sizeof *pair, "alignment");
        if (!pair) return CT_ENOMEM;
        e->pair = pair;
        e->cap_pair = pairs;
    }
    return CT_OK;
}

/* cost[i][j]: distance of the first i symbols of the prediction and the first j of the label. */
static void fill(ct_edit *e, const int32_t *label, int64_t nl, const int32_t *pred, int64_t np)
{
    const int64_t w = nl + 1;
    for (int64_t j = 0; j <= nl; j++) e->cost[j] = (int32_t)j;
    for (int64_t i = 1; i <= np; i++) {
        int32_t *row = e->cost + i * w;
        const int32_t *above = row - w;
        row[0] = (int32_t)i;
        for (int64_t j = 1; j <= nl; j++) {
            const int32_t pair = above[j - 1] + (pred[i - 1] != label[j - 1]);
            const int32_t insert = above[j] + 1, drop = row[j - 1] + 1;
            const int32_t least = drop < insert ? drop : insert;
            row[j] = pair <= least ? pair : least;
        }
    }
}

ct_status ct_edit_align(ct_edit *e, const int32_t *label, int64_t nl, const int32_t *pred, int64_t np)
{
    const int64_t w = nl + 1;
    CT_TRY(reserve(e, nl, np));
    fill(e, label, nl, pred, np);
    e->distance = e->cost[np * w + nl];
    e->pairs = 0;
    for (int64_t i = np, j = nl; i > 0 || j > 0;) {
        const int32_t here = e->cost[i * w + j];
        ct_edit_pair p = { -1, -1 };
        if (i > 0 && j > 0 && here == e->cost[(i - 1) * w + j - 1] + (pred[i - 1] != label[j - 1])) {
            p = (ct_edit_pair){ label[--j], pred[--i] };
        } else if (j > 0 && here == e->cost[i * w + j - 1] + 1) {
            p.label = label[--j];
        } else {
            p.pred = pred[--i];
        }
        e->pair[e->pairs++] = p;
    }
    for (int64_t a = 0, b = e->pairs - 1; a < b; a++, b--) {
        const ct_edit_pair p = e->pair[a];
        e->pair[a] = e->pair[b];
        e->pair[b] = p;
    }
    return CT_OK;
}
