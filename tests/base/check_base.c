/* Floor 1: messages, memory, files, environment, log, workers. Numbers are in check_base_numbers.c. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "base/workers.h"
#include "tests/ct_check.h"

/* ---- status ---- */

START_TEST(message_of_a_failure)
{
    errno = EPIPE;
    ck_assert_int_eq(ct_fail(CT_EIO, "%s: line %d", "a.yaml", 7), CT_EIO);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert_str_eq(ct_error_message(), "a.yaml: line 7");
    ck_assert_int_eq(ct_fail_context(CT_ECONFIG, "reading %s", "b"), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(), "reading b: a.yaml: line 7");
    /* The old message may be an argument of the new one. */
    ct_fail(CT_EIO, "[%s]", ct_error_message());
    ck_assert_str_eq(ct_error_message(), "[reading b: a.yaml: line 7]");
}
END_TEST

START_TEST(long_message_is_cut)
{
    char big[9001];
    memset(big, 'x', 9000);
    big[9000] = '\0';
    ct_fail(CT_EIO, "start %s", big);
    size_t n = strlen(ct_error_message());
    ck_assert_uint_gt(n, 1000);
    ck_assert_uint_lt(n, 9000);
    ck_assert_str_eq(ct_error_message() + n - 3, "...");
    ck_assert_int_eq(strncmp(ct_error_message(), "start xxx", 9), 0);
    /* No room for context: the failure itself stays. */
    ct_fail_context(CT_EIO, "context");
    ck_assert_int_eq(strncmp(ct_error_message(), "start xxx", 9), 0);
    /* Two-byte characters are not cut in half, whatever the offset. */
    for (int shift = 0; shift < 2; shift++) {
        for (int i = 0; i < 9000; i += 2) memcpy(big + i, "\xc3\xa4", 2);
        ct_fail(CT_EIO, "%s%s", shift ? "a" : "", big);
        const char *m = ct_error_message();
        n = strlen(m);
        ck_assert_int_eq((unsigned char)m[n - 4], 0xa4);
    }
}
END_TEST

static void *fail_in_thread(void *arg)
{
    const char *before = ct_error_message();
    *(int *)arg = before[0] == '\0';
    ct_fail(CT_EIO, "other thread");
    return NULL;
}

START_TEST(message_is_per_thread)
{
    pthread_t t;
    int was_empty = 0;
    ct_fail(CT_EIO, "this thread");
    ck_assert_int_eq(pthread_create(&t, NULL, fail_in_thread, &was_empty), 0);
    pthread_join(t, NULL);
    ck_assert_int_eq(was_empty, 1);
    ck_assert_str_eq(ct_error_message(), "this thread");
}
END_TEST

START_TEST(status_names_differ)
{
    for (int a = CT_OK; a <= CT_EINTERNAL; a++) {
        ck_assert_str_ne(ct_status_name((ct_status)a), "unknown status");
        for (int b = CT_OK; b < a; b++) ck_assert_str_ne(ct_status_name((ct_status)a), ct_status_name((ct_status)b));
    }
    ck_assert_str_eq(ct_status_name((ct_status)99), "unknown status");
    ck_assert_str_eq(ct_version(), PACKAGE_VERSION);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_allocation_can_fail)
{
    char *p = ct_malloc(10, "ten");
    ck_assert_ptr_nonnull(p);
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_malloc(123, "the batch"));
    ck_assert_str_eq(ct_error_message(), "out of memory: 123 bytes for the batch");
    void *q = ct_malloc(1, "once only");
    ck_assert_ptr_nonnull(q);
    ct_free(q);
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_calloc(3, 7, "c"));
    ck_assert_str_eq(ct_error_message(), "out of memory: 21 bytes for c");
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_aligned_alloc(8, "a"));
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_strdup("text", "s"));
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_asprintf("%d", 5));
    memcpy(p, "123456789", 10);
    ct_alloc_fail_after(0);
    ck_assert_ptr_null(ct_realloc(p, 100, 2, "r"));
    ck_assert_str_eq(ct_error_message(), "out of memory: 200 bytes for r");
    ck_assert_str_eq(p, "123456789");
    ct_free(p);
    ct_free(NULL);
    /* The third from now; counts are returned. */
    ct_alloc_fail_after(2);
    void *one = ct_malloc(1, "1"), *two = ct_malloc(1, "2"), *three = ct_malloc(1, "3"), *four = ct_malloc(1, "4");
    ck_assert(one && two && !three && four);
    ck_assert_int_eq(ct_alloc_fail_after(-1), 4);
    ct_free(one);
    ct_free(two);
    ct_free(four);
}
END_TEST

