#include "config.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/env.h"

static ct_status fail_errno(const char *path, const char *what)
{
    return ct_fail(CT_EIO, "%s: %s: %s", path, what, strerror(errno));
}

/* Opens for reading and gets its size; directories are refused here, where the message can say so. plain: so is
 * everything else that is no regular file, and the opening does not wait for somebody to write into a pipe. */
static ct_status open_read(const char *path, bool plain, int *fd, struct stat *st)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | (plain ? O_NONBLOCK : 0));
    if (*fd < 0) return fail_errno(path, "cannot open");
    ct_status s = CT_OK;
    if (fstat(*fd, st) != 0)
        s = fail_errno(path, "cannot stat");
    else if (S_ISDIR(st->st_mode))
        s = ct_fail(CT_EIO, "%s: is a directory", path);
    else if (plain && !S_ISREG(st->st_mode))
        s = ct_fail(CT_EFORMAT, "%s: not a regular file", path);
    if (s != CT_OK) {
        close(*fd);
        *fd = -1;
    }
    return s;
}

static ct_status too_large(const char *path, uintmax_t size, size_t max_bytes)
{
    return ct_fail(CT_EIO, "%s: %ju bytes, more than the %zu allowed here", path, size, max_bytes);
}

static ct_status read_file(const char *path, bool plain, size_t max_bytes, uint8_t **data, size_t *size)
{
    ct_status st = CT_OK;
    int fd = -1;
    uint8_t *buf = NULL;
    size_t n = 0, cap;
    struct stat info;

    *data = NULL;
    *size = 0;
    CT_GOTO(st, open_read(path, plain, &fd, &info));
    if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > max_bytes) {
        st = too_large(path, (uintmax_t)info.st_size, max_bytes);
        goto fail;
    }
    /* The size is a hint only (pipes have none, files grow): reading goes on to the end of the file. */
    cap = (S_ISREG(info.st_mode) ? (size_t)info.st_size : 4096) + 1;
    buf = ct_malloc(cap, path);
    if (!buf) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (;;) {
        if (n + 1 >= cap) {
            uint8_t probe;
            ssize_t more = read(fd, &probe, 1);
            if (more < 0 && errno == EINTR) continue;
            if (more < 0) {
                st = fail_errno(path, "cannot read");
                goto fail;
            }
            if (more == 0) break;
            CT_GOTO(st, ct_grow(&buf, cap, &cap, 1, path));
            buf[n++] = probe;
        }
        ssize_t got = read(fd, buf + n, cap - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            st = fail_errno(path, "cannot read");
            goto fail;
        }
        if (got == 0 && n + 1 < cap) break;
        n += (size_t)got;
        if (n > max_bytes) {
            st = too_large(path, (uintmax_t)n, max_bytes);
            goto fail;
        }
    }
    buf[n] = 0;
    *data = buf;
    *size = n;
    close(fd);
    return CT_OK;
fail:
    if (fd >= 0) close(fd);
    ct_free(buf);
    return st;
}

ct_status ct_file_read(const char *path, size_t max_bytes, uint8_t **data, size_t *size)
{
    return read_file(path, false, max_bytes, data, size);
}

ct_status ct_file_read_plain(const char *path, size_t max_bytes, uint8_t **data, size_t *size)
{
    return read_file(path, true, max_bytes, data, size);
}

ct_status ct_file_open_log(const char *path, int flags, int *fd)
{
    struct stat info;
    *fd = open(path, flags | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (*fd < 0 && errno != ENXIO) return fail_errno(path, "cannot open");
    if (*fd < 0) return ct_fail(CT_EFORMAT, "%s: not a regular file", path); /* a pipe that nobody reads */
    if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) return CT_OK;
    close(*fd);
    *fd = -1;
    return ct_fail(CT_EFORMAT, "%s: not a regular file", path);
}

