#include "config.h"

#include "task/beam.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

ct_status ct_beam_option(const ct_option *option, size_t options, int *width)
{
    const char *name = ct_option_find(option, options, "decoder");
    const char *number = ct_option_find(option, options, "beam_width");
    const bool search = name && strcmp(name, "beam") == 0;
    char *end = NULL;
    const long given = number ? strtol(number, &end, 10) : CT_BEAM_WIDTH;
    *width = 0;
    if (name && !search && strcmp(name, "greedy") != 0)
        return ct_fail(CT_ECONFIG, "--decoder: '%s' is neither greedy nor beam", name);
    if (number && !search) return ct_fail(CT_ECONFIG, "--beam-width belongs to --decoder beam");
    if (!search) return CT_OK;
    if ((number && (end == number || *end)) || given < 1 || given > CT_BEAM_WIDTH_MAX)
        return ct_fail(CT_ECONFIG, "--beam-width: '%s' is not a whole number from 1 to %d", number, CT_BEAM_WIDTH_MAX);
    *width = (int)given;
    return CT_OK;
}

/* Beginnings of rows form a tree; node 0 is the empty row. */
typedef struct node {
    int32_t parent, id; /* the row of `parent`, and one symbol */
    int32_t slot;       /* where it stands in the beam of this step; -1: nowhere */
    int32_t length;     /* symbols of the row */
} node;

/* A beginning in the beam, or a candidate for the next. */
typedef struct entry {
    int32_t node;         /* of a candidate that is new: the node it extends */
    int32_t id;           /* of such a candidate: the symbol behind it; else -1 */
    double blank, symbol; /* log-probability of its paths that end in a blank, and of the others */
    double total;         /* of both */
    int32_t order;        /* of the candidate: decides between equals */
} entry;

struct ct_beam {
    const ct_restriction *limit; /* NULL: none */
    int64_t left; /* steps behind the one at hand */
    int width;
    int64_t classes;
    node *nodes;
    size_t nnodes, cap_nodes;
    int32_t *table;    /* hash of (parent, id) -> node number + 1; 0: free */
    size_t table_size; /* a power of two, at least twice the nodes */
    entry *beam;       /* [width] */
    entry *next;       /* [width * (symbols + 1)] candidates */
    int nbeam;
    size_t nnext;
    double *logp;         /* [classes] log-probabilities of a step */
    int32_t *top;         /* [symbols] symbols that are looked at in a step */
    int ntop, symbols;    /* symbols: at most so many, beside those that lead to a row already in the beam */
    int32_t *child;       /* [classes] number + 1 of the beam entry that extends the one at hand by a symbol */
    int32_t *sibling;     /* [width] next entry with the same parent, + 1 */
    int32_t *first_child; /* [width] */
    double *score;        /* Viterbi: [2][states] */
    uint8_t *from;        /* [steps][states] how many states back the path came from */
    size_t cap_score, cap_from;
};

static double lse(double a, double b)
{
    const double m = a > b ? a : b;
    return m == -INFINITY ? m : m + log1p(exp((a > b ? b : a) - m));
}

ct_status ct_beam_new(int width, int64_t classes, ct_beam **out)
{
    *out = NULL;
    if (width < 1 || width > CT_BEAM_WIDTH_MAX || classes < 1 || classes > INT32_MAX)
        return ct_fail(CT_EINVAL, "beam search of width %d over %" PRId64 " classes", width, classes);
    ct_beam *b = ct_calloc(1, sizeof *b, "beam search");
    if (!b) return CT_ENOMEM;
    b->width = width;
    b->classes = classes;
    /* Of the new rows one beginning leads to, only those by its `width` most probable symbols can be among the `width`
     * best; one more, since its own last symbol counts less behind it. */
    b->symbols = classes - 1 < width + 1 ? (int)(classes - 1) : width + 1;
    const size_t w = (size_t)width, c = (size_t)classes, symbols = (size_t)b->symbols;
    b->beam = ct_calloc(w, sizeof *b->beam, "beam search");
    b->next = ct_calloc(w * (symbols + 1), sizeof *b->next, "beam search");
    b->logp = ct_calloc(c, sizeof *b->logp, "beam search");
    b->top = ct_calloc(symbols + 1, sizeof *b->top, "beam search");
    b->child = ct_calloc(c, sizeof *b->child, "beam search");
    b->sibling = ct_calloc(w, sizeof *b->sibling, "beam search");
    b->first_child = ct_calloc(w, sizeof *b->first_child, "beam search");
    if (!b->beam || !b->next || !b->logp || !b->top || !b->child || !b->sibling || !b->first_child) {
        ct_beam_free(b);
        return CT_ENOMEM;
    }
    *out = b;
    return CT_OK;
}

