/* Telemetry of NVIDIA cards; see nvml.h. */
#include "config.h"

#include "backends/cuda/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"

#define LIBRARY "libnvidia-ml.so.1"

/* ---- the part of NVML's binary interface that is used ---- */

typedef struct nvml_card *nvml_device; /* opaque */

enum { NVML_DONE = 0 };
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { MOST_PROCESSES = 256 };
#define NVML_UNKNOWN_BYTES UINT64_MAX

typedef struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} nvml_pci;
typedef struct nvml_busy { unsigned gpu, memory; } nvml_busy; /* percent */
typedef struct nvml_memory { uint64_t total, free, used; } nvml_memory;
typedef struct nvml_process { /* of the functions _v2 and _v3 */
    unsigned pid;
    uint64_t bytes;
    unsigned instance, compute_instance;
} nvml_process;
typedef struct nvml_process_old { /* of the functions without a number */
    unsigned pid;
    uint64_t bytes;
} nvml_process_old;

typedef int nvml_number(nvml_device, unsigned *);
typedef int nvml_chosen_number(nvml_device, int, unsigned *);
typedef int nvml_wide_number(nvml_device, unsigned long long *);

typedef struct nvml {
    void *handle; /* of dlopen; NULL: closed */
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, nvml_device *);
    int (*pci)(nvml_device, nvml_pci *);
    int (*driver)(char *, unsigned);
    int (*name)(nvml_device, char *, unsigned);
    nvml_number *power, *limit;                               /* mW */
    nvml_wide_number *energy;                                 /* mJ */
    int (*busy)(nvml_device, nvml_busy *);
    nvml_chosen_number *temperature, *clock, *clock_max;      /* degrees Celsius, MHz */
    int (*memory)(nvml_device, nvml_memory *);
    nvml_wide_number *throttle;
    int (*compute)(nvml_device, unsigned *, nvml_process *), (*graphics)(nvml_device, unsigned *, nvml_process *);
    int (*compute_old)(nvml_device, unsigned *, nvml_process_old *);
} nvml;

static nvml lib;

/* ---- opening ---- */

typedef struct symbol {
    size_t offset;     /* of the pointer in struct nvml */
    const char *name;
    const char *older; /* what it was called before, with the same arguments; NULL */
    bool needed;
} symbol;

#define IN(member) offsetof(nvml, member)
static const symbol symbols[] = {
    { IN(init), "nvmlInit_v2", NULL, true },
    { IN(shutdown), "nvmlShutdown", NULL, true },
    { IN(count), "nvmlDeviceGetCount_v2", NULL, true },
    { IN(by_index), "nvmlDeviceGetHandleByIndex_v2", NULL, true },
    { IN(pci), "nvmlDeviceGetPciInfo_v3", NULL, true },
    { IN(error), "nvmlErrorString", NULL, false },
    { IN(driver), "nvmlSystemGetDriverVersion", NULL, false },
    { IN(name), "nvmlDeviceGetName", NULL, false },
    { IN(power), "nvmlDeviceGetPowerUsage", NULL, false },
    { IN(limit), "nvmlDeviceGetEnforcedPowerLimit", NULL, false },
    { IN(energy), "nvmlDeviceGetTotalEnergyConsumption", NULL, false },
    { IN(busy), "nvmlDeviceGetUtilizationRates", NULL, false },
    { IN(temperature), "nvmlDeviceGetTemperature", NULL, false },
    { IN(clock), "nvmlDeviceGetClockInfo", NULL, false },
    { IN(clock_max), "nvmlDeviceGetMaxClockInfo", NULL, false },
    { IN(memory), "nvmlDeviceGetMemoryInfo", NULL, false },
    { IN(throttle), "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", false },
    { IN(compute), "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", false },
    { IN(graphics), "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", false },
    { IN(compute_old), "nvmlDeviceGetComputeRunningProcesses", NULL, false },
};

static const char *error_text(int code)
{
    const char *text = lib.error ? lib.error(code) : NULL;
    return text && *text ? text : "no text for this error";
}

/* Fills the pointers; returns the name of a needed function that is missing, or NULL. */
static const char *find_symbols(void)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const symbol *s = &symbols[i];
        void *p = dlsym(lib.handle, s->name);
        if (!p && s->older) p = dlsym(lib.handle, s->older);
        if (!p && s->needed) return s->name;
        memcpy((char *)&lib + s->offset, &p, sizeof p); /* ISO C has no cast from an object's to a function's address */
    }
    return NULL;
}

static void forget(void)
{
    if (lib.handle) dlclose(lib.handle);
    memset(&lib, 0, sizeof lib);
}

