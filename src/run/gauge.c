#include "config.h"

#include "run/gauge.h"

#include <math.h>
#include <string.h>

#include "base/log.h"

/* Asks; a device that fails once is not asked again. */
static bool ask(ct_gauge *g, ct_telemetry *t)
{
    if (ct_telemetry_read(g->backend, g->index, t) == CT_OK) return true;
    ct_debug("no telemetry: %s", ct_error_message());
    g->works = false;
    return false;
}

void ct_gauge_begin(ct_gauge *g, const ct_backend *b, int index, double now, int64_t done)
{
    memset(g, 0, sizeof *g);
    g->backend = b;
    g->index = index;
    g->last_joules = NAN;
    g->works = ask(g, &g->now);
    g->at = now;
    g->done = done;
}

/* Joules between two readings `seconds` apart. */
static double between(const ct_telemetry *a, const ct_telemetry *b, double seconds)
{
    if (ct_telemetry_known(a->energy) && ct_telemetry_known(b->energy) && b->energy >= a->energy)
        return b->energy - a->energy;
    if (!ct_telemetry_known(b->power)) return NAN;
    return seconds * (ct_telemetry_known(a->power) ? 0.5 * (a->power + b->power) : b->power);
}

bool ct_gauge_read(ct_gauge *g, double now, int64_t done, bool force)
{
    ct_telemetry t;
    if (!g->works || now <= g->at || (!force && now - g->at < CT_GAUGE_EVERY) || !ask(g, &t)) return false;
    g->last_joules = between(&g->now, &t, now - g->at);
    g->last_samples = done - g->done;
    g->joules += g->last_joules;
    g->seconds += now - g->at;
    g->samples += g->last_samples;
    g->now = t;
    g->at = now;
    g->done = done;
    return true;
}

void ct_gauge_skip(ct_gauge *g, double now, int64_t done)
{
    ct_telemetry t;
    if (!g->works || !ask(g, &t)) return;
    g->now = t;
    g->at = now;
    g->done = done;
}

static double each(double joules, int64_t samples) { return samples > 0 ? joules / (double)samples : NAN; }

double ct_gauge_each(const ct_gauge *g) { return each(g->joules, g->samples); }
double ct_gauge_last_each(const ct_gauge *g) { return each(g->last_joules, g->last_samples); }
double ct_gauge_power(const ct_gauge *g) { return g->seconds > 0 ? g->joules / g->seconds : NAN; }

json_t *ct_gauge_json(const ct_gauge *g)
{
    json_t *o = ct_telemetry_json(&g->now, false);
    const double j = ct_gauge_last_each(g);
    if (!o || !isfinite(j) || ct_json_set(o, "joules_per_sample", ct_json_number(j)) == CT_OK) return o;
    json_decref(o);
    return NULL;
}
