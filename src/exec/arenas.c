#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "exec/internal.h"

/* ---- making and freeing ---- */

/* What is written before it is read is left untouched: a CPU gives such memory no pages yet, and drawing the first weights, which takes as
 * much as the largest of them for a while, does not raise the most that the process ever holds. */
static bool starts_clear(ct_arena a)
{
    return a != CT_ARENA_ACT && a != CT_ARENA_DATA;
}

static ct_status allocate(ct_arenas *s, ct_arena a, int64_t bytes)
{
    s->bytes[a] = (size_t)bytes;
    if (s->planned_only || bytes == 0) return CT_OK;
    CT_TRY(s->backend->alloc(s->device, (size_t)bytes, ct_arena_name(a), &s->base[a]));
    return starts_clear(a) ? s->backend->clear(s->device, s->stream, s->base[a], (size_t)bytes) : CT_OK;
}

static ct_status first_state(ct_arenas *s)
{
    const double state[CT_STATE_COUNT] = { [CT_STATE_LOSS_SCALE] = 1, [CT_STATE_CLIP_COEF] = 1 };
    return ct_arenas_set_state(s, state);
}

ct_status ct_arenas_create(const ct_backend *b, const ct_device_opts *opts, const ct_layout *layout,
                           const ct_arenas_needs *needs, bool planned_only, ct_arenas **out)
{
    *out = NULL;
    ct_arenas *s = ct_calloc(1, sizeof *s, "arenas");
    if (!s) return CT_ENOMEM;
    s->backend = b;
    s->opts = *opts;
    s->layout = *layout;
    s->planned_only = planned_only;
    ct_status st;
    CT_GOTO(st, b->open(opts, &s->device));
    CT_GOTO(st, b->stream_create(s->device, &s->stream));
    int64_t size = (int64_t)ct_dtype_size(layout->dtype);
    int64_t param = layout->param_elems * size, buffer = layout->buffer_elems * size;
    CT_GOTO(st, allocate(s, CT_ARENA_PARAM, param));
    CT_GOTO(st, allocate(s, CT_ARENA_BUFFER, buffer));
    if (needs->train) CT_GOTO(st, allocate(s, CT_ARENA_GRAD, param));
    CT_GOTO(st, allocate(s, CT_ARENA_GACC, needs->sums * param));
    if (needs->means > 0) CT_GOTO(st, allocate(s, CT_ARENA_MEANS, (needs->means + 1) * buffer));
    if (needs->moments >= 1) CT_GOTO(st, allocate(s, CT_ARENA_OPT1, param));
    if (needs->moments >= 2) CT_GOTO(st, allocate(s, CT_ARENA_OPT2, param));
    if (needs->ema) {
        CT_GOTO(st, allocate(s, CT_ARENA_EMA, param));
        CT_GOTO(st, allocate(s, CT_ARENA_EMABUF, buffer));
    }
    if (needs->half) CT_GOTO(st, allocate(s, CT_ARENA_PARAM16, 2 * layout->param_elems));
    if (needs->half && needs->train) CT_GOTO(st, allocate(s, CT_ARENA_GRAD16, 2 * layout->param_elems));
    CT_GOTO(st, allocate(s, CT_ARENA_STATE, CT_STATE_COUNT * (int64_t)sizeof(double)));
    const int64_t rows = needs->rows > 1 ? needs->rows : 1;
    CT_GOTO(st, allocate(s, CT_ARENA_METRIC, rows * CT_METRIC_COUNT * (int64_t)sizeof(double)));
    if (!planned_only) CT_GOTO(st, first_state(s));
    *out = s;
    return CT_OK;
fail:
    ct_arenas_free(s);
    return st;
}

void ct_arenas_join(ct_arenas *s, ct_arenas_user *u)
{
    u->next = s->users;
    s->users = u;
}

void ct_arenas_leave(ct_arenas *s, ct_arenas_user *u)
{
    ct_arenas_user **link = &s->users;
    while (*link && *link != u) link = &(*link)->next;
    if (*link) *link = u->next;
}

static void rebind_all(const ct_arenas *s)
{
    for (const ct_arenas_user *u = s->users; u; u = u->next) u->rebind(u->self);
}

