/* Runs of a race: where they are, their validations, what they come to over the seeds. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "race/race.h"

char *ct_race_folder(const ct_race *r, const ct_racer *c, const ct_race_run *run)
{
    return ct_asprintf("%s/%s/seed-%" PRId64, r->dir, c->name, run->seed);
}

ct_status ct_race_lap(ct_race_run *run, double seconds, double value)
{
    CT_TRY(ct_grow(&run->lap, run->n, &run->cap, sizeof *run->lap, "laps of a race"));
    run->lap[run->n++] = (ct_lap){ seconds, value };
    return CT_OK;
}

/* ---- numbers over seeds ---- */

double ct_race_seconds(const ct_race_run *run) { return run->seconds; }
double ct_race_samples(const ct_race_run *run) { return (double)run->samples; }

ct_spread ct_race_spread(const ct_race *r, const ct_racer *c, double (*of)(const ct_race_run *run))
{
    ct_spread s = { .n = 0, .mean = NAN, .sd = NAN, .min = NAN, .max = NAN };
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < r->o->seeds; i++) {
        if (!c->run[i].reached) continue;
        const double v = of(&c->run[i]);
        sum += v;
        s.min = s.n == 0 ? v : fmin(s.min, v);
        s.max = s.n == 0 ? v : fmax(s.max, v);
        s.n++;
    }
    if (s.n == 0) return s;
    s.mean = sum / (double)s.n;
    for (int64_t i = 0; i < r->o->seeds; i++)
        if (c->run[i].reached) squares += (of(&c->run[i]) - s.mean) * (of(&c->run[i]) - s.mean);
    if (s.n > 1) s.sd = sqrt(squares / (double)(s.n - 1));
    return s;
}