ct_status ct_mmap_open(const char *path, ct_mmap *m)
{
    int fd;
    struct stat info;
    m->data = NULL;
    m->size = 0;
    CT_TRY(open_read(path, true, &fd, &info));
    ct_status st = CT_OK;
    if (!ct_alloc_has_room((size_t)info.st_size)) {
        st = ct_fail(CT_ENOMEM, "%s: the address space (ulimit -v) has no room for its %jd bytes", path,
                     (intmax_t)info.st_size);
    } else if (info.st_size > 0) {
        void *p = (uintmax_t)info.st_size > SIZE_MAX
                      ? MAP_FAILED
                      : mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            st = fail_errno(path, "cannot map");
        } else {
            m->data = p;
            m->size = (size_t)info.st_size;
        }
    }
    close(fd);
    return st;
}

/* A new file in `dir` that nobody else can open; -1 with a message. */
static int open_nameless(const char *dir)
{
    char *path = ct_asprintf("%s/scratch.XXXXXX", dir);
    if (!path) return -1;
    const int fd = mkstemp(path);
    if (fd < 0) fail_errno(dir, "cannot make a file");
    else {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        unlink(path);
    }
    ct_free(path);
    return fd;
}

ct_status ct_mmap_scratch(const char *dir, size_t bytes, ct_mmap *m, uint8_t **data)
{
    m->data = *data = NULL;
    m->size = 0;
    CT_TRY(ct_mkdir_p(dir));
    const int fd = open_nameless(dir);
    if (fd < 0) return CT_EIO;
    /* all of it now: writing to a hole of a full disk would end the process */
    const int full = bytes > (size_t)INT64_MAX ? EFBIG : posix_fallocate(fd, 0, (off_t)bytes);
    void *p = full ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (full) errno = full;
    const ct_status st = p == MAP_FAILED ? fail_errno(dir, "no room for data") : CT_OK;
    close(fd);
    if (st != CT_OK) return st;
    m->data = *data = p;
    m->size = bytes;
    return CT_OK;
}

void ct_mmap_close(ct_mmap *m)
{
    /* munmap wants a pointer to non-const; the pages themselves are never written. */
    union { const uint8_t *in; void *out; } p = { m->data };
    if (m->data) munmap(p.out, m->size);
    m->data = NULL;
    m->size = 0;
}

struct ct_atomic_file {
    FILE *f;
    char *path;
    char *tmp;     /* path.tmp.<pid> */
    bool exists;   /* tmp is there and must be removed unless it is renamed */
    int error;     /* errno of the first failed write; later writes are not tried */
};

ct_status ct_atomic_open(const char *path, ct_atomic_file **out)
{
    ct_status st = CT_ENOMEM;
    struct stat info;
    int fd;

    *out = NULL;
    /* A rename would replace a device or a pipe by a plain file. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ct_fail(CT_EIO, "%s: cannot write: %s", path,
                       S_ISDIR(info.st_mode) ? "is a directory" : "not a regular file");
    ct_atomic_file *f = ct_calloc(1, sizeof *f, path);
    if (!f) return CT_ENOMEM;
    if (!(f->path = ct_strdup(path, "a path"))) goto fail;
    if (!(f->tmp = ct_asprintf("%s.tmp.%ld", path, (long)getpid()))) goto fail;
    unlink(f->tmp); /* of a process that had our number and was killed */
    fd = open(f->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        st = fail_errno(path, "cannot write");
        goto fail;
    }
    f->exists = true;
    f->f = fdopen(fd, "wb");
    if (!f->f) {
        st = fail_errno(path, "cannot write");
        close(fd);
        goto fail;
    }
    *out = f;
    return CT_OK;
fail:
    ct_atomic_abort(f);
    return st;
}

ct_status ct_atomic_write(ct_atomic_file *f, const void *data, size_t bytes)
{
    if (f->error == 0 && bytes > 0 && fwrite(data, 1, bytes, f->f) != bytes) f->error = errno ? errno : EIO;
    if (f->error == 0) return CT_OK;
    errno = f->error;
    return fail_errno(f->path, "cannot write");
}