ct_status ct_arenas_commit(ct_arenas *s)
{
    ct_status st = CT_OK;
    if (!s->planned_only) return CT_OK;
    s->planned_only = false;
    for (int a = 0; a < CT_ARENA_COUNT; a++) CT_GOTO(st, allocate(s, (ct_arena)a, (int64_t)s->bytes[a]));
    CT_GOTO(st, first_state(s));
    s->copied = CT_ARENA_INPUT;
    rebind_all(s);
    return CT_OK;
fail:
    for (int a = 0; a < CT_ARENA_COUNT; a++) {
        if (s->base[a]) s->backend->free(s->device, s->base[a]);
        s->base[a] = NULL;
    }
    s->planned_only = true;
    return st;
}

void ct_arenas_move(ct_arenas *s, ct_arena a, void *memory)
{
    if (s->base[a] && !s->lent[a]) s->backend->free(s->device, s->base[a]);
    s->base[a] = memory;
    s->lent[a] = memory != NULL;
    rebind_all(s);
}

ct_status ct_arenas_hold(ct_arenas *s, int64_t bytes)
{
    if (s->bytes[CT_ARENA_DATA]) return ct_fail(CT_EINVAL, "arena data is held already");
    return allocate(s, CT_ARENA_DATA, bytes);
}

void ct_arenas_free(ct_arenas *s)
{
    if (!s) return;
    if (s->device) {
        if (s->stream) s->backend->stream_sync(s->device, s->stream);
        for (int a = 0; a < CT_ARENA_COUNT; a++)
            if (s->base[a] && !s->lent[a]) s->backend->free(s->device, s->base[a]);
        if (s->stream) s->backend->stream_destroy(s->device, s->stream);
        s->backend->close(s->device);
    }
    ct_free(s);
}

ct_status ct_arenas_await(const ct_arenas *s, ct_event *e)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    const double started = ct_now();
    for (;;) {
        bool done;
        CT_TRY(s->backend->event_done(s->device, e, &done));
        if (s->watch) CT_TRY(s->watch->look(s->watch->self, done ? 0 : ct_now() - started));
        if (done) return CT_OK;
        nanosleep(&pause, NULL);
    }
}

/* ---- ACT and INPUT grow ---- */

/* Replaces one arena by a larger one. Where both do not fit at once the old one goes first; should even its own size
 * then not be had again, the arena is empty and plans say so when they are run. */
static ct_status grow_one(ct_arenas *s, ct_arena a, size_t bytes)
{
    if (bytes <= s->bytes[a]) return CT_OK;
    const ct_backend *b = s->backend;
    if (s->planned_only) {
        s->bytes[a] = bytes;
        return CT_OK;
    }
    CT_TRY(b->stream_sync(s->device, s->stream));
    void *p = NULL;
    ct_status st = b->alloc(s->device, bytes, ct_arena_name(a), &p);
    if (st != CT_OK && s->base[a]) {
        b->free(s->device, s->base[a]);
        s->base[a] = NULL;
        st = b->alloc(s->device, bytes, ct_arena_name(a), &p);
        if (st != CT_OK && b->alloc(s->device, s->bytes[a], ct_arena_name(a), &s->base[a]) != CT_OK) {
            s->base[a] = NULL;
            s->bytes[a] = 0;
        }
    }
    if (st != CT_OK) return st;
    if (s->base[a]) b->free(s->device, s->base[a]);
    s->base[a] = p;
    s->bytes[a] = bytes;
    return CT_OK;
}

ct_status ct_arenas_grow(ct_arenas *s, int64_t act_bytes, int64_t input_bytes)
{
    ct_status st = grow_one(s, CT_ARENA_ACT, (size_t)act_bytes);
    if (st == CT_OK) st = grow_one(s, CT_ARENA_INPUT, (size_t)input_bytes);
    /* Also after a failure: an arena may have moved before the other could not be had. */
    rebind_all(s);
    return st;
}

void ct_arenas_unrecord(ct_arenas *s)
{
    rebind_all(s);
}

/* ---- access ---- */

/* Where a parameter or buffer lies in `arena`. */
static ct_status locate(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, void **p, size_t *bytes)
{
    const ct_value *val = &g->values[v];
    bool param = val->arena == CT_ARENA_PARAM, buffer = val->arena == CT_ARENA_BUFFER;
    bool match = param ? (arena == CT_ARENA_PARAM || arena == CT_ARENA_GRAD || arena == CT_ARENA_GACC ||
                          arena == CT_ARENA_OPT1 || arena == CT_ARENA_OPT2 || arena == CT_ARENA_EMA)
                       : buffer && (arena == CT_ARENA_BUFFER || arena == CT_ARENA_EMABUF);
    if (!match)
        return ct_fail(CT_EINVAL, "'%s' lives in arena %s and has no place in %s", val->name, ct_arena_name(val->arena),
                       ct_arena_name(arena));
    if (!s->base[arena]) return ct_fail(CT_EINVAL, "'%s': this store has no arena %s", val->name, ct_arena_name(arena));
    *bytes = ct_desc_bytes(&val->desc);
    if (val->offset < 0 || (size_t)val->offset + *bytes > s->bytes[arena])
        return ct_fail(CT_EINTERNAL, "'%s' lies outside arena %s", val->name, ct_arena_name(arena));
    *p = (char *)s->base[arena] + val->offset;
    return CT_OK;
}