START_TEST(sizes_are_checked)
{
    ct_alloc_fail_after(-1);
    ck_assert_ptr_null(ct_calloc(SIZE_MAX / 2, 3, "wrapped"));
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "wrapped"));
    ck_assert_ptr_null(ct_realloc(NULL, SIZE_MAX / 4 + 2, 4, "r"));
    ck_assert_ptr_null(ct_malloc(SIZE_MAX, "m"));
    ck_assert_ptr_null(ct_aligned_alloc(SIZE_MAX, "a"));
    void *p = ct_malloc(0, "nothing"), *a = ct_aligned_alloc(3, "a");
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq((uintptr_t)a % CT_ALIGN, 0);
    ct_free(p);
    ct_free(a);
    char *s = ct_strndup("abcdef", 3, "s"), *t = ct_strndup("ab", 3, "t"), *u = ct_asprintf("%s-%d", "x", 12);
    ck_assert_str_eq(s, "abc");
    ck_assert_str_eq(t, "ab");
    ck_assert_str_eq(u, "x-12");
    ct_free(s);
    ct_free(t);
    ct_free(u);
    ck_assert_uint_eq(ct_align_up(0, 64), 0);
    ck_assert_uint_eq(ct_align_up(1, 64), 64);
    ck_assert_uint_eq(ct_align_up(64, 64), 64);
}
END_TEST

START_TEST(arrays_grow)
{
    int *v = NULL;
    size_t cap = 0;
    for (size_t n = 0; n < 1000; n++) {
        ck_assert_int_eq(ct_grow(&v, n, &cap, sizeof *v, "numbers"), CT_OK);
        ck_assert_uint_gt(cap, n);
        v[n] = (int)n;
    }
    for (int n = 0; n < 1000; n++) ck_assert_int_eq(v[n], n);
    int *old = v;
    size_t old_cap = cap;
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_grow(&v, cap, &cap, sizeof *v, "numbers"), CT_ENOMEM);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "numbers"));
    ck_assert_ptr_eq(v, old);
    ck_assert_uint_eq(cap, old_cap);
    ck_assert_int_eq(v[999], 999);
    ct_free(v);
}
END_TEST

/* ---- files ---- */

static char dir[64];

static void make_dir(void)
{
    strcpy(dir, "/tmp/ct_check_base.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char *cmd = ct_asprintf("rm -rf '%s'", dir);
    ck_assert_int_eq(system(cmd), 0);
    ct_free(cmd);
}

/* dir/name; the last eight are kept. */
static const char *in_dir(const char *name)
{
    static char buf[8][256];
    static int next;
    char *p = buf[next++ % 8];
    snprintf(p, sizeof buf[0], "%s/%s", dir, name);
    return p;
}

static void ck_message(const char *part)
{
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part, ct_error_message());
}

static int entries(void)
{
    char *cmd = ct_asprintf("exit $(ls -A '%s' | wc -l)", dir);
    int rc = system(cmd);
    ct_free(cmd);
    return WEXITSTATUS(rc);
}

