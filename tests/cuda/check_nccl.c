/* Groups of cards: backends/cuda/nccl.c in the emulated plug-in, with a stand-in for NCCL. */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "exec/exec.h"
#include "tests/ct_check.h"

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part, ct_error_message());
}

static void (*set_mode)(const char *);
static void (*get_counts)(int *aborted, int *finalized, int *destroyed);
static const ct_backend *cuda;

/* The emulated plug-in with library `file` of the build directory for NCCL. */
static void load(const char *file)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    snprintf(path, sizeof path, "%s/tests/emulate/.libs/%s", ct_check_builddir(), file);
    setenv("CAPTRAIN_NCCL", path, 1);
    ok(ct_backend_load("cuda", &cuda));
    ck_assert_ptr_nonnull(cuda->comm);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return;
    void *f = dlsym(lib, "fake_nccl_mode"), *g = dlsym(lib, "fake_nccl_counts");
    ck_assert(f && g);
    memcpy(&set_mode, &f, sizeof f);
    memcpy(&get_counts, &g, sizeof g);
}

static void counted(int aborted, int finalized, int destroyed)
{
    int a, f, d;
    get_counts(&a, &f, &d);
    ck_assert_int_eq(a, aborted);
    ck_assert_int_eq(f, finalized);
    ck_assert_int_eq(d, destroyed);
}

typedef struct member {
    int rank, size;
    double deadline;
    ct_device *dev;
    ct_stream *stream;
    ct_comm *comm;
    ct_status st;
    char message[512];
} member;

static void *join(void *arg)
{
    member *m = arg;
    const ct_device_opts opts = { .index = 0 };
    unsigned char id[CT_COMM_ID];
    ok(cuda->open(&opts, &m->dev));
    ok(cuda->stream_create(m->dev, &m->stream));
    ok(cuda->comm->id(id));
    m->st = cuda->comm->create(m->dev, id, m->rank, m->size, m->deadline, &m->comm);
    snprintf(m->message, sizeof m->message, "%s", ct_error_message());
    return NULL;
}

static void leave(member *m)
{
    cuda->comm->destroy(m->comm);
    cuda->stream_destroy(m->dev, m->stream);
    cuda->close(m->dev);
}

enum { N = 1000 };

/* Sums and a broadcast of one member; the other does the same. */
static void *work(void *arg)
{
    member *m = arg;
    float sum[N];
    int32_t sent[4] = { m->rank, 1, 2, 3 };
    void *at;
    join(m);
    ck_assert_msg(m->st == CT_OK, "%s", m->message);
    for (int i = 0; i < N; i++) sum[i] = (float)(i + 10 * m->rank);
    ok(cuda->alloc(m->dev, sizeof sum, "test", &at));
    ok(cuda->upload(m->dev, m->stream, at, sum, sizeof sum));
    ok(cuda->comm->all_reduce_sum(m->comm, m->stream, at, N, CT_F32));
    ok(cuda->download(m->dev, m->stream, sum, at, sizeof sum));
    ok(cuda->stream_sync(m->dev, m->stream));
    for (int i = 0; i < N; i++) ck_assert_float_eq(sum[i], (float)(2 * i + 10));
    ok(cuda->comm->broadcast(m->comm, m->stream, sent, sizeof sent, 1));
    ck_assert_int_eq(sent[0], 1);
    ok(cuda->comm->check(m->comm));
    cuda->free(m->dev, at);
    leave(m);
    return NULL;
}

START_TEST(two_members)
{
    pthread_t other;
    member m[2] = { { .rank = 0, .size = 2, .deadline = 30 }, { .rank = 1, .size = 2, .deadline = 30 } };
    load("fake_nccl.so");
    set_mode("");
    ck_assert_int_eq(pthread_create(&other, NULL, work, &m[1]), 0);
    work(&m[0]);
    pthread_join(other, NULL);
    counted(0, 2, 2);
}
END_TEST

START_TEST(version)
{
    ct_device_info info;
    ct_device *dev;
    const ct_device_opts opts = { .index = 0 };
    load("fake_nccl.so");
    ok(cuda->open(&opts, &dev));
    ok(cuda->info(dev, &info));
    ck_assert_msg(strstr(info.detail, "NCCL 2.28.9") != NULL, "%s", info.detail);
    cuda->close(dev);
}
END_TEST

/* The others never come: the deadline ends it, and what was begun is given up. */
START_TEST(nobody_comes)
{
    member m = { .rank = 1, .size = 3, .deadline = 0.05 };
    load("fake_nccl.so");
    set_mode(_i == 0 ? "" : "alone");
    join(&m);
    ck_assert_int_eq(m.st, CT_EBACKEND);
    ck_assert_msg(strstr(m.message, "after 0.05 s not all 3 members had joined (this is member 1") != NULL, "%s", m.message);
    counted(1, 0, 0);
    cuda->stream_destroy(m.dev, m.stream);
    cuda->close(m.dev);
}
END_TEST

