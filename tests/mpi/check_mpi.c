/* The MPI engine in a group of real processes; tests/sh/mpi.sh starts it under mpirun.
 *   check_mpi suite             everything that works, all members in step; member 0 prints a digest of all results
 *   check_mpi join|sum FOLDER   the last member does not join, does not sum: what the others are told
 *   check_mpi die FOLDER        the last member dies within a sum
 *   check_mpi misled            start() is told another number of members than there is
 * In FOLDER every member that is left writes file said.RANK. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "exec/engine.h"
#include "tests/exec/comm_suite.h"

#define PATIENCE 60.0 /* seconds that members may be apart: they share a busy machine */

static const ct_engine *engine;
static ct_comm *world;
static int rank, size = 1;
static bool lends; /* whether the engine must lend memory that members share */

static int variable(const char *a, const char *b, int otherwise)
{
    const char *v = getenv(a) ? getenv(a) : getenv(b);
    return v ? atoi(v) : otherwise;
}

/* ---- what everybody computes ---- */

static uint64_t digest = 14695981039346656037u;  /* FNV-1a */
static uint64_t learnt = 14695981039346656037u; /* of what was trained alone */

static void add_to_digest(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) digest = (digest ^ ((const unsigned char *)p)[i]) * 1099511628211u;
}

/* Every member has the same bytes. */
static void all_have(const void *mine, size_t bytes)
{
    char *all = ct_malloc((size_t)size * bytes, "test");
    ok(engine->comm->gather(world, mine, bytes, all, PATIENCE));
    for (int i = 0; i < size; i++) ck_assert_mem_eq(all + (size_t)i * bytes, mine, bytes);
    ct_free(all);
    add_to_digest(mine, bytes);
}

enum { SUMS = 8 };
static const int64_t lengths[SUMS] = { 1, 1000, 2, 100003, 7, 1 << 20, 4097, 1024 };

/* Numbers of a member: of many sizes, so that it shows in what order they are added. */
static void fill(ct_dtype type, void *p, int64_t n, int whose, int which)
{
    ct_rng rng;
    ct_rng_init(&rng, 11, CT_RNG_TEST, (uint64_t)(100 * whose + which));
    for (int64_t i = 0; i < n; i++) {
        const double x = ct_rng_uniform(&rng, -1, 1);
        ct_store(type, p, i, ldexp(x, (int)(i % 17) - 8));
    }
}

