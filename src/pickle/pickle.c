#include "config.h"

#include "pickle/pickle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "pickle/opcodes.h"

enum {
    MAX_VALUES = 1 << 20,
    MAX_ITEMS = 1 << 23, /* of all containers; as many on the stack and in the memo */
    MAX_NAME = 256       /* bytes of a global's module and name */
};

struct ct_pickle {
    ct_pickle_value *value; /* [0] is nothing */
    size_t values, cap_values, items;
    ct_ref root;
};

typedef struct machine {
    ct_pickle *p;
    const ct_pickle_rules *rules;
    const char *source;
    const uint8_t *data;
    size_t size, at, op_at;
    int op;
    ct_ref *stack, *memo;
    size_t *mark; /* heights of the stack */
    size_t depth, cap_stack, marks, cap_marks, memos, cap_memo;
    size_t put;   /* values put into the memo, for MEMOIZE */
} machine;

static const char *op_name(int op)
{
    switch (op) {
#define X(name, byte) case byte: return #name;
    CT_PICKLE_OPCODES(X)
#undef X
    default: return NULL;
    }
}

/* Puts place and opcode in front of the message. */
static ct_status here(const machine *m, ct_status st)
{
    const char *name = op_name(m->op);
    return name ? ct_fail_context(st, "%s: byte %zu: opcode %s", m->source, m->op_at, name)
                : ct_fail_context(st, "%s: byte %zu", m->source, m->op_at);
}

#define BAD(...) ct_fail(CT_EFORMAT, __VA_ARGS__)

/* ---- values ---- */

static ct_status make(ct_pickle *p, ct_pickle_kind kind, ct_ref *out)
{
    *out = 0;
    if (p->values >= MAX_VALUES) return BAD("more than %d values: no state dict has so many", MAX_VALUES);
    CT_TRY(ct_grow(&p->value, p->values, &p->cap_values, sizeof *p->value, "pickle"));
    memset(&p->value[p->values], 0, sizeof *p->value);
    p->value[p->values].kind = kind;
    *out = (ct_ref)p->values++;
    return CT_OK;
}

static ct_status add_item(ct_pickle *p, ct_ref to, ct_ref item)
{
    ct_pickle_value *v = &p->value[to];
    size_t cap = v->cap;
    if (p->items++ >= MAX_ITEMS) return BAD("more than %d items: no state dict has so many", MAX_ITEMS);
    CT_TRY(ct_grow(&v->u.item, v->n, &cap, sizeof *v->u.item, "pickle"));
    v->cap = (uint32_t)cap;
    v->u.item[v->n++] = item;
    return CT_OK;
}

static bool has_items(const ct_pickle_value *v)
{
    return v->kind == CT_PY_TUPLE || v->kind == CT_PY_LIST || v->kind == CT_PY_DICT;
}

ct_ref ct_pickle_root(const ct_pickle *p) { return p->root; }

const ct_pickle_value *ct_pickle_at(const ct_pickle *p, ct_ref r) { return &p->value[r < p->values ? r : 0]; }

bool ct_pickle_is(const ct_pickle *p, ct_ref r, const char *text)
{
    const ct_pickle_value *v = ct_pickle_at(p, r);
    return v->kind == CT_PY_STR && v->n == strlen(text) && memcmp(v->s, text, v->n) == 0;
}

ct_ref ct_pickle_get(const ct_pickle *p, ct_ref dict, const char *key)
{
    const ct_pickle_value *v = ct_pickle_at(p, dict);
    for (uint32_t i = 0; v->kind == CT_PY_DICT && i + 1 < v->n; i += 2)
        if (ct_pickle_is(p, v->u.item[i], key)) return v->u.item[i + 1];
    return 0;
}

ct_status ct_pickle_own(ct_pickle *p, int64_t number, ct_ref *out)
{
    CT_TRY(make(p, CT_PY_OWN, out));
    p->value[*out].u.i = number;
    return CT_OK;
}

ct_status ct_pickle_dict(ct_pickle *p, ct_ref *out) { return make(p, CT_PY_DICT, out); }

/* ---- stack, marks, memo ---- */

static ct_status push(machine *m, ct_ref r)
{
    if (m->depth >= MAX_ITEMS) return BAD("more than %d values on the stack", MAX_ITEMS);
    CT_TRY(ct_grow(&m->stack, m->depth, &m->cap_stack, sizeof *m->stack, "pickle"));
    m->stack[m->depth++] = r;
    return CT_OK;
}

