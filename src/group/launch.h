/* The command that starts one verb in several processes. */
#ifndef CT_GROUP_LAUNCH_H
#define CT_GROUP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "group/mpirun.h"

typedef struct ct_launch {
    /* given */
    const char *mpirun;
    ct_mpi_family family;
    int64_t processes;           /* 0: as many as `devices` on each machine, or as `hosts` counts */
    int64_t devices;             /* of this machine */
    const char *hosts;           /* "A,B" or "A:4,B:4"; NULL: this machine */
    int cores, cpus;             /* that this process may use: cores, and hardware threads of them */
    bool part;                   /* those are a part of the machine's */
    bool root;
    int threads;                 /* that the words ask for; 0: they do not */
    const char *program;
    const char *const *words;    /* the verb and what follows it */
    size_t nwords;
    /* ct_launch_settle() */
    int64_t local;               /* most processes on one machine */
    int threads_each;            /* of each process; 0: the words say it */
    bool oversubscribed, bound;
    char *slots;                 /* "A:2,B:2"; NULL: this machine */
} ct_launch;

/* A command, ends with NULL. */
typedef struct ct_words {
    char **v;
    size_t n, cap;
} ct_words;

/* Cores of this machine, and whether this is root. */
void ct_launch_look(ct_launch *l);
/* How many processes where, with how many threads. CT_ECONFIG for hosts that mean nothing or have too little room. */
ct_status ct_launch_settle(ct_launch *l);
void ct_launch_free(ct_launch *l);
/* The command of a settled launch; resume: with --resume behind the verb. *w is empty before and ct_words_free()d
 * after, also on failure. */
ct_status ct_launch_compose(const ct_launch *l, bool resume, ct_words *w);
/* As a shell would read it. ct_free(); NULL with CT_ENOMEM recorded. */
char *ct_words_text(const ct_words *w);
void ct_words_free(ct_words *w);

#endif