START_TEST(write_and_read)
{
    uint8_t *data;
    size_t n;
    const char *path = in_dir("\xc3\xa4 file");
    ck_assert_int_eq(ct_file_write_atomic(path, "one\0two", 7), CT_OK);
    ck_assert_int_eq(ct_file_read(path, 7, &data, &n), CT_OK);
    ck_assert_uint_eq(n, 7);
    ck_assert_mem_eq(data, "one\0two\0", 8);
    ct_free(data);
    ck_assert_int_eq(ct_file_read(path, 6, &data, &n), CT_EIO);
    ck_message(path);
    ck_message("7 bytes");
    ck_assert_ptr_null(data);
    ck_assert_int_eq(ct_file_write_atomic(path, "", 0), CT_OK);
    ck_assert_int_eq(ct_file_read(path, 0, &data, &n), CT_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(data[0], 0);
    ct_free(data);
    ck_assert_int_eq(ct_file_read(in_dir("none"), 9, &data, &n), CT_EIO);
    ck_message("none: cannot open: No such file or directory");
    ck_assert_int_eq(ct_file_read(dir, 9, &data, &n), CT_EIO);
    ck_message("is a directory");
    /* Something without a size, longer than one buffer. */
    ck_assert_int_eq(ct_file_read("/dev/zero", 100000, &data, &n), CT_EIO);
    ck_message("more than the 100000 allowed");
    ck_assert_int_eq(ct_file_read("/proc/self/status", 1 << 20, &data, &n), CT_OK);
    ck_assert_uint_gt(n, 100);
    ck_assert_ptr_nonnull(strstr((char *)data, "VmPeak"));
    ct_free(data);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(read_out_of_memory)
{
    uint8_t *data;
    size_t n;
    const char *path = in_dir("x");
    ck_assert_int_eq(ct_file_write_atomic(path, "abc", 3), CT_OK);
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_file_read(path, 99, &data, &n), CT_ENOMEM);
    ck_message(path);
    for (long k = 0; k < 10; k++) {
        ct_alloc_fail_after(k);
        ct_status st = ct_file_write_atomic(path, "defg", 4);
        ct_alloc_fail_after(-1);
        ck_assert_int_eq(ct_file_read(path, 99, &data, &n), CT_OK);
        /* After the rename only the path of the directory is allocated: the new content is there then, but not
         * durable. */
        ck_assert(n == 4 || (st == CT_ENOMEM && n == 3));
        ct_free(data);
        ck_assert_int_eq(entries(), 1);
        if (st == CT_OK) return;
        ck_assert_int_eq(st, CT_ENOMEM);
    }
    ck_abort_msg("it never succeeded");
}
END_TEST

START_TEST(maps)
{
    ct_mmap m;
    const char *path = in_dir("m");
    ck_assert_int_eq(ct_file_write_atomic(path, "mapped", 6), CT_OK);
    ck_assert_int_eq(ct_mmap_open(path, &m), CT_OK);
    ck_assert_uint_eq(m.size, 6);
    ck_assert_mem_eq(m.data, "mapped", 6);
    ct_mmap_close(&m);
    ct_mmap_close(&m);
    ck_assert_int_eq(ct_file_write_atomic(path, "", 0), CT_OK);
    ck_assert_int_eq(ct_mmap_open(path, &m), CT_OK);
    ck_assert_ptr_null(m.data);
    ck_assert_uint_eq(m.size, 0);
    ct_mmap_close(&m);
    ck_assert_int_eq(ct_mmap_open("/dev/null", &m), CT_EFORMAT);
    ck_message("/dev/null: not a regular file");
    ck_assert_int_eq(ct_mmap_open(in_dir("none"), &m), CT_EIO);
    ck_message("none: cannot open");
}
END_TEST

START_TEST(aborted_write_leaves_the_old_file)
{
    ct_atomic_file *f;
    uint8_t *data;
    size_t n;
    const char *path = in_dir("old");
    ck_assert_int_eq(ct_file_write_atomic(path, "old", 3), CT_OK);
    ck_assert_int_eq(ct_atomic_open(path, &f), CT_OK);
    ck_assert_int_eq(ct_atomic_write(f, "new", 3), CT_OK);
    ck_assert_int_eq(entries(), 2);
    ct_atomic_abort(f);
    ct_atomic_abort(NULL);
    ck_assert_int_eq(entries(), 1);
    ck_assert_int_eq(ct_file_read(path, 99, &data, &n), CT_OK);
    ck_assert_mem_eq(data, "old", 4);
    ct_free(data);
    ck_assert_int_eq(ct_atomic_open(dir, &f), CT_EIO);
    ck_message("is a directory");
    ck_assert_ptr_null(f);
    ck_assert_int_eq(ct_atomic_open("/dev/null", &f), CT_EIO);
    ck_message("not a regular file");
    ck_assert_int_eq(ct_atomic_open(in_dir("no/such/dir"), &f), CT_EIO);
    ck_message("no/such/dir: cannot write: No such file or directory");
}
END_TEST

/* A full disk, as far as a test can have one: the limit on the size of files. */
START_TEST(full_disk_leaves_the_old_file)
{
    ct_atomic_file *f;
    uint8_t *data;
    size_t n;
    static char big[100000];
    const char *path = in_dir("full");
    struct rlimit old, small;
    ck_assert_int_eq(ct_file_write_atomic(path, "old", 3), CT_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 8192;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ct_status whole = ct_file_write_atomic(path, big, sizeof big);
    char *message = ct_strdup(ct_error_message(), "message");
    /* The same when the data still lies in the stream's buffer until the commit. */
    small.rlim_cur = 2;
    setrlimit(RLIMIT_FSIZE, &small);
    ct_status opened = ct_atomic_open(path, &f);
    ct_status wrote = opened == CT_OK ? ct_atomic_write(f, "new content", 11) : CT_EINTERNAL;
    ct_status done = opened == CT_OK ? ct_atomic_commit(f) : CT_EINTERNAL;
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert_int_eq(whole, CT_EIO);
    ck_assert_ptr_nonnull(strstr(message, path));
    ck_assert_ptr_nonnull(strstr(message, strerror(EFBIG)));
    ct_free(message);
    ck_assert_int_eq(opened, CT_OK);
    ck_assert_int_eq(wrote, CT_OK);
    ck_assert_int_eq(done, CT_EIO);
    ck_message(path);
    ck_message(strerror(EFBIG));
    ck_assert_int_eq(entries(), 1);
    ck_assert_int_eq(ct_file_read(path, 99, &data, &n), CT_OK);
    ck_assert_mem_eq(data, "old", 4);
    ct_free(data);
}
END_TEST

START_TEST(directories_and_paths)
{
    ck_assert_int_eq(ct_mkdir_p(in_dir("a/b//c/")), CT_OK);
    ck_assert(ct_path_is_dir(in_dir("a/b/c")));
    ck_assert_int_eq(ct_mkdir_p(in_dir("a/b/c")), CT_OK);
    ck_assert_int_eq(ct_mkdir_p("/"), CT_OK);
    ck_assert_int_eq(ct_mkdir_p(""), CT_EINVAL);
    ck_assert_int_eq(ct_file_write_atomic(in_dir("a/file"), "x", 1), CT_OK);
    ck_assert_int_eq(ct_mkdir_p(in_dir("a/file/d")), CT_EIO);
    ck_message("a/file: cannot make directory: Not a directory");
    ck_assert_int_eq(ct_mkdir_p(in_dir("a/file")), CT_EIO);
    ck_assert(ct_path_exists(in_dir("a/file")) && !ct_path_is_dir(in_dir("a/file")) && !ct_path_exists(in_dir("a/none")));
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_mkdir_p(in_dir("z")), CT_ENOMEM);
    static const char *const join[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "", "b", "b" }, { "/", "b", "/b" }
    };
    for (size_t i = 0; i < sizeof join / sizeof *join; i++) {
        char *p = ct_path_join(join[i][0], join[i][1]);
        ck_assert_str_eq(p, join[i][2]);
        ct_free(p);
    }
    /* A relative path: the directory that is synced is the current one. */
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(ct_file_write_atomic("here", "x", 1), CT_OK);
    ck_assert(ct_path_exists(in_dir("here")));
}
END_TEST