static size_t floor_of(const machine *m) { return m->marks ? m->mark[m->marks - 1] : 0; }

static ct_status pop(machine *m, ct_ref *out)
{
    *out = 0;
    if (m->depth <= floor_of(m)) return BAD("nothing is on the stack");
    *out = m->stack[--m->depth];
    return CT_OK;
}

/* What stands above the last mark begins at *from; the mark is gone. */
static ct_status pop_mark(machine *m, size_t *from)
{
    *from = m->depth;
    if (m->marks == 0) return BAD("no MARK is in front of it");
    *from = m->mark[--m->marks];
    return CT_OK;
}

static ct_status top(machine *m, ct_ref *out)
{
    *out = 0;
    if (m->depth <= floor_of(m)) return BAD("nothing is on the stack");
    *out = m->stack[m->depth - 1];
    return CT_OK;
}

static ct_status push_new(machine *m, ct_pickle_kind kind, int64_t i)
{
    ct_ref r;
    CT_TRY(make(m->p, kind, &r));
    m->p->value[r].u.i = i;
    return push(m, r);
}

static ct_status put(machine *m, uint64_t at)
{
    ct_ref r;
    CT_TRY(top(m, &r));
    if (at >= MAX_ITEMS) return BAD("memo %" PRIu64 " is too large a number", at);
    if (at >= m->cap_memo) {
        const size_t cap = 2 * ((size_t)at + 32);
        ct_ref *more = ct_realloc(m->memo, cap, sizeof *more, "pickle");
        if (!more) return CT_ENOMEM;
        m->memo = more;
        m->cap_memo = cap;
    }
    while (m->memos <= at) m->memo[m->memos++] = 0;
    m->memo[at] = r;
    m->put++;
    return CT_OK;
}

static ct_status get(machine *m, uint64_t at)
{
    if (at >= m->memos || m->memo[at] == 0) return BAD("memo %" PRIu64 " holds nothing", at);
    return push(m, m->memo[at]);
}

/* ---- arguments of opcodes ---- */

static ct_status take(machine *m, uint64_t n, const uint8_t **p)
{
    *p = m->data + m->at;
    if (n > m->size - m->at) return BAD("cut off: %" PRIu64 " bytes are wanted, %zu are left", n, m->size - m->at);
    m->at += (size_t)n;
    return CT_OK;
}

static ct_status take_number(machine *m, int bytes, uint64_t *v)
{
    const uint8_t *p;
    *v = 0;
    CT_TRY(take(m, (uint64_t)bytes, &p));
    for (int i = bytes - 1; i >= 0; i--) *v = *v << 8 | p[i];
    return CT_OK;
}

/* A text or bytes of which the length stands in front in so many bytes. */
static ct_status push_text(machine *m, ct_pickle_kind kind, int length_bytes)
{
    uint64_t n;
    const uint8_t *p;
    ct_ref r;
    CT_TRY(take_number(m, length_bytes, &n));
    CT_TRY(take(m, n, &p));
    CT_TRY(make(m->p, kind, &r));
    m->p->value[r].s = (const char *)p;
    m->p->value[r].n = (uint32_t)n;
    return push(m, r);
}

/* Two's complement, little endian. */
static ct_status push_long(machine *m, int length_bytes)
{
    uint64_t n, v = 0;
    const uint8_t *p;
    CT_TRY(take_number(m, length_bytes, &n));
    CT_TRY(take(m, n, &p));
    if (n > 8) {
        CT_TRY(push_new(m, CT_PY_BIG, 0));
        ct_pickle_value *big = &m->p->value[m->stack[m->depth - 1]];
        big->s = (const char *)p;
        big->n = (uint32_t)n;
        return CT_OK;
    }
    for (uint64_t i = n; i-- > 0;) v = v << 8 | p[i];
    if (n > 0 && n < 8 && p[n - 1] & 0x80) v |= UINT64_MAX << (8 * n);
    return push_new(m, CT_PY_INT, (int64_t)v);
}

static ct_status push_float(machine *m)
{
    const uint8_t *p;
    ct_ref r;
    uint64_t bits = 0;
    CT_TRY(take(m, 8, &p));
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    CT_TRY(make(m->p, CT_PY_FLOAT, &r));
    memcpy(&m->p->value[r].u.f, &bits, 8);
    return push(m, r);
}