static ct_status open_library(const ct_services *core)
{
    const char *path = core->env(CT_ENV_NVML);
    if (lib.handle) return CT_OK;
    if (!path) path = LIBRARY;
    lib.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib.handle)
        return core->fail(CT_EBACKEND, "NVML: %s, which comes with the NVIDIA driver and tells about the card, cannot be loaded: %s", path,
                          dlerror());
    const char *missing = find_symbols();
    if (missing) {
        forget();
        return core->fail(CT_EBACKEND, "NVML: %s has no function %s: the NVIDIA driver is too old to tell about the card", path, missing);
    }
    int code = lib.init();
    if (code == NVML_DONE) return CT_OK;
    ct_status st = core->fail(CT_EBACKEND, "NVML: %s cannot start: %s (%d)", path, error_text(code), code);
    forget();
    return st;
}

void ct_nvml_close(void)
{
    if (lib.handle) (void)lib.shutdown();
    forget();
}

/* ---- finding a card ---- */

bool ct_nvml_bus(const char *text, char out[CT_NVML_BUS])
{
    unsigned domain, bus, device, function;
    int end = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 || text[end] != '\0') return false;
    snprintf(out, CT_NVML_BUS, "%08X:%02X:%02X.%X", domain, bus, device, function);
    return true;
}

/* A card that cannot be asked (fallen off the bus, not ours to see) is passed over: the one that is looked for may be another. */
static ct_status find_card(const ct_services *core, const char *bus, nvml_device *out)
{
    char want[CT_NVML_BUS], have[CT_NVML_BUS];
    unsigned n = 0;
    ct_status st = open_library(core);
    if (st != CT_OK) return st;
    if (!ct_nvml_bus(bus, want)) return core->fail(CT_EBACKEND, "NVML: '%s' is no PCI bus id", bus);
    int code = lib.count(&n);
    if (code != NVML_DONE) return core->fail(CT_EBACKEND, "NVML: cards cannot be counted: %s (%d)", error_text(code), code);
    for (unsigned i = 0; i < n; i++) {
        nvml_device card;
        nvml_pci pci;
        memset(&pci, 0, sizeof pci);
        if (lib.by_index(i, &card) != NVML_DONE || lib.pci(card, &pci) != NVML_DONE) continue;
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        if (!ct_nvml_bus(pci.bus_id, have) || strcmp(want, have) != 0) continue;
        *out = card;
        return CT_OK;
    }
    return core->fail(CT_EBACKEND, "NVML: none of the driver's %u cards is at PCI bus id %s", n, want);
}

/* ---- what a card tells ---- */

void ct_nvml_throttle(uint64_t reasons, char *buf, size_t size)
{
    static const struct { uint64_t bit; const char *word; } table[] = {
        { 0x002, "clocks set by the user" }, { 0x004, "power cap" },           { 0x008, "hardware slowdown" },
        { 0x010, "sync boost" },             { 0x020, "thermal (software)" },  { 0x040, "thermal (hardware)" },
        { 0x080, "power brake" },            { 0x100, "display clocks" },
    };
    size_t n = 0;
    uint64_t rest = reasons & ~(uint64_t)1; /* bit 0: idle */
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!(reasons & table[i].bit)) continue;
        rest &= ~table[i].bit;
        if (n < size) n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", table[i].word);
    }
    if (rest && n < size) snprintf(buf + n, size - n, "%sunknown (0x%llx)", n ? ", " : "", (unsigned long long)rest);
}

static double number(nvml_number *f, nvml_device card, double unit)
{
    unsigned v = 0;
    return f && f(card, &v) == NVML_DONE ? unit * v : (double)NAN;
}
static double chosen_number(nvml_chosen_number *f, nvml_device card, int which)
{
    unsigned v = 0;
    return f && f(card, which, &v) == NVML_DONE ? v : (double)NAN;
}

