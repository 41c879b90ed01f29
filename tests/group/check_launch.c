/* The command of `captrain launch`: how many processes where, with how many threads, for both families of MPI. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "group/launch.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static const char *const eval[] = { "eval", "run", "it's here" };
static const char *const train[] = { "train", "--out", "run" };

static const struct shape {
    ct_mpi_family family;
    int64_t processes, devices;
    const char *hosts;
    int cores, cpus;
    bool part, root;
    int threads;
    const char *command;
} shapes[] = {
    { CT_MPI_OPEN, 2, 1, NULL, 4, 4, false, false, 0,
      "mpirun -n 2 --map-by slot:PE=2 --bind-to core captrain eval --threads 2 run 'it'\\''s here'" },
    { CT_MPI_MPICH, 2, 1, NULL, 4, 4, false, false, 0,
      "mpirun -n 2 -bind-to core:2 captrain eval --threads 2 run 'it'\\''s here'" },
    /* threads that the words ask for; cores with two threads each */
    { CT_MPI_OPEN, 3, 1, NULL, 8, 16, false, false, 7,
      "mpirun -n 3 --map-by slot:PE=2 --bind-to core captrain eval run 'it'\\''s here'" },
    { CT_MPI_OPEN, 3, 1, NULL, 8, 16, false, false, 0,
      "mpirun -n 3 --map-by slot:PE=2 --bind-to core captrain eval --threads 5 run 'it'\\''s here'" },
    /* more than there are cores */
    { CT_MPI_OPEN, 5, 1, NULL, 4, 4, false, false, 0,
      "mpirun -n 5 --oversubscribe --bind-to none captrain eval --threads 1 run 'it'\\''s here'" },
    { CT_MPI_MPICH, 5, 1, NULL, 4, 8, false, false, 0,
      "mpirun -n 5 -bind-to none captrain eval --threads 1 run 'it'\\''s here'" },
    { CT_MPI_OPEN, 4, 1, NULL, 4, 4, false, false, 0,
      "mpirun -n 4 --map-by slot:PE=1 --bind-to core captrain eval --threads 1 run 'it'\\''s here'" },
    /* a part of the machine, under taskset */
    { CT_MPI_OPEN, 2, 1, NULL, 4, 4, true, false, 0,
      "mpirun -n 2 --bind-to none captrain eval --threads 2 run 'it'\\''s here'" },
    { CT_MPI_MPICH, 2, 1, NULL, 4, 4, true, false, 0,
      "mpirun -n 2 -bind-to none captrain eval --threads 2 run 'it'\\''s here'" },
    /* root */
    { CT_MPI_OPEN, 1, 1, NULL, 4, 4, false, true, 0,
      "mpirun --allow-run-as-root -n 1 --map-by slot:PE=4 --bind-to core captrain eval --threads 4 run 'it'\\''s here'" },
    { CT_MPI_MPICH, 1, 1, NULL, 4, 4, false, true, 0,
      "mpirun -n 1 -bind-to core:4 captrain eval --threads 4 run 'it'\\''s here'" },
    /* as many as there are cards */
    { CT_MPI_OPEN, 0, 2, NULL, 4, 4, false, false, 0,
      "mpirun -n 2 --map-by slot:PE=2 --bind-to core captrain eval --threads 2 run 'it'\\''s here'" },
    { CT_MPI_MPICH, 0, 2, "a,b-1.example", 4, 4, false, false, 0,
      "mpirun -n 4 -hosts a:2,b-1.example:2 -bind-to core:2 captrain eval --threads 2 run 'it'\\''s here'" },
    /* several machines: shared out evenly, or as it is said */
    { CT_MPI_MPICH, 3, 1, "a,b", 4, 4, false, false, 0,
      "mpirun -n 3 -hosts a:2,b:2 -bind-to core:2 captrain eval --threads 2 run 'it'\\''s here'" },
    { CT_MPI_OPEN, 0, 1, "a:4,b:1", 4, 4, false, false, 0,
      "mpirun -n 5 --host a:4,b:1 --map-by slot:PE=1 --bind-to core -x CAPTRAIN_TEST_OF_LAUNCH captrain eval --threads 1 "
      "run 'it'\\''s here'" },
    { CT_MPI_OPEN, 2, 1, "a:4,b:4", 4, 4, false, false, 0,
      "mpirun -n 2 --host a:4,b:4 --map-by slot:PE=2 --bind-to core -x CAPTRAIN_TEST_OF_LAUNCH captrain eval --threads 2 "
      "run 'it'\\''s here'" },
    { CT_MPI_OPEN, 1, 1, "a,b,c", 4, 4, false, false, 0,
      "mpirun -n 1 --host a:1,b:1,c:1 --map-by slot:PE=4 --bind-to core -x CAPTRAIN_TEST_OF_LAUNCH captrain eval "
      "--threads 4 run 'it'\\''s here'" },
};

