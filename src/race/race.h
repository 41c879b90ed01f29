/* captrain race: who takes how long to the same target. Private to this room.
 *
 * A race has racers: configurations of ours, and a command that runs another program. Each runs once for every seed, a
 * seed of all of them before the next one, so that what else the machine does meets all alike. What a run of ours came
 * to stands in its folder (result.json, metrics.jsonl); race.json, written behind every run, is what a race that is
 * resumed goes by. */
#ifndef CT_RACE_RACE_H
#define CT_RACE_RACE_H

#include <stdio.h>

#include "captrain.h"
#include "formats/json.h"
#include "task/track.h"

enum { CT_RACERS_MOST = 7 }; /* a plot has colours for them and the target */

/* A validation: how far the run was, and what it gave. */
typedef struct ct_lap {
    double seconds; /* of the run, scoring not included */
    double value;
} ct_lap;

/* One run of one racer. */
typedef struct ct_race_run {
    int64_t seed;
    bool done;           /* it ran to its end, or to the target */
    bool reached;
    char failed[256];    /* why it ended before: numbers that are none; "": it did not */
    double value;        /* of the metric: where it was reached, or the last one; NAN: none */
    double seconds;      /* from its beginning to that, scoring not included */
    double eval_seconds; /* of scoring */
    int64_t samples, steps;
    ct_lap *lap;         /* [n] */
    size_t n, cap;
} ct_race_run;

typedef struct ct_racer {
    char *name;         /* its folder in the race's */
    const char *config; /* NULL: a command */
    char hash[33];      /* XXH3-128 of the resolved configuration but for its seed, or of the command */
    char *model, *precision, *backend, *processor, *kernels; /* as its first run has them; NULL: not known */
    int64_t threads, params;
    ct_race_run *run;   /* [seeds] */
} ct_racer;

typedef struct ct_race {
    const ct_race_opts *o;
    char *dir;
    ct_target target;
    ct_racer racer[CT_RACERS_MOST];
    int racers;
    int signal; /* that ended it; 0: none */
} ct_race;

/* Mean, standard deviation (n - 1), least and most of what runs that reached the target came to. */
typedef struct ct_spread {
    int64_t n;
    double mean, sd, min, max; /* NAN: none reached it, or (sd) only one */
} ct_spread;

/* ---- training.c ---- */
/* Reads a racer's configuration, with the options of the race on top: what is wrong with it is told before any run.
 * The target of the first is that of the race where no option gave one. */
ct_status ct_race_enter(ct_race *r, ct_racer *c);
/* Trains, or goes on. CT_ESIGNAL with r->signal. */
ct_status ct_race_train(ct_race *r, ct_racer *c, ct_race_run *run, bool resume);
/* Laps and what else only the folder of a run knows. */
ct_status ct_race_look(const ct_race *r, ct_racer *c, ct_race_run *run);

/* ---- command.c ---- */
/* Target of a race without configurations: any task's metric. */
ct_status ct_race_any_target(ct_race *r);
/* Runs the command and reads what it printed. CT_EDATA where it failed, or printed nothing of use. */
ct_status ct_race_call(ct_race *r, ct_racer *c, ct_race_run *run);
/* Reads it again. */
ct_status ct_race_lines(const ct_race *r, const ct_racer *c, ct_race_run *run);

/* ---- runs.c ---- */
/* DIR/NAME/seed-N; ct_free(). */
char *ct_race_folder(const ct_race *r, const ct_racer *c, const ct_race_run *run);
ct_status ct_race_lap(ct_race_run *run, double seconds, double value);
ct_spread ct_race_spread(const ct_race *r, const ct_racer *c, double (*of)(const ct_race_run *run));
double ct_race_seconds(const ct_race_run *run);
double ct_race_samples(const ct_race_run *run);

/* ---- resume.c ---- */
/* Takes what race.json says of runs that are done. CT_ECONFIG naming what is not as it was. */
ct_status ct_race_take_up(ct_race *r);

/* ---- document.c ---- */
/* doc/json/race.schema.json */
ct_status ct_race_document(const ct_race *r, json_t **out);
/* race.json, race.csv and race.svg. */
ct_status ct_race_write(const ct_race *r);

/* ---- table.c ---- */
void ct_race_print(const ct_race *r, FILE *to);

#endif