void ct_beam_free(ct_beam *b)
{
    if (!b) return;
    ct_free(b->nodes);
    ct_free(b->table);
    ct_free(b->beam);
    ct_free(b->next);
    ct_free(b->logp);
    ct_free(b->top);
    ct_free(b->child);
    ct_free(b->sibling);
    ct_free(b->first_child);
    ct_free(b->score);
    ct_free(b->from);
    ct_free(b);
}

void ct_beam_restrict(ct_beam *b, const ct_restriction *r) { b->limit = r && r->any ? r : NULL; }

/* ---- the tree ---- */

static size_t place(const ct_beam *b, int32_t parent, int32_t id)
{
    uint64_t h = ((uint64_t)(uint32_t)parent << 32 | (uint32_t)id) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(h >> 32) & (b->table_size - 1);
    while (b->table[at]) {
        const node *n = &b->nodes[b->table[at] - 1];
        if (n->parent == parent && n->id == id) break;
        at = (at + 1) & (b->table_size - 1);
    }
    return at;
}

/* Room for `more` nodes. */
static ct_status reserve_nodes(ct_beam *b, size_t more)
{
    while (b->nnodes + more > b->cap_nodes) {
        size_t cap = b->cap_nodes ? 2 * b->cap_nodes : 256;
        node *nodes = ct_realloc(b->nodes, cap, sizeof *nodes, "beam search");
        if (!nodes) return CT_ENOMEM;
        b->nodes = nodes;
        b->cap_nodes = cap;
    }
    if (b->table_size >= 2 * b->cap_nodes) return CT_OK;
    int32_t *table = ct_calloc(2 * b->cap_nodes, sizeof *table, "beam search");
    if (!table) return CT_ENOMEM;
    ct_free(b->table);
    b->table = table;
    b->table_size = 2 * b->cap_nodes;
    for (size_t i = 1; i < b->nnodes; i++) b->table[place(b, b->nodes[i].parent, b->nodes[i].id)] = (int32_t)i + 1;
    return CT_OK;
}

static int32_t find_node(ct_beam *b, int32_t parent, int32_t id)
{
    const size_t at = place(b, parent, id);
    if (!b->table[at]) {
        b->nodes[b->nnodes++] = (node){ parent, id, -1, b->nodes[parent].length + 1 };
        b->table[at] = (int32_t)b->nnodes;
    }
    return b->table[at] - 1;
}

static ct_status restart(ct_beam *b)
{
    b->nnodes = 0;
    CT_TRY(reserve_nodes(b, 1));
    memset(b->table, 0, b->table_size * sizeof *b->table);
    b->nodes[b->nnodes++] = (node){ -1, -1, -1, 0 };
    b->beam[0] = (entry){ .node = 0, .id = -1, .blank = 0, .symbol = -INFINITY, .total = 0 };
    b->nbeam = 1;
    return CT_OK;
}

/* ---- one step ---- */

/* The most probable symbols of the step, among equals the first ones; not in any order. */
static void find_top(ct_beam *b)
{
    b->ntop = 0;
    int least = 0; /* of those in top, the one to give way: the least probable, among equals the last */
    for (int32_t id = 0; id + 1 < b->classes; id++) {
        if (b->limit && !b->limit->may[id]) continue;
        if (b->ntop < b->symbols) {
            b->top[b->ntop++] = id;
        } else if (b->logp[id + 1] > b->logp[b->top[least] + 1]) {
            b->top[least] = id;
        } else {
            continue;
        }
        if (b->ntop < b->symbols) continue;
        least = 0;
        for (int i = 1; i < b->ntop; i++) {
            const double a = b->logp[b->top[i] + 1], z = b->logp[b->top[least] + 1];
            if (a < z || (a == z && b->top[i] > b->top[least])) least = i;
        }
    }
}