static void check_sum(ct_dtype type, const void *got, int64_t n, int which)
{
    const double eps = type == CT_F32 ? 0x1p-23 : 0x1p-52;
    const size_t bytes = (size_t)n * ct_dtype_size(type);
    void *part = ct_malloc(bytes, "test");
    double *want = ct_calloc((size_t)n, sizeof *want, "test"), *most = ct_calloc((size_t)n, sizeof *most, "test");
    for (int k = 0; k < size; k++) {
        fill(type, part, n, k, which);
        for (int64_t i = 0; i < n; i++) {
            want[i] += ct_load(type, part, i);
            most[i] += fabs(ct_load(type, part, i));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs(ct_load(type, got, i) - want[i]);
        ck_assert_msg(off <= size * eps * most[i], "sum %d [%lld]: off by %g", which, (long long)i, off);
    }
    ct_free(part);
    ct_free(want);
    ct_free(most);
}

/* Sums of unlike lengths, all on their way at once. */
START_TEST(sums)
{
    const ct_dtype type = _i ? CT_F64 : CT_F32;
    void *buf[SUMS];
    for (int k = 0; k < SUMS; k++) {
        ck_assert_ptr_nonnull(buf[k] = ct_malloc((size_t)lengths[k] * ct_dtype_size(type), "test"));
        fill(type, buf[k], lengths[k], rank, k);
        ok(engine->comm->all_reduce_sum(world, NULL, buf[k], lengths[k], type));
    }
    ok(engine->comm->finish(world, PATIENCE));
    for (int k = 0; k < SUMS; k++) {
        check_sum(type, buf[k], lengths[k], k);
        all_have(buf[k], (size_t)lengths[k] * ct_dtype_size(type));
        ct_free(buf[k]);
    }
    ok(engine->comm->check(world));
}
END_TEST

/* The same sum by pairs of pairs, of members' numbers as they are stored. */
static void *by_tree(ct_dtype type, int64_t n, int which)
{
    const size_t bytes = (size_t)n * ct_dtype_size(type);
    char *part = ct_malloc((size_t)size * bytes, "test");
    for (int k = 0; k < size; k++) fill(type, part + (size_t)k * bytes, n, k, which);
    for (int stride = 1; stride < size; stride *= 2)
        for (int k = 0; k + stride < size; k += 2 * stride)
            for (int64_t i = 0; i < n; i++) {
                char *a = part + (size_t)k * bytes, *b = part + (size_t)(k + stride) * bytes;
                ct_store(type, a, i, ct_load(type, a, i) + ct_load(type, b, i));
            }
    return part;
}

/* Bit for bit what the tree says, between other sums. */
START_TEST(trees)
{
    const ct_dtype type = _i ? CT_F64 : CT_F32;
    void *buf[SUMS];
    double other = rank + 1;
    bool power = (size & (size - 1)) == 0;
    for (int round = 0; round < 2; round++) { /* the second one takes the first one's memory */
        ok(engine->comm->all_reduce_sum(world, NULL, &other, 1, CT_F64));
        for (int k = 0; k < SUMS; k++) {
            ck_assert_ptr_nonnull(buf[k] = ct_malloc((size_t)lengths[k] * ct_dtype_size(type), "test"));
            fill(type, buf[k], lengths[k], rank, k);
            const ct_status st = engine->comm->tree_sum(world, NULL, buf[k], lengths[k], type);
            if (power) ok(st);
            else says(st, CT_EINVAL, "must be a power of two");
        }
        ok(engine->comm->finish(world, PATIENCE));
        for (int k = 0; k < SUMS; k++) {
            const size_t bytes = (size_t)lengths[k] * ct_dtype_size(type);
            void *want = by_tree(type, lengths[k], k);
            if (power) ck_assert_mem_eq(buf[k], want, bytes);
            if (power) all_have(buf[k], bytes);
            ct_free(buf[k]);
            ct_free(want);
        }
    }
    says(engine->comm->tree_sum(world, NULL, &size, 1, CT_I32), CT_EUNSUPPORTED, "of elements of type");
    ok(engine->comm->check(world));
}
END_TEST

START_TEST(nan_is_everyones)
{
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = 1;
    if (rank == size - 1) x[3] = NAN;
    if (rank == 0) x[63] = INFINITY;
    ok(engine->comm->all_reduce_sum(world, NULL, x, 64, CT_F32));
    ok(engine->comm->finish(world, PATIENCE));
    ck_assert(isnan(x[3]));
    ck_assert(isinf(x[63]));
    for (int i = 4; i < 63; i++) ck_assert_float_eq(x[i], (float)size);
}
END_TEST

START_TEST(sendings)
{
    enum { N = 100003 };
    unsigned char *p[MOST];
    ck_assert_int_le(size, MOST);
    for (int root = 0; root < size; root++) {
        ck_assert_ptr_nonnull(p[root] = ct_malloc(N, "test"));
        memset(p[root], rank == root ? 40 + root : 0, N);
        ok(engine->comm->broadcast(world, NULL, p[root], N, root));
    }
    ok(engine->comm->finish(world, PATIENCE));
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < N; i++) ck_assert_int_eq(p[root][i], 40 + root);
        ct_free(p[root]);
    }
}
END_TEST

/* Nobody waits: what is asked after ends some time. */
START_TEST(polls)
{
    const int64_t n = lengths[3];
    float *x = ct_malloc((size_t)n * sizeof *x, "test");
    bool done = false;
    ok(engine->comm->poll(world, &done));
    ck_assert(done); /* there is nothing to do */
    fill(CT_F32, x, n, rank, 3);
    ok(engine->comm->all_reduce_sum(world, NULL, x, n, CT_F32));
    const double started = ct_now();
    for (done = false; !done && ct_now() - started < PATIENCE;) ok(engine->comm->poll(world, &done));
    ck_assert(done);
    check_sum(CT_F32, x, n, 3);
    ct_free(x);
}
END_TEST