ct_status ct_nvml_telemetry(const ct_services *core, const char *bus, ct_telemetry *out)
{
    nvml_device card = NULL;
    nvml_busy busy = { 0, 0 };
    nvml_memory memory = { 0, 0, 0 };
    unsigned long long wide = 0;
    ct_status st = find_card(core, bus, &card);
    if (st != CT_OK) return st;
    memset(out, 0, sizeof *out);
    (void)ct_nvml_bus(bus, out->bus);
    if (!lib.name || lib.name(card, out->name, sizeof out->name) != NVML_DONE) out->name[0] = '\0';
    out->power = number(lib.power, card, 1e-3);
    out->power_limit = number(lib.limit, card, 1e-3);
    out->energy = lib.energy && lib.energy(card, &wide) == NVML_DONE ? 1e-3 * (double)wide : (double)NAN;
    out->busy = out->memory_busy = NAN;
    if (lib.busy && lib.busy(card, &busy) == NVML_DONE) {
        out->busy = 0.01 * busy.gpu;
        out->memory_busy = 0.01 * busy.memory;
    }
    out->temperature = chosen_number(lib.temperature, card, NVML_TEMPERATURE_GPU);
    out->clock = chosen_number(lib.clock, card, NVML_CLOCK_SM);
    out->clock_max = chosen_number(lib.clock_max, card, NVML_CLOCK_SM);
    out->memory_clock = chosen_number(lib.clock, card, NVML_CLOCK_MEMORY);
    out->memory_used = out->memory_total = NAN;
    if (lib.memory && lib.memory(card, &memory) == NVML_DONE) {
        out->memory_used = (double)memory.used;
        out->memory_total = (double)memory.total;
    }
    wide = 0;
    if (lib.throttle && lib.throttle(card, &wide) == NVML_DONE) ct_nvml_throttle(wide, out->throttle, sizeof out->throttle);
    return CT_OK;
}

void ct_nvml_driver(const ct_services *core, char *buf, size_t size)
{
    buf[0] = '\0';
    if (open_library(core) == CT_OK && lib.driver && lib.driver(buf, (unsigned)size) != NVML_DONE) buf[0] = '\0';
}

/* ---- who holds its memory ---- */

typedef struct holders {
    nvml_process p[2 * MOST_PROCESSES];
    size_t n;
} holders;

static void add_holder(holders *h, unsigned pid, uint64_t bytes)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->p[i].pid == pid) return; /* a process can compute and draw */
    h->p[h->n].pid = pid;
    h->p[h->n++].bytes = bytes == NVML_UNKNOWN_BYTES ? 0 : bytes;
}

static void ask(holders *h, nvml_device card, int (*f)(nvml_device, unsigned *, nvml_process *))
{
    nvml_process p[MOST_PROCESSES];
    unsigned n = MOST_PROCESSES;
    if (!f || f(card, &n, p) != NVML_DONE || n > MOST_PROCESSES) return;
    for (unsigned i = 0; i < n; i++) add_holder(h, p[i].pid, p[i].bytes);
}

static void ask_old(holders *h, nvml_device card)
{
    nvml_process_old p[MOST_PROCESSES];
    unsigned n = MOST_PROCESSES;
    if (!lib.compute_old || lib.compute_old(card, &n, p) != NVML_DONE || n > MOST_PROCESSES) return;
    for (unsigned i = 0; i < n; i++) add_holder(h, p[i].pid, p[i].bytes);
}

static int most_first(const void *a, const void *b)
{
    const nvml_process *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* " (python3)", or "" where this system does not know the process: it may be another container's. */
static void process_name(unsigned pid, char buf[32])
{
    char path[32], name[24] = "";
    buf[0] = '\0';
    if (pid == (unsigned)getpid()) {
        snprintf(buf, 32, " (this one)");
        return;
    }
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "r");
    if (!f) return;
    if (fgets(name, sizeof name, f)) {
        name[strcspn(name, "\n")] = '\0';
        snprintf(buf, 32, " (%s)", name);
    }
    fclose(f);
}

static void write_holder(const nvml_process *p, char *buf, size_t size)
{
    char name[32], amount[32];
    process_name(p->pid, name);
    double bytes = (double)p->bytes;
    if (p->bytes == 0) snprintf(amount, sizeof amount, "an unknown part");
    else if (bytes >= 1e9) snprintf(amount, sizeof amount, "%.2f GB", bytes * 1e-9);
    else snprintf(amount, sizeof amount, "%.0f MB", bytes * 1e-6);
    snprintf(buf, size, "%s by process %u%s", amount, p->pid, name);
}

void ct_nvml_holders(const ct_services *core, const char *bus, char *buf, size_t size)
{
    nvml_device card = NULL;
    holders h;
    size_t n = 0;
    char one[112];
    buf[0] = '\0';
    if (find_card(core, bus, &card) != CT_OK) return;
    h.n = 0;
    ask(&h, card, lib.compute);
    ask(&h, card, lib.graphics);
    if (!lib.compute) ask_old(&h, card);
    qsort(h.p, h.n, sizeof *h.p, most_first);
    for (size_t i = 0; i < h.n; i++) {
        write_holder(&h.p[i], one, sizeof one);
        if (n + strlen(one) + 8 > size) { /* room for ", ..." */
            snprintf(buf + n, size - n, "%s...", n ? ", " : "");
            return;
        }
        n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", one);
    }
}
