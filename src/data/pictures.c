#include "config.h"

#include "data/pictures.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/lmdb.h"
#include "image/image.h"

/* A database that was asked before. */
typedef struct opened {
    char *dir;
    ct_lmdb *db;
} opened;

struct ct_pictures {
    pthread_mutex_t lock; /* of the list; a database itself may be asked by several threads */
    opened *at;
    size_t n, cap;
};

ct_status ct_pictures_open(ct_pictures **out)
{
    ct_pictures *p = ct_calloc(1, sizeof *p, "pictures");
    *out = p;
    if (!p) return CT_ENOMEM;
    pthread_mutex_init(&p->lock, NULL);
    return CT_OK;
}

void ct_pictures_close(ct_pictures *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->n; i++) {
        ct_lmdb_close(p->at[i].db);
        ct_free(p->at[i].dir);
    }
    ct_free(p->at);
    pthread_mutex_destroy(&p->lock);
    ct_free(p);
}

static ct_status find(ct_pictures *p, const char *dir, ct_lmdb **db)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i].dir, dir) == 0) {
            *db = p->at[i].db;
            return CT_OK;
        }
    CT_TRY(ct_grow(&p->at, p->n, &p->cap, sizeof *p->at, "databases"));
    CT_TRY(ct_lmdb_open(dir, db));
    opened o = { ct_strdup(dir, "a database"), *db };
    if (!o.dir) {
        ct_lmdb_close(*db);
        return CT_ENOMEM;
    }
    p->at[p->n++] = o;
    return CT_OK;
}

/* Where in a path the key in a database begins; NULL: it is a file's. */
static const char *key_in(const char *path)
{
    static const char inner[] = "/" CT_LMDB_FILE "/";
    const char *key = NULL;
    for (const char *at = path; (at = strstr(at, inner)); at++) key = at + sizeof inner - 1;
    if (!key && strncmp(path, inner + 1, sizeof inner - 2) == 0) key = path + sizeof inner - 2;
    return key && *key && !strchr(key, '/') ? key : NULL;
}

static ct_status read_value(ct_pictures *p, const char *path, const char *key, uint8_t **data, size_t *size)
{
    const size_t file = (size_t)(key - path) - 1, name = sizeof CT_LMDB_FILE - 1; /* path up to the key's slash */
    char *dir = file == name ? ct_strdup(".", "folder") : ct_strndup(path, file - name - 1, "folder");
    ct_lmdb *db = NULL;
    if (!dir) return CT_ENOMEM;
    pthread_mutex_lock(&p->lock);
    ct_status st = find(p, *dir ? dir : "/", &db);
    pthread_mutex_unlock(&p->lock);
    ct_free(dir);
    if (st == CT_OK) st = ct_lmdb_get(db, key, CT_IMAGE_MAX_FILE, data, size);
    if (st == CT_OK && !*data) return ct_fail(CT_EIO, "%s: the database has no such key", path);
    return st;
}

ct_status ct_pictures_read(ct_pictures *p, const char *dir, const char *name, uint8_t **data, size_t *size)
{
    char *path = ct_path_join(dir, name);
    if (!path) return CT_ENOMEM;
    const char *key = key_in(path);
    bool stored = false;
    if (key) {
        char *file = ct_strndup(path, (size_t)(key - path) - 1, "path");
        if (!file) {
            ct_free(path);
            return CT_ENOMEM;
        }
        stored = ct_path_is_file(file);
        ct_free(file);
    }
    const ct_status st = stored ? read_value(p, path, key, data, size)
                                : ct_file_read(path, CT_IMAGE_MAX_FILE, data, size);
    ct_free(path);
    return st;
}