START_TEST(folders_to_write_into)
{
    uint8_t *data;
    size_t n;
    ck_assert_int_eq(ct_mkdir_fresh(in_dir("new/one"), false), CT_OK);
    ck_assert_int_eq(ct_mkdir_fresh(in_dir("new/one"), false), CT_OK);
    ck_assert_int_eq(ct_mkdir_fresh(in_dir("new"), false), CT_EIO);
    ck_message("new: the folder is not empty");
    ck_assert_int_eq(ct_mkdir_fresh(in_dir("new"), true), CT_OK);
    ck_assert_int_eq(ct_file_write_light(in_dir("light"), "one\0two", 7), CT_OK);
    ck_assert_int_eq(ct_file_write_light(in_dir("light"), "three", 5), CT_OK);
    ck_assert_int_eq(ct_file_read(in_dir("light"), 99, &data, &n), CT_OK);
    ck_assert(n == 5 && memcmp(data, "three", 5) == 0);
    ct_free(data);
    ck_assert_int_eq(ct_mkdir_fresh(in_dir("light"), true), CT_EIO);
    ck_assert_int_eq(ct_file_write_light(in_dir("none/light"), "x", 1), CT_EIO);
    ck_message("none/light: cannot be written");
    ck_assert_int_eq(ct_file_write_light(in_dir("new"), "x", 1), CT_EIO); /* a folder is in the way */
    ck_assert_int_eq(entries(), 2);
}
END_TEST

