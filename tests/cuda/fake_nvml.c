/* Stands in for the driver's libnvidia-ml.so.1: four cards that always tell the same, in another order than their bus ids. The tests set
 * CT_FAKE_NVML_INIT (what nvmlInit returns) and CT_FAKE_NVML_THROTTLE (bits). FAKE_NVML_OLD: a driver that lacks what came later;
 * FAKE_NVML_ANCIENT: one that lacks what cannot be done without. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct card { const char *bus, *name; int mute; } card;
typedef struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci;
typedef struct process { unsigned pid; uint64_t bytes; unsigned instance, compute_instance; } process;
typedef struct process_old { unsigned pid; uint64_t bytes; } process_old;
typedef struct busy { unsigned gpu, memory; } busy;
typedef struct memory { uint64_t total, free, used; } memory;

enum { DONE = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, LOST = 15 };

static card cards[] = {
    { "00000000:3B:00.0", "fake card that is mute", 1 },
    { "00000000:18:00.0", "fake card one", 0 },
    { NULL, NULL, 0 }, /* has fallen off the bus */
    { "00000000:00:00.0", "fake card two", 0 },
};
static int users;

static long setting(const char *name)
{
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 0) : 0;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    int code = (int)setting("CT_FAKE_NVML_INIT");
    users += code == DONE;
    return code;
}
int nvmlShutdown(void);
int nvmlShutdown(void) { return users-- > 0 ? DONE : 1; }
const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Some Error"; }
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n) { return *n = sizeof cards / sizeof *cards, users > 0 ? DONE : 1; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, card **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, card **out) { return *out = &cards[i], cards[i].bus ? DONE : LOST; }

#ifndef FAKE_NVML_ANCIENT
int nvmlDeviceGetPciInfo_v3(card *c, pci *out);
int nvmlDeviceGetPciInfo_v3(card *c, pci *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "%s", c->bus);
    return DONE;
}
#endif

int nvmlSystemGetDriverVersion(char *buf, unsigned size);
int nvmlSystemGetDriverVersion(char *buf, unsigned size) { return snprintf(buf, size, "599.12.3"), DONE; }
int nvmlDeviceGetName(card *c, char *buf, unsigned size);
int nvmlDeviceGetName(card *c, char *buf, unsigned size) { return snprintf(buf, size, "%s", c->name), DONE; }

static int number(const card *c, unsigned v, unsigned *out) { return c->mute ? NOT_SUPPORTED : (*out = v, DONE); }

int nvmlDeviceGetPowerUsage(card *c, unsigned *v);
int nvmlDeviceGetPowerUsage(card *c, unsigned *v) { return number(c, 312500, v); }
int nvmlDeviceGetUtilizationRates(card *c, busy *out);
int nvmlDeviceGetUtilizationRates(card *c, busy *out) { return number(c, 98, &out->gpu) | number(c, 71, &out->memory); }
int nvmlDeviceGetTemperature(card *c, int which, unsigned *v);
int nvmlDeviceGetTemperature(card *c, int which, unsigned *v) { return which == 0 ? number(c, 64, v) : NOT_SUPPORTED; }
int nvmlDeviceGetClockInfo(card *c, int which, unsigned *v);
int nvmlDeviceGetClockInfo(card *c, int which, unsigned *v) { return number(c, which == 1 ? 1755 : which == 2 ? 2619 : 1, v); }
int nvmlDeviceGetMaxClockInfo(card *c, int which, unsigned *v);
int nvmlDeviceGetMaxClockInfo(card *c, int which, unsigned *v) { return number(c, which == 1 ? 1980 : 1, v); }
int nvmlDeviceGetMemoryInfo(card *c, memory *out);
int nvmlDeviceGetMemoryInfo(card *c, memory *out)
{
    *out = (memory){ 80000000000, 60000000000, 20000000000 };
    return c->mute ? NOT_SUPPORTED : DONE;
}

static int throttle(const card *c, unsigned long long *out)
{
    *out = (unsigned long long)setting("CT_FAKE_NVML_THROTTLE");
    return c->mute ? NOT_SUPPORTED : DONE;
}

#ifdef FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(card *c, unsigned long long *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(card *c, unsigned long long *out) { return throttle(c, out); }
int nvmlDeviceGetComputeRunningProcesses(card *c, unsigned *n, process_old *p);
int nvmlDeviceGetComputeRunningProcesses(card *c, unsigned *n, process_old *p)
{
    if (c->mute || *n < 2) return INSUFFICIENT_SIZE;
    p[0] = (process_old){ 4294967294u, 5000000000u };
    p[1] = (process_old){ (unsigned)getpid(), 7000000000u };
    *n = 2;
    return DONE;
}
#else
int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned *v);
int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned *v) { return number(c, 700000, v); }
static unsigned long long energy = 1000000; /* mJ */
int nvmlDeviceGetTotalEnergyConsumption(card *c, unsigned long long *v);
int nvmlDeviceGetTotalEnergyConsumption(card *c, unsigned long long *v)
{
    *v = energy += 50000; /* 50 J from one question to the next */
    return c->mute ? NOT_SUPPORTED : DONE;
}
int nvmlDeviceGetCurrentClocksEventReasons(card *c, unsigned long long *out);
int nvmlDeviceGetCurrentClocksEventReasons(card *c, unsigned long long *out) { return throttle(c, out); }
int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned *n, process *p);
int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned *n, process *p)
{
    if (c->mute) {
        *n = 100000;
        return INSUFFICIENT_SIZE;
    }
    p[0] = (process){ 4294967294u, UINT64_MAX, 0, 0 };
    p[1] = (process){ (unsigned)getpid(), 300000000, 0, 0 };
    p[2] = (process){ (unsigned)getppid(), 2100000000, 0, 0 };
    *n = 3;
    return DONE;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(card *c, unsigned *n, process *p);
int nvmlDeviceGetGraphicsRunningProcesses_v3(card *c, unsigned *n, process *p)
{
    if (c->mute) return NOT_SUPPORTED;
    p[0] = (process){ (unsigned)getpid(), 300000000, 0, 0 };
    p[1] = (process){ 4294967293u, 900000000, 0, 0 };
    *n = 2;
    return DONE;
}
#endif