/* Links each entry of the beam to the one whose row is its beginning, if that is there too. */
static void find_children(ct_beam *b)
{
    for (int i = 0; i < b->nbeam; i++) b->nodes[b->beam[i].node].slot = i;
    memset(b->first_child, 0, (size_t)b->nbeam * sizeof *b->first_child);
    for (int i = 0; i < b->nbeam; i++) {
        const node *n = &b->nodes[b->beam[i].node];
        const int32_t at = n->parent >= 0 ? b->nodes[n->parent].slot : -1;
        if (at < 0) continue;
        b->sibling[i] = b->first_child[at];
        b->first_child[at] = i + 1;
    }
}

/* Entry i goes on with a symbol: into the entry that is this row already, or a new candidate. */
static void extend(ct_beam *b, int i, int32_t id)
{
    const entry *e = &b->beam[i];
    const int32_t last = b->nodes[e->node].id;
    const double p = b->logp[id + 1] + (id == last ? e->blank : e->total);
    if (b->child[id]) {
        entry *there = &b->next[b->child[id] - 1]; /* the candidates begin with the beam itself */
        there->symbol = lse(there->symbol, p);
    } else if (p > -INFINITY) {
        const size_t at = b->nnext++;
        b->next[at] = (entry){ .node = e->node, .id = id, .blank = -INFINITY, .symbol = p };
    }
}

/* Can the rest of the steps make a row of a length that may be of this candidate? Where only one symbol may be, it
 * needs a blank before it comes again. */
static bool may_end(const ct_beam *b, const entry *e)
{
    const ct_restriction *r = b->limit;
    if (!r || r->most == 0) return true;
    const int64_t length = b->nodes[e->node].length + (e->id >= 0);
    int64_t more = b->left;
    if (r->symbols == 1) more = length == 0 || e->blank > -INFINITY ? (b->left + 1) / 2 : b->left / 2;
    return length <= r->most && length + more >= r->least;
}

