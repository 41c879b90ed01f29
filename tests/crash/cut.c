/* The tree that a power cut leaves, of what tests/torture/preload.c has noted in SHADOW.
 *
 *   cut init SHADOW ROOT              what is there now is durable
 *   cut make SHADOW ROOT OUT MODE SEED
 *
 * MODE synced: folders have the entries, files the contents they had when they were synced last. MODE names: folders
 * as they are in ROOT, since file systems write names early, files as above: what was never synced is empty. MODE
 * torn: as names, but of what was not synced a part, chosen by SEED, has arrived, and zeros where more had been. Links
 * are not expected. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH = 1024 };
static const char *shadow;
static enum { SYNCED, NAMES, TORN } mode;
static uint64_t seed;

static void die(const char *what)
{
    perror(what);
    exit(3);
}

static int id_of(const char *path, char id[64])
{
    struct statx x;
    if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME | STATX_TYPE, &x) != 0) die(path);
    snprintf(id, 64, "%llx-%llx-%x", (unsigned long long)x.stx_ino, (unsigned long long)x.stx_btime.tv_sec,
             (unsigned)x.stx_btime.tv_nsec);
    return S_ISDIR(x.stx_mode) ? 'd' : 'f';
}

/* The whole file, NULL if there is none. */
static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    size_t cap = 1 << 16;
    char *p = malloc(cap);
    *n = 0;
    if (!f || !p) {
        free(p);
        if (f) fclose(f);
        return NULL;
    }
    for (size_t got; (got = fread(p + *n, 1, cap - *n, f)) > 0;) {
        *n += got;
        if (*n == cap && !(p = realloc(p, cap *= 2))) die("realloc");
    }
    fclose(f);
    return p;
}

static void write_all(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) die(path);
}

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return below ? (seed >> 33) % below : 0;
}

/* What is left of file `id`; real: its path in ROOT, NULL where only what was synced counts. */
static void make_file(const char *id, const char *real, const char *out)
{
    char path[PATH];
    size_t kept = 0, all = 0;
    snprintf(path, sizeof path, "%s/f.%s", shadow, id);
    char *data = read_all(path, &kept), *now = mode == TORN && real ? read_all(real, &all) : NULL;
    if (now && all > kept) { /* it grew since: a part of that has arrived */
        const size_t arrived = kept + (size_t)draw(all - kept + 1), length = arrived + (size_t)draw(all - arrived + 1);
        memset(now + arrived, 0, all - arrived);
        if (kept > 0) memcpy(now, data, kept);
        write_all(out, now, length);
    } else {
        write_all(out, data ? data : "", kept);
    }
    free(data);
    free(now);
}

static void make_folder(const char *id, const char *real, const char *out);

static void make(int kind, const char *id, const char *real, const char *out)
{
    if (kind == 'd') make_folder(id, real, out);
    else make_file(id, real, out);
}

static void make_folder(const char *id, const char *real, const char *out)
{
    char path[PATH], below[PATH], line[PATH];
    if (mkdir(out, 0777) != 0) die(out);
    if (mode == SYNCED) {
        snprintf(path, sizeof path, "%s/d.%s", shadow, id);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
            char entry[64], name[512];
            char kind;
            if (sscanf(line, "%c %63s %511[^\n]", &kind, entry, name) != 3) continue;
            snprintf(below, sizeof below, "%s/%s", out, name);
            make(kind, entry, NULL, below);
        }
        if (f) fclose(f);
        return;
    }
    DIR *d = opendir(real);
    if (!d) die(real);
    for (struct dirent *e; (e = readdir(d));) {
        char entry[64];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", real, e->d_name);
        snprintf(below, sizeof below, "%s/%s", out, e->d_name);
        const int kind = id_of(path, entry);
        make(kind, entry, path, below);
    }
    closedir(d);
}

/* Everything below `real` is durable. */
static void init(const char *real)
{
    char id[64], entry[64], path[PATH], list[PATH];
    id_of(real, id);
    snprintf(list, sizeof list, "%s/d.%s", shadow, id);
    FILE *f = fopen(list, "w");
    DIR *d = opendir(real);
    if (!f || !d) die(real);
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", real, e->d_name);
        const int kind = id_of(path, entry);
        fprintf(f, "%c %s %s\n", kind, entry, e->d_name);
        if (kind == 'd') {
            init(path);
            continue;
        }
        char to[PATH];
        size_t n;
        char *data = read_all(path, &n);
        snprintf(to, sizeof to, "%s/f.%s", shadow, entry);
        write_all(to, data ? data : "", n);
        free(data);
    }
    closedir(d);
    if (fclose(f) != 0) die(list);
}

int main(int argc, char **argv)
{
    char id[64];
    if (argc == 4 && strcmp(argv[1], "init") == 0) {
        shadow = argv[2];
        init(argv[3]);
        return 0;
    }
    if (argc != 7 || strcmp(argv[1], "make") != 0) return 2;
    shadow = argv[2];
    mode = strcmp(argv[5], "synced") == 0 ? SYNCED : strcmp(argv[5], "names") == 0 ? NAMES : TORN;
    seed = strtoull(argv[6], NULL, 10);
    id_of(argv[3], id);
    make_folder(id, argv[3], argv[4]);
    return 0;
}
