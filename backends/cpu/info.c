/* What machine this is: processor, features, memory. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/utsname.h>
#include <unistd.h>

/* The text after "key ... :" on the first line of a /proc file that starts so; false if there is none. */
static bool proc_value(const char *path, const char *key, char *buf, size_t size)
{
    FILE *f = fopen(path, "r");
    if (!f) return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
        colon++;
        while (*colon == ' ' || *colon == '\t') colon++;
        snprintf(buf, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    fclose(f);
    return found;
}

void ct_cpu_model(char *buf, size_t size)
{
    if (proc_value("/proc/cpuinfo", "model name", buf, size) && buf[0]) return;
    struct utsname u;
    snprintf(buf, size, "%s", uname(&u) == 0 ? u.machine : "unknown processor");
}

#if defined(__x86_64__)
static void append(char *buf, size_t size, const char *name, int has)
{
    const size_t n = strlen(buf);
    if (has && n < size) snprintf(buf + n, size - n, "%s%s", n ? " " : "", name);
}
#endif

void ct_cpu_features(char *buf, size_t size)
{
    buf[0] = '\0';
#if defined(__x86_64__)
    __builtin_cpu_init();
    append(buf, size, "sse4.2", __builtin_cpu_supports("sse4.2"));
    append(buf, size, "avx", __builtin_cpu_supports("avx"));
    append(buf, size, "avx2", __builtin_cpu_supports("avx2"));
    append(buf, size, "fma", __builtin_cpu_supports("fma"));
    append(buf, size, "avx512f", __builtin_cpu_supports("avx512f"));
    append(buf, size, "avx512bw", __builtin_cpu_supports("avx512bw"));
    append(buf, size, "avx512vl", __builtin_cpu_supports("avx512vl"));
    append(buf, size, "avx512bf16", __builtin_cpu_supports("avx512bf16"));
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) append(buf, size, "amx-bf16", (int)(d >> 22 & 1)); /* no name in gcc 12 */
#elif defined(__aarch64__)
    snprintf(buf, size, "neon");
#endif
    if (!buf[0]) snprintf(buf, size, "no vector features known");
}

void ct_cpu_memory(uint64_t *total, uint64_t *available)
{
    char text[64];
    *total = *available = 0;
    if (proc_value("/proc/meminfo", "MemTotal", text, sizeof text) && sscanf(text, "%" SCNu64, total) == 1)
        *total *= 1024;
    if (proc_value("/proc/meminfo", "MemAvailable", text, sizeof text) && sscanf(text, "%" SCNu64, available) == 1)
        *available *= 1024;
}