static int by_total(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    if (a->total != b->total) return a->total > b->total ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static ct_status step(ct_beam *b)
{
    CT_TRY(reserve_nodes(b, (size_t)b->width));
    find_top(b);
    find_children(b);
    for (int i = 0; i < b->nbeam; i++) { /* the same row, one step on */
        const entry *e = &b->beam[i];
        const int32_t last = b->nodes[e->node].id;
        b->next[i] = (entry){ .node = e->node,
                              .id = -1,
                              .blank = e->total + b->logp[0],
                              .symbol = last >= 0 ? e->symbol + b->logp[last + 1] : -INFINITY };
    }
    b->nnext = (size_t)b->nbeam;
    for (int i = 0; i < b->nbeam; i++) {
        for (int32_t k = b->first_child[i]; k; k = b->sibling[k - 1]) b->child[b->nodes[b->beam[k - 1].node].id] = k;
        for (int j = 0; j < b->ntop; j++) extend(b, i, b->top[j]);
        for (int32_t k = b->first_child[i]; k; k = b->sibling[k - 1]) {
            const int32_t id = b->nodes[b->beam[k - 1].node].id;
            bool seen = false;
            for (int j = 0; j < b->ntop && !seen; j++) seen = b->top[j] == id;
            if (!seen) extend(b, i, id);
            b->child[id] = 0;
        }
    }
    for (int i = 0; i < b->nbeam; i++) b->nodes[b->beam[i].node].slot = -1;
    for (size_t i = 0; i < b->nnext; i++) {
        b->next[i].total = may_end(b, &b->next[i]) ? lse(b->next[i].blank, b->next[i].symbol) : -INFINITY;
        b->next[i].order = (int32_t)i;
    }
    qsort(b->next, b->nnext, sizeof *b->next, by_total);
    b->nbeam = b->nnext < (size_t)b->width ? (int)b->nnext : b->width;
    while (b->limit && b->nbeam > 0 && b->next[b->nbeam - 1].total == -INFINITY) b->nbeam--;
    for (int i = 0; i < b->nbeam; i++) {
        b->beam[i] = b->next[i];
        if (b->beam[i].id < 0) continue;
        b->beam[i].node = find_node(b, b->beam[i].node, b->beam[i].id);
        b->beam[i].id = -1;
    }
    return CT_OK;
}

/* ---- confidences ---- */

static double log_prob_of(ct_dtype type, const void *logp, int64_t i)
{
    const double v = ct_load(type, logp, i);
    return isnan(v) ? -INFINITY : v;
}

/* The best path through the states blank, row[0], blank, ...: *end is where it ends, b->from how it came there. */
static ct_status best_path(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride, int64_t steps,
                           const int32_t *row, int64_t n, int64_t *end)
{
    const int64_t states = 2 * n + 1;
    const size_t need = (size_t)steps * (size_t)states;
    if ((size_t)(2 * states) > b->cap_score) {
        double *score = ct_realloc(b->score, (size_t)(2 * states), sizeof *score, "beam search");
        if (!score) return CT_ENOMEM;
        b->score = score;
        b->cap_score = (size_t)(2 * states);
    }
    if (need > b->cap_from) {
        uint8_t *from = ct_realloc(b->from, need, sizeof *from, "beam search");
        if (!from) return CT_ENOMEM;
        b->from = from;
        b->cap_from = need;
    }
    double *now = b->score, *before = b->score + states;
    for (int64_t t = 0; t < steps; t++) {
        double *other = now;
        now = before;
        before = other;
        for (int64_t s = 0; s < states; s++) {
            const int64_t class = s % 2 ? row[s / 2] + 1 : 0;
            double best = t == 0 ? (s < 2 ? 0 : -INFINITY) : before[s];
            uint8_t back = 0;
            if (t > 0 && s >= 1 && before[s - 1] > best) best = before[s - 1], back = 1;
            if (t > 0 && s >= 3 && s % 2 && row[s / 2] != row[s / 2 - 1] && before[s - 2] > best)
                best = before[s - 2], back = 2;
            b->from[t * states + s] = back;
            now[s] = best + log_prob_of(type, logp, first + t * stride + class);
        }
    }
    *end = n > 0 && now[states - 2] > now[states - 1] ? states - 2 : states - 1;
    return CT_OK;
}

ct_status ct_beam_confidences(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride,
                              int64_t steps, const int32_t *row, int64_t n, float *conf)
{
    const int64_t states = 2 * n + 1;
    int64_t s;
    CT_TRY(best_path(b, type, logp, first, stride, steps, row, n, &s));
    for (int64_t k = 0; k < n; k++) conf[k] = 0;
    for (int64_t t = steps - 1; t >= 0; t--) {
        if (s % 2) {
            const float p = (float)exp(log_prob_of(type, logp, first + t * stride + row[s / 2] + 1));
            if (p > conf[s / 2]) conf[s / 2] = p;
        }
        s -= b->from[t * states + s];
    }
    return CT_OK;
}

ct_status ct_beam_decode(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride, int64_t steps,
                         int32_t *row, float *conf, int64_t *n, double *log_prob)
{
    CT_TRY(restart(b));
    b->left = 0;
    for (int64_t t = 0; t < steps; t++) {
        for (int64_t c = 0; c < b->classes; c++) b->logp[c] = log_prob_of(type, logp, first + t * stride + c);
        b->left = steps - 1 - t;
        CT_TRY(step(b));
    }
    *n = -1;
    if (b->nbeam == 0 || !may_end(b, &b->beam[0])) return CT_OK;
    int64_t count = 0;
    for (int32_t at = b->beam[0].node; at > 0; at = b->nodes[at].parent) count++;
    *n = count;
    for (int32_t at = b->beam[0].node; at > 0; at = b->nodes[at].parent) row[--count] = b->nodes[at].id;
    if (log_prob) *log_prob = b->beam[0].total;
    return ct_beam_confidences(b, type, logp, first, stride, steps, row, *n, conf);
}

ct_status ct_beam_places(ct_beam *b, ct_dtype type, const void *logp, int64_t first, int64_t stride, int64_t steps,
                         const int32_t *row, int64_t n, int32_t (*place)[2])
{
    const int64_t states = 2 * n + 1;
    int64_t s;
    CT_TRY(best_path(b, type, logp, first, stride, steps, row, n, &s));
    for (int64_t k = 0; k < n; k++) place[k][0] = place[k][1] = 0;
    for (int64_t t = steps - 1; t >= 0; t--) {
        if (s % 2) {
            if (place[s / 2][1] == 0) place[s / 2][1] = (int32_t)t + 1;
            place[s / 2][0] = (int32_t)t;
        }
        s -= b->from[t * states + s];
    }
    return CT_OK;
}