static ct_status download(ct_arenas *s, void *host, const void *src, size_t bytes)
{
    CT_TRY(s->backend->download(s->device, s->stream, host, src, bytes));
    return s->backend->stream_sync(s->device, s->stream);
}

static ct_status upload(ct_arenas *s, void *dst, const void *host, size_t bytes)
{
    CT_TRY(s->backend->upload(s->device, s->stream, dst, host, bytes));
    return s->backend->stream_sync(s->device, s->stream);
}

/* n numbers of type `half` become f32 at `host` [n], by way of its second half. */
static ct_status download_wide(ct_arenas *s, float *host, ct_dtype half, const void *src, int64_t n)
{
    const void *narrow = (const char *)host + 2 * n;
    CT_TRY(download(s, (char *)host + 2 * n, src, 2 * (size_t)n));
    for (int64_t i = 0; i < n; i++) host[i] = (float)ct_load(half, narrow, i);
    return CT_OK;
}

ct_status ct_arenas_get(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, void *host)
{
    void *p = NULL;
    size_t bytes = 0;
    CT_TRY(locate(s, g, v, arena, &p, &bytes));
    const ct_val d = g->values[v].grad;
    if (arena != CT_ARENA_GRAD || d == CT_NOVAL || g->values[d].arena != CT_ARENA_GRAD16)
        return download(s, host, p, bytes);
    const ct_value *x = &g->values[d];
    return download_wide(s, host, x->desc.dtype, (char *)s->base[x->arena] + x->offset, ct_desc_numel(&x->desc));
}

ct_status ct_arenas_see(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, void *host, const void **p)
{
    void *there = NULL;
    size_t bytes = 0;
    const ct_val d = g->values[v].grad;
    *p = host;
    if (!s->backend->host_memory || (arena == CT_ARENA_GRAD && d != CT_NOVAL && g->values[d].arena == CT_ARENA_GRAD16))
        return ct_arenas_get(s, g, v, arena, host);
    CT_TRY(locate(s, g, v, arena, &there, &bytes));
    *p = there;
    return s->backend->stream_sync(s->device, s->stream);
}

ct_status ct_arenas_set(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, const void *host)
{
    void *p = NULL;
    size_t bytes = 0;
    CT_TRY(locate(s, g, v, arena, &p, &bytes));
    if (arena == s->copied) s->copied = CT_ARENA_INPUT;
    return upload(s, p, host, bytes);
}

ct_status ct_arenas_set_part(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, size_t at, const void *host, size_t bytes)
{
    void *p = NULL;
    size_t whole = 0;
    CT_TRY(locate(s, g, v, arena, &p, &whole));
    if (at > whole || bytes > whole - at)
        return ct_fail(CT_EINVAL, "%s has %zu bytes: %zu from %zu on are not in it", g->values[v].name, whole, bytes, at);
    if (arena == s->copied) s->copied = CT_ARENA_INPUT;
    return upload(s, (char *)p + at, host, bytes);
}

static ct_status need_memory(const ct_arenas *s)
{
    return s->planned_only ? ct_fail(CT_EINVAL, "these arenas are planned only: there is no memory behind them")
                           : CT_OK;
}

ct_status ct_arenas_get_state(ct_arenas *s, double state[CT_STATE_COUNT])
{
    CT_TRY(need_memory(s));
    return download(s, state, s->base[CT_ARENA_STATE], CT_STATE_COUNT * sizeof(double));
}

ct_status ct_arenas_set_state(ct_arenas *s, const double state[CT_STATE_COUNT])
{
    CT_TRY(need_memory(s));
    return upload(s, s->base[CT_ARENA_STATE], state, CT_STATE_COUNT * sizeof(double));
}

static ct_status get_metrics(ct_arenas *s, double *metrics, size_t bytes, bool clear)
{
    void *base = s->base[CT_ARENA_METRIC];
    CT_TRY(need_memory(s));
    CT_TRY(download(s, metrics, base, bytes));
    return clear ? s->backend->clear(s->device, s->stream, base, s->bytes[CT_ARENA_METRIC]) : CT_OK;
}