START_TEST(gathers)
{
    int64_t mine[3] = { rank, 10 + rank, -rank }, all[3 * MOST];
    ok(engine->comm->gather(world, mine, sizeof mine, all, PATIENCE));
    for (int i = 0; i < size; i++) {
        ck_assert_int_eq(all[3 * i], i);
        ck_assert_int_eq(all[3 * i + 1], 10 + i);
        ck_assert_int_eq(all[3 * i + 2], -i);
    }
}
END_TEST

/* Sums in memory that the engine lends, and beside it: bits of the tree, whichever way they go. */
START_TEST(shared)
{
    enum { MANY = 600, FEW = 1000, KEPT = 4096 };
    const ct_dtype type = _i ? CT_F64 : CT_F32;
    const size_t element = ct_dtype_size(type);
    const bool power = (size & (size - 1)) == 0;
    unsigned char id[CT_COMM_ID];
    ct_comm *c = NULL;
    ct_comm_memory m = { 0, KEPT };
    void *mine, *common, *again[2], *beside = ct_malloc((size_t)lengths[5] * element, "test");
    float *few = ct_malloc(MANY * FEW * sizeof *few, "test");
    for (int k = 0; k < SUMS; k++) m.own += ct_align_up((size_t)lengths[k] * element, CT_ALIGN);
    ok(engine->comm->id(id));
    ok(engine->comm->create(NULL, id, rank, size, PATIENCE, &c));
    ok(engine->comm->memory(c, &m, PATIENCE, &mine, &common));
    ck_assert_msg((mine != NULL) == lends, "lent: %p, %s", mine, getenv("CAPTRAIN_SHARED"));
    for (int round = 0; round < 2 && mine; round++) { /* the second one takes the first one's room */
        char *at = mine;
        if (rank == size - 1) memset(common, 7 + round, KEPT);
        for (int k = 0; k < SUMS; k++) {
            if (round == 0) ck_assert_double_eq(ct_load(type, at, lengths[k] - 1), 0);
            fill(type, at, lengths[k], rank, k);
            ok(engine->comm->all_reduce_sum(c, NULL, at, lengths[k], type));
            at += ct_align_up((size_t)lengths[k] * element, CT_ALIGN);
        }
        fill(type, beside, lengths[5], rank, 5);
        ok(engine->comm->all_reduce_sum(c, NULL, beside, lengths[5], type));
        /* more than there is room for at once */
        for (int i = 0; i < MANY * FEW; i++) few[i] = (float)(i % 1000 + rank);
        for (int k = 0; k < MANY; k++) ok(engine->comm->all_reduce_sum(c, NULL, few + k * FEW, FEW, CT_F32));
        ok(engine->comm->finish(c, PATIENCE));
        at = mine;
        for (int k = 0; k < SUMS; k++) {
            const size_t bytes = (size_t)lengths[k] * element;
            void *want = by_tree(type, lengths[k], k);
            check_sum(type, at, lengths[k], k);
            if (power) ck_assert_mem_eq(at, want, bytes);
            if (power && k == 5) ck_assert_mem_eq(beside, want, bytes);
            all_have(at, bytes);
            at += ct_align_up(bytes, CT_ALIGN);
            ct_free(want);
        }
        int wrong = 0; /* an assertion for each takes minutes */
        for (int i = 0; i < MANY * FEW; i++) wrong += few[i] != (float)(i % 1000 * size + size * (size - 1) / 2);
        for (int i = 0; i < KEPT; i++) wrong += ((unsigned char *)common)[i] != 7 + round;
        ck_assert_int_eq(wrong, 0);
        all_have(&round, sizeof round); /* nobody fills anew what another still looks at */
    }
    if (mine) says(engine->comm->memory(c, &m, PATIENCE, &again[0], &again[1]), CT_EINVAL, "shares memory already");
    engine->comm->destroy(c);
    if (mine) memset(mine, 1, m.own); /* it stays until it is given back */
    if (mine) engine->comm->release(mine);
    ct_free(beside);
    ct_free(few);
}
END_TEST

static void *elsewhere(void *st)
{
    bool done;
    *(ct_status *)st = engine->comm->poll(world, &done);
    return NULL;
}