/* The stand-in has joining in progress for some questions; what is done so soon is not slept for. */
static int sleeps;
int nanosleep(const struct timespec *t, struct timespec *left)
{
    sleeps++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
}

START_TEST(soon_done)
{
    member m = { .rank = 0, .size = 1, .deadline = 30 };
    float x = 1;
    load("fake_nccl.so");
    set_mode("slow");
    join(&m);
    ck_assert_msg(m.st == CT_OK, "%s", m.message);
    for (int i = 0; i < 10; i++) ok(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F32));
    ck_assert_int_eq(sleeps, 0);
    leave(&m);
}
END_TEST

START_TEST(refused)
{
    member m = { .rank = 0, .size = 1, .deadline = 1 };
    load("fake_nccl.so");
    set_mode("refuse");
    join(&m);
    ck_assert_int_eq(m.st, CT_EBACKEND);
    ck_assert_msg(strstr(m.message, "joining the group: remote process exited or there was a network error: fake: no more to say") != NULL,
                  "%s", m.message);
    counted(1, 0, 0);
    cuda->stream_destroy(m.dev, m.stream);
    cuda->close(m.dev);
}
END_TEST

/* An error that shows later: check() tells, abort() ends it, and what is called then says so. */
START_TEST(lost_member)
{
    member m = { .rank = 0, .size = 1, .deadline = 1 };
    float x = 1;
    load("fake_nccl.so");
    set_mode("lost");
    join(&m);
    ck_assert_msg(m.st == CT_OK, "%s", m.message);
    ok(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F32));
    ok(cuda->comm->check(m.comm));
    ok(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F32));
    says(cuda->comm->check(m.comm), CT_EBACKEND, "a member of the group: remote process exited");
    cuda->comm->abort(m.comm);
    counted(1, 0, 0);
    says(cuda->comm->check(m.comm), CT_EBACKEND, "was given up");
    says(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F32), CT_EBACKEND, "was given up");
    says(cuda->comm->broadcast(m.comm, m.stream, &x, 4, 0), CT_EBACKEND, "was given up");
    leave(&m);
    counted(1, 0, 0);
}
END_TEST

START_TEST(stuck_sum)
{
    member m = { .rank = 0, .size = 1, .deadline = 0.05 };
    float x = 1;
    load("fake_nccl.so");
    set_mode("stuck");
    join(&m);
    ck_assert_msg(m.st == CT_OK, "%s", m.message);
    says(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F32), CT_EBACKEND, "a sum over the group: not done after 0.05 s (member 0 of 1)");
    leave(&m);
    counted(1, 1, 0); /* it would not end in peace */
}
END_TEST

START_TEST(leaves_by_force)
{
    member m = { .rank = 0, .size = 1, .deadline = 0.05 };
    load("fake_nccl.so");
    set_mode("stay");
    join(&m);
    ck_assert_msg(m.st == CT_OK, "%s", m.message);
    leave(&m);
    counted(1, 1, 0);
    cuda->comm->destroy(NULL);
}
END_TEST

START_TEST(wrong_type)
{
    member m = { .rank = 0, .size = 1, .deadline = 1 };
    float x = 1;
    load("fake_nccl.so");
    set_mode("");
    join(&m);
    says(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_F16), CT_EBACKEND, "invalid argument"); /* the stand-in has no f16 */
    says(cuda->comm->all_reduce_sum(m.comm, m.stream, &x, 1, CT_DTYPE_COUNT), CT_EINVAL, "elements of type");
    leave(&m);
}
END_TEST

/* No library, and one that is too old: groups are refused with the reason, the device works. */
START_TEST(no_library)
{
    unsigned char id[CT_COMM_ID];
    ct_device_info info;
    ct_device *dev;
    const ct_device_opts opts = { .index = 0 };
    load(_i == 0 ? "there-is-none.so" : "fake_nccl_old.so");
    says(cuda->comm->id(id), CT_EBACKEND, _i == 0 ? "groups of cards need NCCL" : "it has no ncclCommInitRankConfig: an NCCL older than 2.14?");
    if (_i == 0) says(cuda->comm->id(id), CT_EBACKEND, "there-is-none.so");
    ok(cuda->open(&opts, &dev));
    ok(cuda->info(dev, &info));
    ck_assert_ptr_null(strstr(info.detail, "NCCL"));
    cuda->close(dev);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nccl");
    TCase *t = tcase_create("nccl"); /* each in a process of its own: the library is loaded once */
    tcase_set_timeout(t, 60);
    tcase_add_test(t, two_members);
    tcase_add_test(t, version);
    tcase_add_loop_test(t, nobody_comes, 0, 2);
    tcase_add_test(t, soon_done);
    tcase_add_test(t, refused);
    tcase_add_test(t, lost_member);
    tcase_add_test(t, stuck_sum);
    tcase_add_test(t, leaves_by_force);
    tcase_add_test(t, wrong_type);
    tcase_add_loop_test(t, no_library, 0, 2);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
