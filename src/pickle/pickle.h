/* Python's pickles, protocols 2 to 5, as far as data need them. A pickle is a program; here it makes values and nothing
 * else: no object is built and nothing is called but what the reader's own table (ct_pickle_rules) knows. Every other
 * opcode and name is refused with its name and place.
 *
 * Limits: 16 MiB of pickle, 2^20 values, 2^23 items in tuples, lists and dicts together. */
#ifndef CT_PICKLE_PICKLE_H
#define CT_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_PICKLE_MAX_BYTES ((size_t)16 << 20)

typedef uint32_t ct_ref; /* a value; 0 is none */

typedef enum ct_pickle_kind {
    CT_PY_NONE, CT_PY_BOOL, CT_PY_INT, CT_PY_BIG, /* an integer of more than 64 bits */
    CT_PY_FLOAT, CT_PY_STR, CT_PY_BYTES,
    CT_PY_TUPLE, CT_PY_LIST,                      /* sets are lists */
    CT_PY_DICT,                                   /* item[]: key, value, key, value */
    CT_PY_GLOBAL,                                 /* a name the rules know; i: what they call it; s: the name alone */
    CT_PY_LEFT,                                   /* something that is passed over; s: its class */
    CT_PY_OWN                                     /* what the rules made; i: its number */
} ct_pickle_kind;

typedef struct ct_pickle_value {
    ct_pickle_kind kind;
    uint32_t n, cap; /* bytes of s, items */
    union {
        int64_t i;      /* and the truth of a bool */
        double f;
        ct_ref *item;
    } u;
    const char *s;   /* in the pickle, no NUL behind it */
} ct_pickle_value;

typedef struct ct_pickle ct_pickle;

/* What names mean. Each function ends with a message of its own where it refuses; where it was met is put in front. */
typedef struct ct_pickle_rules {
    /* The number of a global, >= 0; CT_PICKLE_LEFT: what is made of it is passed over. */
    ct_status (*global)(void *user, const char *module, const char *name, int *what);
    /* What a call of a global gives: REDUCE, NEWOBJ. args: a tuple. */
    ct_status (*call)(void *user, ct_pickle *p, int what, ct_ref args, ct_ref *out);
    /* What a persistent id stands for; NULL: there are none. */
    ct_status (*persistent)(void *user, ct_pickle *p, ct_ref id, ct_ref *out);
    void *user;
} ct_pickle_rules;

#define CT_PICKLE_LEFT (-1)

/* Runs one pickle at the beginning of `data`, which must stay valid; `source` names it in messages. *used: its bytes.
 * *out: ct_pickle_free(). CT_EFORMAT, CT_EUNSUPPORTED (refused by name), CT_ENOMEM. */
ct_status ct_pickle_run(const uint8_t *data, size_t size, const char *source, const ct_pickle_rules *rules,
                        size_t *used, ct_pickle **out);
void ct_pickle_free(ct_pickle *p); /* NULL is fine */

ct_ref ct_pickle_root(const ct_pickle *p);
const ct_pickle_value *ct_pickle_at(const ct_pickle *p, ct_ref r); /* valid until a value is made */
bool ct_pickle_is(const ct_pickle *p, ct_ref r, const char *text); /* a str of these characters */
/* Value of a key of a dict; 0: none. */
ct_ref ct_pickle_get(const ct_pickle *p, ct_ref dict, const char *key);

/* For rules: new values. */
ct_status ct_pickle_own(ct_pickle *p, int64_t number, ct_ref *out);
ct_status ct_pickle_dict(ct_pickle *p, ct_ref *out);

#endif