START_TEST(hash_known_answers)
{
    char hex[33];
    /* XXH3-128 of nothing and of "a", from the specification's reference program: xxhsum -H2. */
    ct_hash_hex("", 0, hex);
    ck_assert_str_eq(hex, "99aa06d3014798d86001c324468d497f");
    ct_hash_hex("a", 1, hex);
    ck_assert_str_eq(hex, "a96faf705af16834e6c632b61e964e1f");
}
END_TEST

START_TEST(clock_goes_forward)
{
    double a = ct_now();
    usleep(2000);
    double b = ct_now();
    ck_assert_double_ge(b - a, 0.001);
    ck_assert_double_lt(b - a, 10);
}
END_TEST

/* ---- environment and log ---- */

START_TEST(environment)
{
    const ct_env_row *t = ct_env_table();
    for (int i = 0; i < CT_ENV_COUNT; i++) {
        ck_assert_msg(t[i].name && t[i].doc, "row %d of the environment table is empty", i);
        ck_assert_msg(t[i].doc[strlen(t[i].doc) - 1] == '.', "%s: the sentence does not end", t[i].name);
    }
    setenv("CAPTRAIN_SEED", "17", 1);
    ck_assert_str_eq(ct_env_get(CT_ENV_SEED), "17");
    setenv("CAPTRAIN_SEED", "", 1);
    ck_assert_ptr_null(ct_env_get(CT_ENV_SEED));
    unsetenv("CAPTRAIN_SEED");
    ck_assert_ptr_null(ct_env_get(CT_ENV_SEED));
    ck_assert_ptr_null(ct_env_get(CT_ENV_COUNT));
}
END_TEST

static void count_before(void *n)
{
    ((int *)n)[0]++;
}

static void count_after(void *n)
{
    ck_assert_int_eq(((int *)n)[0], ((int *)n)[1] + 1);
    ((int *)n)[1]++;
}