/* ---- containers ---- */

static ct_status push_tuple(machine *m, ct_pickle_kind kind, size_t from)
{
    ct_ref r;
    CT_TRY(make(m->p, kind, &r));
    for (size_t i = from; i < m->depth; i++) CT_TRY(add_item(m->p, r, m->stack[i]));
    m->depth = from;
    return push(m, r);
}

static ct_status push_last(machine *m, size_t n)
{
    if (m->depth < floor_of(m) + n) return BAD("fewer than %zu values are on the stack", n);
    return push_tuple(m, CT_PY_TUPLE, m->depth - n);
}

static ct_status push_marked(machine *m, ct_pickle_kind kind)
{
    size_t from;
    CT_TRY(pop_mark(m, &from));
    if (kind == CT_PY_DICT && (m->depth - from) % 2) return BAD("a key without a value");
    return push_tuple(m, kind, from);
}

/* Adds what stands from `from` on to the value below it. */
static ct_status extend(machine *m, ct_pickle_kind kind, size_t from)
{
    if (from <= floor_of(m)) return BAD("nothing is on the stack");
    const ct_ref to = m->stack[from - 1];
    const ct_pickle_kind is = m->p->value[to].kind;
    if (is != kind && is != CT_PY_LEFT)
        return BAD("items of a %s for something else", kind == CT_PY_DICT ? "dict" : "list");
    if (kind == CT_PY_DICT && (m->depth - from) % 2) return BAD("a key without a value");
    for (size_t i = from; is == kind && i < m->depth; i++) CT_TRY(add_item(m->p, to, m->stack[i]));
    m->depth = from;
    return CT_OK;
}

static ct_status extend_marked(machine *m, ct_pickle_kind kind)
{
    size_t from;
    CT_TRY(pop_mark(m, &from));
    return extend(m, kind, from);
}

static ct_status extend_last(machine *m, ct_pickle_kind kind, size_t n)
{
    if (m->depth < floor_of(m) + n + 1) return BAD("nothing is on the stack");
    return extend(m, kind, m->depth - n);
}

/* ---- names ---- */

static ct_status push_global(machine *m, const char *module, size_t nmodule, const char *name, size_t nname)
{
    char a[MAX_NAME], b[MAX_NAME];
    ct_ref r;
    int what;
    if (nmodule >= sizeof a || nname >= sizeof b) return BAD("a name of %zu bytes", nmodule + nname);
    snprintf(a, sizeof a, "%.*s", (int)nmodule, module);
    snprintf(b, sizeof b, "%.*s", (int)nname, name);
    CT_TRY(m->rules->global(m->rules->user, a, b, &what));
    CT_TRY(make(m->p, CT_PY_GLOBAL, &r));
    m->p->value[r].u.i = what;
    m->p->value[r].s = name;
    m->p->value[r].n = (uint32_t)nname;
    return push(m, r);
}

/* GLOBAL: two lines. */
static ct_status global_lines(machine *m)
{
    const char *line[2];
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t *end = memchr(m->data + m->at, '\n', m->size - m->at);
        if (!end) return BAD("cut off");
        line[i] = (const char *)m->data + m->at;
        len[i] = (size_t)(end - m->data) - m->at;
        m->at += len[i] + 1;
    }
    return push_global(m, line[0], len[0], line[1], len[1]);
}

static ct_status stack_global(machine *m)
{
    ct_ref module, name;
    CT_TRY(pop(m, &name));
    CT_TRY(pop(m, &module));
    const ct_pickle_value *a = ct_pickle_at(m->p, module), *b = ct_pickle_at(m->p, name);
    if (a->kind != CT_PY_STR || b->kind != CT_PY_STR) return BAD("a name that is no str");
    return push_global(m, a->s, a->n, b->s, b->n);
}