void ct_atomic_abort(ct_atomic_file *f)
{
    if (!f) return;
    int saved = errno;
    if (f->f) fclose(f->f);
    if (f->exists) unlink(f->tmp);
    ct_free(f->tmp);
    ct_free(f->path);
    ct_free(f);
    errno = saved;
}

ct_status ct_file_sync_dir(const char *path)
{
    ct_status st = CT_OK;
    const char *slash = strrchr(path, '/');
    char *dir = !slash          ? ct_strdup(".", "a path")
                : slash == path ? ct_strdup("/", "a path")
                                : ct_strndup(path, (size_t)(slash - path), "a path");
    if (!dir) return CT_ENOMEM;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        /* A directory that may be written but not read (mode -wx) cannot be opened for fsync; the file itself is
         * safe. */
        if (errno != EACCES) st = fail_errno(dir, "cannot open directory");
    } else {
        /* EINVAL, ENOTSUP: the file system has no such thing as fsync of a directory. */
        if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) st = fail_errno(dir, "cannot fsync directory");
        close(fd);
    }
    ct_free(dir);
    return st;
}

ct_status ct_atomic_commit(ct_atomic_file *f)
{
    ct_status st = CT_OK;
    CT_GOTO(st, ct_atomic_write(f, NULL, 0)); /* reports an earlier failed write */
    if (fflush(f->f) != 0) {
        st = fail_errno(f->path, "cannot write");
        goto fail;
    }
    if (fsync(fileno(f->f)) != 0) {
        st = fail_errno(f->path, "cannot fsync");
        goto fail;
    }
    int closed = fclose(f->f);
    f->f = NULL;
    if (closed != 0) {
        st = fail_errno(f->path, "cannot close");
        goto fail;
    }
    if (rename(f->tmp, f->path) != 0) {
        st = fail_errno(f->path, "cannot rename the finished file");
        goto fail;
    }
    f->exists = false;
    st = ct_file_sync_dir(f->path);
fail:
    ct_atomic_abort(f);
    return st;
}

ct_status ct_file_write_atomic(const char *path, const void *data, size_t bytes)
{
    ct_atomic_file *f;
    CT_TRY(ct_atomic_open(path, &f));
    ct_status st = ct_atomic_write(f, data, bytes);
    if (st != CT_OK) {
        ct_atomic_abort(f);
        return st;
    }
    return ct_atomic_commit(f);
}

ct_status ct_memstream_close(FILE *f, const char *what)
{
    const bool lost = ferror(f) != 0;
    if (fclose(f) == 0 && !lost) return CT_OK;
    return ct_fail(CT_ENOMEM, "%s: out of memory", what);
}

ct_status ct_printed_open(ct_printed *t, const char *path)
{
    *t = (ct_printed){ .path = path };
    t->f = open_memstream(&t->text, &t->bytes);
    return t->f ? CT_OK : ct_fail(CT_ENOMEM, "%s: out of memory", path);
}

ct_status ct_printed_close(ct_printed *t, ct_status st)
{
    const ct_status closed = ct_memstream_close(t->f, t->path);
    if (st == CT_OK) st = closed;
    if (st == CT_OK) st = ct_file_write_atomic(t->path, t->text, t->bytes);
    ct_free(t->text);
    return st;
}

ct_status ct_mkdir_p(const char *path)
{
    ct_status st = CT_OK;
    if (!path[0]) return ct_fail(CT_EINVAL, "cannot make a directory with an empty name");
    char *p = ct_strdup(path, "a path");
    if (!p) return CT_ENOMEM;
    for (char *s = p + 1; st == CT_OK; s++) {
        if (*s != '/' && *s != '\0') continue;
        char c = *s;
        *s = '\0';
        /* Made, or already there; another process may make it at the same time, so mkdir comes first. */
        if (mkdir(p, 0777) == 0) {
            st = ct_file_sync_dir(p); /* what is synced in it later would be lost with it */
        } else if (!ct_path_is_dir(p)) {
            if (errno == EEXIST) errno = ENOTDIR;
            st = fail_errno(p, "cannot make directory");
        }
        *s = c;
        if (c == '\0') break;
    }
    ct_free(p);
    return st;
}

