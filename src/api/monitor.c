/* captrain monitor: what devices tell about themselves, again and again. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sized.h"
#include "captrain.h"
#include "exec/telemetry.h"

static void sleep_until(double when)
{
    double left = when - ct_now();
    if (left <= 0) return;
    struct timespec t = { (time_t)left, (long)((left - floor(left)) * 1e9) };
    while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

static ct_status print_json(const struct timespec *now, int device, const ct_telemetry *t, FILE *to)
{
    ct_status st;
    json_t *o = json_object(), *values = ct_telemetry_json(t, true);
    CT_GOTO(st, ct_json_set(o, "time", json_real((double)now->tv_sec + 1e-3 * (double)(now->tv_nsec / 1000000))));
    CT_GOTO(st, ct_json_set(o, "device", json_integer(device)));
    CT_GOTO(st, ct_json_set(o, "name", json_string(t->name)));
    CT_GOTO(st, ct_json_set(o, "bus", json_string(t->bus)));
    if (!values || json_object_update(o, values) != 0) CT_GOTO(st, ct_fail(CT_ENOMEM, "out of memory: a reading"));
    st = ct_json_print(o, 0, to);
fail:
    json_decref(values);
    json_decref(o);
    return st;
}

static void print_text(const struct timespec *now, int device, const ct_telemetry *t, FILE *to)
{
    char clock[16], text[512];
    struct tm tm;
    localtime_r(&now->tv_sec, &tm);
    strftime(clock, sizeof clock, "%H:%M:%S", &tm);
    fprintf(to, "%s  %d %s  %s\n", clock, device, t->name, ct_telemetry_text(t, text, sizeof text));
}

/* One reading of the devices [first, end); `to` NULL: only to begin. */
static ct_status read_all(const ct_backend *b, int first, int end, bool json, FILE *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = first; i < end; i++) {
        ct_telemetry t;
        CT_TRY(ct_telemetry_read(b, i, &t));
        if (to && json) CT_TRY(print_json(&now, i, &t, to));
        else if (to) print_text(&now, i, &t, to);
    }
    if (!to || (fflush(to) == 0 && !ferror(to))) return CT_OK;
    return ct_fail(CT_EIO, "monitor: a line could not be written");
}

ct_status ct_run_monitor(const ct_monitor_opts *given, FILE *to)
{
    ct_monitor_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_monitor_opts"));
    const ct_monitor_opts *o = &own;
    const ct_backend *b;
    const double interval = o->interval > 0 ? o->interval : 1;
    CT_TRY(ct_backend_choose(o->common.backend, &b, NULL, 0));
    const int n = b->device_count();
    if (o->device >= n)
        return ct_fail(CT_EBACKEND, "backend %s: there is no device %d; it has %d, counted from 0", b->name, o->device,
                       n);
    const int first = o->device < 0 ? 0 : o->device, end = o->device < 0 ? n : o->device + 1;
    CT_TRY(read_all(b, first, end, false, NULL)); /* rates count from here */
    const double started = ct_now();
    for (int64_t i = 1; o->count == 0 || i <= o->count; i++) {
        sleep_until(started + (double)i * interval);
        CT_TRY(read_all(b, first, end, o->json, to));
    }
    return CT_OK;
}
