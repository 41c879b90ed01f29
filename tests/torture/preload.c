/* A library for LD_PRELOAD that makes things go wrong: the n-th call of a kind fails, or the process dies at it. It
 * counts from main() on. What it does stands in the environment:
 *
 *   TORTURE_KIND   alloc, write, fsync, rename, open: which calls are counted; any: all but alloc
 *   TORTURE_AT     n:17 (the 17th), s:0123456789abcdef (the first with this call stack), s:0123456789abcdef:90 (of those
 *                  from the 90th call on, which saves looking at the stacks before); without it calls are only counted
 *   TORTURE_HOW    fail (default), stay (this one and all later ones fail), kill (SIGKILL instead of the call)
 *   TORTURE_LOG    file for lines "stack N HASH" (the first call with each call stack), "fired N" and, at the end, "total N"
 *   TORTURE_SHADOW folder that holds what a power cut would leave: see shadow() below
 *   TORTURE_PLANT  nosync: fsync does nothing and says that it did; nodirs: the same, of folders only */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { ALLOC = 1, WRITE = 2, FSYNC = 4, RENAME = 8, OPEN = 16 };

static int kinds, stays, kills, armed, nosync, nodirs, log_fd = -1;
static long at_n, from_n;
static uint64_t at_stack;
static const char *shadow_dir;
static atomic_long seen;
static atomic_int fired;
static _Thread_local int inside;

/* ---- the real functions ---- */

/* What is allocated before main(), and by dlsym(): libraries that are being loaded, a sanitizer's for one, cannot always
 * be asked for their malloc() yet. It is never given back. */
static char early[1 << 24] __attribute__((aligned(64)));
static atomic_size_t early_used;
static int begun; /* main() is about to be called */

static void *early_alloc(size_t n, size_t align)
{
    const size_t need = ((n + 15) & ~(size_t)15) + (align > 16 ? align : 0), at = atomic_fetch_add(&early_used, need);
    if (need > sizeof early || at > sizeof early - need) abort();
    const uintptr_t p = (uintptr_t)early + at;
    return early + at + (align > 16 ? (align - p % align) % align : 0);
}

static int is_too_early(void) { return !begun || inside == 2; }

static int is_early(const void *p) { return (const char *)p >= early && (const char *)p < early + sizeof early; }

/* POSIX lets dlsym results become function pointers; ISO C has no cast for it. */
#define REAL(type, name, params)                                   \
    static type(*real_##name) params;                              \
    if (!real_##name) {                                            \
        union { void *object; type(*function) params; } u_;        \
        const int was_ = inside;                                   \
        inside = 2;                                                \
        u_.object = dlsym(RTLD_NEXT, #name);                       \
        inside = was_;                                             \
        real_##name = u_.function;                                 \
    }

/* ---- call stacks ---- */

struct module { uintptr_t from, to; };
static struct module module[256];
static int modules;
/* OpenBLAS, whose kernels for small products of AVX-512 processors take memory in each call and use it unseen: a fault of its own. */
static struct module blas;

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    (void)user;
    if (modules == 256) return 1;
    struct module *m = &module[modules++];
    m->from = info->dlpi_addr;
    m->to = m->from;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
            if (end > m->to) m->to = end;
        }
    if (info->dlpi_name && strstr(info->dlpi_name, "libopenblas")) blas = *m;
    return 0;
}

/* A number for the call stack that is the same in every run, wherever libraries are loaded. */
static uint64_t stack_hash(void)
{
    void *frame[40];
    const int n = backtrace(frame, 40);
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 3; i < n; i++) {
        uintptr_t a = (uintptr_t)frame[i];
        for (int m = 0; m < modules; m++)
            if (a >= module[m].from && a < module[m].to) {
                a = a - module[m].from + ((uintptr_t)m << 48);
                break;
            }
        h = (h ^ a) * 0x100000001b3u;
    }
    return h ? h : 1;
}

enum { TABLE = 1 << 16 };
static _Atomic uint64_t known[TABLE];

/* True for the first call with this number. */
static int is_new(uint64_t h)
{
    for (size_t i = h % TABLE, k = 0; k < TABLE; i = (i + 1) % TABLE, k++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&known[i], &none, h)) return 1;
        if (none == h) return 0;
    }
    return 0;
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
    char line[128];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (log_fd >= 0 && n > 0) (void)!syscall(SYS_write, log_fd, line, (size_t)n);
}

/* Counts a call; true if it is to fail. */
static int turn(enum kind k)
{
    if (!armed || inside || !(kinds & k)) return 0;
    inside = 1;
    const long n = atomic_fetch_add(&seen, 1) + 1;
    int now = 0;
    if (at_n == 0 && at_stack == 0) {
        const uint64_t h = stack_hash();
        if (is_new(h)) say("stack %ld %016llx\n", n, (unsigned long long)h);
    } else if (atomic_load(&fired)) {
        now = stays;
    } else if (at_n ? n == at_n : n >= from_n && stack_hash() == at_stack) {
        now = !atomic_exchange(&fired, 1);
        if (now) say("fired %ld\n", n);
        if (now && kills) kill(getpid(), SIGKILL);
    }
    inside = 0;
    return now;
}

