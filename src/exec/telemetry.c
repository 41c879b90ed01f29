#include "config.h"

#include "exec/telemetry.h"

#include <stdarg.h>
#include <stdio.h>

ct_status ct_telemetry_read(const ct_backend *b, int index, ct_telemetry *out)
{
    if (!b->telemetry) return ct_fail(CT_EBACKEND, "backend %s: it tells nothing about power, load and clocks of its devices", b->name);
    ct_fail(CT_EBACKEND, "it gives no reason"); /* what a plug-in says itself takes its place */
    ct_status st = b->telemetry(index, out);
    return st == CT_OK ? CT_OK : ct_fail_context(st, "backend %s: device %d", b->name, index);
}

json_t *ct_telemetry_json(const ct_telemetry *t, bool all)
{
    const struct { const char *key; double v; } row[] = {
        { "power", t->power },
        { "power_limit", t->power_limit },
        { "energy", t->energy },
        { "busy", t->busy },
        { "memory_busy", t->memory_busy },
        { "temperature", t->temperature },
        { "clock", t->clock },
        { "clock_max", t->clock_max },
        { "memory_clock", t->memory_clock },
        { "memory_used", t->memory_used },
        { "memory_total", t->memory_total },
    };
    json_t *o = json_object();
    ct_status st;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const bool known = ct_telemetry_known(row[i].v);
        if (known || all) CT_GOTO(st, ct_json_set(o, row[i].key, known ? ct_json_number(row[i].v) : json_null()));
    }
    if (t->throttle[0] || all) CT_GOTO(st, ct_json_set(o, "throttle", json_string(t->throttle)));
    return o;
fail:
    json_decref(o);
    return NULL;
}

typedef struct line {
    char *buf;
    size_t n, size;
} line;

static void add(line *l, const char *fmt, ...) CT_PRINTF(2, 3);
static void add(line *l, const char *fmt, ...)
{
    va_list ap;
    if (l->n > 0 && l->n < l->size) l->n += (size_t)snprintf(l->buf + l->n, l->size - l->n, ", ");
    if (l->n >= l->size) return;
    va_start(ap, fmt);
    l->n += (size_t)vsnprintf(l->buf + l->n, l->size - l->n, fmt, ap);
    va_end(ap);
}

/* "312 / 700 W", or "312 W" where there is no other number. */
static void add_pair(line *l, double v, double of, int digits, const char *name)
{
    if (!ct_telemetry_known(v)) return;
    if (ct_telemetry_known(of)) add(l, "%.*f / %.*f %s", digits, v, digits, of, name);
    else add(l, "%.*f %s", digits, v, name);
}

char *ct_telemetry_text(const ct_telemetry *t, char *buf, size_t size)
{
    line l = { buf, 0, size };
    buf[0] = '\0';
    add_pair(&l, t->power, t->power_limit, 0, "W");
    if (ct_telemetry_known(t->busy)) add(&l, "%.0f %% busy", 100 * t->busy);
    if (ct_telemetry_known(t->memory_busy)) add(&l, "memory %.0f %% busy", 100 * t->memory_busy);
    if (ct_telemetry_known(t->temperature)) add(&l, "%.0f C", t->temperature);
    add_pair(&l, t->clock, t->clock_max, 0, "MHz");
    if (ct_telemetry_known(t->memory_clock)) add(&l, "memory %.0f MHz", t->memory_clock);
    add_pair(&l, 1e-9 * t->memory_used, 1e-9 * t->memory_total, 1, "GB");
    if (t->throttle[0]) add(&l, "held down by: %s", t->throttle);
    return buf;
}

char *ct_telemetry_missing(const ct_telemetry *t, char *buf, size_t size)
{
    const struct { const char *name; double v; } row[] = {
        { "power", t->power }, { "load", t->busy }, { "temperature", t->temperature }, { "clock", t->clock }, { "memory", t->memory_used },
    };
    line l = { buf, 0, size };
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!ct_telemetry_known(row[i].v)) add(&l, "%s", row[i].name);
    return buf;
}
