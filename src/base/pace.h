/* How far a long preparation has come, for people: "decoding the pictures of train: 61,200 of 200,000", ten seconds
 * after the beginning and every ten from then on. */
#ifndef CT_BASE_PACE_H
#define CT_BASE_PACE_H

#include <stdint.h>

typedef struct ct_pace {
    const char *doing; /* not owned */
    int64_t total;
    int64_t before; /* items of earlier lists, where the total comes in several */
    double every;   /* seconds between lines */
    double said;    /* time of the last line, or of the beginning; seconds of ct_now() */
} ct_pace;

ct_pace ct_pace_begin(const char *doing, int64_t total);

/* `done` items of the present list are begun. From one thread, the one whose lines are redirected if any are. NULL:
 * nothing. */
void ct_pace_say(ct_pace *p, int64_t done);

#endif
