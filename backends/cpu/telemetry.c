/* What the machine tells about itself: load, energy, temperature, memory. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

bool ct_cpu_ticks(const char *path, uint64_t *busy, uint64_t *all)
{
    /* user nice system idle iowait irq softirq steal; what follows is part of the first two */
    uint64_t t[8] = { 0 };
    FILE *f = fopen(path, "r");
    if (!f) return false;
    int n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &t[0], &t[1],
                   &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    fclose(f);
    if (n < 4) return false;
    *all = 0;
    for (int i = 0; i < 8; i++) *all += t[i];
    *busy = *all - t[3] - t[4];
    return true;
}

enum { LINE = 32 };

/* The first line of DIR/<entry>N/FILE, without its end. */
static bool first_line(const char *dir, const char *entry, int n, const char *file, char line[LINE])
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s%d/%s", dir, entry, n, file);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    const bool ok = fgets(line, LINE, f) != NULL;
    fclose(f);
    if (ok) line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* The number in DIR/intel-rapl:N/FILE. */
static bool package_number(const char *dir, int n, const char *file, uint64_t *out)
{
    char line[LINE];
    return first_line(dir, "intel-rapl:", n, file, line) && sscanf(line, "%" SCNu64, out) == 1;
}

/* Other domains (psys: the whole board) contain the packages. */
static bool is_package(const char *dir, int n)
{
    char name[LINE];
    return first_line(dir, "intel-rapl:", n, "name", name) && strncmp(name, "package", 7) == 0;
}

bool ct_cpu_energy_read(const char *dir, ct_cpu_energy *e)
{
    const bool first = !e->known;
    bool any = false;
    for (int n = 0; n < CT_CPU_PACKAGES; n++) {
        uint64_t now, range;
        if (!is_package(dir, n) || !package_number(dir, n, "energy_uj", &now)) continue;
        if (!first && now >= e->last[n]) e->joules += 1e-6 * (double)(now - e->last[n]);
        else if (!first && package_number(dir, n, "max_energy_range_uj", &range)) /* it has begun at 0 again */
            e->joules += 1e-6 * ((double)range - (double)e->last[n] + (double)now);
        e->last[n] = now;
        any = true;
    }
    e->known = e->known || any;
    return any;
}

/* Drivers of processors' sensors, whose first one is the package's. */
static bool is_processor(const char *driver)
{
    static const char *const drivers[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal" };
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strcmp(driver, drivers[i]) == 0) return true;
    return false;
}

double ct_cpu_temperature(const char *dir)
{
    char line[LINE];
    double hottest = NAN;
    for (int n = 0; n < CT_CPU_SENSORS; n++) {
        int millidegrees;
        if (!first_line(dir, "hwmon", n, "name", line) || !is_processor(line)) continue;
        if (!first_line(dir, "hwmon", n, "temp1_input", line) || sscanf(line, "%d", &millidegrees) != 1) continue;
        hottest = fmax(hottest, 1e-3 * millidegrees); /* of NAN and a number: the number */
    }
    return hottest;
}

/* The calls before. */
static struct {
    double at; /* ct_now() */
    uint64_t busy, all;
    double joules;
    ct_cpu_energy energy;
} before;

ct_status ct_cpu_telemetry(int index, ct_telemetry *out)
{
    uint64_t busy, all, total, available;
    const double now = ct_now(), passed = before.at > 0 ? now - before.at : 0;
    if (index != 0) return ct_fail(CT_EBACKEND, "cpu: there is one device, number 0; %d was asked for", index);
    *out = (ct_telemetry){ .name = "cpu",        .power = NAN, .power_limit = NAN, .energy = NAN,       .busy = NAN,        .memory_busy = NAN,
                           .temperature = NAN,   .clock = NAN, .clock_max = NAN,   .memory_clock = NAN, .memory_used = NAN, .memory_total = NAN };
    if (ct_cpu_ticks("/proc/stat", &busy, &all)) {
        if (passed > 0 && all > before.all) out->busy = (double)(busy - before.busy) / (double)(all - before.all);
        before.busy = busy;
        before.all = all;
    }
    if (ct_cpu_energy_read("/sys/class/powercap", &before.energy)) {
        out->energy = before.energy.joules;
        if (passed > 0) out->power = (out->energy - before.joules) / passed;
        before.joules = out->energy;
    }
    out->temperature = ct_cpu_temperature("/sys/class/hwmon");
    ct_cpu_memory(&total, &available);
    if (total > 0) {
        out->memory_total = (double)total;
        out->memory_used = (double)(total - available);
    }
    before.at = now;
    return CT_OK;
}
