/* Which samples are a batch. Inside src/data only: the loader's view of an epoch.
 *
 * Samples that can be in one batch are of one kind: pictures of one bucket, clips of like length. Kinds are numbered
 * from short to long. */
#ifndef CT_DATA_SCHEDULE_H
#define CT_DATA_SCHEDULE_H

#include "loader/loader.h"
#include "loader/tempo.h"

/* How many samples of an epoch each kind has, and how many batches that makes. */
typedef struct ct_tally {
    int kinds;
    int64_t *count;     /* [kinds] samples */
    int64_t *first;     /* [kinds] sum of the batches of the kinds in front */
    int64_t batches;
} ct_tally;

/* The batches of one epoch. With one kind all but order stays NULL. */
typedef struct ct_schedule {
    int64_t epoch;
    int64_t *order;     /* [n] sample numbers, batch after batch */
    int64_t *walk;      /* [n] the permutation they come from */
    int64_t *start;     /* [batches + 1] where each batch begins in order */
    int64_t *place;     /* [batches of all kinds] position in the epoch of batch j of kind b, at first[b] + j */
    int64_t *seen;      /* [kinds] */
} ct_schedule;

int64_t ct_loader_samples(const ct_loader_spec *s);                      /* of an epoch */
int ct_loader_kind(const ct_loader_spec *s, int64_t sample);
int64_t ct_loader_batches_of(const ct_loader_spec *s, int64_t samples);  /* of one kind */

ct_status ct_tally_make(const ct_loader_spec *s, ct_tally *t);
void ct_tally_free(ct_tally *t);
/* What is made is to be freed, on failure too. */
ct_status ct_schedule_make(int64_t n, const ct_tally *t, ct_schedule *plan);
void ct_schedule_free(ct_schedule *plan);
/* Fills plan for `epoch`: batches take their places when the walk completes them, short ones behind its end. */
void ct_schedule_epoch(const ct_loader_spec *s, int64_t n, const ct_tally *t, int64_t epoch, ct_schedule *plan);

/* Pictures that every clip of a batch gets, whose clips give so many by themselves: the next number there are programs
 * for. */
int64_t ct_loader_pictures(const ct_loader_spec *s, int64_t own);

/* How clips are drawn; .clip NULL: samples are pictures. */
ct_tempo ct_loader_tempo(const ct_loader_spec *s);
/* The fewest and the most pictures that a clip may have in a batch by its own length. */
int64_t ct_loader_least(const ct_loader_spec *s, int64_t sample);
int64_t ct_loader_most(const ct_loader_spec *s, int64_t sample);

#endif