START_TEST(refusals)
{
    uint16_t x[4] = { 0 };
    ct_comm *c = NULL;
    unsigned char id[CT_COMM_ID];
    pthread_t t;
    ct_status st = CT_OK;
    ok(engine->comm->id(id));
    says(engine->comm->all_reduce_sum(world, NULL, x, 4, CT_BF16), CT_EUNSUPPORTED, "sums of elements of type");
    says(engine->comm->create(NULL, id, rank, size + 1, 1, &c), CT_EINVAL, "this is member");
    says(engine->start(rank, size), CT_EINVAL, "started before");
    ck_assert_int_eq(pthread_create(&t, NULL, elsewhere, &st), 0);
    pthread_join(t, NULL);
    ck_assert_int_eq(st, CT_EINTERNAL);
    ok(engine->comm->check(world)); /* nothing of that hurts */
}
END_TEST

/* What every member has at `mine`, copied to the `theirs` of the others. */
static void exchange_bytes(const void *mine, size_t bytes, void **theirs[])
{
    char *all = ct_malloc((size_t)size * bytes, "test");
    ok(engine->comm->gather(world, mine, bytes, all, PATIENCE));
    for (int i = 0; i < size; i++) {
        if (i == rank) continue;
        ck_assert_ptr_nonnull(*theirs[i] = ct_malloc(bytes, "test"));
        memcpy(*theirs[i], all + (size_t)i * bytes, bytes);
    }
    ct_free(all);
}

/* What is shared is gathered: the results of all members, as if they had been trained here. */
static void exchange(member *m)
{
    void **weights[MOST], **gradients[MOST], **statistics[MOST];
    member *all = ct_calloc((size_t)size, sizeof *all, "test");
    ok(engine->comm->gather(world, &m[rank], sizeof *m, all, PATIENCE));
    for (int i = 0; i < size; i++) {
        weights[i] = &m[i].weights;
        gradients[i] = &m[i].gradients;
        statistics[i] = &m[i].statistics;
        if (i == rank) continue;
        m[i] = all[i]; /* pointers in it are the other process's */
        ck_assert_uint_eq(m[i].bytes, m[rank].bytes);
        m[i].b = m[rank].b;
        m[i].ops = m[rank].ops;
    }
    exchange_bytes(m[rank].weights, m[rank].bytes, weights);
    exchange_bytes(m[rank].gradients, m[rank].bytes, gradients);
    exchange_bytes(m[rank].statistics, m[rank].statistics_bytes, statistics);
    ct_free(all);
}

START_TEST(trainings)
{
    const scenario *s = &scenarios[_i];
    member m[MOST];
    for (int i = 0; i < size; i++) {
        m[i] = member_one(&ct_backend_cpu, i, size, 0);
        m[i].ops = engine->comm;
        m[i].deadline = PATIENCE;
    }
    s->prepare(m, size, s->variant);
    ck_assert_msg(member_train(&m[rank]) == CT_OK, "%s: %s", s->name, m[rank].message);
    if (size > 1) ck_assert(m[rank].sums > 0 && m[rank].waited > 0 && m[rank].waited <= m[rank].sums);
    exchange(m);
    s->judge(m, size, s->variant);
    add_to_digest(m[0].weights, m[0].bytes);
    for (size_t i = 0; i < m[0].bytes; i++) learnt = (learnt ^ ((unsigned char *)m[0].weights)[i]) * 1099511628211u;
    for (int i = 0; i < size; i++) member_forget(&m[i]);
}
END_TEST

/* ---- beginning and ending ---- */

static void begin(void)
{
    unsigned char id[CT_COMM_ID];
    if (engine->start(rank, size) == CT_OK && engine->comm->id(id) == CT_OK &&
        engine->comm->create(NULL, id, rank, size, PATIENCE, &world) == CT_OK)
        return;
    fprintf(stderr, "check_mpi %d: %s\n", rank, ct_error_message());
    exit(2);
}