ct_status ct_arenas_get_metrics(ct_arenas *s, double metrics[CT_METRIC_COUNT], bool clear)
{
    return get_metrics(s, metrics, CT_METRIC_COUNT * sizeof *metrics, clear);
}

ct_status ct_arenas_get_metric_rows(ct_arenas *s, double *metrics, bool clear)
{
    return get_metrics(s, metrics, s->bytes[CT_ARENA_METRIC], clear);
}

ct_status ct_arenas_reset_ema(ct_arenas *s)
{
    if (!s->base[CT_ARENA_EMA]) return CT_OK;
    if (s->copied == CT_ARENA_EMA) s->copied = CT_ARENA_INPUT;
    CT_TRY(s->backend->copy(s->device, s->stream, s->base[CT_ARENA_EMA], s->base[CT_ARENA_PARAM],
                            s->bytes[CT_ARENA_PARAM]));
    if (!s->base[CT_ARENA_EMABUF]) return CT_OK; /* a model without buffers */
    return s->backend->copy(s->device, s->stream, s->base[CT_ARENA_EMABUF], s->base[CT_ARENA_BUFFER],
                            s->bytes[CT_ARENA_BUFFER]);
}

/* ---- initial values ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const ct_value *const *)a)->name, (*(const ct_value *const *)b)->name);
}

/* Four draws a Philox block, one word (uniform) or half a block (normal) an element; rounded to f32 so that f64 models
 * start equal. */
static void draw(const ct_value *v, uint64_t seed, uint64_t number, void *host)
{
    int64_t n = ct_desc_numel(&v->desc);
    double bound = v->init.bound;
    ct_rng rng;
    ct_rng_init(&rng, seed, CT_RNG_INIT, number);
    for (int64_t i = 0; i < n; i++) {
        double x = 0;
        switch (v->init.kind) {
        case CT_INIT_ZERO: break;
        case CT_INIT_ONE: x = 1; break;
        case CT_INIT_UNIFORM: x = ct_rng_uniform(&rng, -bound, bound); break;
        case CT_INIT_NORMAL: x = bound * ct_rng_normal(&rng); break;
        case CT_INIT_CONSTANT: x = bound; break;
        }
        ct_store(v->desc.dtype, host, i, (double)(float)x);
    }
}

/* As torch.nn.init.dirac_ of the first min(K,C) filters: 1 in the middle, of an even side behind it. */
static void identities(const ct_desc *d, void *host)
{
    const int64_t channels = d->dim[3], taps = d->dim[1] * d->dim[2], middle = d->dim[1] / 2 * d->dim[2] + d->dim[2] / 2;
    for (int64_t k = 0; k < d->dim[0] && k < channels; k++)
        for (int64_t i = 0; i < taps * channels; i++)
            ct_store(d->dtype, host, k * taps * channels + i, i == middle * channels + k);
}

ct_status ct_arenas_init(ct_arenas *s, const ct_graph *g, uint64_t seed)
{
    CT_TRY(need_memory(s));
    ct_status st = CT_OK;
    size_t n = 0, largest = 0;
    void *host = NULL;
    const ct_value **list = ct_calloc(g->nvalues + 1, sizeof *list, "parameter list");
    if (!list) return CT_ENOMEM;
    /* Ranges of the flat arenas are values there as well; only named parameters and buffers have an initialisation of
     * their own. */
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (!ct_graph_is_weight(g, (ct_val)i)) continue;
        size_t bytes = ct_desc_bytes(&v->desc);
        if (bytes > largest) largest = bytes;
        list[n++] = v;
    }
    qsort(list, n, sizeof *list, by_name);
    host = ct_aligned_alloc(largest + 1, "initial values");
    if (!host) {
        st = CT_ENOMEM;
        goto fail;
    }
    uint64_t params = 0, buffers = 0;
    for (size_t i = 0; i < n; i++) {
        const ct_value *v = list[i];
        /* Buffers count on their own, far away, so that adding one does not change the parameters' draws. */
        uint64_t number = v->arena == CT_ARENA_PARAM ? params++ : ((uint64_t)1 << 31) + buffers++;
        draw(v, seed, number, host);
        if (v->dirac) identities(&v->desc, host);
        CT_GOTO(st, ct_arenas_set(s, g, (ct_val)(v - g->values), v->arena, host));
    }
    st = ct_arenas_reset_ema(s);
fail:
    ct_free(host);
    ct_free(list);
    return st;
}
