/* Makes an LMDB database as deep-text-recognition-benchmark does: make_lmdb DIR, which is there, with lines "file<tab>label" on
 * stdin. Lines of "=key<tab>value" put a pair as it stands. 77 where there is no liblmdb. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LMDB
#include <lmdb.h>

static void must(int rc, const char *what)
{
    if (rc == 0) return;
    fprintf(stderr, "%s: %s\n", what, mdb_strerror(rc));
    exit(99);
}

static void put(MDB_txn *t, MDB_dbi d, const char *key, const void *data, size_t n)
{
    MDB_val k = { strlen(key), (void *)(size_t)key }, v = { n, (void *)(size_t)data };
    must(mdb_put(t, d, &k, &v, 0), key);
}

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(1 << 22);
    if (!f || !data) exit(99);
    *n = fread(data, 1, 1 << 22, f);
    fclose(f);
    return data;
}

int main(int argc, char **argv)
{
    MDB_env *env;
    MDB_txn *t;
    MDB_dbi d;
    char line[4096], key[32], number[32];
    int count = 0;
    if (argc != 2) return 2;
    must(mdb_env_create(&env), "create");
    must(mdb_env_set_mapsize(env, (size_t)1 << 30), "size");
    must(mdb_env_open(env, argv[1], 0, 0666), argv[1]);
    must(mdb_txn_begin(env, NULL, 0, &t), "begin");
    must(mdb_dbi_open(t, NULL, 0, &d), "open");
    snprintf(number, sizeof number, "0");
    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t');
        line[strcspn(line, "\n")] = '\0';
        if (!tab) return 2;
        *tab++ = '\0';
        if (line[0] == '=') {
            if (strcmp(line, "=num-samples") == 0) snprintf(number, sizeof number, "%s", tab);
            else put(t, d, line + 1, tab, strlen(tab));
            continue;
        }
        size_t n;
        char *data = read_all(line, &n);
        snprintf(key, sizeof key, "image-%09d", ++count);
        put(t, d, key, data, n);
        snprintf(key, sizeof key, "label-%09d", count);
        put(t, d, key, tab, strlen(tab));
        snprintf(number, sizeof number, "%d", count);
        free(data);
    }
    if (*number) put(t, d, "num-samples", number, strlen(number));
    must(mdb_txn_commit(t), "commit");
    mdb_env_close(env);
    return 0;
}
#else
int main(void) { return 77; }
#endif
