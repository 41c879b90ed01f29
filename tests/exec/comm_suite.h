/* What every kind of group has to stand, whoever its members are: threads of one process (check_comm.c) or processes over an engine
 * (tests/mpi/check_mpi.c). A scenario prepares all members, each is trained where it lives, and the results of all are judged. */
#ifndef CT_TESTS_COMM_SUITE_H
#define CT_TESTS_COMM_SUITE_H

#include <string.h>

#include "exec/comm.h"
#include "program/program.h"
#include "tests/ct_check.h"

enum { MOST = 4, BATCH = 4, STEPS = 3 };

static inline void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static inline void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part, ct_error_message());
}

typedef struct member {
    const ct_backend *b;
    const ct_comm_ops *ops; /* of an engine; NULL: the backend's */
    double deadline;
    int rank, size;
    int data;            /* which samples it sees */
    int bad_step;        /* its input holds a NaN in this step; -1: never */
    int64_t bucket;      /* bytes */
    int64_t accumulate;
    double dropout;
    void *weights, *gradients, *statistics; /* as they are afterwards: member_forget() */
    size_t bytes, statistics_bytes;
    double state[CT_STATE_COUNT], metrics[CT_METRIC_COUNT];
    double sums, waited; /* ct_group_times() */
    uint64_t seed;       /* of its first weights */
    ct_status st;
    char message[256];
} member;

member member_one(const ct_backend *b, int rank, int size, int data);
/* Trains it for STEPS steps, together with the others; m->st, m->message: how that ended. */
ct_status member_train(member *m);
void member_forget(member *m);

ct_program_spec small_model(int rank, int size, double dropout);
void upload_samples(ct_plan *plan, const ct_program *p, const ct_program_spec *s, int data, int step, bool bad);

typedef struct scenario {
    const char *name;
    int variant;
    int members; /* how many make it worth while; any number can */
    void (*prepare)(member *m, int size, int variant); /* m [size] as member_one() makes them */
    void (*judge)(const member *m, int size, int variant); /* trained */
} scenario;

extern const scenario scenarios[];
extern const int scenario_count;

#endif