START_TEST(log_lines)
{
    int calls[2] = { 0, 0 };
    uint8_t *data;
    size_t n;
    ck_assert_ptr_nonnull(freopen(in_dir("stderr"), "w", stderr));
    FILE *f = fopen(in_dir("log"), "w");
    ck_assert_ptr_nonnull(f);
    setenv("CAPTRAIN_VERBOSE", "plan,nonsense", 1);
    ck_assert_int_eq(ct_log_get_level(), CT_LOG_INFO);
    ct_log_set_hooks(count_before, count_after, calls);
    ct_log_set_file(f);
    ct_info("line %d", 1);
    ct_debug("not seen");
    ck_assert(ct_log_topic_on(CT_TOPIC_PLAN) && !ct_log_topic_on(CT_TOPIC_DISPATCH) && !ct_log_topic_on(CT_TOPIC_COUNT));
    ct_log_topic_line(CT_TOPIC_PLAN, "arena %d", 2);
    ct_log_topic_line(CT_TOPIC_DISPATCH, "not seen");
    ct_log_set_level(CT_LOG_ERROR);
    ct_warn("not seen");
    ct_error("last");
    ct_log_set_file(NULL);
    ct_error("not in the file");
    ct_log_set_hooks(NULL, NULL, NULL);
    fclose(f);
    fflush(stderr);
    ck_assert_int_eq(calls[0], 5);
    ck_assert_int_eq(calls[1], 5);
    ck_assert_int_eq(ct_file_read(in_dir("stderr"), 1 << 20, &data, &n), CT_OK);
    ck_assert_str_eq((char *)data, "line 1\n"
                                   "captrain: warning: CAPTRAIN_VERBOSE: unknown topic \"nonsense\"; "
                                   "topics are dispatch, plan, loader, samples, all\n"
                                   "plan: arena 2\ncaptrain: error: last\ncaptrain: error: not in the file\n");
    ct_free(data);
    ck_assert_int_eq(ct_file_read(in_dir("log"), 1 << 20, &data, &n), CT_OK);
    int year, seconds, used = 0;
    ck_assert_int_eq(sscanf((char *)data, "%4d-%*2d-%*2dT%*2d:%*2d:%2dZ line 1\n%n", &year, &seconds, &used), 2);
    ck_assert_int_gt(used, 0);
    ck_assert_int_ge(year, 2020);
    ck_assert_ptr_nonnull(strstr((char *)data, "captrain: error: last\n"));
    ck_assert_ptr_null(strstr((char *)data, "not in"));
    ct_free(data);
}
END_TEST

/* ---- workers ---- */

typedef struct tally { pthread_mutex_t lock; int count[200]; int fail_from; } tally;

static ct_status tally_item(void *user, int worker, int64_t i)
{
    tally *t = user;
    ck_assert(worker >= 0 && worker < 4);
    if (i >= t->fail_from) {
        usleep((unsigned)(200 - i) * 10); /* later items fail earlier */
        return ct_fail(CT_EDATA, "item %d", (int)i);
    }
    pthread_mutex_lock(&t->lock);
    t->count[i]++;
    pthread_mutex_unlock(&t->lock);
    return CT_OK;
}

START_TEST(parallel_for)
{
    for (int workers = 0; workers <= 4; workers++) {
        tally t = { .fail_from = 1000 };
        pthread_mutex_init(&t.lock, NULL);
        ck_assert_int_eq(ct_parallel_for(200, workers, tally_item, &t, NULL), CT_OK);
        for (int i = 0; i < 200; i++) ck_assert_int_eq(t.count[i], 1);
        t.fail_from = 37; /* the lowest failing item decides, for any number of threads */
        ck_assert_int_eq(ct_parallel_for(200, workers, tally_item, &t, NULL), CT_EDATA);
        ck_assert_str_eq(ct_error_message(), "item 37");
        ck_assert_int_eq(ct_parallel_for(0, workers, tally_item, &t, NULL), CT_OK);
        pthread_mutex_destroy(&t.lock);
    }
}
END_TEST

