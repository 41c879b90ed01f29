#include "config.h"

#include "session/gather.h"

#include <string.h>

#include "base/alloc.h"

/* What a member sends: this, places and samples [n] each, steps [n] where there are any, then the outputs; each
 * begins at a multiple of 64 bytes. */
typedef struct head {
    int64_t n, batch, steps; /* steps: whether there are any */
    int64_t outputs;
    ct_desc desc[CT_PARTS_MAX];
} head;

struct ct_gather {
    ct_group *group;
    char *mine, *all; /* [bytes], [size * bytes] */
    int64_t bytes;
    int64_t *size; /* [members] what each wants to send */
};

/* Takes `bytes` of a block at *at; with base NULL it only counts. */
static void *take(char *base, int64_t *at, size_t bytes)
{
    void *p = base ? base + *at : NULL;
    *at += (int64_t)ct_align_up(bytes, 64);
    return p;
}

static void put(char *base, int64_t *at, const void *from, size_t bytes)
{
    void *to = take(base, at, bytes);
    if (to && bytes > 0) memcpy(to, from, bytes);
}

/* Writes an outcome into `to`, or only counts: its bytes. */
static int64_t pack(const ct_outcome *o, char *to)
{
    head h = { .n = o->n, .batch = o->batch, .steps = o->steps != NULL, .outputs = o->outputs };
    const size_t n = (size_t)o->n;
    int64_t at = 0;
    for (int i = 0; i < o->outputs; i++) h.desc[i] = o->output[i].desc;
    put(to, &at, &h, sizeof h);
    put(to, &at, o->place, n * sizeof *o->place);
    put(to, &at, o->sample, n * sizeof *o->sample);
    if (o->steps) put(to, &at, o->steps, n * sizeof *o->steps);
    for (int i = 0; i < o->outputs; i++) put(to, &at, o->output[i].host, ct_desc_bytes(&o->output[i].desc));
    return at;
}

static void unpack(char *from, const ct_findings *f, ct_outcome *o)
{
    int64_t at = 0;
    const head *h = take(from, &at, sizeof *h);
    const size_t n = (size_t)h->n;
    *o = (ct_outcome){ .n = h->n, .batch = h->batch, .outputs = (int)h->outputs };
    o->place = take(from, &at, n * sizeof *o->place);
    o->sample = take(from, &at, n * sizeof *o->sample);
    if (h->steps) o->steps = take(from, &at, n * sizeof *o->steps);
    for (int i = 0; i < o->outputs; i++) {
        o->output[i].name = f->want[i];
        o->output[i].desc = h->desc[i];
        o->output[i].host = take(from, &at, ct_desc_bytes(&h->desc[i]));
    }
}

ct_status ct_gather_make(ct_group *group, ct_gather **out)
{
    ct_gather *g = *out = ct_calloc(1, sizeof *g, "results of all processes");
    if (!g) return CT_ENOMEM;
    g->group = group;
    g->size = ct_calloc((size_t)ct_group_size(group), sizeof *g->size, "results of all processes");
    return g->size ? CT_OK : CT_ENOMEM;
}

void ct_gather_free(ct_gather *g)
{
    if (!g) return;
    ct_free(g->mine);
    ct_free(g->all);
    ct_free(g->size);
    ct_free(g);
}

/* Room for `bytes` of each. */
static ct_status make_room(ct_gather *g, int64_t bytes)
{
    if (bytes <= g->bytes) return CT_OK;
    ct_free(g->mine);
    ct_free(g->all);
    g->bytes = 0;
    g->mine = ct_calloc(1, (size_t)bytes, "results of all processes");
    g->all = ct_aligned_alloc((size_t)bytes * (size_t)ct_group_size(g->group), "results of all processes");
    if (!g->mine || !g->all) return CT_ENOMEM;
    g->bytes = bytes;
    return CT_OK;
}

ct_status ct_gather_collect(ct_gather *g, const ct_outcome *mine, ct_findings *findings)
{
    const int members = ct_group_size(g->group);
    const int64_t own = pack(mine, NULL);
    int64_t most = 0;
    CT_TRY(ct_group_gather(g->group, &own, sizeof own, g->size));
    for (int i = 0; i < members; i++)
        if (g->size[i] > most) most = g->size[i];
    CT_TRY(make_room(g, most));
    pack(mine, g->mine);
    CT_TRY(ct_group_gather(g->group, g->mine, (size_t)g->bytes, g->all));
    for (int i = 0; i < members && ct_group_rank(g->group) == 0; i++) {
        ct_outcome o;
        unpack(g->all + i * g->bytes, findings, &o);
        if (o.n > 0) CT_TRY(findings->task->collect(findings, &o));
    }
    return CT_OK;
}
