#include "config.h"

#include "formats/lmdb.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

#ifdef HAVE_LMDB
#include <errno.h>
#include <lmdb.h>

struct ct_lmdb {
    MDB_env *env;
    MDB_dbi dbi;
    int64_t entries;
    char *path;
};

bool ct_lmdb_built(void) { return true; }

void ct_lmdb_close(ct_lmdb *db)
{
    if (!db) return;
    if (db->env) mdb_env_close(db->env);
    ct_free(db->path);
    ct_free(db);
}

static ct_status failed(const ct_lmdb *db, int rc)
{
    if (rc == ENOMEM) return ct_fail(CT_ENOMEM, "out of memory reading %s", db->path);
    return ct_fail(rc < 0 ? CT_EFORMAT : CT_EIO, "%s: cannot be read: %s", db->path, mdb_strerror(rc));
}

static ct_status look_through(const char *path, size_t *size)
{
    ct_mmap m;
    CT_TRY(ct_mmap_open(path, &m));
    const ct_status st = ct_lmdb_sound(m.data, m.size, path);
    *size = m.size;
    ct_mmap_close(&m);
    return st;
}

static ct_status begin(ct_lmdb *db, size_t size)
{
    const size_t whole = (size + 65535) / 65536 * 65536;
    MDB_txn *txn = NULL;
    MDB_stat about;
    int rc = mdb_env_create(&db->env);
    if (rc == 0) rc = mdb_env_set_mapsize(db->env, whole); /* the file says how large it may become, not is */
    if (rc == 0) rc = mdb_env_open(db->env, db->path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0);
    if (rc == 0) rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0) rc = mdb_dbi_open(txn, NULL, 0, &db->dbi);
    if (rc == 0) rc = mdb_stat(txn, db->dbi, &about);
    if (rc == 0) db->entries = (int64_t)about.ms_entries;
    if (txn) mdb_txn_abort(txn);
    return rc == 0 ? CT_OK : failed(db, rc);
}

ct_status ct_lmdb_open(const char *dir, ct_lmdb **out)
{
    size_t size = 0;
    ct_lmdb *db = ct_calloc(1, sizeof *db, "a database");
    ct_status st = db && (db->path = ct_path_join(dir, CT_LMDB_FILE)) ? CT_OK : CT_ENOMEM;
    *out = NULL;
    if (st == CT_OK && !ct_path_is_file(db->path)) st = ct_fail(CT_EIO, "%s: is no regular file", db->path);
    if (st == CT_OK) st = look_through(db->path, &size);
    if (st == CT_OK) st = begin(db, size);
    if (st == CT_OK) *out = db;
    else ct_lmdb_close(db);
    return st;
}

int64_t ct_lmdb_entries(const ct_lmdb *db) { return db->entries; }

ct_status ct_lmdb_get(const ct_lmdb *db, const char *key, size_t most, uint8_t **data, size_t *size)
{
    MDB_txn *txn = NULL;
    MDB_val k = { strlen(key), (void *)(uintptr_t)key }, v;
    ct_status st = CT_OK;
    *data = NULL;
    *size = 0;
    int rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0) rc = mdb_get(txn, db->dbi, &k, &v);
    if (rc == 0 && v.mv_size > most) {
        st = ct_fail(CT_EFORMAT, "%s: %s has %zu bytes, at most %zu are read", db->path, key, v.mv_size, most);
    } else if (rc == 0) {
        *data = ct_malloc(v.mv_size + 1, "a value of a database");
        if (!*data) st = CT_ENOMEM;
        else {
            memcpy(*data, v.mv_data, v.mv_size);
            (*data)[v.mv_size] = '\0';
            *size = v.mv_size;
        }
    } else if (rc != MDB_NOTFOUND) {
        st = failed(db, rc);
    }
    if (txn) mdb_txn_abort(txn);
    return st;
}

#else

bool ct_lmdb_built(void) { return false; }
void ct_lmdb_close(ct_lmdb *db) { (void)db; }
int64_t ct_lmdb_entries(const ct_lmdb *db) { return db ? 0 : 0; }

ct_status ct_lmdb_open(const char *dir, ct_lmdb **out)
{
    *out = NULL;
    return ct_fail(CT_EUNSUPPORTED, "%s/" CT_LMDB_FILE ": captrain was built without liblmdb; install it (Debian and "
                   "Ubuntu: apt-get install liblmdb-dev), configure and build again", dir);
}

ct_status ct_lmdb_get(const ct_lmdb *db, const char *key, size_t most, uint8_t **data, size_t *size)
{
    (void)db;
    (void)most;
    *data = NULL;
    *size = 0;
    return ct_fail(CT_EUNSUPPORTED, "%s: captrain was built without liblmdb", key);
}
#endif
