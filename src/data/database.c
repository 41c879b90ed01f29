/* Samples of an LMDB database as deep-text-recognition-benchmark makes it: num-samples, and for each of them, from 1,
 * image-%09d, the bytes of a picture file, and label-%09d, its text. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "data/scan_internal.h"
#include "formats/lmdb.h"
#include "lists/label_files.h"

enum { COUNT_BYTES = 20, TEXT_BYTES = 4096, MOST = 999999999 };

ct_status ct_scan_database_there(const char *dir, bool *there)
{
    char *file = ct_path_join(dir, CT_LMDB_FILE);
    if (!file) return CT_ENOMEM;
    *there = ct_path_is_file(file);
    ct_free(file);
    return CT_OK;
}

/* Pictures or a label file beside a database: which of them are meant, nobody can tell. */
static ct_status check_alone(const char *dir)
{
    ct_listing l;
    char *list, kind;
    CT_TRY(ct_label_file_find(dir, &list, &kind));
    ct_status st = CT_OK;
    if (list)
        st = ct_fail(CT_EFORMAT, "%s: lies beside a database, " CT_LMDB_FILE ", which has labels of its own; move one "
                     "of the two away", list);
    ct_free(list);
    CT_TRY(st);
    CT_TRY(ct_listing_make(dir, &l));
    if (l.n > 0)
        st = ct_fail(CT_EFORMAT, "%s/%s: a picture beside a database, " CT_LMDB_FILE ", which has pictures of its own; "
                     "move one of the two away", dir, l.name[0]);
    ct_listing_free(&l);
    return st;
}

static ct_status count_samples(const ct_lmdb *db, const char *path, int64_t *n)
{
    uint8_t *text;
    size_t size;
    CT_TRY(ct_lmdb_get(db, "num-samples", COUNT_BYTES, &text, &size));
    if (!text)
        return ct_fail(CT_EFORMAT, "%s: has no key num-samples: databases are read that have num-samples, "
                       "image-000000001, label-000000001 and so on (deep-text-recognition-benchmark)", path);
    char *end, shown[64];
    *n = strtoll((const char *)text, &end, 10);
    const bool good = size > 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' && end == (char *)text + size;
    ct_status st = CT_OK;
    if (!good || *n < 1 || *n > MOST)
        st = ct_fail(CT_EFORMAT, "%s: num-samples is '%s', not a number of 1 to %d", path,
                     ct_text_visible((const char *)text, shown, sizeof shown), MOST);
    else if (*n > ct_lmdb_entries(db)) /* each has two */
        st = ct_fail(CT_EFORMAT, "%s: num-samples is %" PRId64 ", but the database has %" PRId64 " entries", path, *n,
                     ct_lmdb_entries(db));
    ct_free(text);
    return st;
}

/* Sample i, from 1. */
static ct_status add_sample(const ct_lmdb *db, int64_t i, const ct_scan_labels *how, ct_scan *s, size_t *cap)
{
    char key[32], name[64];
    uint8_t *text = NULL;
    size_t size = 0;
    snprintf(key, sizeof key, "label-%09" PRId64, i);
    snprintf(name, sizeof name, CT_LMDB_FILE "/image-%09" PRId64, i);
    ct_status st = ct_lmdb_get(db, key, TEXT_BYTES, &text, &size);
    if (st == CT_EFORMAT) st = ct_scan_add(s, cap, name, NULL, "its label is longer than any text", i);
    else if (st == CT_OK && !text) st = ct_scan_add(s, cap, name, NULL, "the database has no label for it", i);
    else if (st == CT_OK && memchr(text, '\0', size))
        st = ct_scan_add(s, cap, name, NULL, "its label has a NUL byte", i);
    else if (st == CT_OK) st = ct_scan_add_read(s, cap, name, how, (const char *)text, i);
    ct_free(text);
    if (st == CT_OK) s->s[s->n - 1].file = true;
    return st;
}

ct_status ct_scan_database(const char *dir, const ct_scan_labels *how, ct_scan *out)
{
    ct_lmdb *db = NULL;
    size_t cap = 0;
    int64_t n = 0;
    ct_status st;
    CT_TRY(check_alone(dir));
    if (!(out->dir = ct_strdup(dir, "folder"))) return CT_ENOMEM;
    if (!(out->label_file = ct_path_join(dir, CT_LMDB_FILE))) return CT_ENOMEM;
    CT_GOTO(st, ct_lmdb_open(dir, &db));
    CT_GOTO(st, count_samples(db, out->label_file, &n));
    for (int64_t i = 1; i <= n; i++) CT_GOTO(st, add_sample(db, i, how, out, &cap));
fail:
    ct_lmdb_close(db);
    return st;
}
