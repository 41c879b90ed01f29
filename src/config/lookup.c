/* Finding rows by name, alias or likeness. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "base/text.h"
#include "config/config.h"
#include "config/internal.h"

const char *ct_key_type_name(ct_key_type t)
{
    static const char *const names[CT_KEY_TYPE_COUNT] = {
        "true or false", "an integer", "a number", "one of its values", "one of its values", "a text", "a path",
        "a colour", "a list of integers", "a list of numbers", "a list of texts",
    };
    return t >= 0 && t < CT_KEY_TYPE_COUNT ? names[t] : "?";
}

/* Does the blank-separated list `names` contain `key`? */
static bool list_contains(const char *names, const char *key)
{
    size_t len = strlen(key);
    if (!names || len == 0) return false;
    for (const char *p = names; *p; p += *p == ' ') {
        size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, key, n) == 0) return true;
        p += n;
    }
    return false;
}

const ct_config_row *ct_config_find_row(const char *key)
{
    const ct_config_row *row;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++)
        if (strcmp(row->name, key) == 0 || list_contains(row->aliases, key)) return row;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        size_t len = strlen(row->name);
        if (row->cls == CT_CLASS_NOTED && row->name[len - 1] == '*' && strncmp(row->name, key, len - 1) == 0)
            return row;
    }
    return NULL;
}

/* The distance of two words if it is less than `best`; otherwise best. The lengths alone say so in most cases. */
static int nearer(const char *a, size_t na, const char *b, size_t nb, int best)
{
    if (best <= 0 || (na > nb ? na - nb : nb - na) >= (size_t)best) return best;
    int d = ct_word_distance(a, na, b, nb);
    return d < best ? d : best;
}

/* The distance of a key from a name, where the wrong section counts at most 2; `best` if it is not less than that. */
static int key_distance(const char *key, const char *name, size_t n, int best)
{
    size_t len = strlen(key), k = len, m = n;
    while (k > 0 && key[k - 1] != '.') k--;
    while (m > 0 && name[m - 1] != '.') m--;
    best = nearer(key, len, name, n, best);
    return best > 2 ? 2 + nearer(key + k, len - k, name + m, n - m, best - 2) : best;
}

const char *ct_config_nearest_key(const char *key)
{
    const ct_config_row *row;
    const char *best = ct_config_row_at(0)->name;
    int best_d = CT_WORD_BYTES + 1;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        size_t len = strlen(row->name);
        if (row->name[len - 1] == '*') continue;
        int d = key_distance(key, row->name, len, best_d);
        for (const char *p = row->aliases ? row->aliases : ""; *p; p += *p == ' ') {
            size_t m = strcspn(p, " ");
            d = key_distance(key, p, m, d);
            p += m;
        }
        if (d < best_d) {
            best_d = d;
            best = row->name;
        }
    }
    return best;
}