static ct_status nothing(void *user, int worker, int64_t i)
{
    (void)worker;
    return i >= *(int *)user ? ct_fail(CT_EDATA, "item") : CT_OK;
}

typedef struct heard { int lines; char first[64], last[64]; } heard;

static void hear(void *user, int level, const char *text)
{
    heard *h = user;
    ck_assert_int_eq(level, CT_LOG_INFO);
    snprintf(h->lines++ == 0 ? h->first : h->last, sizeof h->last, "%s", text);
}

/* How far it is comes from the caller's thread, counted over all lists of one total; nothing within ten seconds. */
START_TEST(pace)
{
    int fails_at = 1000;
    heard h = { 0 };
    const ct_log_sink sink = { hear, &h, CT_LOG_INFO }, *before = ct_log_redirect(&sink);
    ct_pace p = ct_pace_begin("counting", 1400);
    ck_assert_int_eq(ct_parallel_for(700, 1, nothing, &fails_at, &p), CT_OK);
    ck_assert_int_eq(h.lines, 0);
    p.every = 0;
    ck_assert_int_eq(ct_parallel_for(400, 1, nothing, &fails_at, &p), CT_OK);
    ck_assert_int_eq(h.lines, 400);
    ck_assert_str_eq(h.first, "counting: 700 of 1,400");
    ck_assert_str_eq(h.last, "counting: 1,099 of 1,400");
    h = (heard){ 0 };
    ck_assert_int_eq(ct_parallel_for(300, 3, nothing, &fails_at, &p), CT_OK);
    ck_assert_int_le(h.lines, 300);
    ck_assert(h.lines == 0 || strncmp(h.first, "counting: 1,", 12) == 0);
    ck_assert_int_eq(p.before, 1400);
    fails_at = 5; /* a failed list does not count */
    ck_assert_int_eq(ct_parallel_for(300, 1, nothing, &fails_at, &p), CT_EDATA);
    ck_assert_int_eq(p.before, 1400);
    p.every = 10;
    p.said -= 10;
    h = (heard){ 0 };
    ct_pace_say(&p, 7);
    ct_pace_say(&p, 8);
    ck_assert_int_eq(h.lines, 1);
    ct_pace_say(NULL, 1);
    ct_log_redirect(before);
}
END_TEST

static Suite *base_suite(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("status");
    tcase_add_test(t, message_of_a_failure);
    tcase_add_test(t, long_message_is_cut);
    tcase_add_test(t, message_is_per_thread);
    tcase_add_test(t, status_names_differ);
    suite_add_tcase(s, t);
    t = tcase_create("alloc");
    tcase_add_test(t, every_allocation_can_fail);
    tcase_add_test(t, sizes_are_checked);
    tcase_add_test(t, arrays_grow);
    suite_add_tcase(s, t);
    t = tcase_create("file");
    tcase_add_checked_fixture(t, make_dir, remove_dir);
    tcase_add_test(t, write_and_read);
    tcase_add_test(t, read_out_of_memory);
    tcase_add_test(t, maps);
    tcase_add_test(t, aborted_write_leaves_the_old_file);
    tcase_add_test(t, full_disk_leaves_the_old_file);
    tcase_add_test(t, directories_and_paths);
    tcase_add_test(t, folders_to_write_into);
    tcase_add_test(t, hash_known_answers);
    tcase_add_test(t, clock_goes_forward);
    suite_add_tcase(s, t);
    t = tcase_create("log");
    tcase_add_checked_fixture(t, make_dir, remove_dir);
    tcase_add_test(t, environment);
    tcase_add_test(t, log_lines);
    suite_add_tcase(s, t);
    t = tcase_create("workers");
    tcase_add_test(t, parallel_for);
    tcase_add_test(t, pace);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(base_suite());
}