/* ---- what a power cut leaves ----
 * Of a file what it held at its last fsync; of a folder the entries it had at its last fsync. SHADOW/f.ID is the one,
 * SHADOW/d.ID the other: lines "KIND ID NAME", KIND f or d. ID is inode and time of birth, since inodes are used
 * again. A file that was never synced leaves nothing but, if its folder was, its name. tests/crash/cut.c makes a tree
 * of that. */

static int id_of(int dir, const char *name, int flags, char id[64])
{
    struct statx x;
    if (syscall(SYS_statx, dir, name, flags | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME | STATX_TYPE, &x) != 0) return 0;
    snprintf(id, 64, "%llx-%llx-%x", (unsigned long long)x.stx_ino, (unsigned long long)x.stx_btime.tv_sec,
             (unsigned)x.stx_btime.tv_nsec);
    return S_ISDIR(x.stx_mode) ? 'd' : 'f';
}

static int shadow_open(char kind, const char *id, char path[512], char tmp[528])
{
    snprintf(path, 512, "%s/%c.%s", shadow_dir, kind, id);
    snprintf(tmp, 528, "%s.tmp", path);
    return (int)syscall(SYS_openat, AT_FDCWD, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

static void shadow_file(const char *own, const char *id)
{
    char path[512], tmp[528], buf[65536];
    const int out = shadow_open('f', id, path, tmp), in = (int)syscall(SYS_openat, AT_FDCWD, own, O_RDONLY, 0);
    for (ssize_t n; out >= 0 && in >= 0 && (n = (ssize_t)syscall(SYS_read, in, buf, sizeof buf)) > 0;)
        (void)!syscall(SYS_write, out, buf, (size_t)n);
    if (in >= 0) syscall(SYS_close, in);
    if (out >= 0) syscall(SYS_close, out);
    syscall(SYS_rename, tmp, path);
}

static void shadow_folder(const char *own, const char *id)
{
    char path[512], tmp[528], line[400], entry[64];
    const int out = shadow_open('d', id, path, tmp);
    DIR *d = opendir(own);
    for (struct dirent *e; d && out >= 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        const int kind = id_of(dirfd(d), e->d_name, 0, entry);
        if (!kind) continue;
        const int n = snprintf(line, sizeof line, "%c %s %s\n", kind, entry, e->d_name);
        (void)!syscall(SYS_write, out, line, (size_t)n);
    }
    if (d) closedir(d);
    if (out >= 0) syscall(SYS_close, out);
    syscall(SYS_rename, tmp, path);
}

static void shadow(int fd)
{
    char own[64], id[64];
    const int was = inside, saved = errno;
    if (!shadow_dir || !armed || inside) return;
    inside = 1;
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    const int kind = id_of(fd, "", AT_EMPTY_PATH, id);
    if (kind == 'd' && !nodirs) shadow_folder(own, id);
    else if (kind == 'f') shadow_file(own, id);
    inside = was;
    errno = saved;
}

/* ---- memory ---- */

void *malloc(size_t n)
{
    const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    if (is_too_early()) return early_alloc(n, 16);
    REAL(void *, malloc, (size_t))
    if (caller >= blas.from && caller < blas.to) return real_malloc(n);
    if (turn(ALLOC)) return errno = ENOMEM, (void *)NULL;
    return real_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    if (is_too_early()) return early_alloc(count * size, 16); /* zeros, as static memory is */
    REAL(void *, calloc, (size_t, size_t))
    if (turn(ALLOC)) return errno = ENOMEM, (void *)NULL;
    return real_calloc(count, size);
}

void *realloc(void *p, size_t n)
{
    if (is_early(p) || (!p && is_too_early())) {
        const size_t left = p ? (size_t)(early + sizeof early - (char *)p) : 0;
        void *q = malloc(n);
        if (q && p) memcpy(q, p, n < left ? n : left);
        return q;
    }
    REAL(void *, realloc, (void *, size_t))
    if (turn(ALLOC)) return errno = ENOMEM, (void *)NULL;
    return real_realloc(p, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    if (is_too_early()) return *p = early_alloc(n, align), 0;
    REAL(int, posix_memalign, (void **, size_t, size_t))
    if (turn(ALLOC)) return ENOMEM;
    return real_posix_memalign(p, align, n);
}

void free(void *p)
{
    if (!p || is_early(p)) return;
    REAL(void, free, (void *))
    real_free(p);
}

/* ---- files ---- */

ssize_t write(int fd, const void *buf, size_t n)
{
    REAL(ssize_t, write, (int, const void *, size_t))
    if (turn(WRITE)) return errno = ENOSPC, -1;
    return real_write(fd, buf, n);
}

size_t fwrite(const void *buf, size_t size, size_t n, FILE *f)
{
    REAL(size_t, fwrite, (const void *, size_t, size_t, FILE *))
    if (f != stdout && f != stderr && turn(WRITE)) {
        f->_flags |= 0x20; /* glibc's _IO_ERR_SEEN: ferror() tells of it, as it does of a true failure */
        return errno = ENOSPC, (size_t)0;
    }
    return real_fwrite(buf, size, n, f);
}

int fflush(FILE *f)
{
    REAL(int, fflush, (FILE *))
    if (f && f != stderr && turn(WRITE)) return errno = ENOSPC, EOF;
    return real_fflush(f);
}

int ftruncate(int fd, off_t n)
{
    REAL(int, ftruncate, (int, off_t))
    if (turn(WRITE)) return errno = EIO, -1;
    return real_ftruncate(fd, n);
}

int fsync(int fd)
{
    REAL(int, fsync, (int))
    if (turn(FSYNC)) return errno = EIO, -1;
    if (nosync) return 0;
    shadow(fd);
    return shadow_dir ? 0 : real_fsync(fd); /* nobody pulls the plug in truth */
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, (const char *, const char *))
    if (turn(RENAME)) return errno = EIO, -1;
    return real_rename(from, to);
}

int link(const char *from, const char *to)
{
    REAL(int, link, (const char *, const char *))
    if (turn(RENAME)) return errno = EIO, -1;
    return real_link(from, to);
}

int unlink(const char *path)
{
    REAL(int, unlink, (const char *))
    if (turn(RENAME)) return errno = EIO, -1;
    return real_unlink(path);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, mkdir, (const char *, mode_t))
    if (turn(OPEN)) return errno = ENOSPC, -1;
    return real_mkdir(path, mode);
}

#define MODE_OF(flags, mode)                               \
    mode_t mode = 0;                                       \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {               \
        va_list ap_;                                       \
        va_start(ap_, flags);                              \
        mode = va_arg(ap_, mode_t);                        \
        va_end(ap_);                                       \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    REAL(int, open, (const char *, int, ...))
    if (turn(OPEN)) return errno = EMFILE, -1;
    return real_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    REAL(int, open64, (const char *, int, ...))
    if (turn(OPEN)) return errno = EMFILE, -1;
    return real_open64(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    REAL(int, openat, (int, const char *, int, ...))
    if (turn(OPEN)) return errno = EMFILE, -1;
    return real_openat(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *how)
{
    REAL(FILE *, fopen, (const char *, const char *))
    if (turn(OPEN)) return errno = EMFILE, (FILE *)NULL;
    return real_fopen(path, how);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, (const char *))
    if (turn(OPEN)) return errno = EMFILE, (DIR *)NULL;
    return real_opendir(path);
}

/* ---- beginning and end ---- */

static int (*their_main)(int, char **, char **);

static void read_environment(void)
{
    static const struct { const char *name; int kind; } names[] = {
        { "alloc", ALLOC }, { "write", WRITE }, { "fsync", FSYNC }, { "rename", RENAME }, { "open", OPEN },
        { "any", WRITE | FSYNC | RENAME | OPEN },
    };
    const char *kind = getenv("TORTURE_KIND"), *at = getenv("TORTURE_AT"), *how = getenv("TORTURE_HOW");
    const char *log = getenv("TORTURE_LOG"), *plant = getenv("TORTURE_PLANT");
    for (size_t i = 0; kind && i < sizeof names / sizeof *names; i++)
        if (strcmp(kind, names[i].name) == 0) kinds = names[i].kind;
    if (at && strncmp(at, "n:", 2) == 0) at_n = strtol(at + 2, NULL, 10);
    if (at && strncmp(at, "s:", 2) == 0) {
        char *end;
        at_stack = strtoull(at + 2, &end, 16);
        if (*end == ':') from_n = strtol(end + 1, NULL, 10);
    }
    stays = how && strcmp(how, "stay") == 0;
    kills = how && strcmp(how, "kill") == 0;
    nosync = plant && strcmp(plant, "nosync") == 0;
    nodirs = plant && strcmp(plant, "nodirs") == 0;
    shadow_dir = getenv("TORTURE_SHADOW");
    if (log) log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log_fd >= 0) log_fd = fcntl(log_fd, F_DUPFD_CLOEXEC, 500); /* out of the way */
}

static int our_main(int argc, char **argv, char **envp)
{
    void *frame[4];
    read_environment();
    backtrace(frame, 4); /* loads what it needs */
    dl_iterate_phdr(note_module, NULL);
    armed = 1;
    const int code = their_main(argc, argv, envp);
    armed = 0;
    say("total %ld\n", atomic_load(&seen));
    return code;
}

int __libc_start_main(int (*m)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*ld_fini)(void), void *stack_end);
int __libc_start_main(int (*m)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*ld_fini)(void), void *stack_end)
{
    REAL(int, __libc_start_main,
         (int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *))
    their_main = m;
    begun = 1;
    return real___libc_start_main(our_main, argc, argv, init, fini, ld_fini, stack_end);
}
