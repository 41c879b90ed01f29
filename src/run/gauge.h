/* The gauge of a training: what the device tells while steps run. It asks the driver, never the device's queue, so no
 * step waits for it; what is not told is left out everywhere. */
#ifndef CT_RUN_GAUGE_H
#define CT_RUN_GAUGE_H

#include "exec/telemetry.h"

#define CT_GAUGE_EVERY 0.2 /* seconds between two readings, at least: a driver may take milliseconds to answer */

typedef struct ct_gauge {
    const ct_backend *backend;
    int index;
    bool works;         /* false: never told anything, or no longer does */
    ct_telemetry now;   /* the last reading */
    double at;          /* its time, seconds of ct_now() */
    int64_t done;       /* samples trained until then */
    double joules;      /* used while steps ran; NAN where the device tells neither energy nor power */
    double seconds;     /* for so long */
    int64_t samples;    /* in which so many were trained */
    double last_joules; /* of the last reading: since the one before; NAN as above */
    int64_t last_samples;
} ct_gauge;

/* First reading, of device `index`. Without one the gauge stays silent. */
void ct_gauge_begin(ct_gauge *g, const ct_backend *b, int index, double now, int64_t done);
/* Reads the device unless that was done less than CT_GAUGE_EVERY ago or it is forced; `done`: samples trained by now.
 * True if there is a new reading. Energy is the difference of the device's counter, else power integrated by the
 * trapezoid rule. */
bool ct_gauge_read(ct_gauge *g, double now, int64_t done, bool force);
/* The time since the last reading was no training: it does not count. */
void ct_gauge_skip(ct_gauge *g, double now, int64_t done);

double ct_gauge_each(const ct_gauge *g);      /* J per sample, since the beginning; NAN if not known */
double ct_gauge_last_each(const ct_gauge *g); /* the same of the last reading */
double ct_gauge_power(const ct_gauge *g);     /* mean W while steps ran; NAN */

/* The last reading as an object of a "step" event: ct_telemetry_json() and joules_per_sample where known. NULL with
 * CT_ENOMEM recorded. */
json_t *ct_gauge_json(const ct_gauge *g);

#endif
