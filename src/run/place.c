#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "run/run.h"

const char *ct_run_best_place(const ct_run *r, char buf[CT_BEST_PLACE])
{
    const ct_best *b = &r->p.best;
    bool whole = b->step == b->epoch * r->steps_per_epoch;
    if (whole)
        snprintf(buf, CT_BEST_PLACE, "epoch %" PRId64 ", step %" PRId64, b->epoch, b->step);
    else
        snprintf(buf, CT_BEST_PLACE, "within epoch %" PRId64 ", step %" PRId64, b->epoch + 1, b->step);
    return buf;
}
