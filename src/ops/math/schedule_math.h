/* Learning rate as a function of the step: shared by every backend, by `captrain plan` and by reports. */
#ifndef CT_OPS_MATH_SCHEDULE_MATH_H
#define CT_OPS_MATH_SCHEDULE_MATH_H

#include <math.h>

#include "base/philox.h"
#include "ops/ops.h"

/* Half a cosine from hi (at 0) to lo (at 1 and beyond). */
CT_HD static inline double ct_cosine_between(double hi, double lo, double x)
{
    if (x >= 1) return lo;
    return lo + 0.5 * (hi - lo) * (1 + cos(3.14159265358979323846 * x));
}

/* A straight line from hi (at 0) to lo (at 1 and beyond). */
CT_HD static inline double ct_line_between(double hi, double lo, double x)
{
    return x >= 1 ? lo : hi + (lo - hi) * x;
}

/* Learning rate of attempted step number `step` (0 = the first).
 *   warm-up    base*(step+1)/warmup_steps while step < warmup_steps, before any kind
 *   constant   base
 *   cosine     half a cosine from base at warmup_steps to min_lr at total_steps, min_lr from there on
 *   multistep  base*gamma^(number of milestones <= step); milestones count from step 0
 *   restarts   half cosines from base to min_lr over t0, t0*t_mult, t0*t_mult^2, ... steps, counted from the end of the
 *              warm-up (Loshchilov & Hutter, "SGDR")
 *   one cycle  half a cosine from start to base at step `peak`, half a cosine from there to min_lr with the last step
 *              (L. Smith & N. Topin 2017, as torch.optim.lr_scheduler.OneCycleLR)
 *   triangular the same in straight lines */
CT_HD static inline double ct_schedule_lr(const ct_schedule_attrs *a, double step)
{
    double warm = (double)a->warmup_steps, s = step - warm;
    if (s < 0) return a->base_lr * (step + 1) / warm;
    switch (a->kind) {
    case CT_SCHED_COSINE: {
        double n = (double)a->total_steps - warm;
        return n > 0 ? ct_cosine_between(a->base_lr, a->min_lr, s / n) : a->min_lr;
    }
    case CT_SCHED_MULTISTEP: {
        double lr = a->base_lr;
        for (int64_t i = 0; i < a->nmilestones; i++)
            if (step >= (double)a->milestones[i]) lr *= a->gamma;
        return lr;
    }
    case CT_SCHED_WARM_RESTARTS: {
        double cycle = (double)a->t0;
        if (!(cycle >= 1)) return a->base_lr;
        if (a->t_mult <= 1) return ct_cosine_between(a->base_lr, a->min_lr, fmod(s, cycle) / cycle);
        while (s >= cycle) {
            s -= cycle;
            cycle *= (double)a->t_mult;
        }
        return ct_cosine_between(a->base_lr, a->min_lr, s / cycle);
    }
    case CT_SCHED_ONE_CYCLE:
    case CT_SCHED_TRIANGULAR: {
        const bool up = step <= a->peak && a->peak > 0;
        const double from = up ? a->start_lr : a->base_lr, to = up ? a->base_lr : a->min_lr;
        const double first = up || a->peak < 0 ? 0 : a->peak, end = up ? a->peak : (double)a->total_steps - 1;
        const double x = end > first ? (step - first) / (end - first) : 1;
        return a->kind == CT_SCHED_ONE_CYCLE ? ct_cosine_between(from, to, x) : ct_line_between(from, to, x);
    }
    default: return a->base_lr;
    }
}

#endif