/* REDUCE and NEWOBJ: what a call gives, as the rules know it. */
static ct_status call(machine *m)
{
    ct_ref args, callee, r;
    CT_TRY(pop(m, &args));
    CT_TRY(pop(m, &callee));
    const ct_pickle_value f = *ct_pickle_at(m->p, callee);
    if (f.kind != CT_PY_GLOBAL || ct_pickle_at(m->p, args)->kind != CT_PY_TUPLE)
        return BAD("a call of something that is no name");
    if (f.u.i == CT_PICKLE_LEFT) {
        CT_TRY(make(m->p, CT_PY_LEFT, &r));
        m->p->value[r].s = f.s;
        m->p->value[r].n = f.n;
    } else {
        CT_TRY(m->rules->call(m->rules->user, m->p, (int)f.u.i, args, &r));
    }
    return push(m, r);
}

/* BUILD: attributes, which only dicts (a state dict's _metadata) and what is passed over may have. */
static ct_status build(machine *m)
{
    ct_ref state, to;
    CT_TRY(pop(m, &state));
    CT_TRY(top(m, &to));
    const ct_pickle_kind kind = ct_pickle_at(m->p, to)->kind;
    if (kind != CT_PY_DICT && kind != CT_PY_LEFT) return BAD("attributes of something that has none");
    return CT_OK;
}

static ct_status persistent(machine *m)
{
    ct_ref id, r;
    CT_TRY(pop(m, &id));
    if (!m->rules->persistent) return BAD("a persistent id, which has no meaning here");
    CT_TRY(m->rules->persistent(m->rules->user, m->p, id, &r));
    return push(m, r);
}

/* ---- the opcodes ---- */

static ct_status step_value(machine *m, bool *known)
{
    uint64_t v;
    switch (m->op) {
    case 'N': return push_new(m, CT_PY_NONE, 0);
    case 0x88: return push_new(m, CT_PY_BOOL, 1);
    case 0x89: return push_new(m, CT_PY_BOOL, 0);
    case 'J': CT_TRY(take_number(m, 4, &v)); return push_new(m, CT_PY_INT, (int32_t)(uint32_t)v);
    case 'K': CT_TRY(take_number(m, 1, &v)); return push_new(m, CT_PY_INT, (int64_t)v);
    case 'M': CT_TRY(take_number(m, 2, &v)); return push_new(m, CT_PY_INT, (int64_t)v);
    case 0x8a: return push_long(m, 1);
    case 0x8b: return push_long(m, 4);
    case 'G': return push_float(m);
    case 'X': case 'T': return push_text(m, CT_PY_STR, 4);
    case 0x8c: case 'U': return push_text(m, CT_PY_STR, 1);
    case 0x8d: return push_text(m, CT_PY_STR, 8);
    case 'B': return push_text(m, CT_PY_BYTES, 4);
    case 'C': return push_text(m, CT_PY_BYTES, 1);
    case 0x8e: return push_text(m, CT_PY_BYTES, 8);
    case ')': return push_new(m, CT_PY_TUPLE, 0);
    case ']': case 0x8f: return push_new(m, CT_PY_LIST, 0);
    case '}': return push_new(m, CT_PY_DICT, 0);
    case 't': return push_marked(m, CT_PY_TUPLE);
    case 'l': case 0x91: return push_marked(m, CT_PY_LIST);
    case 'd': return push_marked(m, CT_PY_DICT);
    case 0x85: case 0x86: case 0x87: return push_last(m, (size_t)(m->op - 0x84));
    case 'a': return extend_last(m, CT_PY_LIST, 1);
    case 's': return extend_last(m, CT_PY_DICT, 2);
    case 'e': case 0x90: return extend_marked(m, CT_PY_LIST);
    case 'u': return extend_marked(m, CT_PY_DICT);
    default: *known = false; return CT_OK;
    }
}

