#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)
#define MAX_DEVICE 4095

static const cli_option options[] = {
    { "--device", "N|all", CLI_STRING, OFF(device), 0, 0, "which device of the backend, counted from 0; default all" },
    { "--interval", "S", CLI_STRING, OFF(interval), 0, 0, "seconds between two readings, 0.01 to 3600; default 1" },
    { "--count", "N", CLI_INT, OFF(count), 1, 1000000000, "readings; default: until it is stopped" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object a line" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static bool read_device(const char *text, int *device)
{
    char *end;
    *device = -1;
    if (!text || strcmp(text, "all") == 0) return true;
    long n = strtol(text, &end, 10);
    if (end != text && !*end && n >= 0 && n <= MAX_DEVICE) return *device = (int)n, true;
    fprintf(stderr, "captrain: --device: '%s' is neither a whole number from 0 to %d nor 'all'\n", text, MAX_DEVICE);
    return false;
}

static bool read_interval(const char *text, double *seconds)
{
    char *end;
    *seconds = 0;
    if (!text) return true;
    *seconds = strtod(text, &end);
    if (end != text && !*end && *seconds >= 0.01 && *seconds <= 3600) return true;
    fprintf(stderr, "captrain: --interval: '%s' is not a number from 0.01 to 3600\n", text);
    return false;
}

static int run(const cli_args *a)
{
    ct_monitor_opts o = { .size = sizeof o, .common = a->common, .count = a->count, .json = a->json };
    if (!read_device(a->device, &o.device) || !read_interval(a->interval, &o.interval)) return 2;
    return cli_finish(ct_run_monitor(&o, stdout));
}

const cli_command cli_monitor = {
    "monitor", "", "watch power, load, clocks and memory of a device",
    "Prints a line for each device and reading: power and its limit, share of the time that a kernel ran and that "
    "memory was used, temperature, clocks and their maximum, memory of all processes, and what holds the clocks down. "
    "What a device does not tell is left out, or null with --json. It asks the driver and starts nothing on the "
    "device. Of the backend cpu it is the whole machine.",
    options, 0, 0, run
};