ct_status ct_mkdir_fresh(const char *path, bool overwrite)
{
    CT_TRY(ct_mkdir_p(path));
    DIR *d = opendir(path);
    if (!d) return ct_fail(CT_EIO, "%s: cannot open the folder: %s", path, strerror(errno));
    bool empty = true;
    for (struct dirent *e; empty && (e = readdir(d));) {
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    }
    closedir(d);
    if (!empty && !overwrite) return ct_fail(CT_EIO, "%s: the folder is not empty", path);
    return CT_OK;
}

ct_status ct_file_write_light(const char *path, const void *data, size_t bytes)
{
    char *tmp = ct_asprintf("%s.tmp", path);
    if (!tmp) return CT_ENOMEM;
    ct_status st = CT_OK;
    FILE *f = fopen(tmp, "wbe");
    bool made = f != NULL;
    bool bad = !f || fwrite(data, 1, bytes, f) != bytes;
    if (bad) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (f && fclose(f) != 0 && !bad) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (st == CT_OK && rename(tmp, path) != 0) st = ct_fail(CT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (st != CT_OK && made) unlink(tmp);
    ct_free(tmp);
    return st;
}

char *ct_path_join(const char *a, const char *b)
{
    size_t n = strlen(a);
    return ct_asprintf("%s%s%s", a, n == 0 || a[n - 1] == '/' ? "" : "/", b);
}

bool ct_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

ct_status ct_file_aside(const char *path, char **to)
{
    ct_status st = CT_OK;
    *to = NULL;
    for (int k = 1; k < 1000; k++) {
        struct stat info;
        ct_free(*to);
        *to = k == 1 ? ct_asprintf("%s.damaged", path) : ct_asprintf("%s.damaged.%d", path, k);
        if (!*to) return CT_ENOMEM;
        if (lstat(*to, &info) != 0) break;
    }
    if (rename(path, *to) != 0) st = fail_errno(path, "cannot be moved aside");
    if (st == CT_OK) return CT_OK;
    ct_free(*to);
    *to = NULL;
    return st;
}

bool ct_path_is_dir(const char *path)
{
    int saved = errno;
    struct stat info;
    bool is = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    errno = saved;
    return is;
}

bool ct_path_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

void ct_hash(const void *data, size_t bytes, uint8_t out[CT_HASH_BYTES])
{
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits(data, bytes));
    memcpy(out, c.digest, CT_HASH_BYTES);
}

static void hash_text(XXH128_hash_t h, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

void ct_hash_hex(const void *data, size_t bytes, char out[33])
{
    hash_text(XXH3_128bits(data, bytes), out);
}

struct ct_hashing {
    XXH3_state_t *state;
};

ct_hashing *ct_hash_begin(void)
{
    ct_hashing *h = ct_malloc(sizeof *h, "a checksum");
    if (!h) return NULL;
    h->state = XXH3_createState();
    if (h->state && XXH3_128bits_reset(h->state) == XXH_OK) return h;
    XXH3_freeState(h->state);
    ct_free(h);
    ct_fail(CT_ENOMEM, "out of memory: a checksum");
    return NULL;
}

void ct_hash_add(ct_hashing *h, const void *data, size_t bytes)
{
    XXH3_128bits_update(h->state, data, bytes);
}

void ct_hash_end_hex(ct_hashing *h, char out[33])
{
    hash_text(XXH3_128bits_digest(h->state), out);
    XXH3_freeState(h->state);
    ct_free(h);
}

double ct_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