static int run_suite(void)
{
    Suite *s = suite_create("mpi");
    TCase *t = tcase_create("engine");
    begin();
    tcase_add_loop_test(t, sums, 0, 2);
    tcase_add_loop_test(t, trees, 0, 2);
    tcase_add_test(t, nan_is_everyones);
    tcase_add_test(t, sendings);
    tcase_add_test(t, polls);
    tcase_add_test(t, gathers);
    tcase_add_loop_test(t, shared, 0, 2);
    tcase_add_test(t, refusals);
    tcase_add_loop_test(t, trainings, 0, scenario_count);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK); /* MPI does not survive a fork */
    srunner_run_all(r, CK_ENV);
    const int failed = srunner_ntests_failed(r), run = srunner_ntests_run(r);
    srunner_free(r);
    engine->comm->destroy(world);
    const ct_status st = engine->stop(PATIENCE);
    if (st != CT_OK) fprintf(stderr, "check_mpi %d: %s\n", rank, ct_error_message());
    if (rank == 0) printf("trained %016llx\n", (unsigned long long)learnt);
    if (rank == 0) printf("%s, %d members, digest %016llx\n", engine->library, size, (unsigned long long)digest);
    return failed > 0 || run == 0 || st != CT_OK;
}

/* ---- members that are missing ---- */

/* A launcher ends all members when one leaves: none does before all are through that will be. */
static int report(const char *folder, ct_status st, double seconds, int others)
{
    char path[4200], text[1024];
    snprintf(path, sizeof path, "%s/said.%d", folder, rank);
    const int n = snprintf(text, sizeof text, "%s: %s\n", ct_status_name(st), st == CT_OK ? "" : ct_error_message());
    int rc = seconds < PATIENCE / 2 && ct_file_write_atomic(path, text, (size_t)n) == CT_OK ? 0 : 1;
    const double started = ct_now();
    for (int k = 0; k < others; k++) {
        snprintf(path, sizeof path, "%s/said.%d", folder, k);
        while (!ct_path_exists(path) && ct_now() - started < PATIENCE) usleep(10000);
    }
    return rc;
}

static int miss(const char *what, const char *folder)
{
    const bool last = rank == size - 1, join = strcmp(what, "join") == 0, die = strcmp(what, "die") == 0;
    const int expected = size - die;
    unsigned char id[CT_COMM_ID];
    float x[1000] = { 1 };
    bool done;
    ct_status st = engine->start(rank, size);
    if (st == CT_OK) st = engine->comm->id(id);
    const double started = ct_now();
    if (st == CT_OK && !(join && last)) st = engine->comm->create(NULL, id, rank, size, join ? 0.5 : PATIENCE, &world);
    for (int i = 0; i < 2 && st == CT_OK && !join; i++) {
        if (i == 1 && last && die) kill(getpid(), SIGKILL);
        if (i == 1 && last) break;
        st = engine->comm->all_reduce_sum(world, NULL, x, 1000, CT_F32);
        if (st == CT_OK) st = engine->comm->finish(world, i == 0 ? PATIENCE : 0.5);
    }
    const int rc = report(folder, st, ct_now() - started, expected);
    if (last) _exit(rc);
    if (!join && (engine->comm->check(world) != CT_EBACKEND || engine->comm->poll(world, &done) != CT_EBACKEND)) _exit(3);
    if (!join) {
        engine->comm->abort(world);
        engine->comm->destroy(world);
    }
    world = NULL;
    if (engine->comm->create(NULL, id, rank, size, 0.5, &world) != CT_EBACKEND || engine->stop(0) != CT_OK) _exit(4);
    _exit(rc);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "suite";
    rank = variable("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0);
    size = variable("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1);
    lends = size > 1 && variable("CAPTRAIN_SHARED", "CAPTRAIN_SHARED", 1) != 0;
    if (ct_engine_open("mpi", &engine) != CT_OK) {
        fprintf(stderr, "check_mpi: %s\n", ct_error_message());
        return 2;
    }
    if (strcmp(what, "suite") == 0) return run_suite();
    if (argc == 3) return miss(what, argv[2]);
    const ct_status st = engine->start(rank, size + 1);
    fprintf(stderr, "check_mpi: %s\n", st == CT_OK ? "no failure" : ct_error_message());
    engine->stop(0);
    return st == CT_EBACKEND ? 0 : 1;
}