static ct_status step_other(machine *m)
{
    uint64_t v;
    ct_ref r;
    size_t from;
    switch (m->op) {
    case 0x80:
        CT_TRY(take_number(m, 1, &v));
        return v >= 2 && v <= 5 ? CT_OK : ct_fail(CT_EUNSUPPORTED, "protocol %d; 2 to 5 are read", (int)v);
    case 0x95: {
        const size_t left = m->size - m->at;
        CT_TRY(take_number(m, 8, &v));
        return v <= left - 8 ? CT_OK : BAD("a frame of %" PRIu64 " bytes, %zu are left", v, left - 8);
    }
    case '(':
        if (m->marks >= MAX_ITEMS) return BAD("more than %d marks", MAX_ITEMS);
        CT_TRY(ct_grow(&m->mark, m->marks, &m->cap_marks, sizeof *m->mark, "pickle"));
        m->mark[m->marks++] = m->depth;
        return CT_OK;
    case '0': return pop(m, &r);
    case '1': CT_TRY(pop_mark(m, &from)); m->depth = from; return CT_OK;
    case '2': CT_TRY(top(m, &r)); return push(m, r);
    case 'q': CT_TRY(take_number(m, 1, &v)); return put(m, v);
    case 'r': CT_TRY(take_number(m, 4, &v)); return put(m, v);
    case 0x94: return put(m, m->put);
    case 'h': CT_TRY(take_number(m, 1, &v)); return get(m, v);
    case 'j': CT_TRY(take_number(m, 4, &v)); return get(m, v);
    case 'c': return global_lines(m);
    case 0x93: return stack_global(m);
    case 'R': case 0x81: return call(m);
    case 'b': return build(m);
    case 'Q': return persistent(m);
    default:
        if (op_name(m->op)) return ct_fail(CT_EUNSUPPORTED, "refused: no state dict needs it");
        return BAD("%d is no opcode of a pickle", m->op);
    }
}

/* No value may hold itself: what walks through them would never end. Colours: 0 not seen, 1 on the way, 2 done. */
static ct_status check_cycles(const ct_pickle *p, const char *source)
{
    typedef struct frame { ct_ref at; uint32_t next; } frame;
    ct_status st = CT_OK;
    frame *way = NULL;
    size_t depth = 0, cap = 0;
    uint8_t *colour = ct_calloc(p->values, 1, "pickle");
    if (!colour) return CT_ENOMEM;
    CT_GOTO(st, ct_grow(&way, depth, &cap, sizeof *way, "pickle"));
    way[depth++] = (frame){ p->root, 0 };
    colour[p->root] = 1;
    while (depth > 0) {
        frame *f = &way[depth - 1];
        const ct_pickle_value *v = &p->value[f->at];
        if (!has_items(v) || f->next >= v->n) {
            colour[f->at] = 2;
            depth--;
            continue;
        }
        const ct_ref next = v->u.item[f->next++];
        if (colour[next] == 2) continue;
        if (colour[next] == 1) CT_GOTO(st, BAD("%s: refused: a container holds itself", source));
        CT_GOTO(st, ct_grow(&way, depth, &cap, sizeof *way, "pickle"));
        colour[next] = 1;
        way[depth++] = (frame){ next, 0 };
    }
fail:
    ct_free(way);
    ct_free(colour);
    return st;
}

static ct_status run(machine *m)
{
    const uint8_t *op;
    for (;;) {
        bool known = true;
        m->op_at = m->at;
        m->op = 0;
        ct_status st = take(m, 1, &op);
        if (st != CT_OK) return here(m, st);
        m->op = *op;
        if (m->op_at == 0 && m->op != 0x80) return BAD("%s: no pickle of protocol 2 to 5", m->source);
        if (m->op == '.') break;
        st = step_value(m, &known);
        if (st == CT_OK && !known) st = step_other(m);
        if (st != CT_OK) return here(m, st);
    }
    if (m->marks > 0 || m->depth != 1) return here(m, BAD("%zu values are left on the stack instead of one", m->depth));
    m->p->root = m->stack[0];
    return check_cycles(m->p, m->source);
}

ct_status ct_pickle_run(const uint8_t *data, size_t size, const char *source, const ct_pickle_rules *rules,
                        size_t *used, ct_pickle **out)
{
    machine m = { .rules = rules, .source = source, .data = data,
                  .size = size > CT_PICKLE_MAX_BYTES ? CT_PICKLE_MAX_BYTES : size };
    ct_status st;
    ct_ref none;
    *out = NULL;
    if (!(m.p = ct_calloc(1, sizeof *m.p, "pickle"))) return CT_ENOMEM;
    CT_GOTO(st, make(m.p, CT_PY_NONE, &none));
    CT_GOTO(st, run(&m));
    *used = m.at;
    *out = m.p;
    m.p = NULL;
fail:
    ct_pickle_free(m.p);
    ct_free(m.stack);
    ct_free(m.memo);
    ct_free(m.mark);
    return st;
}

void ct_pickle_free(ct_pickle *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->values; i++)
        if (has_items(&p->value[i])) ct_free(p->value[i].u.item);
    ct_free(p->value);
    ct_free(p);
}