static ct_launch launch_of(const struct shape *s)
{
    return (ct_launch){ .mpirun = "mpirun", .family = s->family, .processes = s->processes, .devices = s->devices,
                        .hosts = s->hosts, .cores = s->cores, .cpus = s->cpus, .part = s->part, .root = s->root,
                        .threads = s->threads, .program = "captrain", .words = eval, .nwords = 3 };
}

/* Only variables of this test are taken along to other machines. */
static void clean_environment(void)
{
    static char *few[2], name[] = "CAPTRAIN_TEST_OF_LAUNCH=1";
    few[0] = name;
    environ = few;
}

START_TEST(compose)
{
    ct_launch l = launch_of(&shapes[_i]);
    ct_words w = { NULL, 0, 0 };
    clean_environment();
    ok(ct_launch_settle(&l));
    ok(ct_launch_compose(&l, false, &w));
    char *text = ct_words_text(&w);
    ck_assert_str_eq(text, shapes[_i].command);
    ck_assert(w.v[w.n] == NULL);
    ct_free(text);
    ct_words_free(&w);
    ct_launch_free(&l);
}
END_TEST

START_TEST(resume)
{
    ct_launch l = launch_of(&shapes[0]);
    ct_words w = { NULL, 0, 0 };
    l.words = train;
    ok(ct_launch_settle(&l));
    ok(ct_launch_compose(&l, true, &w));
    char *text = ct_words_text(&w);
    ck_assert_str_eq(text, "mpirun -n 2 --map-by slot:PE=2 --bind-to core captrain train --threads 2 --resume --out run");
    ct_free(text);
    ct_words_free(&w);
    ct_launch_free(&l);
}
END_TEST

static const struct bad {
    int64_t processes;
    const char *hosts, *said;
} bad[] = {
    { 2, "", "--hosts: a name is missing" },
    { 2, "a,,b", "--hosts: a name is missing" },
    { 2, "a,", "--hosts: a name is missing" },
    { 2, ":4", "--hosts: a name is missing" },
    { 2, "a b", "'a b' is no name of a machine" },
    { 2, "-oProxyCommand=x", "'-oProxyCommand=x' is no name of a machine" },
    { 2, "a:0", "behind 'a:' stands no whole number from 1" },
    { 2, "a:", "behind 'a:' stands no whole number from 1" },
    { 2, "a:2x", "behind 'a:' stands no whole number from 1" },
    { 2, "a:-1", "behind 'a:' stands no whole number from 1" },
    { 2, "a:99999999999", "behind 'a:' stands no whole number from 1" },
    { 2, "a:2,b", "either every machine has a number of processes" },
    { 5, "a:2,b:2", "is room for 4 processes, -n asks for 5" },
};

START_TEST(settle_bad)
{
    struct shape s = shapes[0];
    s.processes = bad[_i].processes;
    s.hosts = bad[_i].hosts;
    ct_launch l = launch_of(&s);
    ck_assert(ct_launch_settle(&l) == CT_ECONFIG);
    ck_assert_msg(strstr(ct_error_message(), bad[_i].said) != NULL, "no '%s' in: %s", bad[_i].said, ct_error_message());
    ct_launch_free(&l);
}
END_TEST

START_TEST(look)
{
    ct_launch l = { .mpirun = "mpirun" };
    ct_launch_look(&l);
    ck_assert(l.cores >= 1 && l.cpus >= l.cores);
}
END_TEST

/* What they print themselves. */
START_TEST(families)
{
    ct_mpi_family f;
    ok(ct_mpi_family_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n", &f));
    ck_assert(f == CT_MPI_OPEN);
    ok(ct_mpi_family_of("HYDRA build details:\n    Version:                                 4.0.2\n", &f));
    ck_assert(f == CT_MPI_MPICH);
    ok(ct_mpi_family_of("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307\n", &f));
    ck_assert(f == CT_MPI_MPICH);
    ck_assert(ct_mpi_family_of("slurm 23.02.1\n", &f) == CT_EFORMAT);
    ck_assert(strstr(ct_error_message(), "slurm 23.02.1") != NULL);
}
END_TEST

START_TEST(out_of_memory)
{
    struct shape s = shapes[14];
    clean_environment();
    for (long n = 0;; n++) {
        ct_launch l = launch_of(&s);
        ct_words w = { NULL, 0, 0 };
        char *text = NULL;
        ct_alloc_fail_after(n);
        ct_status st = ct_launch_settle(&l);
        if (st == CT_OK) st = ct_launch_compose(&l, true, &w);
        if (st == CT_OK && !(text = ct_words_text(&w))) st = CT_ENOMEM;
        ct_alloc_fail_after(-1);
        ct_free(text);
        ct_words_free(&w);
        ct_launch_free(&l);
        if (st == CT_OK) break;
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        ck_assert_msg(n < 1000, "it never succeeds");
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("launch");
    TCase *t = tcase_create("launch");
    tcase_add_loop_test(t, compose, 0, (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(t, resume);
    tcase_add_loop_test(t, settle_bad, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(t, look);
    tcase_add_test(t, families);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
