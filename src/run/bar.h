/* What a person sees while a run goes: a bar that is drawn over itself on a terminal, else a line every ten seconds. */
#ifndef CT_RUN_BAR_H
#define CT_RUN_BAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct ct_bar {
    FILE *to; /* the terminal; NULL: none, lines are logged instead */
    bool color;
    bool drawn;     /* a bar stands on the current line */
    double last;    /* time of the last drawing or line; seconds of ct_now() */
    char text[512]; /* the bar as drawn */
} ct_bar;

typedef struct ct_bar_state {
    const char *what;    /* "epoch 3/30", "validation" */
    int64_t done, total; /* steps of this epoch */
    double steps_per_s;
    double loss, lr; /* NaN: left out */
    double eta_s;    /* of the whole run; < 0: unknown */
    int64_t memory;  /* bytes, planned; 0: left out */
    double power;    /* of the device, W; NaN or 0: left out */
    double busy;     /* share of the time that it worked, 0..1; NaN or 0: left out */
} ct_bar_state;

/* A bar if `terminal` is one and messages of level "info" are shown; registers itself so that log lines and the bar do
 * not mix. */
void ct_bar_begin(ct_bar *b, FILE *terminal);
/* Draws at most ten times a second, or logs at most every ten seconds. force: now. */
void ct_bar_update(ct_bar *b, const ct_bar_state *s, bool force);
void ct_bar_end(ct_bar *b); /* clears the bar */

#endif
